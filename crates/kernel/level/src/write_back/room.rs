//! Room in a crash-consistent cache: checkpoints between the watermarks, and eviction.

use super::WriteBack;
use super::clean::Reason;
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::{Event, Scheme};
use crate::level::Level;
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_media::Media;

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// The copy of a page that is about to be written: uncommitted, or clean and unmarked, or write-protected. In the last case,
    /// and without a copy, there is a free slot.
    #[inline(never)]
    pub(super) fn writable<M: Media>(
        &mut self,
        lpn: Lpn,
        start: M::When,
        media: &mut M,
    ) -> Result<Option<SlotId>, M::Error>
    where
        L: Level<M>,
    {
        self.keep_ready(start, media)?;
        loop {
            match self.cache.lookup(lpn) {
                // S2, S4
                Some(slot) if self.consistency().uncommitted.contains(slot) => {
                    self.touch(slot);
                    return Ok(Some(slot));
                }
                // S1
                Some(slot) if !self.cache.is_dirty(slot) && self.release(slot) => {
                    if let Some(consistency) = &mut self.consistency {
                        consistency.leave_standby(slot, &mut self.cache);
                    }
                    return Ok(Some(slot));
                }
                // In S0 or S3: another slot is needed. The page itself may be checkpointed for it, or evicted.
                older if !self.cache.is_full() => return Ok(older),
                _ => self.free_slot(start, media)?,
            }
        }
    }

    /// Keep slots ready, free or on standby: up to the high watermark if there are fewer than the low one.
    /// Pages go on standby in the order of eviction, committed ones by a checkpoint. The host does not wait.
    fn keep_ready<M: Media>(&mut self, start: M::When, media: &mut M) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        let (low, high) = self.consistency().watermarks;
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
                None if self.consistency().standby.len() == self.cache.len() => break,
                // All other pages are uncommitted.
                None => self.commit_early(start, media),
            }
        }
        Ok(())
    }

    fn ready_slots(&mut self) -> u32 {
        self.cache.capacity() - self.cache.len() + self.consistency().standby.len()
    }

    fn stand_by(&mut self, slot: SlotId) {
        self.cache.pin(slot);
        self.consistency().standby.push(slot);
    }

    /// Free a slot: if none is free, evict the page that has been on standby longest, S1 → S0.
    #[inline(never)]
    pub(super) fn free_slot<M: Media>(&mut self, start: M::When, media: &mut M) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        self.keep_ready(start, media)?;
        while self.cache.is_full() {
            match self.consistency().standby.oldest() {
                Some(slot) if self.release(slot) => {
                    self.counters.clean_evictions_pages += 1;
                    self.vacate(slot, media);
                }
                // Flash has dropped it under a grant, so it is no longer on standby.
                _ => self.keep_ready(start, media)?,
            }
        }
        Ok(())
    }

    /// Unmark a clean page before it is overwritten, deleted or evicted. Returns false if flash has dropped
    /// it under a grant: it is in S3.
    pub(super) fn release(&mut self, slot: SlotId) -> bool {
        let page = self.cached(slot);
        let kept = self.below.keeps(page);
        if kept {
            self.below.send(Message::Unmark(page));
        } else {
            self.orphan(slot);
        }
        kept
    }

    /// Write a committed version to flash: S3 → S1, or S4 + S5 → S2.
    fn checkpoint<M: Media>(&mut self, slot: SlotId, start: M::When, media: &mut M) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        let page = self.cached(slot);
        self.consistency().counters.checkpoints_pages += 1;
        self.write_out(page, Reason::Eviction, start, start, media)?;
        if self.cache.is_detached(slot) {
            let current = self.cache.lookup(page.lpn).expect("an S5 has its S4");
            self.consistency().older[current] = None;
            self.vacate(slot, media);
            return Ok(());
        }
        self.cache.set_dirty(slot, false);
        if !self.metadata.protects_ahead {
            self.metadata.filling(page, media);
        }
        self.happened(Event::Cleaned, page);
        self.stand_by(slot);
        Ok(())
    }
}
