//! LB-CLOCK: a clock of blocks. Among the blocks not used since the hand last passed, evict the one with the
//! most cached pages (B. Debnath, S. Subramanya, D. Du & D. J. Lilja, "Large Block CLOCK (LB-CLOCK): A Write
//! Caching Algorithm for Solid State Disks", MASCOTS 2009).
//!
//! Recency and size balance by themselves: with many blocks in use the hand finds few candidates, with few in
//! use it finds many. The hand clears the bits of blocks until it meets a clear bit, and passes that block,
//! too, so that it always moves. All blocks with a clear bit are candidates. Ties go to the block that has
//! been a candidate longest. All pages of a block are evicted one after the other. O(1) amortised, since each
//! step of the hand clears a bit set by a use; 8 bytes per slot and 29 per block.

use super::EvictionPolicy;
use crate::groups::{BlockEviction, BlocksConfig, ByLen, GroupId, Groups};
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, List, Policy, Save};

/// The LB-CLOCK policy.
#[derive(Clone, Save)]
pub struct LbClock {
    groups: Groups,
    /// The ring as a list; the hand is at the back.
    ring: List<GroupId>,
    /// Whether the block was used since the hand last passed it.
    referenced: IdVec<GroupId, bool>,
    candidates: ByLen,
    evicting: BlockEviction,
    /// The result of the hand's last move, while nothing has changed.
    chosen: Option<GroupId>,
}

impl LbClock {
    #[inline]
    fn used(&mut self, group: GroupId) {
        if !std::mem::replace(&mut self.referenced[group], true) {
            self.candidates.remove(group);
        }
        self.evicting.used(group);
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
        "A hand goes round the blocks; of those not used lately the fullest is evicted as a whole.";
    const SOURCE: &'static str = "Debnath, Subramanya, Du & Lilja, MASCOTS 2009";
}

impl EvictionPolicy for LbClock {
    fn new(config: &BlocksConfig, shape: CacheShape) -> Self {
        let groups = Groups::new(*config, shape);
        Self {
            ring: List::new(groups.count()),
            referenced: IdVec::filled(false, groups.count() as usize),
            candidates: ByLen::new(&groups),
            groups,
            evicting: BlockEviction::default(),
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
        self.evicting.removed(slot, group, left);
        self.chosen = None;
    }

    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        if self.chosen.is_none() {
            self.chosen = self.evicting.group().or_else(|| self.choose());
        }
        self.evicting.name(self.chosen?, &self.groups)
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
