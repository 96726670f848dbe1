//! Flash of the tier: the FTL with a hook for cached pages.
//!
//! **What becomes of a page that GC finds.** Several tiers may know of other copies. They are asked in the order of what their answer
//! costs:
//!
//! | in flash | elsewhere | answer | cost |
//! |---|---|---|---|
//! | any | newer data in a durable cache, which has said so | none: it was given up then | nothing |
//! | clean | the same or newer data above (any mark), and the disk | dropped | a later read of the disk, if it leaves the levels above |
//! | clean | the disk | the partition scheme: dropped, or copied among its like | a later read of the disk, or a copy |
//! | dirty | the same or newer data above | the scheme of the cache above: dropped, and that cache has to write it; or copied, from there or among shadows | a later write; a fast copy |
//! | dirty | nothing | copied | a copy |
//! | on its way to the disk | any | copied: the journal does not say yet that it is gone | a copy |
//!
//! No answer may leave a version without a copy that survives a power cut. A clean page has one on the disk, so a volatile memory
//! above is reason enough to drop it. Of a dirty page flash has the only durable copy, but for a cache that answers for it.

use crate::above::Above;
use crate::page_replacer::PageReplacer;
use crate::recency::Recency;
use coflash_base::{Lpn, Save};
use coflash_cache::SlotId;
use coflash_ftl::{CopySource, Coverage, Decision, Ftl, GcHook, Io, Marks, PageWrite, Weights, WriteStream};
use coflash_media::{Cause, Media, Place, Slot};

/// What becomes of the clean pages of GC's victims.
#[derive(Clone, Copy, Save)]
pub(crate) struct CleanPages {
    /// How they are copied.
    pub(crate) copy: Decision,
    /// The share of their stay from which on they are dropped instead; `None` if never.
    pub(crate) dropped_from: Option<f64>,
}

impl CleanPages {
    #[inline]
    fn decide(self, slot: SlotId, recency: Option<&Recency>) -> Decision {
        let is_dropped = |share| recency.is_none_or(|recency| recency.has_stayed(slot, share));
        if self.dropped_from.is_some_and(is_dropped) { Decision::Evict } else { self.copy }
    }
}

/// The parts of the tier that a flash operation needs.
pub(crate) struct Store<'a, M: Media, H> {
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) io: Io<'a, M, Tiers<'a, H>>,
}

/// GC's hook: it knows the disk, and asks the levels above.
pub(crate) struct Tiers<'a, H> {
    pub(crate) replacer: &'a mut PageReplacer,
    pub(crate) above: &'a mut Above,
    pub(crate) clean: CleanPages,
    pub(crate) hook: &'a mut H,
}

impl<H: GcHook> GcHook for Tiers<'_, H> {
    #[inline(always)]
    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, media: &mut M) -> Decision {
        let (cache, slot) = (&mut self.replacer.cache, SlotId::new(page.get()));
        if page.get() >= cache.capacity() || !cache.is_occupied(slot) || cache.is_pinned(slot) {
            self.hook.copies_unmarked(1);
            // Asked again and again, GC would not end if such pages were cheap.
            return if marks.device { Decision::CopyUnmarked } else { Decision::COPY };
        }
        if cache.is_dirty(slot) {
            let page = cache.page_of(slot);
            let decision = self.hook.decide(page, marks, media);
            if !decision.frees() {
                let unmarked = matches!(
                    decision,
                    Decision::CopyUnmarked | Decision::Copy { source: CopySource::Slot(_), .. }
                );
                if unmarked {
                    self.above.unmarked(page);
                }
                return decision;
            }
            self.replacer.remove(slot);
            self.above.dropped(page);
            return Decision::Evict;
        }
        let recency = self.replacer.recency.as_ref();
        let decision = if self.above.wanted == Some(cache.page_of(slot)) {
            self.clean.copy
        } else if marks.any() {
            Decision::Evict
        } else {
            self.clean.decide(slot, recency)
        };
        if decision.frees() {
            self.replacer.cache.remove(slot);
        } else {
            self.hook.copies_unmarked(1);
        }
        decision
    }

    fn programmed_from(&mut self, slot: Slot) {
        self.hook.programmed_from(slot);
    }

    #[inline(always)]
    fn moved<M: Media>(&mut self, media: &mut M) {
        self.hook.moved(media);
    }

    fn moved_in<M: Media>(&mut self, _: Lpn, _: Slot, _: &mut M) -> Lpn {
        unreachable!("no scheme that moves pages in is above a flash cache")
    }

    fn cached_at(&self, page: Lpn) -> Option<Slot> {
        self.hook.cached_at(self.replacer.cache.page_of(SlotId::new(page.get())))
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        self.hook.before_erase(after, media)
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        self.clean.dropped_from.is_none()
            && self.clean.copy == Decision::COPY
            && self.hook.copies_unmarked(pages)
    }

    fn weights(&mut self) -> Weights {
        self.hook.weights()
    }
}

impl<M: Media, H: GcHook> Store<'_, M, H> {
    #[inline]
    pub(crate) fn program(
        &mut self,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        stream: WriteStream,
        after: M::When,
    ) -> Result<M::When, M::Error> {
        // The slot may be that of a page that GC has dropped: what was programmed for it before no longer counts, so that the
        // cache above must have made its copy durable, as before an erase.
        let after = self.io.hook.before_erase(after, self.io.media);
        let page = PageWrite { lpn, coverage: Coverage::Full, from, cause, stream, placement: None };
        self.ftl.write(page, after, &mut self.io)
    }
}
