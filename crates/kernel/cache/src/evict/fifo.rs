//! First in, first out: evict the page that was inserted first, however often it was used (folklore).
//!
//! A list with the newest page at its front. Every hook is O(1), a hit costs nothing; 8 bytes per slot.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{List, Policy, Save};

/// The FIFO policy.
#[derive(Clone, Save)]
pub struct Fifo {
    arrivals: List<SlotId>,
}

impl Policy for Fifo {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Evicts the page that was inserted first, however often it was used.";
    const SOURCE: &'static str = "folklore";
    const NEEDS: &'static str = "8 B a slot";
}

impl EvictionPolicy for Fifo {
    fn new(_: &NoParameters, shape: CacheShape) -> Self {
        Self { arrivals: List::new(shape.slots) }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, _: &SlotTable) {
        self.arrivals.push_front(slot);
    }

    #[inline]
    fn touched(&mut self, _: SlotId, _: &SlotTable) {}

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.arrivals.remove(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.arrivals.back()
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.arrivals.iter().for_each(show);
    }
}
