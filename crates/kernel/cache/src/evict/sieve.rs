//! SIEVE: a hand goes from the oldest page to the newest, spares pages that were used, and evicts the first one that was
//! not (Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson & K. V. Rashmi, "SIEVE is Simpler than LRU: an Efficient Turn-Key
//! Eviction Algorithm for Web Caches", NSDI 2024).
//!
//! Unlike in CLOCK, pages that are spared stay where they are: new pages are not mixed with old ones, and the hand soon
//! meets them. A hit sets a bit and moves nothing. Every hook is O(1), `victim` amortised; 9 bytes per slot.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{IdVec, List, Policy, Save};

/// The SIEVE policy.
#[derive(Clone, Save)]
pub struct Sieve {
    /// The newest page in front.
    arrivals: List<SlotId>,
    /// Whether the page was used since the hand last passed it.
    visited: IdVec<SlotId, bool>,
    /// The page under the hand; `None` for the oldest.
    hand: Option<SlotId>,
}

impl Policy for Sieve {
    type Config = NoParameters;
    const SUMMARY: &'static str =
        "A hand goes from old pages to new ones and evicts the first one not used since its last turn.";
    const SOURCE: &'static str = "Zhang, Yang, Yue, Vigfusson & Rashmi, NSDI 2024";
    const NEEDS: &'static str = "9 B a slot";
}

impl EvictionPolicy for Sieve {
    fn new(_: &NoParameters, shape: CacheShape) -> Self {
        Self {
            arrivals: List::new(shape.slots),
            visited: IdVec::filled(false, shape.slots as usize),
            hand: None,
        }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, _: &SlotTable) {
        self.arrivals.push_front(slot);
        self.visited[slot] = false;
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        self.visited[slot] = true;
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        if self.hand == Some(slot) {
            self.hand = self.arrivals.before(slot);
        }
        self.arrivals.remove(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let mut slot = self.hand.or_else(|| self.arrivals.back())?;
        while self.visited[slot] {
            self.visited[slot] = false;
            slot = self.arrivals.before(slot).or_else(|| self.arrivals.back())?;
        }
        self.hand = Some(slot);
        self.hand
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.arrivals.iter().for_each(show);
    }
}
