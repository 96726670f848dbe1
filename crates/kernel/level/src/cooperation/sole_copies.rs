//! A bound on sole copies: cached pages without a valid copy of their data in flash, because the host wrote
//! them or GC dropped the flash copy. If capacitors power the cache after a power loss, these pages must be
//! saved in that time.
//!
//! At the bound GC copies pages instead of dropping them, and a host write waits until the oldest sole copy is in
//! flash. That page stays cached, clean.

use coflash_base::{List, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Weight, Weights};

coflash_base::measures! {
    /// Cached pages without a valid copy in flash: dirty pages and pages dropped by GC.
    pub struct SoleCopyCounters in "sole_copies", "Sole copies" {
        /// The largest number of sole copies at any time: the pages to save when power is lost.
        peak_pages: u32, "sole copies, the most at any time", pages, state;
        /// Sole copies written to flash before their eviction, to stay within the bound.
        cleaned_pages: u64, "sole copies written ahead", pages;
        /// Pages read into the cache whose flash copy was invalidated at once (`cdm-invalidate-on-cache`).
        from_reads_pages: u64, "sole copies made by reads", pages, rare;
    }
}

/// The sole copies of a cache. Without a bound they are only counted.
#[derive(Clone, Save)]
pub(crate) struct SoleCopies {
    max: u32,
    /// The counters.
    pub(crate) counters: SoleCopyCounters,
    /// Sole copies, the last written at the front. Empty without a bound.
    recent: List<SlotId>,
    /// Whether the bound was reached, and is still near.
    near_bound: bool,
}

impl SoleCopies {
    pub(crate) fn unbounded() -> Self {
        Self { max: u32::MAX, counters: SoleCopyCounters::default(), recent: List::new(0), near_bound: false }
    }

    pub(crate) fn bounded(max: u32, slots: u32) -> Self {
        Self { max, recent: List::new(slots), ..Self::unbounded() }
    }

    fn is_bounded(&self) -> bool {
        self.max < u32::MAX
    }

    /// Whether the bound is reached.
    #[inline]
    pub(crate) fn are_at_bound(&self, cache: &Cache) -> bool {
        cache.dirty_len() >= self.max
    }

    /// At the bound, the sole copy with the oldest write.
    #[inline]
    pub(crate) fn next_to_clean(&self, cache: &Cache) -> Option<SlotId> {
        if self.are_at_bound(cache) { self.recent.back() } else { None }
    }

    /// Add a slot, one of this many with dirty pages: the host wrote to it, or GC dropped the flash copy.
    #[inline]
    pub(crate) fn added(&mut self, slot: SlotId, dirty_pages: u32) {
        self.counters.peak_pages = self.counters.peak_pages.max(dirty_pages);
        if self.is_bounded() {
            if self.recent.contains(slot) {
                self.recent.remove(slot);
            }
            self.recent.push_front(slot);
        }
    }

    /// Add a slot filled by a read; its flash copy is invalidated.
    pub(crate) fn added_by_read(&mut self, slot: SlotId, cache: &Cache) {
        self.counters.from_reads_pages += 1;
        self.added(slot, cache.dirty_len());
    }

    /// Remove a slot that was written to flash and stays cached.
    pub(crate) fn cleaned(&mut self, slot: SlotId) {
        self.counters.cleaned_pages += 1;
        self.removed(slot);
    }

    /// Remove a slot before it is emptied.
    #[inline]
    pub(crate) fn removed(&mut self, slot: SlotId) {
        if self.is_bounded() && self.recent.contains(slot) {
            self.recent.remove(slot);
        }
    }

    /// The weights under the bound. A weight below full promises a drop, so at the bound every page counts in
    /// full. This stays until a sixteenth of the bound is free again, since new weights reorder every block.
    pub(crate) fn effective_weights(&mut self, weights: Weights, cache: &Cache) -> Weights {
        if self.is_bounded() {
            let room = self.max.saturating_sub(cache.dirty_len());
            self.near_bound = room == 0 || self.near_bound && room <= self.max / 16;
        }
        if self.near_bound { Weights::all(Weight::FULL) } else { weights }
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache) {
        assert!(cache.dirty_len() <= self.max, "{} sole copies, {} allowed", cache.dirty_len(), self.max);
        let (now, peak) = (cache.dirty_len(), self.counters.peak_pages);
        assert!(now <= peak, "{now} sole copies, the most were {peak}");
        if self.is_bounded() {
            assert_eq!(self.recent.iter().count() as u32, cache.dirty_len(), "listed sole copies");
            assert!(self.recent.iter().all(|slot| cache.is_dirty(slot)), "a listed slot is a sole copy");
        }
    }
}
