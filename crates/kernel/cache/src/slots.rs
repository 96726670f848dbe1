//! The slots of a cache: the logical page in each, the flags of the copy, and the free slots.
//!
//! Nine bytes per slot in three arrays; one more where placement hints are kept. A hit reads none of them.

use coflash_base::{IdVec, Lpn, PlacementId, Save, id_type};

id_type!(
    /// A page-sized slot of a cache.
    SlotId
);

/// The copy must be written to flash before its eviction.
const DIRTY: u8 = 1 << 0;
/// See [`SlotTable::is_orphan`].
const ORPHAN: u8 = 1 << 1;
/// See [`SlotTable::is_pinned`].
const PINNED: u8 = 1 << 2;
/// See [`SlotTable::is_detached`].
const DETACHED: u8 = 1 << 3;
/// The flags that host writes do not change.
const PLACE: u8 = PINNED | DETACHED;

/// All slots of a cache. Only the cache changes them; all others, including the eviction policy, only read.
#[derive(Clone, Save)]
pub struct SlotTable {
    pages: IdVec<SlotId, Option<Lpn>>,
    /// The flags of each slot; zero if it is free.
    flags: IdVec<SlotId, u8>,
    /// The placement hint of each copy; empty where none are kept.
    placements: IdVec<SlotId, Option<PlacementId>>,
    /// A stack of free slots: the slot freed last is still in the processor's cache. Slots that were chosen stay in it:
    /// above such an entry there is another while its slot is free.
    free: Vec<SlotId>,
    occupied: u32,
    dirty: u32,
}

