//! Flash as the tier uses it: the FTL, and what GC is told of the pages that are cached.

use coflash_base::Lpn;
use coflash_cache::{SlotId, SplitCache};
use coflash_flash::{Cause, Media, Place};
use coflash_ftl::{Advisor, Fate, Ftl, Io, Marks};

/// The parts of the tier that a flash operation needs.
pub(crate) struct Store<'a, M: Media> {
    pub(crate) cache: &'a mut SplitCache,
    pub(crate) ftl: &'a mut Ftl,
    /// What becomes of the clean pages of GC's victims.
    pub(crate) clean: Fate,
    pub(crate) media: &'a mut M,
    pub(crate) start: M::When,
}

/// Answers GC: a clean page may be dropped, for the disk holds it, or kept among clean ones.
struct DiskHoldsIt<'a> {
    cache: &'a mut SplitCache,
    clean: Fate,
}

impl Advisor for DiskHoldsIt<'_> {
    #[inline(always)]
    fn fate<M: Media>(&mut self, page: Lpn, _: Marks, _: &mut M) -> Fate {
        if page.get() >= self.cache.capacity() {
            return Fate::COPY;
        }
        let slot = SlotId::new(page.get());
        if !self.cache.is_occupied(slot) || self.cache.is_dirty(slot) || self.cache.is_pinned(slot) {
            return Fate::COPY;
        }
        if self.clean == Fate::Drop {
            self.cache.remove(slot);
        }
        self.clean
    }

    fn copies_unmarked(&mut self, _: u32) -> bool {
        self.clean == Fate::COPY
    }
}

impl<M: Media> Store<'_, M> {
    #[inline]
    pub(crate) fn program(&mut self, page: Lpn, from: Place, cause: Cause, after: M::When) -> M::When {
        let advisor = &mut DiskHoldsIt { cache: self.cache, clean: self.clean };
        self.ftl.write(page, from, cause, after, &mut Io { media: self.media, advisor, start: self.start })
    }

    #[inline]
    pub(crate) fn read(&mut self, page: Lpn, to: Place, cause: Cause) -> Option<M::When> {
        let advisor = &mut DiskHoldsIt { cache: self.cache, clean: self.clean };
        self.ftl.read(page, to, cause, self.start, &mut Io { media: self.media, advisor, start: self.start })
    }

    pub(crate) fn finish_gc(&mut self) {
        let advisor = &mut DiskHoldsIt { cache: self.cache, clean: self.clean };
        self.ftl.finish_gc(&mut Io { media: self.media, advisor, start: self.start });
    }
}
