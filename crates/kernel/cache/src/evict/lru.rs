//! Least recently used: evict the page that was used longest ago (folklore; R. L. Mattson et al., "Evaluation
//! Techniques for Storage Hierarchies", IBM Systems Journal 9(2), 1970, study it).
//!
//! A list with the most recently used page at its front. Every hook is O(1); 8 bytes per slot.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{List, Policy, Save};

/// The LRU policy.
#[derive(Clone, Save)]
pub struct Lru {
    recent: List<SlotId>,
}

impl Policy for Lru {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Evicts the page used longest ago.";
    const SOURCE: &'static str = "folklore; studied by R. L. Mattson et al., IBM Systems Journal 9(2), 1970";
    const NEEDS: &'static str = "8 B a slot";
}

impl EvictionPolicy for Lru {
    fn new(_: &NoParameters, shape: CacheShape) -> Self {
        Self { recent: List::new(shape.slots) }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, _: &SlotTable) {
        self.recent.push_front(slot);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        self.recent.move_to_front(slot);
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.recent.remove(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.recent.back()
    }

    #[inline]
    fn prefetch(&self, slot: SlotId) {
        self.recent.prefetch(slot);
    }

    #[inline]
    fn likely_victims(&self) -> [Option<SlotId>; 3] {
        let first = self.recent.back();
        let second = first.and_then(|slot| self.recent.before(slot));
        let third = second.and_then(|slot| self.recent.before(slot));
        [first, second, third]
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.recent.iter().for_each(show);
    }

    fn is_lru_of_one_kind(&self) -> bool {
        true
    }
}
