//! Flash of the tier: the FTL with a hook for cached pages.

use crate::recency::Recency;
use coflash_base::Lpn;
use coflash_cache::{Cache, PolicyPair, SlotId};
use coflash_ftl::{Coverage, Decision, Ftl, GcHook, Io, Marks, PageRead, PageWrite, WriteStream};
use coflash_media::{Cause, DieId, Media, Place};

/// What becomes of the clean pages of GC's victims.
#[derive(Clone, Copy)]
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
pub(crate) struct Store<'a, M: Media> {
    pub(crate) cache: &'a mut Cache<PolicyPair>,
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) recency: Option<&'a Recency>,
    pub(crate) clean: CleanPages,
    pub(crate) media: &'a mut M,
    pub(crate) start: M::When,
}

/// GC's hook: a clean page may be dropped, since the disk holds it, or copied to blocks of clean pages.
struct DiskHoldsIt<'a> {
    cache: &'a mut Cache<PolicyPair>,
    recency: Option<&'a Recency>,
    clean: CleanPages,
}

impl GcHook for DiskHoldsIt<'_> {
    coflash_ftl::has_no_slots!();

    #[inline(always)]
    fn decide<M: Media>(&mut self, page: Lpn, _: Marks, _: &mut M) -> Decision {
        if page.get() >= self.cache.capacity() {
            return Decision::COPY;
        }
        let slot = SlotId::new(page.get());
        if !self.cache.is_occupied(slot) || self.cache.is_dirty(slot) || self.cache.is_pinned(slot) {
            return Decision::COPY;
        }
        let decision = self.clean.decide(slot, self.recency);
        if decision == Decision::Evict {
            self.cache.remove(slot);
        }
        decision
    }

    fn copies_unmarked(&mut self, _: u32) -> bool {
        self.clean.dropped_from.is_none() && self.clean.copy == Decision::COPY
    }
}

impl<M: Media> Store<'_, M> {
    #[inline(always)]
    fn descend(&mut self) -> (&mut Ftl, Io<'_, M, DiskHoldsIt<'_>>) {
        let hook = DiskHoldsIt { cache: self.cache, recency: self.recency, clean: self.clean };
        (self.ftl, Io { media: self.media, hook, start: self.start })
    }

    #[inline]
    pub(crate) fn program(
        &mut self,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
    ) -> Result<M::When, M::Error> {
        let page = PageWrite {
            lpn,
            coverage: Coverage::Full,
            from,
            cause,
            stream: WriteStream::of(cause),
            placement: None,
        };
        let (ftl, mut io) = self.descend();
        ftl.write(page, after, &mut io)
    }

    #[inline]
    pub(crate) fn read(&mut self, page: PageRead, after: M::When) -> Result<Option<M::When>, M::Error> {
        let (ftl, mut io) = self.descend();
        ftl.read(page, after, &mut io)
    }

    pub(crate) fn finish_gc(&mut self) -> Result<(), M::Error> {
        let (ftl, mut io) = self.descend();
        ftl.finish_gc(&mut io)
    }

    pub(crate) fn work_idle(&mut self, die: DieId) -> Result<bool, M::Error> {
        let (ftl, mut io) = self.descend();
        ftl.work_idle(die, &mut io)
    }
}
