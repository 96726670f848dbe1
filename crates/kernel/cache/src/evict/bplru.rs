//! BPLRU: evict the least recently used block, all its pages one after the other (H. Kim & S. Ahn, "BPLRU: A Buffer
//! Management Scheme for Improving Random Writes in Flash Storage", FAST 2008).
//!
//! The paper has three parts. Block-level LRU is the order of eviction. LRU compensation evicts a block next that was
//! written sequentially from its first page to its last, since it will hardly be written again soon. Page padding reads
//! the missing pages of an evicted block, so that a block-mapped FTL can switch blocks; with a page map it would only
//! add writes, so it is omitted. 8 bytes per slot and 24 per block.

use super::EvictionPolicy;
use crate::groups::{BlocksConfig, GroupId, Groups};
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, List, Policy, Save};

/// A block that was not written in order, or was used again.
const OUT_OF_ORDER: u32 = u32::MAX;

/// The BPLRU policy.
#[derive(Clone, Save)]
pub struct Bplru {
    groups: Groups,
    recent: List<GroupId>,
    /// The number of pages written in order from the first on.
    in_order: IdVec<GroupId, u32>,
}

impl Policy for Bplru {
    type Config = BlocksConfig;
    const SUMMARY: &'static str =
        "Evicts the least recently used block as a whole, and a sequentially written one next.";
    const SOURCE: &'static str = "Kim & Ahn, FAST 2008";
}

impl EvictionPolicy for Bplru {
    fn new(config: &BlocksConfig, shape: CacheShape) -> Self {
        let groups = Groups::new(*config, shape);
        Self {
            recent: List::new(groups.count()),
            in_order: IdVec::filled(0, groups.count() as usize),
            groups,
        }
    }

    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let (_, offset) = self.groups.place_of(slot, table);
        let (group, len) = self.groups.add(slot, table);
        if len > 1 {
            self.recent.remove(group);
        } else {
            self.in_order[group] = 0;
        }
        let in_order = &mut self.in_order[group];
        *in_order = if offset == *in_order { offset + 1 } else { OUT_OF_ORDER };
        if *in_order == self.groups.block_pages {
            self.recent.push_back(group);
        } else {
            self.recent.push_front(group);
        }
    }

    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        let group = self.groups.group_of(slot, table);
        self.in_order[group] = OUT_OF_ORDER;
        self.recent.move_to_front(group);
    }

    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, left) = self.groups.remove(slot, table);
        if left == 0 {
            self.recent.remove(group);
        }
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.groups.oldest(self.recent.back()?)
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.recent.iter().flat_map(|group| self.groups.pages(group)).for_each(show);
    }

    fn unit_pages(&self) -> u32 {
        self.groups.block_pages
    }
}
