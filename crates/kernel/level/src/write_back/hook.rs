//! The cache as GC's hook.

use super::Own;
use super::consistency::orphan;
use crate::cooperates::Cached;
use crate::cooperation::Scheme;
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_ftl::{Decision, GcHook, Marks, Weights};
use coflash_media::{Media, Memory, Slot};

impl<S: Scheme> GcHook for Own<S> {
    #[inline(always)]
    fn decide<M: Media>(&mut self, lpn: Lpn, marks: Marks, media: &mut M) -> Decision {
        let decision = self.scheme.decide(lpn, marks, &self.cache);
        if decision == Decision::Drop {
            let slot = self.cache.lookup(lpn).expect("a dropped page is cached");
            orphan(slot, &mut self.consistency, &mut self.cache);
            self.metadata.protect(Cached { lpn, slot }, media);
            if self.options.setting.memory == Memory::Host {
                // The answer crosses the link, and flash acts on it.
                self.metadata.settle(media);
            }
        }
        if matches!(decision, Decision::MoveIn(_)) && self.serving == Some(lpn) {
            Decision::COPY
        } else {
            decision
        }
    }

    /// The data is in the slot: its label follows, and then the erase.
    fn moved_in<M: Media>(&mut self, page: Lpn, slot: Slot, media: &mut M) -> Lpn {
        let page = Cached { lpn: page, slot: SlotId::new(slot.number) };
        let left = self.cache.page_of(page.slot);
        self.scheme.moved_in(page, left, &self.cache);
        self.cache.remove(page.slot);
        let slot = self.cache.insert(page.lpn, true);
        assert_eq!(slot, page.slot, "the slot freed last is taken first");
        self.cache.orphan(slot);
        self.counters.clean_evictions_pages += 1;
        self.counters.nvm_writes_pages += 1;
        self.metadata.protect(page, media);
        left
    }

    fn programmed_from(&mut self, slot: Slot) {
        let slot = SlotId::new(slot.number);
        self.cache.set_dirty(slot, false);
        self.metadata.moving(slot);
    }

    #[inline(always)]
    fn moved<M: Media>(&mut self, media: &mut M) {
        self.metadata.free_moved(media);
    }

    #[inline]
    fn cached_at(&self, page: Lpn) -> Option<Slot> {
        self.cache.lookup(page).map(|slot| Slot { memory: self.options.setting.memory, number: slot.get() })
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        self.scheme.copies_unmarked(pages)
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        self.metadata.settle(media);
        after
    }

    #[inline(always)]
    fn weights(&mut self) -> Weights {
        self.scheme.weights(&self.cache)
    }
}
