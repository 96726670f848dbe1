//! FAB: evict the block with the most cached pages, all its pages one after the other (H. Jo, J.-U. Kang, S.-Y. Park,
//! J.-S. Kim & J. Lee, "FAB: Flash-Aware Buffer Management Policy for Portable Media Players", IEEE Transactions on
//! Consumer Electronics 52(2), 2006).
//!
//! Ties go to the least recently used block; losing a page to a trim counts as a use. O(1) amortised: a list for each
//! number of pages. 8 bytes per slot and 20 per block.

use super::EvictionPolicy;
use crate::groups::{BlockEviction, BlocksConfig, ByLen, Groups};
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Policy, Save};

/// The FAB policy.
#[derive(Clone, Save)]
pub struct Fab {
    groups: Groups,
    by_len: ByLen,
    evicting: BlockEviction,
}

impl Policy for Fab {
    type Config = BlocksConfig;
    const SUMMARY: &'static str = "Evicts the block with the most cached pages as a whole.";
    const SOURCE: &'static str = "Jo, Kang, Park, Kim & Lee, IEEE TCE 52(2), 2006";
}

impl EvictionPolicy for Fab {
    fn new(config: &BlocksConfig, shape: CacheShape) -> Self {
        let groups = Groups::new(*config, shape);
        Self { by_len: ByLen::new(&groups), groups, evicting: BlockEviction::default() }
    }

    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, len) = self.groups.add(slot, table);
        if len > 1 {
            self.by_len.remove(group);
        }
        self.by_len.push_front(group, len);
        self.evicting.used(group);
    }

    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        let group = self.groups.group_of(slot, table);
        self.by_len.remove(group);
        self.by_len.push_front(group, self.groups.len(group));
        self.evicting.used(group);
    }

    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, left) = self.groups.remove(slot, table);
        self.by_len.remove(group);
        if left > 0 {
            self.by_len.push_back(group, left);
        }
        self.evicting.removed(slot, group, left);
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let group = self.evicting.group().or_else(|| self.by_len.fullest())?;
        self.evicting.name(group, &self.groups)
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.by_len.iter().flat_map(|group| self.groups.pages(group)).for_each(show);
    }

    fn unit_pages(&self) -> u32 {
        self.groups.block_pages
    }

    fn heap_bytes(&self) -> usize {
        self.groups.heap_bytes() + self.by_len.heap_bytes()
    }
}
