//! Cached pages grouped by block of the address space, for policies that evict whole blocks.

use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Lists, Save, id_type};
use std::num::NonZeroU16;

id_type!(
    /// A group: a block of neighbouring logical pages, usually as many as in a flash block.
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

/// The cached pages of each group. 8 bytes per slot and 12 per group.
#[derive(Clone, Save)]
pub(crate) struct Groups {
    pub(crate) block_pages: u32,
    /// The pages of each group, the oldest at the back.
    members: Lists<SlotId>,
    lens: IdVec<GroupId, u32>,
}

impl Groups {
    pub(crate) fn new(config: BlocksConfig, shape: CacheShape) -> Self {
        let block_pages = u32::from(config.block_pages.get());
        // A cache without slots needs no lists.
        let groups = if shape.slots == 0 { 0 } else { shape.pages.div_ceil(block_pages) };
        Self {
            block_pages,
            members: Lists::new(groups, shape.slots),
            lens: IdVec::filled(0, groups as usize),
        }
    }

    /// The number of groups.
    pub(crate) fn count(&self) -> u32 {
        self.lens.len() as u32
    }

    /// The group of the page in `slot`, and its index there.
    #[inline]
    pub(crate) fn place_of(&self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let page = table.page_of(slot).get();
        (GroupId::new(page / self.block_pages), page % self.block_pages)
    }

    #[inline]
    pub(crate) fn group_of(&self, slot: SlotId, table: &SlotTable) -> GroupId {
        self.place_of(slot, table).0
    }

    /// The oldest page of the group.
    #[inline]
    pub(crate) fn oldest(&self, group: GroupId) -> Option<SlotId> {
        self.members.back(group.get())
    }

    /// Add a page. Returns its group and the number of cached pages there.
    #[inline]
    pub(crate) fn add(&mut self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let group = self.group_of(slot, table);
        self.members.push_front(group.get(), slot);
        self.lens[group] += 1;
        (group, self.lens[group])
    }

    /// Remove a page. Returns its group and the number of pages left there.
    #[inline]
    pub(crate) fn remove(&mut self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let group = self.group_of(slot, table);
        self.members.remove(slot);
        self.lens[group] -= 1;
        (group, self.lens[group])
    }

    /// The cached pages of a group.
    pub(crate) fn pages(&self, group: GroupId) -> impl Iterator<Item = SlotId> {
        self.members.iter(group.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_without_slots() {
        let groups = Groups::new(BlocksConfig::default(), CacheShape { slots: 0, pages: 1 << 20 });
        assert_eq!(groups.count(), 0);
    }
}
