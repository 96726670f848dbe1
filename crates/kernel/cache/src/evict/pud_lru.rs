//! PUD-LRU: keep blocks that will be updated soon, and evict the block with the most cached pages among the others (J.
//! Hu, H. Jiang, L. Tian & L. Xu, "PUD-LRU: An Erase-Efficient Write Buffer Management Algorithm for Flash Memory SSD",
//! MASCOTS 2010).
//!
//! The predicted average update distance (PUD) of a block is the mean number of cache accesses between two
//! updates of the block, with a weight of one half for each new distance; it is at least the time since the
//! last update. Blocks with a PUD up to the mean of all cached blocks form the frequently updated group. The
//! others, and blocks never updated while cached, form the infrequently updated group. Our choices where the
//! paper leaves them open: an update is a hit, so a sequential write is none; a block is classified at each
//! update, and leaves the frequent group once its time since the last update exceeds the mean. All pages of a
//! block are evicted one after the other. O(1) amortised; 8 bytes per slot and 40 per block.

use super::EvictionPolicy;
use crate::groups::{BlockEviction, BlocksConfig, ByLen, GroupId, Groups};
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, List, Policy, Save};

/// A block that was not updated while it was cached.
const NONE: u32 = 0;

/// The PUD-LRU policy.
#[derive(Clone, Save)]
pub struct PudLru {
    groups: Groups,
    /// The number of cache accesses so far. It wraps around, and so do distances.
    now: u32,
    last_use: IdVec<GroupId, u32>,
    /// The average distance between updates, rounded up.
    pud: IdVec<GroupId, u32>,
    pud_sum: u64,
    pud_count: u32,
    frequent: List<GroupId>,
    infrequent: ByLen,
    evicting: BlockEviction,
}

impl PudLru {
    /// Classify a block of `len` pages that was used.
    fn used(&mut self, group: GroupId, len: u32, updated: bool) {
        let distance = self.now.wrapping_sub(self.last_use[group]).max(1);
        self.now = self.now.wrapping_add(1);
        self.last_use[group] = self.now;
        if updated {
            let before = self.pud[group];
            let pud = if before == NONE { distance } else { before.midpoint(distance).max(1) };
            self.forget(group);
            self.pud[group] = pud;
            self.pud_sum += u64::from(pud);
            self.pud_count += 1;
        }
        let pud = self.pud[group];
        if pud != NONE && pud <= self.mean() {
            self.frequent.push_front(group);
        } else {
            self.infrequent.push_front(group, len);
        }
        self.evicting.used(group);
    }

    fn mean(&self) -> u32 {
        (self.pud_sum / u64::from(self.pud_count.max(1))) as u32
    }

    /// Remove the block from the mean.
    fn forget(&mut self, group: GroupId) {
        let pud = std::mem::replace(&mut self.pud[group], NONE);
        self.pud_sum -= u64::from(pud);
        self.pud_count -= u32::from(pud != NONE);
    }

    fn unlink(&mut self, group: GroupId) {
        if self.infrequent.contains(group) {
            self.infrequent.remove(group);
        } else {
            self.frequent.remove(group);
        }
    }

    /// Move blocks out of the frequent group if their time since the last update exceeds the mean.
    fn demote(&mut self) {
        while let Some(group) = self.frequent.back() {
            if self.now.wrapping_sub(self.last_use[group]) <= self.mean() {
                break;
            }
            self.frequent.remove(group);
            self.infrequent.push_front(group, self.groups.len(group));
        }
    }
}

impl Policy for PudLru {
    type Config = BlocksConfig;
    const SUMMARY: &'static str =
        "Evicts the fullest of the blocks whose next update is predicted to be far, as a whole.";
    const SOURCE: &'static str = "Hu, Jiang, Tian & Xu, MASCOTS 2010";
}

impl EvictionPolicy for PudLru {
    fn new(config: &BlocksConfig, shape: CacheShape) -> Self {
        let groups = Groups::new(*config, shape);
        let count = groups.count();
        Self {
            now: 0,
            last_use: IdVec::filled(0, count as usize),
            pud: IdVec::filled(NONE, count as usize),
            pud_sum: 0,
            pud_count: 0,
            frequent: List::new(count),
            infrequent: ByLen::new(&groups),
            groups,
            evicting: BlockEviction::default(),
        }
    }

    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, len) = self.groups.add(slot, table);
        if len > 1 {
            self.unlink(group);
        }
        self.used(group, len, false);
    }

    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        let group = self.groups.group_of(slot, table);
        self.unlink(group);
        self.used(group, self.groups.len(group), true);
    }

    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, left) = self.groups.remove(slot, table);
        if left == 0 {
            self.unlink(group);
            self.forget(group);
        } else if self.infrequent.contains(group) {
            self.infrequent.remove(group);
            self.infrequent.push_back(group, left);
        }
        self.evicting.removed(slot, group, left);
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.demote();
        let evicting = self.evicting.group();
        let group = evicting.or_else(|| self.infrequent.fullest()).or_else(|| self.frequent.back())?;
        self.evicting.name(group, &self.groups)
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        let groups = self.frequent.iter().chain(self.infrequent.iter());
        groups.flat_map(|group| self.groups.pages(group)).for_each(show);
    }

    fn unit_pages(&self) -> u32 {
        self.groups.block_pages
    }

    fn heap_bytes(&self) -> usize {
        self.groups.heap_bytes()
            + self.last_use.heap_bytes()
            + self.pud.heap_bytes()
            + self.frequent.heap_bytes()
            + self.infrequent.heap_bytes()
    }
}
