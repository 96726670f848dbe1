//! When each page of the cache was used last, and how long after its last use the cache evicts a page. The unit of time is a use
//! of any page. 4 bytes a slot.

use coflash_base::{IdVec, Save};
use coflash_cache::SlotId;

/// The last uses of the pages in the slots.
#[derive(Clone, Debug, Save)]
pub(crate) struct Recency {
    used: IdVec<SlotId, u32>,
    now: u32,
    /// The mean time from the last use of a page to its eviction by the cache; infinite before the first.
    stay: f64,
}

impl Recency {
    /// The share of a new value in the mean of what came before.
    const NEW: f64 = 1.0 / 256.0;

    pub(crate) fn new(slots: u32) -> Self {
        Self { used: IdVec::filled(0, slots as usize), now: 0, stay: f64::INFINITY }
    }

    /// Note a use of the page in a slot.
    #[inline]
    pub(crate) fn used(&mut self, slot: SlotId) {
        self.now = self.now.wrapping_add(1);
        self.used[slot] = self.now;
    }

    fn age(&self, slot: SlotId) -> f64 {
        self.now.wrapping_sub(self.used[slot]).into()
    }

    /// Note that the cache evicts the page in a slot.
    pub(crate) fn evicted(&mut self, slot: SlotId) {
        let age = self.age(slot);
        self.stay = if self.stay.is_finite() { self.stay + (age - self.stay) * Self::NEW } else { age };
    }

    /// Whether the page in a slot has this share of its stay behind it.
    #[inline]
    pub(crate) fn has_stayed(&self, slot: SlotId, share: f64) -> bool {
        self.age(slot) >= share * self.stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_stayed_by_the_stay_of_those_before_it() {
        let mut recency = Recency::new(2);
        let [old, new] = [0, 1].map(SlotId::new);
        recency.used(old);
        assert!(!recency.has_stayed(old, 0.5), "nothing is known before the first eviction");
        (0..8).for_each(|_| recency.used(new));
        recency.evicted(old);
        recency.used(old);
        (0..4).for_each(|_| recency.used(new));
        let stayed = [0.0, 0.5, 0.51].map(|share| recency.has_stayed(old, share));
        assert_eq!(stayed, [true, true, false], "4 of 8 uses are behind it");
    }
}
