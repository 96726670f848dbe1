//! Room in the cache: checkpoints between the watermarks, and eviction.

use super::Consistent;
use crate::cooperates::{Cached, Cooperates, Message};
use crate::level::Level;
use crate::nvm::Label;
use coflash_cache::SlotId;
use coflash_ftl::{Coverage, PageWrite, WriteStream};
use coflash_media::{Cause, Media, Place};

impl<L: Cooperates> Consistent<L> {
    /// Keep slots ready, free or on standby: up to the high watermark if there are fewer than the low one.
    /// Pages go on standby in the order of eviction, committed ones by a checkpoint. The host does not wait.
    pub(super) fn make_room<M: Media>(&mut self, start: M::When, media: &mut M) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        let (low, high) = self.scheme.watermarks();
        if self.ready_slots() >= low {
            return Ok(());
        }
        // Flash may drop pages on standby as fast as others are written: each slot has its turn, then it is enough.
        for _ in 0..self.cache.capacity() {
            if self.ready_slots() >= high {
                break;
            }
            match self.cache.victim() {
                Some(slot) if self.cache.is_dirty(slot) => self.checkpoint(slot, start, media)?,
                Some(slot) => self.stand_by(slot),
                None if self.scheme.standby.len() == self.cache.len() => break,
                // All other pages are uncommitted.
                None => self.commit_early(start, media),
            }
        }
        Ok(())
    }

    fn ready_slots(&self) -> u32 {
        self.cache.capacity() - self.cache.len() + self.scheme.standby.len()
    }

    fn stand_by(&mut self, slot: SlotId) {
        self.cache.pin(slot);
        self.scheme.standby.push(slot);
    }

    /// Free a slot: if none is free, evict the page that has been on standby longest, S1 → S0.
    pub(super) fn free_slot<M: Media>(&mut self, start: M::When, media: &mut M) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        self.make_room(start, media)?;
        while self.cache.is_full() {
            match self.scheme.standby.oldest() {
                Some(slot) if self.release(slot) => {
                    self.counters.clean_evictions_pages += 1;
                    self.free(slot, media);
                }
                // Flash has dropped it under a grant, so it is no longer on standby.
                _ => self.make_room(start, media)?,
            }
        }
        Ok(())
    }

    /// Write a committed version to flash: S3 → S1, or S4 + S5 → S2.
    fn checkpoint<M: Media>(&mut self, slot: SlotId, start: M::When, media: &mut M) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        let lpn = self.cache.page_of(slot);
        self.scheme.counters.checkpoints_pages += 1;
        self.counters.dirty_evictions_pages += 1;
        self.counters.nvm_reads_pages += 1;
        if self.cache.is_orphan(slot) {
            self.drops.drop_rewrites_pages += 1;
        }
        let write = PageWrite {
            lpn,
            coverage: Coverage::Full,
            from: Place::Slot(self.place(slot)),
            cause: Cause::Evict,
            stream: WriteStream::Evict,
            placement: self.cache.placement(slot),
        };
        let (below, mut io) = self.descend(media, start);
        below.write(write, start, &mut io)?;
        // The page is in flash: recovery may find it there from now on, and then the slot may be used again.
        self.metadata.programmed(lpn, media);
        self.metadata.fence(media);
        if self.cache.is_detached(slot) {
            let current = self.cache.lookup(lpn).expect("an S5 has its S4");
            self.scheme.older[current] = None;
            self.free(slot, media);
            return Ok(());
        }
        self.cache.set_dirty(slot, false);
        if !self.scheme.protects_ahead {
            self.metadata.label(slot, Label::Clean(lpn), media);
            self.metadata.fence(media);
        }
        self.below.send(Message::Mark(Cached { lpn, slot }));
        self.stand_by(slot);
        Ok(())
    }
}
