//! A cache of logical pages: slots, an index from page to slot, and the eviction policy, once or for clean and dirty
//! pages each.
//!
//! The index is a dense table (4 bytes per logical page), so a lookup is one load without hashing. Every operation on a
//! page is O(1) amortised and allocates nothing.

use crate::evict::{Eviction, EvictionConfig};
use crate::orders::{Orders, Policies, PolicyPair};
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Ahead, IdMap, IdVec, Lpn, PlacementId, Save};
use std::ops::Deref;

/// A cache of logical pages, with one eviction policy or with two. It dereferences to its [`SlotTable`], and changes
/// only through the methods here.
///
/// ```
/// use coflash_base::Lpn;
/// use coflash_cache::{Cache, EvictionConfig};
///
/// let mut cache = Cache::new(&EvictionConfig::default(), 1, 100);
/// let slot = cache.insert(Lpn::new(7), true);
/// assert_eq!(cache.lookup(Lpn::new(7)), Some(slot));
///
/// let victim = cache.victim().expect("a full cache has a victim");
/// assert!(cache.is_dirty(victim)); // so the caller writes it to flash first
/// cache.remove(victim);
/// assert_eq!(cache.lookup(Lpn::new(7)), None);
/// ```
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Cache<P = Eviction> {
    table: SlotTable,
    index: IdMap<Lpn, SlotId>,
    policies: P,
}

impl Cache {
    /// Create an empty cache of `slots` pages out of `logical_pages`. Without slots every lookup misses.
    #[must_use]
    pub fn new(config: &EvictionConfig, slots: u32, logical_pages: usize) -> Self {
        let policy = config.build(CacheShape { slots, pages: logical_pages as u32 });
        Self::with_policies(policy, slots, logical_pages)
    }

    /// The next page to evict; `None` if the cache is empty. The page stays until it is [removed](Self::remove).
    /// Without a change in between, the answer stays the same.
    #[inline]
    pub fn victim(&mut self) -> Option<SlotId> {
        self.policies.victim(&self.table)
    }

    /// As [`victim`](Self::victim), to make room for a page that is inserted next: policies that remember evicted pages
    /// look for it among them first.
    #[inline]
    pub fn victim_for(&mut self, lpn: Lpn) -> Option<SlotId> {
        self.policies.arriving(lpn);
        self.victim()
    }

    /// The pages likely to be evicted next, if the policy knows them without a search, and how long ahead each is named:
    /// the next one has been named before. The slot of the one after them is asked for.
    #[inline]
    pub fn likely_victims(&self) -> impl Iterator<Item = (Lpn, Ahead)> {
        let [next, second, third] = self.policies.likely_victims();
        if let Some(slot) = third {
            self.table.prefetch_victim(slot);
            self.policies.prefetch(slot);
        }
        let named = [(second, Ahead::Far), (next, Ahead::Near)];
        named.into_iter().filter_map(|(slot, ahead)| Some((self.table.page_of(slot?), ahead)))
    }
}

impl Cache<PolicyPair> {
    /// As [`Cache::new`], with clean and dirty pages in these orders.
    #[must_use]
    pub fn with_orders(config: &EvictionConfig, slots: u32, logical_pages: usize, orders: Orders) -> Self {
        let of_dirty = if orders == Orders::Own { slots } else { 0 };
        let policies =
            [slots, of_dirty].map(|slots| config.build(CacheShape { slots, pages: logical_pages as u32 }));
        Self::with_policies(PolicyPair { policies, orders }, slots, logical_pages)
    }

    /// The eviction orders of clean and dirty pages.
    #[inline]
    #[must_use]
    pub fn orders(&self) -> Orders {
        self.policies.orders()
    }

    /// The next clean or dirty page to evict; where the order is common, the next page of any kind.
    #[inline]
    pub fn victim_of(&mut self, dirty: bool) -> Option<SlotId> {
        let number = self.policy_of(dirty);
        self.policies.policy(number).victim(&self.table)
    }
}

impl<P: Policies> Cache<P> {
    fn with_policies(policies: P, slots: u32, logical_pages: usize) -> Self {
        // A device without a cache needs no index.
        let indexed = if slots == 0 { 0 } else { logical_pages };
        Self { table: SlotTable::new(slots), index: IdMap::new(indexed), policies }
    }

    /// The number of the policy of clean or of dirty pages.
    #[inline(always)]
    fn policy_of(&self, dirty: bool) -> usize {
        usize::from(dirty && self.policies.orders() == Orders::Own)
    }

    /// The policy of the page in `slot`, and the table that it reads. With a common order the slot is not looked at.
    #[inline(always)]
    fn policy(&mut self, slot: SlotId) -> (&mut Eviction, &SlotTable) {
        let is_second = self.policies.orders() == Orders::Own && self.table.is_dirty(slot);
        (self.policies.policy(usize::from(is_second)), &self.table)
    }

