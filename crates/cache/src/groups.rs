//! Cached pages by the block of the address space they belong to, for policies that have whole blocks leave.

use crate::evict::Shape;
use crate::list::Lists;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, id_type};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

id_type!(
    /// As many neighbouring logical pages as a flash block has.
    GroupId
);

/// Parameters of a policy that goes by blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BlocksConfig {
    /// Logical pages that count as one block, from 1 to 65535; meant to be those of a flash block.
    pub block_pages: NonZeroU16,
}

impl Default for BlocksConfig {
    fn default() -> Self {
        Self { block_pages: NonZeroU16::new(64).expect("not zero") }
    }
}

/// The cached pages of each block. 8 bytes a slot and 12 a block of the address space.
#[derive(Clone)]
pub(crate) struct Groups {
    pub(crate) block_pages: u32,
    /// A list for each group, of its pages, the one that came first at the back.
    members: Lists<SlotId>,
    lens: IdVec<GroupId, u32>,
}

impl Groups {
    pub(crate) fn new(config: BlocksConfig, shape: Shape) -> Self {
        let block_pages = u32::from(config.block_pages.get());
        // Without slots there is nothing to be kept.
        let groups = if shape.slots == 0 { 0 } else { shape.pages.div_ceil(block_pages) };
        Self {
            block_pages,
            members: Lists::new(groups, shape.slots),
            lens: IdVec::filled(0, groups as usize),
        }
    }

    /// How many groups there may be.
    pub(crate) fn count(&self) -> u32 {
        self.lens.len() as u32
    }

    /// Where the page in `slot` belongs: its group, and its place there.
    #[inline]
    pub(crate) fn place_of(&self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let page = table.page_of(slot).get();
        (GroupId::new(page / self.block_pages), page % self.block_pages)
    }

    #[inline]
    pub(crate) fn group_of(&self, slot: SlotId, table: &SlotTable) -> GroupId {
        self.place_of(slot, table).0
    }

    /// How many pages of the group are cached.
    #[inline]
    pub(crate) fn len(&self, group: GroupId) -> u32 {
        self.lens[group]
    }

    /// The page of the group that came first.
    #[inline]
    pub(crate) fn oldest(&self, group: GroupId) -> Option<SlotId> {
        self.members.back(group.get())
    }

    /// Tells the group, and how many pages it has now.
    #[inline]
    pub(crate) fn add(&mut self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let group = self.group_of(slot, table);
        self.members.push_front(group.get(), slot);
        self.lens[group] += 1;
        (group, self.lens[group])
    }

    /// Tells the group, and how many pages it has left.
    #[inline]
    pub(crate) fn remove(&mut self, slot: SlotId, table: &SlotTable) -> (GroupId, u32) {
        let group = self.group_of(slot, table);
        self.members.remove(slot);
        self.lens[group] -= 1;
        (group, self.lens[group])
    }

    /// The pages of a group.
    pub(crate) fn pages(&self, group: GroupId) -> impl Iterator<Item = SlotId> {
        self.members.iter(group.get())
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.members.heap_bytes() + self.lens.heap_bytes()
    }
}

/// Groups by how many cached pages they have; of equals, the one that was put there last is at the front.
#[derive(Clone)]
pub(crate) struct ByLen {
    lists: Lists<GroupId>,
    /// No group has more pages.
    most: u32,
}

impl ByLen {
    pub(crate) fn new(groups: &Groups) -> Self {
        // A page may lie in two slots for a moment, as it is and as it was committed.
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
    /// mark by one at most, unless a group was away from here.
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

    /// Every group here, in no order that matters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = GroupId> {
        (1..=self.most).flat_map(|len| self.lists.iter(len))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.lists.heap_bytes()
    }
}

/// The block whose pages are leaving. A policy names one page at a time; once the first of a block has left, the rest
/// follow, unless the block is used again meanwhile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Leaving {
    named: Option<SlotId>,
    group: Option<GroupId>,
}

impl Leaving {
    /// The group that is leaving already.
    #[inline]
    pub(crate) fn group(self) -> Option<GroupId> {
        self.group
    }

    /// Names the next page of a group that leaves.
    #[inline]
    pub(crate) fn name(&mut self, group: GroupId, groups: &Groups) -> Option<SlotId> {
        self.named = groups.oldest(group);
        self.named
    }

    /// A group was used: it stays after all.
    #[inline]
    pub(crate) fn used(&mut self, group: GroupId) {
        if self.group == Some(group) {
            self.group = None;
        }
    }

    /// A page has left its group, which has so many left.
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
        let groups = Groups::new(BlocksConfig::default(), Shape { slots: 0, pages: 1 << 20 });
        assert_eq!(groups.count(), 0);
        assert!(ByLen::new(&groups).fullest().is_none());
    }
}
