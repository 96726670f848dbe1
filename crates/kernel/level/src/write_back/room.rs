//! Room in a crash-consistent cache: checkpoints between the watermarks, and eviction.

use super::clean::Reason;
use super::{AtWork, WriteBack};
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::{Event, Scheme};
use crate::level::Level;
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_media::Media;

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    fn ready_slots(&mut self) -> u32 {
        self.own.cache.capacity() - self.own.cache.len() + self.consistency().standby.len
    }

    fn stand_by(&mut self, slot: SlotId) {
        self.own.cache.pin(slot);
        self.consistency().standby.push(slot);
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
}

impl<M: Media, L: Level<M> + Cooperates, S: Scheme> AtWork<'_, M, L, S> {
    /// The copy of a page that is about to be written: uncommitted, or clean and unmarked, or write-protected. In the last case,
    /// and without a copy, there is a free slot.
    #[inline(never)]
    pub(super) fn writable(&mut self, lpn: Lpn) -> Result<Option<SlotId>, M::Error> {
        self.keep_ready()?;
        loop {
            match self.level.own.cache.lookup(lpn) {
                // S2, S4
                Some(slot) if self.level.consistency().uncommitted.contains(slot) => {
                    self.level.touch(slot);
                    return Ok(Some(slot));
                }
                // S1
                Some(slot) if !self.level.own.cache.is_dirty(slot) && self.level.release(slot) => {
                    if let Some(consistency) = &mut self.level.own.consistency {
                        consistency.leave_standby(slot, &mut self.level.own.cache);
                    }
                    return Ok(Some(slot));
                }
                // In S0 or S3: another slot is needed. The page itself may be checkpointed for it, or evicted.
                older if !self.level.own.cache.is_full() => return Ok(older),
                _ => self.free_slot()?,
            }
        }
    }

    /// Keep slots ready, free or on standby: up to the high watermark if there are fewer than the low one.
    /// Pages go on standby in the order of eviction, committed ones by a checkpoint. The host does not wait.
    fn keep_ready(&mut self) -> Result<(), M::Error> {
        let (low, high) = self.level.consistency().watermarks;
        if self.level.ready_slots() >= low {
            return Ok(());
        }
        // Flash may drop pages on standby as fast as others are written: each slot has its turn, then it is enough.
        for _ in 0..self.level.own.cache.capacity() {
            if self.level.ready_slots() >= high {
                break;
            }
            match self.level.own.cache.victim() {
                Some(slot) if self.level.own.cache.is_dirty(slot) => self.checkpoint(slot)?,
                Some(slot) => self.level.stand_by(slot),
                None if self.level.consistency().standby.len == self.level.own.cache.len() => break,
                // All other pages are uncommitted.
                None => self.commit_early(),
            }
        }
        Ok(())
    }

    /// Free a slot: if none is free, evict the page that has been on standby longest, S1 → S0.
    #[inline(never)]
    pub(super) fn free_slot(&mut self) -> Result<(), M::Error> {
        self.keep_ready()?;
        while self.level.own.cache.is_full() {
            match self.level.consistency().standby.oldest() {
                Some(slot) if self.level.release(slot) => {
                    self.level.own.counters.clean_evictions_pages += 1;
                    self.level.vacate(slot, self.media);
                }
                // Flash has dropped it under a grant, so it is no longer on standby. The next one may be kept; a checkpoint
                // before that one is tried could cost it, too, and so on without end.
                Some(_) => {}
                None => self.keep_ready()?,
            }
        }
        Ok(())
    }

    /// Write a committed version to flash: S3 → S1, or S4 + S5 → S2.
    fn checkpoint(&mut self, slot: SlotId) -> Result<(), M::Error> {
        let page = self.level.cached(slot);
        self.level.consistency().counters.checkpoints_pages += 1;
        self.write_out(page, Reason::Eviction, self.start)?;
        if self.level.own.cache.is_detached(slot) {
            let current = self.level.own.cache.lookup(page.lpn).expect("an S5 has its S4");
            self.level.consistency().older[current] = None;
            self.level.vacate(slot, self.media);
            return Ok(());
        }
        self.level.own.cache.set_dirty(slot, false);
        if !self.level.own.metadata.protects_ahead {
            self.level.own.metadata.filling(page, self.media);
        }
        self.level.happened(Event::Cleaned, page);
        self.level.stand_by(slot);
        Ok(())
    }
}
