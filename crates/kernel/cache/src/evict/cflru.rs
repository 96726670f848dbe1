//! CFLRU: clean pages first among the least recently used ones (S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim & J. Lee,
//! "CFLRU: A Replacement Algorithm for Flash Memory", CASES 2006).
//!
//! The LRU list is cut in two. The clean-first region at its end is `window` of the cache. The least recently used
//! clean page of this region is evicted; if there is none, the least recently used page. A page that becomes clean or
//! dirty without being used moves behind the others of its new class in the region. Every hook is O(1); 24 bytes per
//! slot.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{List, Policy, Save, Share};

coflash_base::config! {
    /// Parameters of `cflru`.
    #[derive(Copy)]
    pub struct CflruConfig {
        /// The clean-first region as a share of the cache: "0%" is LRU, "100%" keeps dirty pages longest.
        pub window: Share = Share::percent(25),
    }
}

/// The CFLRU policy.
#[derive(Clone, Save)]
pub struct Cflru {
    working: List<SlotId>,
    working_len: u32,
    working_max: u32,
    /// The clean-first region, by class.
    clean: List<SlotId>,
    dirty: List<SlotId>,
}

impl Cflru {
    /// Put a page at the front, and move the last page there into the region if there are too many.
    #[inline]
    fn use_now(&mut self, slot: SlotId, table: &SlotTable) {
        self.working.push_front(slot);
        self.working_len += 1;
        if self.working_len > self.working_max {
            let slot = self.working.back().expect("it has one");
            self.working.remove(slot);
            self.working_len -= 1;
            self.region(table.is_dirty(slot)).push_front(slot);
        }
    }

    #[inline]
    fn region(&mut self, dirty: bool) -> &mut List<SlotId> {
        if dirty { &mut self.dirty } else { &mut self.clean }
    }

    #[inline]
    fn unlink(&mut self, slot: SlotId) {
        if self.clean.contains(slot) {
            self.clean.remove(slot);
        } else if self.dirty.contains(slot) {
            self.dirty.remove(slot);
        } else {
            self.working.remove(slot);
            self.working_len -= 1;
        }
    }
}

impl Policy for Cflru {
    type Config = CflruConfig;
    const SUMMARY: &'static str =
        "Evicts clean pages first among the least recently used ones: they need not be written.";
    const SOURCE: &'static str = "Park, Jung, Kang, Kim & Lee, CASES 2006";
}

impl EvictionPolicy for Cflru {
    fn new(config: &CflruConfig, shape: CacheShape) -> Self {
        let slots = shape.slots;
        let window = config.window.part_of(u64::from(slots)).min(u64::from(slots)) as u32;
        let list = || List::new(slots);
        Self { working: list(), working_len: 0, working_max: slots - window, clean: list(), dirty: list() }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        self.use_now(slot, table);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.unlink(slot);
        self.use_now(slot, table);
    }

    #[inline]
    fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        let dirty = table.is_dirty(slot);
        if self.region(!dirty).contains(slot) {
            self.region(!dirty).remove(slot);
            self.region(dirty).push_front(slot);
        }
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.unlink(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.clean.back().or_else(|| self.dirty.back()).or_else(|| self.working.back())
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.working.iter().chain(self.clean.iter()).chain(self.dirty.iter()).for_each(show);
    }

    fn is_lru_of_one_kind(&self) -> bool {
        true
    }
}
