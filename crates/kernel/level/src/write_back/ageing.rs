//! Ageing: the choice of dirty pages to write in the background. These are pages that have been dirty too
//! long, and the oldest ones while too many are dirty.

use coflash_base::{Duration, IdVec, List, Save, Time};
use coflash_cache::{Cache, SlotId};

/// The dirty pages in the order of their age.
#[derive(Clone, Save)]
pub(super) struct Ageing {
    /// The longest time that a page may stay dirty.
    age_max: Duration,
    /// The number of pages that may be dirty.
    dirty_max: u32,
    since: IdVec<SlotId, Time>,
    /// Dirty pages, the oldest at the back.
    order: List<SlotId>,
}

impl Ageing {
    pub(super) fn new(slots: u32, age_max: Duration, dirty_max: u32) -> Self {
        Self { age_max, dirty_max, since: IdVec::filled(Time::ZERO, slots as usize), order: List::new(slots) }
    }

    /// Add a page that became dirty.
    pub(super) fn became_dirty(&mut self, slot: SlotId, now: Time) {
        self.since[slot] = now;
        self.order.push_front(slot);
    }

    /// Remove a page that is no longer dirty.
    pub(super) fn became_clean(&mut self, slot: SlotId) {
        self.order.remove(slot);
    }

    /// The page that has been dirty longest.
    pub(super) fn oldest(&self) -> Option<SlotId> {
        self.order.back()
    }

    /// The next time at which a page is too old.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.oldest().map(|slot| self.since[slot] + self.age_max)
    }

    /// Whether too many pages are dirty.
    pub(super) fn is_crowded(&self, cache: &Cache) -> bool {
        cache.dirty_len() > self.dirty_max
    }

    /// Panic unless every dirty page is listed, by age. For tests.
    pub(super) fn assert_invariants(&self, cache: &Cache) {
        let mut dirty = 0;
        let mut newest = Time::LAST;
        self.order.iter().for_each(|slot| {
            dirty += 1;
            assert!(cache.is_dirty(slot), "{slot:?} is listed as dirty");
            assert!(self.since[slot] <= newest, "{slot:?}: the oldest is at the back");
            newest = self.since[slot];
        });
        assert_eq!(dirty, cache.dirty_len(), "every dirty page is listed");
    }
}
