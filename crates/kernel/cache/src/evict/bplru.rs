//! BPLRU: evict the least recently used block, all its pages one after the other (H. Kim & S. Ahn, "BPLRU: A Buffer
//! Management Scheme for Improving Random Writes in Flash Storage", FAST 2008).
//!
//! The paper has three parts. Block-level LRU is the order of eviction. LRU compensation evicts a block next that was
//! written sequentially from its first page to its last, since it will hardly be written again soon. Page padding reads
//! the missing pages of an evicted block, so that a block-mapped FTL can switch blocks; with a page map it would only
//! add writes, so it is omitted. 8 bytes per slot and 24 per block.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, List, Lists, Policy, Save, id_type};
use std::num::NonZeroU16;

id_type!(
    /// A block of neighbouring logical pages, usually as many as in a flash block.
    GroupId
);

coflash_base::config! {
    /// Parameters of a policy that evicts whole blocks.
    #[derive(Copy, Eq)]
    pub struct BlocksConfig {
        /// Number of logical pages of a block, from 1 to 65535; usually as many as in a flash block.
        pub block_pages: NonZeroU16 = NonZeroU16::new(64).expect("not zero"),
    }
}

/// A block that was not written in order, or was used again.
const OUT_OF_ORDER: u32 = u32::MAX;

/// The BPLRU policy.
#[derive(Clone, Save)]
pub struct Bplru {
    block_pages: u32,
    recent: List<GroupId>,
    /// The cached pages of each block, the oldest at the back.
    pages: Lists<SlotId>,
    lens: IdVec<GroupId, u32>,
    /// The number of pages written in order from the first on.
    in_order: IdVec<GroupId, u32>,
}

impl Bplru {
    /// The block of the page in `slot`, and its index there.
    #[inline]
    fn place_of(&self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let page = table.page_of(slot).get();
        (GroupId::new(page / self.block_pages), page % self.block_pages)
    }
}

impl Policy for Bplru {
    type Config = BlocksConfig;
    const SUMMARY: &'static str =
        "Evicts the least recently used block as a whole, and a sequentially written one next.";
    const SOURCE: &'static str = "Kim & Ahn, FAST 2008";
    const NEEDS: &'static str = "8 B a slot, 0.375 B a logical page";
}

impl EvictionPolicy for Bplru {
    fn new(config: &BlocksConfig, shape: CacheShape) -> Self {
        let block_pages = u32::from(config.block_pages.get());
        // A cache without slots needs no lists.
        let groups = if shape.slots == 0 { 0 } else { shape.pages.div_ceil(block_pages) };
        let counts = IdVec::filled(0, groups as usize);
        Self {
            block_pages,
            recent: List::new(groups),
            pages: Lists::new(groups, shape.slots),
            lens: counts.clone(),
            in_order: counts,
        }
    }

    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, offset) = self.place_of(slot, table);
        self.pages.push_front(group.get(), slot);
        self.lens[group] += 1;
        if self.lens[group] > 1 {
            self.recent.remove(group);
        } else {
            self.in_order[group] = 0;
        }
        let in_order = &mut self.in_order[group];
        *in_order = if offset == *in_order { offset + 1 } else { OUT_OF_ORDER };
        if *in_order == self.block_pages {
            self.recent.push_back(group);
        } else {
            self.recent.push_front(group);
        }
    }

    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        let group = self.place_of(slot, table).0;
        self.in_order[group] = OUT_OF_ORDER;
        self.recent.move_to_front(group);
    }

    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, _) = self.place_of(slot, table);
        self.pages.remove(slot);
        self.lens[group] -= 1;
        if self.lens[group] == 0 {
            self.recent.remove(group);
        }
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.pages.back(self.recent.back()?.get())
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.recent.iter().flat_map(|group| self.pages.iter(group.get())).for_each(show);
    }

    fn unit_pages(&self) -> u32 {
        self.block_pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_without_slots() {
        let policy = Bplru::new(&BlocksConfig::default(), CacheShape { slots: 0, pages: 1 << 20 });
        assert_eq!((policy.lens.len(), policy.in_order.len()), (0, 0));
    }
}
