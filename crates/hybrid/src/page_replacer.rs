//! Page Replacer: which pages leave the caches, and how dirty ones go to the disk: in groups, in the order in which an
//! elevator passes them.

use crate::partition_resizer::Limits;
use coflash_base::{IdVec, Lpn, id_type};
use coflash_cache::{EvictionConfig, Orders, SlotId, SplitCache};

id_type!(
    /// Pages that leave together: a group on its way to the disk, or pages that a request overwrites past the cache.
    LeaveId
);

/// Pages that leave together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leave {
    /// Where they lie. One that was overwritten since stays.
    pub(crate) slots: Vec<SlotId>,
    /// The pages that a request overwrites past the cache; none for a group.
    pub(crate) overwritten: Option<(Lpn, u32)>,
}

/// See the module.
#[derive(Clone)]
pub struct PageReplacer {
    pub(crate) cache: SplitCache,
    orders: Orders,
    group_pages: u32,
    /// With which others each page leaves.
    leaves_with: IdVec<SlotId, Option<LeaveId>>,
    leaves: Vec<Option<Leave>>,
    free: Vec<LeaveId>,
    group: Vec<(Lpn, SlotId)>,
}

/// What has to go for the caches to keep their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Nothing,
    /// A clean page.
    Clean(SlotId),
    /// A group of dirty ones.
    Dirty,
}

impl PageReplacer {
    pub(crate) fn new(
        config: &EvictionConfig,
        orders: Orders,
        slots: u32,
        disk_pages: usize,
        group_pages: u32,
    ) -> Self {
        Self {
            cache: SplitCache::new(config, slots, disk_pages, orders),
            orders,
            group_pages,
            leaves_with: IdVec::filled(None, slots as usize),
            leaves: Vec::new(),
            free: Vec::new(),
            group: Vec::with_capacity(group_pages as usize),
        }
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let slots: usize =
            self.leaves.iter().flatten().map(|leave| leave.slots.capacity() * size_of::<SlotId>()).sum();
        self.cache.heap_bytes()
            + self.leaves_with.heap_bytes()
            + self.leaves.capacity() * size_of::<Option<Leave>>()
            + slots
    }

    /// Dirty pages that are not leaving.
    #[inline]
    pub(crate) fn dirty_pages(&self) -> u32 {
        self.cache.dirty_len() - self.cache.pinned_len()
    }

    /// What has to go next, with so many clean pages to come. The write cache may always hold a group: destaging page by page
    /// would cost a seek for each.
    #[inline]
    pub(crate) fn excess(&mut self, limits: Limits, coming: u32) -> Excess {
        match self.orders {
            Orders::Own => {
                if self.dirty_pages() > limits.write_pages.max(self.group_pages) {
                    return Excess::Dirty;
                }
                if self.cache.clean_len() + coming > limits.read_pages {
                    return self.cache.victim(false).map_or(Excess::Nothing, Excess::Clean);
                }
                Excess::Nothing
            }
            Orders::Common => {
                if self.cache.len() - self.cache.pinned_len() + coming <= limits.pages().max(self.group_pages)
                {
                    return Excess::Nothing;
                }
                match self.cache.victim(true) {
                    Some(slot) if self.cache.is_dirty(slot) => Excess::Dirty,
                    Some(slot) => Excess::Clean(slot),
                    None => Excess::Nothing,
                }
            }
        }
    }

    /// A clean page that may go, to make room for another.
    pub(crate) fn clean_victim(&mut self) -> Option<SlotId> {
        self.cache.victim(false).filter(|&slot| !self.cache.is_dirty(slot))
    }

    /// Takes the next dirty victims out of their order, as a group in the order of their addresses. With a common order,
    /// the clean ones that it meets on the way go, too, and `drop` is told of each.
    pub(crate) fn take_group(&mut self, mut drop: impl FnMut(SlotId)) -> (LeaveId, Vec<SlotId>) {
        self.group.clear();
        while self.group.len() < self.group_pages as usize {
            let Some(slot) = self.cache.victim(true) else { break };
            if self.cache.is_dirty(slot) {
                self.cache.pin(slot);
                self.group.push((self.cache.page_of(slot), slot));
            } else {
                self.cache.remove(slot);
                drop(slot);
            }
        }
        self.group.sort_unstable();
        let slots: Vec<_> = self.group.iter().map(|&(_, slot)| slot).collect();
        let id = self.begin(Leave { slots: slots.clone(), overwritten: None });
        (id, slots)
    }

    /// Pages begin to leave; those in slots are pinned.
    pub(crate) fn begin(&mut self, leave: Leave) -> LeaveId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.leaves.push(None);
            LeaveId::new(self.leaves.len() as u32 - 1)
        });
        for &slot in &leave.slots {
            self.leaves_with[slot] = Some(id);
        }
        self.leaves[id.get() as usize] = Some(leave);
        id
    }

    /// Pages have left: with those slots whose pages were not overwritten since.
    pub(crate) fn end(&mut self, id: LeaveId) -> Leave {
        let mut leave = self.leaves[id.get() as usize].take().expect("it began and has not ended");
        self.free.push(id);
        leave.slots.retain(|&slot| self.leaves_with[slot] == Some(id));
        for &slot in &leave.slots {
            self.leaves_with[slot] = None;
        }
        leave
    }

    /// A page stays after all, or is gone: it was overwritten or trimmed.
    #[inline]
    pub(crate) fn stays(&mut self, slot: SlotId) {
        self.leaves_with[slot] = None;
    }

    /// Whether a page leaves with a group still: it was not overwritten since.
    #[inline]
    pub(crate) fn leaves(&self, id: LeaveId, page: Lpn) -> bool {
        self.cache.lookup(page).is_some_and(|slot| self.leaves_with[slot] == Some(id))
    }

    /// Whether a request that has not ended overwrites the page in `slot` past the cache, and it was not overwritten since.
    pub(crate) fn is_outdated(&self, slot: SlotId) -> bool {
        let with = self.leaves_with[slot].and_then(|id| self.leaves[id.get() as usize].as_ref());
        with.is_some_and(|leave| leave.overwritten.is_some())
    }

    /// Whether a request that has not ended overwrites the page past the cache.
    pub(crate) fn is_overwritten(&self, page: Lpn) -> bool {
        let covers = |leave: &Leave| {
            leave.overwritten.is_some_and(|(first, pages)| first <= page && page.get() - first.get() < pages)
        };
        self.leaves.len() > self.free.len() && self.leaves.iter().flatten().any(covers)
    }

    pub(crate) fn assert_invariants(&self) {
        self.cache.assert_invariants();
        for slot in self.leaves_with.ids() {
            let leaves = self.leaves_with[slot].is_some();
            let pinned = self.cache.is_occupied(slot) && self.cache.is_pinned(slot);
            assert_eq!(leaves, pinned, "{slot:?}: what leaves is pinned");
        }
    }
}