    /// Keep the placement hint of each written page, for its way to flash. For an empty cache; a byte per slot.
    pub fn keep_placements(&mut self) {
        self.table.keep_placements();
    }

    /// Note the placement hint of a write, if hints are kept.
    #[inline]
    pub fn set_placement(&mut self, slot: SlotId, placement: Option<PlacementId>) {
        self.table.set_placement(slot, placement);
    }

    /// The slot of a page, if it is cached. A lookup is not a use of the page: on a hit call [`touch`](Self::touch),
    /// too.
    #[inline]
    #[must_use]
    pub fn lookup(&self, lpn: Lpn) -> Option<SlotId> {
        if self.table.capacity() == 0 { None } else { self.index.get(lpn) }
    }

    /// Ask for the memory that the service of a page will need: its index entry, and then its slot.
    #[inline(always)]
    pub fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        match ahead {
            Ahead::Far => self.index.prefetch(lpn),
            Ahead::Near => {
                if let Some(slot) = self.lookup(lpn) {
                    self.table.prefetch(slot);
                    self.policies.all().iter().for_each(|policy| policy.prefetch(slot));
                }
            }
            Ahead::Last => {}
        }
    }

    /// Notify the policy that the page in `slot` was used again.
    #[inline]
    pub fn touch(&mut self, slot: SlotId) {
        debug_assert!(self.table.is_occupied(slot), "{slot:?} is free");
        let (policy, table) = self.policy(slot);
        policy.touched(slot, table);
    }

    /// Put a page that is not cached into a free slot. Panics if it is cached, or if no slot is free.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, dirty: bool) -> SlotId {
        let slot = self.table.occupy(lpn, dirty);
        self.enter(slot, lpn);
        slot
    }

    /// As [`insert`](Self::insert), into a given free slot: for recovery after a crash.
    pub fn insert_at(&mut self, slot: SlotId, lpn: Lpn, dirty: bool) {
        self.table.occupy_at(slot, lpn, dirty);
        self.enter(slot, lpn);
    }

    #[inline]
    fn enter(&mut self, slot: SlotId, lpn: Lpn) {
        let before = self.index.insert(lpn, slot);
        assert!(before.is_none(), "{lpn:?} is cached already");
        self.came(slot);
    }

    /// The policy sees the page in `slot` from now on.
    #[inline]
    fn came(&mut self, slot: SlotId) {
        let (policy, table) = self.policy(slot);
        policy.inserted(slot, table);
    }

    /// The policy sees the page in `slot` no more.
    #[inline]
    fn left(&mut self, slot: SlotId) {
        let (policy, table) = self.policy(slot);
        policy.removed(slot, table);
    }

    /// Remove the page in `slot`, whatever its state. Panics if the slot is free.
    #[inline]
    pub fn remove(&mut self, slot: SlotId) {
        let lpn = self.table.page_of(slot);
        if !self.table.is_pinned(slot) {
            self.left(slot);
        }
        if !self.table.is_detached(slot) {
            self.index.remove(lpn);
        }
        self.table.release(slot);
    }

    /// Pin the page in `slot`: it cannot be evicted until it is [unpinned](Self::unpin). Panics if it is pinned
    /// already, or if the slot is free.
    #[inline]
    pub fn pin(&mut self, slot: SlotId) {
        assert!(self.table.is_occupied(slot), "{slot:?} is free");
        assert!(!self.table.is_pinned(slot), "{slot:?} is pinned already");
        self.left(slot);
        self.table.set_pinned(slot, true);
    }

    /// Unpin the page in `slot`. For the policy it is a new page. Panics if it is not pinned.
    #[inline]
    pub fn unpin(&mut self, slot: SlotId) {
        assert!(self.table.is_pinned(slot), "{slot:?} is not pinned");
        self.table.set_pinned(slot, false);
        self.came(slot);
    }

    /// Remove the page in `slot` from the index. The slot stays occupied by an older version that lookups do not find.
    #[inline]
    pub fn detach(&mut self, slot: SlotId) {
        let lpn = self.table.page_of(slot);
        let before = self.index.remove(lpn);
        assert_eq!(before, Some(slot), "{slot:?} is detached already");
        self.table.set_detached(slot, true);
    }

    /// Put a [detached](Self::detach) page back into the index. Panics if the page is cached in another slot.
    pub fn attach(&mut self, slot: SlotId) {
        assert!(self.table.is_detached(slot), "{slot:?} is not detached");
        let before = self.index.insert(self.table.page_of(slot), slot);
        assert!(before.is_none(), "the page of {slot:?} is cached already");
        self.table.set_detached(slot, false);
    }

    /// Mark a copy as dirty (the host has written it) or clean (it was written to flash). Either way it is no longer
    /// an orphan.
    #[inline]
    pub fn set_dirty(&mut self, slot: SlotId, dirty: bool) {
        self.flag(slot, dirty, |table| table.set_dirty(slot, dirty));
    }

    /// Make a copy an [orphan](SlotTable::is_orphan): GC has dropped its flash page, so it is the sole copy and dirty.
    #[inline]
    pub fn orphan(&mut self, slot: SlotId) {
        self.flag(slot, true, |table| table.set_orphan(slot));
    }

    /// Note that the page in `slot` was overwritten: it is dirty, just used, and no longer pinned.
    #[inline]
    pub fn write(&mut self, slot: SlotId) {
        let (is_pinned, was_dirty) = (self.table.is_pinned(slot), self.table.is_dirty(slot));
        // A page that changes its order is new there, so that is its use.
        if !is_pinned && self.policy_of(was_dirty) == self.policy_of(true) {
            self.touch(slot);
        }
        self.set_dirty(slot, true);
        if is_pinned {
            self.unpin(slot);
        }
    }

    /// Set the flags of a page that is clean or dirty from now on, and notify its policy if that is a change.
    #[inline]
    fn flag(&mut self, slot: SlotId, dirty: bool, set: impl FnOnce(&mut SlotTable)) {
        let was_dirty = self.table.is_dirty(slot);
        if self.policy_of(was_dirty) != self.policy_of(dirty) && !self.table.is_pinned(slot) {
            self.left(slot);
            set(&mut self.table);
            self.came(slot);
            return;
        }
        set(&mut self.table);
        self.flagged(slot, was_dirty);
    }

    /// Notify the policy if a page became clean or dirty.
    #[inline]
    fn flagged(&mut self, slot: SlotId, was_dirty: bool) {
        if self.table.is_dirty(slot) != was_dirty && !self.table.is_pinned(slot) {
            let (policy, table) = self.policy(slot);
            policy.flagged(slot, table);
        }
    }

    /// Recount everything and panic on a mismatch. For tests: it visits all slots and pages.
    pub fn assert_invariants(&self) {
        self.table.assert_invariants();
        // Both directions: with equal counts the index is a bijection onto the occupied slots that are not detached.
        let found = || self.table.occupied().filter(|&slot| !self.table.is_detached(slot));
        for slot in found() {
            let lpn = self.table.page_of(slot);
            assert_eq!(self.index.get(lpn), Some(slot), "index of {lpn:?}, which lies in {slot:?}");
        }
        let indexed = self.index.count();
        assert_eq!(indexed, found().count(), "pages in the index and pages in slots");

        let mut tracked = IdVec::<SlotId, bool>::filled(false, self.table.capacity() as usize);
        for (number, policy) in self.policies.all().iter().enumerate() {
            policy.tracked(&mut |slot| {
                assert!(self.table.is_occupied(slot), "the policy tracks {slot:?}, which is free");
                assert!(!self.table.is_pinned(slot), "the policy tracks {slot:?}, which is pinned");
                let own = self.policy_of(self.table.is_dirty(slot));
                assert_eq!(own, number, "{slot:?} is in the order of the other kind");
                assert!(!std::mem::replace(&mut tracked[slot], true), "the policy tracks {slot:?} twice");
            });
        }
        for slot in self.table.occupied().filter(|&slot| !self.table.is_pinned(slot)) {
            assert!(tracked[slot], "the policy has lost {slot:?}");
        }
    }
}

