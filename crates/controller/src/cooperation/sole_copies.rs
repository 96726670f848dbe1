//! A bound on sole copies: cached pages of which flash has no valid copy, because the host wrote them or GC dropped theirs.
//! Where the cache lives only as long as some capacitors last after power is lost, these are what must be saved meanwhile.
//!
//! At the bound GC copies what it would have dropped, and a page that the host writes waits until the sole copy that was
//! written longest ago lies in flash. It stays cached, clean.

use coflash_cache::{Cache, List, SlotId};
use coflash_ftl::{Weight, Weights};

/// See the top of the file. Without a bound it only measures.
#[derive(Clone)]
pub(crate) struct SoleCopies {
    max: u32,
    peak: u32,
    /// Sole copies, the one written last at the front; empty without a bound.
    recent: List<SlotId>,
    /// The bound was reached, and is still near.
    near: bool,
}

impl SoleCopies {
    pub(crate) fn unbounded() -> Self {
        Self { max: u32::MAX, peak: 0, recent: List::new(0), near: false }
    }

    pub(crate) fn bounded(max: u32, slots: u32) -> Self {
        Self { max, recent: List::new(slots), ..Self::unbounded() }
    }

    fn is_bounded(&self) -> bool {
        self.max < u32::MAX
    }

    /// Whether there may be no more.
    #[inline]
    pub(crate) fn are_at_bound(&self, cache: &Cache) -> bool {
        cache.dirty_len() >= self.max
    }

    /// The most there have been.
    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    /// The one written longest ago.
    pub(crate) fn oldest(&self) -> SlotId {
        self.recent.back().expect("at the bound there is one")
    }

    /// The host wrote to the slot, or GC dropped its flash copy.
    #[inline]
    pub(crate) fn added(&mut self, slot: SlotId, cache: &Cache) {
        self.peak = self.peak.max(cache.dirty_len());
        if self.is_bounded() {
            if self.recent.contains(slot) {
                self.recent.remove(slot);
            }
            self.recent.push_front(slot);
        }
    }

    /// The slot is about to be emptied, or has been cleaned.
    #[inline]
    pub(crate) fn removed(&mut self, slot: SlotId) {
        if self.is_bounded() && self.recent.contains(slot) {
            self.recent.remove(slot);
        }
    }

    /// A weight below full promises a drop. It is not given at the bound, nor until there is room again for a sixteenth: a
    /// new weight reorders every block.
    pub(crate) fn promised(&mut self, weights: Weights, cache: &Cache) -> Weights {
        if self.is_bounded() {
            let room = self.max.saturating_sub(cache.dirty_len());
            self.near = room == 0 || self.near && room <= self.max / 16;
        }
        if self.near { Weights::all(Weight::FULL) } else { weights }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.recent.heap_bytes()
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache) {
        assert!(cache.dirty_len() <= self.max, "{} sole copies, {} allowed", cache.dirty_len(), self.max);
        assert!(
            cache.dirty_len() <= self.peak,
            "{} sole copies, the most were {}",
            cache.dirty_len(),
            self.peak
        );
        if self.is_bounded() {
            assert_eq!(self.recent.iter().count() as u32, cache.dirty_len(), "listed sole copies");
            assert!(self.recent.iter().all(|slot| cache.is_dirty(slot)), "a listed slot is a sole copy");
        }
    }
}
