//! A cache with two classes, clean and dirty pages. Each has an eviction order of its own; slots and index are shared.

use crate::evict::{Eviction, EvictionConfig};
use crate::shape::Shape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Ahead, IdMap, IdVec, Lpn};
use std::ops::Deref;

/// The eviction orders of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// One for clean and one for dirty pages.
    Own,
    /// One for all pages.
    Common,
}

/// A cache of logical pages in two classes. It dereferences to its [`SlotTable`], and changes only through the methods
/// here.
#[derive(Clone)]
pub struct SplitCache {
    table: SlotTable,
    index: IdMap<Lpn, SlotId>,
    /// The policies of clean and of dirty pages. With a common order only the first is used.
    policies: [Eviction; 2],
    orders: Orders,
    pinned: u32,
}

impl SplitCache {
    /// Create an empty cache of `slots` pages out of `logical_pages`.
    #[must_use]
    pub fn new(config: &EvictionConfig, slots: u32, logical_pages: usize, orders: Orders) -> Self {
        let shape = |slots| Shape { slots, pages: logical_pages as u32 };
        let second = if orders == Orders::Own { slots } else { 0 };
        Self {
            table: SlotTable::new(slots),
            index: IdMap::new(logical_pages),
            policies: [config.build(shape(slots)), config.build(shape(second))],
            orders,
            pinned: 0,
        }
    }

    /// The slot of a page, if it is cached.
    #[inline]
    #[must_use]
    pub fn lookup(&self, lpn: Lpn) -> Option<SlotId> {
        self.index.get(lpn)
    }

