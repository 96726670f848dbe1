//! PUD-LRU: blocks that will be updated soon stay, and of the others the one with the most cached pages leaves (J. Hu,
//! H. Jiang, L. Tian & L. Xu, "PUD-LRU: An Erase-Efficient Write Buffer Management Algorithm for Flash Memory SSD", MASCOTS
//! 2010).
//!
//! The predicted average update distance (PUD) of a block is the number of uses of the cache between two of the block, as
//! an average in which each new distance counts half, and is no shorter than the block's present silence. Blocks at or
//! under the mean of all cached blocks with a PUD are the frequently updated group, the others and those never updated
//! while they were cached the infrequently updated one. What the paper leaves open is settled thus: an update is a hit, so
//! that a sequential write is none; a block is sorted at each update, and leaves the frequent group once its silence is
//! longer than the mean. All pages of a block leave one after the other. O(1) amortised; 8 bytes a slot and 40 a block.

use super::{EvictionPolicy, Shape};
use crate::groups::{BlocksConfig, ByLen, GroupId, Groups, Leaving};
use crate::list::List;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Policy};

/// A block that was not updated while it was cached.
const NONE: u32 = 0;

/// See the module.
#[derive(Clone)]
pub struct PudLru {
    groups: Groups,
    /// Uses of the cache so far; it wraps round, and distances with it.
    now: u32,
    last_use: IdVec<GroupId, u32>,
    /// The average distance between updates, rounded up.
    pud: IdVec<GroupId, u32>,
    pud_sum: u64,
    pud_count: u32,
    frequent: List<GroupId>,
    infrequent: ByLen,
    leaving: Leaving,
}

impl PudLru {
    /// Sorts a block that was used, and has `len` pages.
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
        self.leaving.used(group);
    }

    fn mean(&self) -> u32 {
        (self.pud_sum / u64::from(self.pud_count.max(1))) as u32
    }

    /// Takes the block out of the mean.
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

    /// Blocks that have been silent for longer than the mean are frequent no more.
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
        "Of the blocks whose next update is predicted to be far, the fullest leaves whole.";
    const SOURCE: &'static str = "Hu, Jiang, Tian & Xu, MASCOTS 2010";
}

impl EvictionPolicy for PudLru {
    fn new(config: &BlocksConfig, shape: Shape) -> Self {
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
            leaving: Leaving::default(),
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
        self.leaving.removed(slot, group, left);
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.demote();
        let leaving = self.leaving.group();
        let group = leaving.or_else(|| self.infrequent.fullest()).or_else(|| self.frequent.back())?;
        self.leaving.name(group, &self.groups)
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
