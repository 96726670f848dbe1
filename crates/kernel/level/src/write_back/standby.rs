//! Clean pages on standby: the next to be evicted, kept until their slots are needed.

use coflash_base::{List, Save};
use coflash_cache::SlotId;

/// The slots of these pages, in the order of eviction.
#[derive(Clone, Save)]
pub(crate) struct Standby {
    slots: List<SlotId>,
    /// The number of slots.
    pub(crate) len: u32,
}

impl Standby {
    /// Create an empty list for a cache of `slots` slots.
    pub(crate) fn new(slots: u32) -> Self {
        Self { slots: List::new(slots), len: 0 }
    }

    /// The next slot to be evicted.
    pub(crate) fn oldest(&self) -> Option<SlotId> {
        self.slots.back()
    }

    /// Whether the page in `slot` is on standby.
    pub(crate) fn contains(&self, slot: SlotId) -> bool {
        self.slots.contains(slot)
    }

    /// Add the last slot to be evicted.
    pub(crate) fn push(&mut self, slot: SlotId) {
        self.slots.push_front(slot);
        self.len += 1;
    }

    /// Remove a slot. Returns whether it was on standby.
    pub(crate) fn remove(&mut self, slot: SlotId) -> bool {
        let stood_by = self.slots.contains(slot);
        if stood_by {
            self.slots.remove(slot);
            self.len -= 1;
        }
        stood_by
    }

    /// All slots. For tests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SlotId> {
        self.slots.iter()
    }
}