    /// See [`Cache::look_ahead`](crate::Cache::look_ahead).
    #[inline(always)]
    pub fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        match ahead {
            Ahead::Far => self.index.prefetch(lpn),
            Ahead::Near => {
                if let Some(slot) = self.index.get(lpn) {
                    self.table.prefetch(slot);
                    self.policies.iter().for_each(|policy| policy.prefetch(slot));
                }
            }
            Ahead::Last => {}
        }
    }

    #[inline]
    fn class(&self, dirty: bool) -> usize {
        usize::from(dirty && self.orders == Orders::Own)
    }

    /// Put a page that is not cached into a free slot. Panics if it is cached, or if no slot is free.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, dirty: bool) -> SlotId {
        let slot = self.table.occupy(lpn, dirty);
        self.enter(slot, lpn, dirty);
        slot
    }

    /// As [`insert`](Self::insert), into a given free slot: for recovery after a crash.
    pub fn insert_at(&mut self, slot: SlotId, lpn: Lpn, dirty: bool) {
        self.table.occupy_at(slot, lpn, dirty);
        self.enter(slot, lpn, dirty);
    }

    #[inline]
    fn enter(&mut self, slot: SlotId, lpn: Lpn, dirty: bool) {
        let before = self.index.insert(lpn, slot);
        assert!(before.is_none(), "{lpn:?} is cached already");
        let class = self.class(dirty);
        self.policies[class].inserted(slot, &self.table);
    }

    /// Note a use of the page in `slot`. A pinned page stays pinned.
    #[inline]
    pub fn touch(&mut self, slot: SlotId) {
        if !self.table.is_pinned(slot) {
            let class = self.class(self.table.is_dirty(slot));
            self.policies[class].touched(slot, &self.table);
        }
    }

    /// Note an overwrite of the page in `slot`: it is dirty, just used, and no longer pinned.
    #[inline]
    pub fn write(&mut self, slot: SlotId) {
        let (pinned, dirty) = (self.table.is_pinned(slot), self.table.is_dirty(slot));
        let to = self.class(true);
        if !pinned && self.class(dirty) == to {
            self.policies[to].touched(slot, &self.table);
            self.table.set_dirty(slot, true);
            if !dirty {
                self.policies[to].flagged(slot, &self.table);
            }
            return;
        }
        if pinned {
            self.table.set_pinned(slot, false);
            self.pinned -= 1;
        } else {
            let from = self.class(dirty);
            self.policies[from].removed(slot, &self.table);
        }
        self.table.set_dirty(slot, true);
        self.policies[to].inserted(slot, &self.table);
    }

    /// The next page of a class to evict. With a common order it may be of either class.
    #[inline]
    pub fn victim(&mut self, dirty: bool) -> Option<SlotId> {
        let class = self.class(dirty);
        self.policies[class].victim(&self.table)
    }

    /// Pin the page in `slot`: it is being evicted, so it is no longer a victim. Panics if it is pinned already.
    #[inline]
    pub fn pin(&mut self, slot: SlotId) {
        assert!(!self.table.is_pinned(slot), "{slot:?} is pinned already");
        let class = self.class(self.table.is_dirty(slot));
        self.policies[class].removed(slot, &self.table);
        self.table.set_pinned(slot, true);
        self.pinned += 1;
    }

    /// Unpin the page in `slot`, as just used: it may be a victim again. Panics if it is not pinned.
    #[inline]
    pub fn unpin(&mut self, slot: SlotId) {
        assert!(self.table.is_pinned(slot), "{slot:?} is not pinned");
        self.table.set_pinned(slot, false);
        self.pinned -= 1;
        let class = self.class(self.table.is_dirty(slot));
        self.policies[class].inserted(slot, &self.table);
    }

    /// Remove the page in `slot`.
    #[inline]
    pub fn remove(&mut self, slot: SlotId) {
        if self.table.is_pinned(slot) {
            self.pinned -= 1;
        } else {
            let class = self.class(self.table.is_dirty(slot));
            self.policies[class].removed(slot, &self.table);
        }
        self.index.remove(self.table.page_of(slot));
        self.table.release(slot);
    }

    /// The number of pinned pages.
    #[inline]
    #[must_use]
    pub fn pinned_len(&self) -> u32 {
        self.pinned
    }

    /// The number of clean pages.
    #[inline]
    #[must_use]
    pub fn clean_len(&self) -> u32 {
        self.table.len() - self.table.dirty_len()
    }

    /// The heap memory in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let policies: usize = self.policies.iter().map(Eviction::heap_bytes).sum();
        self.table.heap_bytes() + self.index.heap_bytes() + policies
    }

    /// Recount everything and panic on a mismatch. For tests: it visits all slots and pages.
    pub fn assert_invariants(&self) {
        self.table.assert_invariants();
        for slot in self.table.occupied() {
            assert_eq!(self.index.get(self.table.page_of(slot)), Some(slot), "index of the page in {slot:?}");
        }
        let indexed = self.index.count();
        assert_eq!(indexed, self.table.len() as usize, "pages in the index and pages in slots");
        let pinned = self.table.occupied().filter(|&slot| self.table.is_pinned(slot)).count();
        assert_eq!(pinned, self.pinned as usize, "count of pinned pages");
        let mut tracked = IdVec::<SlotId, bool>::filled(false, self.table.capacity() as usize);
        for (class, policy) in self.policies.iter().enumerate() {
            policy.tracked(&mut |slot| {
                assert!(self.table.is_occupied(slot), "a policy tracks {slot:?}, which is free");
                assert!(!self.table.is_pinned(slot), "a policy tracks {slot:?}, which is pinned");
                assert_eq!(
                    self.class(self.table.is_dirty(slot)),
                    class,
                    "{slot:?} is in the order of the other class"
                );
                assert!(!std::mem::replace(&mut tracked[slot], true), "{slot:?} is tracked twice");
            });
        }
        let listed = tracked.iter().filter(|&&tracked| tracked).count();
        assert_eq!(listed + pinned, self.table.len() as usize, "every page is in an order or pinned");
    }
}

impl Deref for SplitCache {
    type Target = SlotTable;
    #[inline]
    fn deref(&self) -> &SlotTable {
        &self.table
    }
}
