//! Cleaning: writing dirty pages below because of an eviction, the bound on sole copies, their age, or a
//! flush.

use super::{AtWork, WriteBack};
use crate::cooperates::{Cached, Cooperates};
use crate::cooperation::{Event, Scheme};
use crate::level::Level;
use crate::nvm::Label;
use coflash_base::{Lpn, Time};
use coflash_cache::SlotId;
use coflash_ftl::{Coverage, PageWrite, WriteStream};
use coflash_media::{Media, Place};

/// The reason for writing a dirty page below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Eviction,
    Bound,
    Age,
    Crowd,
    Flush,
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// A page, new in its slot or clean until now, is dirty before the host's data enters the slot.
    #[inline(always)]
    pub(super) fn became_dirty<M: Media>(&mut self, page: Cached, is_new: bool, media: &mut M) {
        if let Some(ageing) = &mut self.own.ageing {
            ageing.became_dirty(page.slot, self.own.now);
        }
        self.own.metadata.writing(page, is_new, media);
        if let Some(consistency) = &mut self.own.consistency {
            consistency.add_uncommitted(page.slot, &mut self.own.cache);
        }
    }

    #[inline(always)]
    pub(super) fn became_clean(&mut self, slot: SlotId) {
        if let Some(ageing) = &mut self.own.ageing {
            ageing.became_clean(slot);
        }
    }

    /// Empty a slot. Its data is elsewhere, or wanted no more.
    #[inline(always)]
    pub(super) fn vacate<M: Media>(&mut self, slot: SlotId, media: &mut M) {
        if let Some(consistency) = &mut self.own.consistency {
            consistency.forget(slot);
            self.own.metadata.label(slot, Label::Free, media);
        }
        self.own.cache.remove(slot);
    }

    /// The next dirty page to clean: the oldest if ages are known, else the first from `slot` on.
    fn next_dirty(&self, mut slot: u32) -> Option<SlotId> {
        if let Some(ageing) = &self.own.ageing {
            return ageing.oldest();
        }
        if self.own.cache.dirty_len() == 0 {
            return None;
        }
        while !self.own.cache.is_dirty(SlotId::new(slot)) {
            slot += 1;
        }
        Some(SlotId::new(slot))
    }
}

impl<M: Media, L: Level<M> + Cooperates, S: Scheme> AtWork<'_, M, L, S> {
    /// Evict a page if the cache has no room for page `lpn`. Returns the moment at which its slot is empty,
    /// if a program was needed.
    #[inline]
    pub(super) fn make_room(&mut self, lpn: Lpn, after: M::When) -> Result<Option<M::When>, M::Error> {
        if !self.level.own.cache.is_full() {
            return Ok(None);
        }
        let slot = self.level.own.cache.victim_for(lpn).expect("a full cache has a victim");
        let page = self.level.cached(slot);
        if !self.level.own.cache.is_dirty(slot) && !self.level.below.keeps(page) {
            self.level.orphan(slot);
        }
        self.level.happened(Event::Evicted, page);
        let mut written = None;
        if !self.level.own.cache.is_dirty(slot) {
            self.level.own.counters.clean_evictions_pages += 1;
        } else if !self.level.own.scheme.discards(page, false, &mut self.level.below) {
            let done = self.write_out(page, Reason::Eviction, after);
            if done.is_err() {
                // The page stays in the cache.
                self.level.became_sole(page);
            }
            written = Some(done?);
        }
        self.level.own.cache.remove(slot);
        for (victim, ahead) in self.level.own.cache.likely_victims() {
            self.level.below.look_ahead(victim, ahead);
        }
        Ok(written)
    }

    /// Clean the oldest sole copy if another one would exceed the bound. Returns the moment at which it is in
    /// flash.
    #[inline]
    pub(super) fn clean_for_another(&mut self, after: M::When) -> Result<Option<M::When>, M::Error> {
        let Some(slot) = self.level.own.scheme.next_to_clean(&self.level.own.cache) else { return Ok(None) };
        let page = self.level.cached(slot);
        let written = self.write_out(page, Reason::Bound, after)?;
        self.level.own.cache.set_dirty(page.slot, false);
        self.level.happened(Event::Cleaned, page);
        Ok(Some(written))
    }

    /// Write the oldest dirty pages below while they are too old, or too many pages are dirty.
    #[inline(always)]
    pub(super) fn clean_aged(&mut self, now: Time) -> Result<(), M::Error> {
        if self.level.own.ageing.is_some() {
            self.level.own.now = self.level.own.now.max(now);
            while let Some(ageing) = &self.level.own.ageing
                && let Some(slot) = ageing.oldest()
                && (ageing.is_crowded(&self.level.own.cache)
                    || ageing.next_due().is_some_and(|due| due <= now))
            {
                let is_due = ageing.next_due().is_some_and(|due| due <= now);
                let reason = if is_due { Reason::Age } else { Reason::Crowd };
                self.clean(slot, reason, self.start)?;
            }
        }
        Ok(())
    }

    /// Write all dirty pages below; append the ends of these writes.
    pub(super) fn clean_all(&mut self, after: M::When, parts: &mut Vec<M::When>) -> Result<(), M::Error> {
        let mut next = 0;
        while let Some(slot) = self.level.next_dirty(next) {
            next = slot.get() + 1;
            parts.extend(self.clean(slot, Reason::Flush, after)?);
        }
        Ok(())
    }

    /// Clean a page: write it below and keep it as a clean copy, or discard it at the scheme's request.
    fn clean(&mut self, slot: SlotId, reason: Reason, after: M::When) -> Result<Option<M::When>, M::Error> {
        let page = self.level.cached(slot);
        if self.level.own.scheme.discards(page, reason == Reason::Flush, &mut self.level.below) {
            self.level.became_clean(slot);
            self.level.own.cache.remove(slot);
            return Ok(None);
        }
        let written = self.write_out(page, reason, after)?;
        self.level.own.cache.set_dirty(slot, false);
        Ok(Some(written))
    }

    /// Write the cached copy of a page below.
    #[inline]
    pub(super) fn write_out(
        &mut self,
        page: Cached,
        reason: Reason,
        after: M::When,
    ) -> Result<M::When, M::Error> {
        let Cached { lpn, slot } = page;
        self.level.own.counters.nvm_reads_pages += 1;
        match reason {
            Reason::Eviction => self.level.own.counters.dirty_evictions_pages += 1,
            Reason::Age => self.level.own.counters.aged_pages += 1,
            Reason::Crowd => self.level.own.counters.crowded_pages += 1,
            Reason::Flush => self.level.own.counters.flushed_pages += 1,
            Reason::Bound => {}
        }
        let cause = self.level.own.options.cause;
        let mut stream = WriteStream::by_cause(cause);
        if self.level.own.cache.is_orphan(slot) {
            self.level.own.drops.drop_rewrites_pages += 1;
            stream = self.level.own.scheme.rewrite_stream();
        }
        let from = Place::Slot(self.level.place(slot));
        let placement = self.level.own.cache.placement(slot);
        let write = PageWrite { lpn, coverage: Coverage::Full, from, cause, stream, placement };
        let (below, mut io) = self.level.descend(self.media, self.start);
        let done = below.write(write, after, &mut io)?;
        self.level.own.metadata.programmed(lpn, self.media);
        self.level.own.metadata.written_out(slot, self.media);
        self.level.became_clean(slot);
        Ok(done)
    }
}
