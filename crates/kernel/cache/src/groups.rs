//! Cached pages grouped by block of the address space, for policies that evict whole blocks.

use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Lists, Save, id_type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

id_type!(
    /// A group: a block of neighbouring logical pages, usually as many as in a flash block.
    GroupId
);

/// Parameters of a policy that evicts whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BlocksConfig {
    /// Number of logical pages of a block, from 1 to 65535; usually as many as in a flash block.
    pub block_pages: NonZeroU16,
}

impl Default for BlocksConfig {
    fn default() -> Self {
        Self { block_pages: NonZeroU16::new(64).expect("not zero") }
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

    /// The number of cached pages of the group.
    #[inline]
    pub(crate) fn len(&self, group: GroupId) -> u32 {
        self.lens[group]
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

    pub(crate) fn heap_bytes(&self) -> usize {
        self.members.heap_bytes() + self.lens.heap_bytes()
    }
}

/// Groups by the number of their cached pages; at equal numbers, the group added last is at the front.
#[derive(Clone, Save)]
pub(crate) struct ByLen {
    lists: Lists<GroupId>,
    /// An upper bound of the number of pages of any group.
    most: u32,
}

impl ByLen {
    pub(crate) fn new(groups: &Groups) -> Self {
        // A page may be in two slots at once: the current version and the committed one.
        let lens = if groups.count() == 0 { 0 } else { 2 * groups.block_pages + 1 };
        Self { lists: Lists::new(lens, groups.count()), most: 0 }
    }

    #[inline]
    pub(crate) fn contains(&self, group: GroupId) -> bool {
        self.lists.contains(group)
    }

    #[inline]
    pub(crate) fn push_front(&mut self, group: GroupId, len: u32) {
        self.lists.push_front(len, group);
        self.most = self.most.max(len);
    }

    #[inline]
    pub(crate) fn push_back(&mut self, group: GroupId, len: u32) {
        self.lists.push_back(len, group);
        self.most = self.most.max(len);
    }

    #[inline]
    pub(crate) fn remove(&mut self, group: GroupId) {
        self.lists.remove(group);
    }

    /// Of the groups with the most pages, the one that has been there longest. O(1) amortised: an insertion raises the
    /// bound by at most one, unless a removed group returns.
    #[inline]
    pub(crate) fn fullest(&mut self) -> Option<GroupId> {
        while self.most > 0 {
            if let Some(group) = self.lists.back(self.most) {
                return Some(group);
            }
            self.most -= 1;
        }
        None
    }

    /// All groups here, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = GroupId> {
        (1..=self.most).flat_map(|len| self.lists.iter(len))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.lists.heap_bytes()
    }
}

/// The block that is being evicted. A policy names one page at a time; after the first page of a block the others
/// follow, unless the block is used again meanwhile.
#[derive(Clone, Copy, Default, Save)]
pub(crate) struct BlockEviction {
    named: Option<SlotId>,
    group: Option<GroupId>,
}

impl BlockEviction {
    /// The group that is partly evicted.
    #[inline]
    pub(crate) fn group(self) -> Option<GroupId> {
        self.group
    }

    /// Name the next page of a group to evict.
    #[inline]
    pub(crate) fn name(&mut self, group: GroupId, groups: &Groups) -> Option<SlotId> {
        self.named = groups.oldest(group);
        self.named
    }

    /// Stop the eviction of a group that was used.
    #[inline]
    pub(crate) fn used(&mut self, group: GroupId) {
        if self.group == Some(group) {
            self.group = None;
        }
    }

    /// Note that a page was removed from its group; `left` pages are left.
    #[inline]
    pub(crate) fn removed(&mut self, slot: SlotId, group: GroupId, left: u32) {
        if self.named == Some(slot) {
            self.group = Some(group);
        }
        if left == 0 {
            self.used(group);
        }
        self.named = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_without_slots() {
        let groups = Groups::new(BlocksConfig::default(), CacheShape { slots: 0, pages: 1 << 20 });
        assert_eq!(groups.count(), 0);
        assert!(ByLen::new(&groups).fullest().is_none());
    }

    #[test]
    fn a_group_may_have_two_versions_of_all_its_pages() {
        let block_pages = NonZeroU16::new(2).expect("not zero");
        let groups = Groups::new(BlocksConfig { block_pages }, CacheShape { slots: 8, pages: 4 });
        let mut by_len = ByLen::new(&groups);
        by_len.push_front(GroupId::new(1), 4);
        by_len.push_front(GroupId::new(0), 3);
        assert_eq!(by_len.fullest(), Some(GroupId::new(1)));
    }
}
