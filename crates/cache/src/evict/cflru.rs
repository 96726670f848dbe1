//! CFLRU: clean first among the pages used longest ago (S.-Y. Park, D. Jung, J.-U. Kang, J.-S. Kim & J. Lee, "CFLRU: A
//! Replacement Algorithm for Flash Memory", CASES 2006).
//!
//! The LRU list is cut in two. From the clean-first region at its end, the clean page used longest ago leaves; only where
//! there is none, the page used longest ago. The region is `window` of the cache. A page that turns clean or dirty where it
//! is, without being used, queues among its new kind as if it had just come into the region. Every hook is O(1); 24 bytes a
//! slot.

use super::{EvictionPolicy, Shape};
use crate::list::List;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Policy, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `cflru`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CflruConfig {
    /// The share of the cache that is the clean-first region: "0%" is LRU, "100%" keeps dirty pages longest.
    pub window: Share,
}

impl Default for CflruConfig {
    fn default() -> Self {
        Self { window: Share::percent(25) }
    }
}

/// See the module.
#[derive(Clone)]
pub struct Cflru {
    working: List<SlotId>,
    working_len: u32,
    working_max: u32,
    /// The clean-first region, by kind.
    clean: List<SlotId>,
    dirty: List<SlotId>,
}

impl Cflru {
    /// Puts a page at the front, and what is too much there into the region.
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
        "Of the pages used longest ago, clean ones leave first: they need not be written.";
    const SOURCE: &'static str = "Park, Jung, Kang, Kim & Lee, CASES 2006";
}

impl EvictionPolicy for Cflru {
    fn new(config: &CflruConfig, shape: Shape) -> Self {
        let slots = shape.slots;
        let window = config.window.of(u64::from(slots)).min(u64::from(slots)) as u32;
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

    fn heap_bytes(&self) -> usize {
        self.working.heap_bytes() + self.clean.heap_bytes() + self.dirty.heap_bytes()
    }
}
