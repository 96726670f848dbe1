//! LB-CLOCK: a clock of blocks; of those not used since the hand last came by, the one with the most cached pages leaves
//! (B. Debnath, S. Subramanya, D. Du & D. J. Lilja, "Large Block CLOCK (LB-CLOCK): A Write Caching Algorithm for Solid
//! State Disks", MASCOTS 2009).
//!
//! Recency and size take turns by themselves: where many blocks are in use the hand finds few candidates, where few are it
//! finds many to choose from. The hand clears the bits of the blocks it passes until it meets one whose bit is clear, and
//! passes that too, so that it never stands still; all blocks whose bit is clear are candidates. Of equals the one that has
//! been a candidate longest leaves. All pages of a block leave one after the other. O(1) amortised, since each step of the
//! hand undoes a use; 8 bytes a slot and 29 a block.

use super::{EvictionPolicy, Shape};
use crate::groups::{BlocksConfig, ByLen, GroupId, Groups, Leaving};
use crate::list::List;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Policy};

/// See the module.
#[derive(Clone)]
pub struct LbClock {
    groups: Groups,
    /// The ring, cut open at the hand, which is at the back.
    ring: List<GroupId>,
    /// Whether the block was used since the hand last passed it.
    referenced: IdVec<GroupId, bool>,
    candidates: ByLen,
    leaving: Leaving,
    /// What the hand's last move led to, as long as nothing has changed.
    chosen: Option<GroupId>,
}

impl LbClock {
    #[inline]
    fn used(&mut self, group: GroupId) {
        if !std::mem::replace(&mut self.referenced[group], true) {
            self.candidates.remove(group);
        }
        self.leaving.used(group);
        self.chosen = None;
    }

    fn choose(&mut self) -> Option<GroupId> {
        loop {
            let group = self.ring.back()?;
            self.ring.move_to_front(group);
            if !self.referenced[group] {
                break;
            }
            self.referenced[group] = false;
            self.candidates.push_front(group, self.groups.len(group));
        }
        self.candidates.fullest()
    }
}

impl Policy for LbClock {
    type Config = BlocksConfig;
    const SUMMARY: &'static str =
        "A hand goes round the blocks; of those not used lately, the fullest leaves whole.";
    const SOURCE: &'static str = "Debnath, Subramanya, Du & Lilja, MASCOTS 2009";
}

impl EvictionPolicy for LbClock {
    fn new(config: &BlocksConfig, shape: Shape) -> Self {
        let groups = Groups::new(*config, shape);
        Self {
            ring: List::new(groups.count()),
            referenced: IdVec::filled(false, groups.count() as usize),
            candidates: ByLen::new(&groups),
            groups,
            leaving: Leaving::default(),
            chosen: None,
        }
    }

    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, len) = self.groups.add(slot, table);
        if len == 1 {
            self.ring.push_front(group);
            self.referenced[group] = true;
            self.chosen = None;
        } else {
            self.used(group);
        }
    }

    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.used(self.groups.group_of(slot, table));
    }

    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let (group, left) = self.groups.remove(slot, table);
        if !self.referenced[group] {
            self.candidates.remove(group);
            if left > 0 {
                self.candidates.push_back(group, left);
            }
        }
        if left == 0 {
            self.ring.remove(group);
        }
        self.leaving.removed(slot, group, left);
        self.chosen = None;
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        if self.chosen.is_none() {
            self.chosen = self.leaving.group().or_else(|| self.choose());
        }
        self.leaving.name(self.chosen?, &self.groups)
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.ring.iter().flat_map(|group| self.groups.pages(group)).for_each(show);
    }

    fn unit_pages(&self) -> u32 {
        self.groups.block_pages
    }

    fn heap_bytes(&self) -> usize {
        self.groups.heap_bytes()
            + self.ring.heap_bytes()
            + self.referenced.heap_bytes()
            + self.candidates.heap_bytes()
    }
}