impl<P> Deref for Cache<P> {
    type Target = SlotTable;
    #[inline]
    fn deref(&self) -> &SlotTable {
        &self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_of_three() -> Cache {
        let mut cache = Cache::new(&EvictionConfig::default(), 4, 9);
        for page in [8, 0, 3] {
            cache.insert(Lpn::new(page), true);
        }
        cache.assert_invariants();
        cache
    }

    #[test]
    #[should_panic(expected = "index of Lpn(8)")]
    fn a_lost_index_entry_is_found() {
        let mut cache = cache_of_three();
        cache.index.remove(Lpn::new(8));
        cache.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "pages in the index")]
    fn a_page_indexed_twice_is_found() {
        let mut cache = cache_of_three();
        cache.index.insert(Lpn::new(1), cache.index.get(Lpn::new(8)).expect("it is cached"));
        cache.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "the policy has lost")]
    fn a_slot_lost_by_the_policy_is_found() {
        let mut cache = cache_of_three();
        cache.policies = EvictionConfig::default().build(CacheShape { slots: 4, pages: 9 });
        cache.assert_invariants();
    }

    #[test]
    #[should_panic(expected = "which is free")]
    fn a_slot_the_policy_should_have_forgotten_is_found() {
        let mut cache = cache_of_three();
        let slot = cache.lookup(Lpn::new(3)).unwrap();
        cache.index.remove(Lpn::new(3));
        cache.table.release(slot);
        cache.assert_invariants();
    }
}
