//! Eviction that asks the device: among the least recently used pages, the one whose die is idle (GCaR: S. Wu, Y. Lin, B. Mao &
//! H. Jiang, "GCaR: Garbage Collection aware Cache Management with Improved Performance for Flash-based SSDs", ICS 2016).
//!
//! LRU, of whose next victims the cache asks the device below: the first one whose die has no work leaves, or the
//! first if all are busy. A die is busy for long only while it does GC. The die of a clean page is that of its flash copy, where a
//! later read would wait; the die of a dirty page is that of the write, if the device has one for each page (`ftl.chips =
//! "static"`). Otherwise the write goes to the die whose turn it is, whatever the page, so that a dirty page is never kept.
//!
//! Without a device that can be asked it is LRU. Every hook is O(1), an eviction O(`window`); 8 bytes per slot.

use super::EvictionPolicy;
use super::lru::Lru;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{Policy, Save};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

/// Parameters of `gcar`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcarConfig {
    /// The number of the least recently used pages among which the choice is, from 1 (LRU) to 65535.
    pub window: NonZeroU16,
}

impl Default for GcarConfig {
    fn default() -> Self {
        Self { window: NonZeroU16::new(64).expect("it is not zero") }
    }
}

/// The policy that asks the device.
#[derive(Clone, Save)]
pub struct Gcar {
    lru: Lru,
    window: u32,
}

impl Policy for Gcar {
    type Config = GcarConfig;
    const SUMMARY: &'static str =
        "Evicts the first of the least recently used pages whose die is idle, so that none waits for GC.";
    const SOURCE: &'static str = "Wu, Lin, Mao & Jiang, ICS 2016 (GCaR)";
}

impl EvictionPolicy for Gcar {
    fn new(config: &GcarConfig, shape: CacheShape) -> Self {
        Self { lru: Lru::new(&NoParameters {}, shape), window: config.window.get().into() }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        self.lru.inserted(slot, table);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.lru.touched(slot, table);
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        self.lru.removed(slot, table);
    }

    #[inline]
    fn victim(&mut self, table: &SlotTable) -> Option<SlotId> {
        self.lru.victim(table)
    }

    fn window(&self) -> u32 {
        self.window
    }

    #[inline]
    fn after(&self, slot: SlotId) -> Option<SlotId> {
        self.lru.after(slot)
    }

    fn prefetch(&self, slot: SlotId) {
        self.lru.prefetch(slot);
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.lru.tracked(show);
    }

    fn heap_bytes(&self) -> usize {
        self.lru.heap_bytes()
    }
}