impl SlotTable {
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            pages: IdVec::filled(None, slots as usize),
            flags: IdVec::filled(0, slots as usize),
            placements: IdVec::filled(None, 0),
            free: (0..slots).rev().map(SlotId::new).collect(),
            occupied: 0,
            dirty: 0,
        }
    }

    /// Ask for the memory of a slot that is hit.
    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: SlotId) {
        self.flags.prefetch(slot);
    }

    /// Ask for the memory of a slot that is evicted.
    #[inline(always)]
    pub(crate) fn prefetch_victim(&self, slot: SlotId) {
        self.flags.prefetch(slot);
        self.pages.prefetch(slot);
    }

    /// The number of slots.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.pages.len() as u32
    }

    /// The number of occupied slots.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.occupied
    }

    /// Whether all slots are free.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a page must be evicted before another can be inserted. Always true without slots.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.occupied == self.capacity()
    }

    /// The number of dirty pages.
    #[inline]
    #[must_use]
    pub fn dirty_len(&self) -> u32 {
        self.dirty
    }

    /// The number of clean pages.
    #[inline]
    #[must_use]
    pub fn clean_len(&self) -> u32 {
        self.occupied - self.dirty
    }

    /// The page in `slot`. Panics if the slot is free.
    #[inline]
    #[must_use]
    pub fn page_of(&self, slot: SlotId) -> Lpn {
        match self.pages[slot] {
            Some(lpn) => lpn,
            None => panic!("{slot:?} is free"),
        }
    }

    /// Whether `slot` holds a page.
    #[inline]
    #[must_use]
    pub fn is_occupied(&self, slot: SlotId) -> bool {
        self.pages[slot].is_some()
    }

    /// Whether the copy must be written to flash before its eviction.
    #[inline]
    #[must_use]
    pub fn is_dirty(&self, slot: SlotId) -> bool {
        self.flags[slot] & DIRTY != 0
    }

    /// Whether the copy is dirty only because GC dropped its flash page. The host has not overwritten it since, so
    /// writing it back is a cost of that drop. An orphan is always dirty.
    #[inline]
    #[must_use]
    pub fn is_orphan(&self, slot: SlotId) -> bool {
        self.flags[slot] & ORPHAN != 0
    }

    /// Whether the copy is unmodified: the host has not written it.
    #[inline]
    #[must_use]
    pub fn is_unmodified(&self, slot: SlotId) -> bool {
        self.flags[slot] & (DIRTY | ORPHAN) != DIRTY
    }

    /// Whether the copy cannot be evicted now: the eviction policy does not see it.
    #[inline]
    #[must_use]
    pub fn is_pinned(&self, slot: SlotId) -> bool {
        self.flags[slot] & PINNED != 0
    }

    /// Whether the copy is an older version that a lookup does not find.
    #[inline]
    #[must_use]
    pub fn is_detached(&self, slot: SlotId) -> bool {
        self.flags[slot] & DETACHED != 0
    }

    /// The placement hint with which the copy was written; none if it was read, or if hints are not kept.
    #[inline]
    #[must_use]
    pub fn placement(&self, slot: SlotId) -> Option<PlacementId> {
        if self.placements.is_empty() { None } else { self.placements[slot] }
    }

    /// The occupied slots in order. It visits all slots, so it is for flushes, not for single pages.
    pub fn occupied(&self) -> impl Iterator<Item = SlotId> {
        self.pages.ids().zip(self.pages.iter()).filter_map(|(slot, page)| page.is_some().then_some(slot))
    }

    /// Put `lpn` into a free slot. Panics if there is none.
    #[inline]
    pub(crate) fn occupy(&mut self, lpn: Lpn, dirty: bool) -> SlotId {
        loop {
            let Some(slot) = self.free.pop() else {
                panic!("no free slot for {lpn:?}: remove a victim first")
            };
            if !self.is_occupied(slot) {
                self.fill(slot, lpn, dirty);
                return slot;
            }
        }
    }

    /// Put `lpn` into `slot`. Panics if the slot is not free.
    pub(crate) fn occupy_at(&mut self, slot: SlotId, lpn: Lpn, dirty: bool) {
        assert!(!self.is_occupied(slot), "{slot:?} is not free");
        self.fill(slot, lpn, dirty);
    }

    #[inline]
    fn fill(&mut self, slot: SlotId, lpn: Lpn, dirty: bool) {
        self.occupied += 1;
        self.pages[slot] = Some(lpn);
        self.set_flags(slot, if dirty { DIRTY } else { 0 });
        self.set_placement(slot, None);
    }

    /// Free `slot`. Panics if it is free already.
    #[inline]
    pub(crate) fn release(&mut self, slot: SlotId) {
        assert!(self.is_occupied(slot), "{slot:?} is free");
        self.set_flags(slot, 0);
        self.pages[slot] = None;
        self.occupied -= 1;
        self.free.push(slot);
    }

    pub(crate) fn keep_placements(&mut self) {
        self.placements = IdVec::filled(None, self.pages.len());
    }

    #[inline]
    pub(crate) fn set_placement(&mut self, slot: SlotId, placement: Option<PlacementId>) {
        if !self.placements.is_empty() {
            self.placements[slot] = placement;
        }
    }

    #[inline]
    pub(crate) fn set_dirty(&mut self, slot: SlotId, dirty: bool) {
        self.set_flags(slot, self.flags[slot] & PLACE | if dirty { DIRTY } else { 0 });
    }

    #[inline]
    pub(crate) fn set_orphan(&mut self, slot: SlotId) {
        self.set_flags(slot, self.flags[slot] & PLACE | DIRTY | ORPHAN);
    }

    #[inline]
    pub(crate) fn set_pinned(&mut self, slot: SlotId, pinned: bool) {
        self.set_flags(slot, self.flags[slot] & !PINNED | if pinned { PINNED } else { 0 });
    }

    #[inline]
    pub(crate) fn set_detached(&mut self, slot: SlotId, detached: bool) {
        self.set_flags(slot, self.flags[slot] & !DETACHED | if detached { DETACHED } else { 0 });
    }

    /// Set the flags of a slot. All changes go through here, so that the count of dirty pages stays correct.
    #[inline]
    fn set_flags(&mut self, slot: SlotId, flags: u8) {
        debug_assert!(self.is_occupied(slot), "{slot:?} is free");
        self.dirty += u32::from(flags & DIRTY);
        self.dirty -= u32::from(self.flags[slot] & DIRTY);
        self.flags[slot] = flags;
    }

    /// Recount everything and panic on a mismatch. For tests: it visits all slots.
    pub fn assert_invariants(&self) {
        assert_eq!(self.occupied().count(), self.occupied as usize, "count of occupied slots");
        let dirty = self.pages.ids().filter(|&slot| self.is_dirty(slot)).count();
        assert_eq!(dirty, self.dirty as usize, "count of dirty pages");
        let mut listed = IdVec::<SlotId, bool>::filled(false, self.pages.len());
        self.free.iter().for_each(|&slot| listed[slot] = true);
        for slot in self.pages.ids().filter(|&slot| !self.is_occupied(slot)) {
            assert!(listed[slot], "{slot:?} is free and not on the free list");
            assert_eq!(self.flags[slot], 0, "{slot:?} is free and has flags");
        }
        for slot in self.occupied() {
            assert!(self.is_dirty(slot) || !self.is_orphan(slot), "{slot:?} is an orphan and clean");
        }
    }
}
