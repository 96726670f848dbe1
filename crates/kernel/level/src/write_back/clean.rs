//! Cleaning: writing dirty pages below because of an eviction, the bound on sole copies, their age, or a
//! flush.

use super::WriteBack;
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
        if let Some(ageing) = &mut self.ageing {
            ageing.became_dirty(page.slot, self.now);
        }
        self.metadata.writing(page, is_new, media);
        if let Some(consistency) = &mut self.consistency {
            consistency.add_uncommitted(page.slot, &mut self.cache);
        }
    }

    #[inline(always)]
    pub(super) fn became_clean(&mut self, slot: SlotId) {
        if let Some(ageing) = &mut self.ageing {
            ageing.became_clean(slot);
        }
    }

    /// Empty a slot. Its data is elsewhere, or wanted no more.
    #[inline(always)]
    pub(super) fn vacate<M: Media>(&mut self, slot: SlotId, media: &mut M) {
        if let Some(consistency) = &mut self.consistency {
            consistency.forget(slot);
            self.metadata.label(slot, Label::Free, media);
        }
        self.cache.remove(slot);
    }

    /// Evict a page if the cache has no room for page `lpn`. Returns the moment at which its slot is empty,
    /// if a program was needed.
    #[inline]
    pub(super) fn make_room<M: Media>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<Option<M::When>, M::Error>
    where
        L: Level<M>,
    {
        if !self.cache.is_full() {
            return Ok(None);
        }
        let slot = self.cache.victim_for(lpn).expect("a full cache has a victim");
        let page = self.cached(slot);
        if !self.cache.is_dirty(slot) && !self.below.keeps(page) {
            self.orphan(slot);
        }
        self.happened(Event::Evicted, page);
        let mut written = None;
        if !self.cache.is_dirty(slot) {
            self.counters.clean_evictions_pages += 1;
        } else if !self.scheme.discards(page, false, &mut self.below) {
            let done = self.write_out(page, Reason::Eviction, after, start, media);
            if done.is_err() {
                // The page stays in the cache.
                self.became_sole(page);
            }
            written = Some(done?);
        }
        self.cache.remove(slot);
        for (victim, ahead) in self.cache.likely_victims() {
            self.below.look_ahead(victim, ahead);
        }
        Ok(written)
    }

    /// Clean the oldest sole copy if another one would exceed the bound. Returns the moment at which it is in
    /// flash.
    #[inline]
    pub(super) fn clean_for_another<M: Media>(
        &mut self,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<Option<M::When>, M::Error>
    where
        L: Level<M>,
    {
        let Some(slot) = self.scheme.next_to_clean(&self.cache) else { return Ok(None) };
        let page = self.cached(slot);
        let written = self.write_out(page, Reason::Bound, after, start, media)?;
        self.cache.set_dirty(page.slot, false);
        self.happened(Event::Cleaned, page);
        Ok(Some(written))
    }

    /// Write the oldest dirty pages below while they are too old, or too many pages are dirty.
    #[inline(always)]
    pub(super) fn clean_aged<M: Media>(
        &mut self,
        now: Time,
        start: M::When,
        media: &mut M,
    ) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        if self.ageing.is_some() {
            self.now = self.now.max(now);
            while let Some(ageing) = &self.ageing
                && let Some(slot) = ageing.oldest()
                && (ageing.is_crowded(&self.cache) || ageing.next_due().is_some_and(|due| due <= now))
            {
                let is_due = ageing.next_due().is_some_and(|due| due <= now);
                let reason = if is_due { Reason::Age } else { Reason::Crowd };
                self.clean(slot, reason, start, start, media)?;
            }
        }
        Ok(())
    }

    /// Write all dirty pages below; append the ends of these writes.
    pub(super) fn clean_all<M: Media>(
        &mut self,
        after: M::When,
        start: M::When,
        media: &mut M,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        let mut next = 0;
        while let Some(slot) = self.next_dirty(next) {
            next = slot.get() + 1;
            parts.extend(self.clean(slot, Reason::Flush, after, start, media)?);
        }
        Ok(())
    }

    /// The next dirty page to clean: the oldest if ages are known, else the first from `slot` on.
    fn next_dirty(&self, mut slot: u32) -> Option<SlotId> {
        if let Some(ageing) = &self.ageing {
            return ageing.oldest();
        }
        if self.cache.dirty_len() == 0 {
            return None;
        }
        while !self.cache.is_dirty(SlotId::new(slot)) {
            slot += 1;
        }
        Some(SlotId::new(slot))
    }

    /// Clean a page: write it below and keep it as a clean copy, or discard it at the scheme's request.
    fn clean<M: Media>(
        &mut self,
        slot: SlotId,
        reason: Reason,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<Option<M::When>, M::Error>
    where
        L: Level<M>,
    {
        let page = self.cached(slot);
        if self.scheme.discards(page, reason == Reason::Flush, &mut self.below) {
            self.became_clean(slot);
            self.cache.remove(slot);
            return Ok(None);
        }
        let written = self.write_out(page, reason, after, start, media)?;
        self.cache.set_dirty(slot, false);
        Ok(Some(written))
    }

    /// Write the cached copy of a page below.
    #[inline]
    pub(super) fn write_out<M: Media>(
        &mut self,
        page: Cached,
        reason: Reason,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        let Cached { lpn, slot } = page;
        self.counters.nvm_reads_pages += 1;
        match reason {
            Reason::Eviction => self.counters.dirty_evictions_pages += 1,
            Reason::Age => self.counters.aged_pages += 1,
            Reason::Crowd => self.counters.crowded_pages += 1,
            Reason::Flush => self.counters.flushed_pages += 1,
            Reason::Bound => {}
        }
        let cause = self.options.cause;
        let mut stream = WriteStream::of(cause);
        if self.cache.is_orphan(slot) {
            self.drops.drop_rewrites_pages += 1;
            stream = self.scheme.rewrite_stream();
        }
        let from = Place::Slot(self.place(slot));
        let placement = self.cache.placement(slot);
        let write = PageWrite { lpn, coverage: Coverage::Full, from, cause, stream, placement };
        let (below, mut io) = self.descend(media, start);
        let done = below.write(write, after, &mut io)?;
        self.metadata.programmed(lpn, media);
        self.metadata.written_out(slot, media);
        self.became_clean(slot);
        Ok(done)
    }
}
