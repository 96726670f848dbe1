//! CFLRU: clean pages first among the least recently used ones (S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim & J. Lee,
//! "CFLRU: A Replacement Algorithm for Flash Memory", CASES 2006).
//!
//! The LRU list is cut in two. The clean-first region at its end is `window` of the cache. The least recently used
//! clean page of this region is evicted; if there is none, the least recently used page. A page that becomes clean or
//! dirty without being used moves behind the others of its new class in the region. Every hook is O(1); 9 bytes per
//! slot.

use super::EvictionPolicy;
use super::queues::Queues;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Policy, Save, Share};

coflash_base::config! {
    /// Parameters of `cflru`.
    #[derive(Copy)]
    pub struct CflruConfig {
        /// The clean-first region as a share of the cache: "0%" is LRU, "100%" keeps dirty pages longest.
        pub window: Share = Share::percent(25),
    }
}

const WORKING: usize = 0;
/// The clean-first region, by class.
const CLEAN: usize = 1;
const DIRTY: usize = 2;

/// The CFLRU policy.
#[derive(Clone, Save)]
pub struct Cflru {
    queues: Queues<3>,
    working_max: u32,
}

/// The class of a page in the clean-first region.
#[inline]
fn class_of(slot: SlotId, table: &SlotTable) -> usize {
    if table.is_dirty(slot) { DIRTY } else { CLEAN }
}

impl Cflru {
    /// Put a page at the front, and move the last page there into the region if there are too many.
    #[inline]
    fn use_now(&mut self, slot: SlotId, table: &SlotTable) {
        self.queues.push(WORKING, slot);
        if self.queues.len(WORKING) > self.working_max {
            let last = self.queues.back(WORKING).expect("it has one");
            self.queues.move_to(class_of(last, table), last);
        }
    }
}

impl Policy for Cflru {
    type Config = CflruConfig;
    const SUMMARY: &'static str =
        "Evicts clean pages first among the least recently used ones: they need not be written.";
    const SOURCE: &'static str = "Park, Jung, Kang, Kim & Lee, CASES 2006";
    const NEEDS: &'static str = "9 B a slot";
}

impl EvictionPolicy for Cflru {
    fn new(config: &CflruConfig, shape: CacheShape) -> Self {
        let slots = shape.slots;
        let window = config.window.part_of(u64::from(slots)).min(u64::from(slots)) as u32;
        Self { queues: Queues::new(slots), working_max: slots - window }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        self.use_now(slot, table);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.queues.take(slot);
        self.use_now(slot, table);
    }

    #[inline]
    fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        let (before, now) = (self.queues.queue_of(slot), class_of(slot, table));
        if before != WORKING && before != now {
            self.queues.move_to(now, slot);
        }
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.queues.take(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        [CLEAN, DIRTY, WORKING].into_iter().find_map(|queue| self.queues.back(queue))
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queues.iter().for_each(show);
    }

    fn is_lru_of_one_kind(&self) -> bool {
        true
    }
}
