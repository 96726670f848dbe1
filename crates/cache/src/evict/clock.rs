//! CLOCK, or second chance: the pages stand in a ring, and a hand passes over those used since it last came by
//! (F. J. Corbató, "A Paging Experiment with the Multics System", 1968).
//!
//! A hit sets a bit and moves nothing. The ring is a list cut open at the hand: the page under the hand is at the back,
//! and the hand moves on by taking the back to the front. New pages come in just behind the hand, with their bit unset:
//! they have a whole turn to prove themselves. A ring of slots would need no links, but there a page that fills the gap
//! of a trimmed one stands anywhere, perhaps just ahead of the hand, and a hand over a nearly empty cache walks for long.
//! `victim` is O(1) amortised, each step of the hand undoing one hit; 9 bytes a slot.

use super::EvictionPolicy;
use crate::list::List;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{IdVec, Policy};

/// See the module.
#[derive(Clone)]
pub struct Clock {
    ring: List<SlotId>,
    /// Whether the page was used since the hand last passed it.
    referenced: IdVec<SlotId, bool>,
}

impl Policy for Clock {
    type Config = NoParameters;
    const SUMMARY: &'static str =
        "A hand goes round the pages; the first one not used since its last turn leaves.";
    const SOURCE: &'static str = "F. J. Corbató, A Paging Experiment with the Multics System, 1968";
}

impl EvictionPolicy for Clock {
    fn new(_: &NoParameters, slots: u32) -> Self {
        Self { ring: List::new(slots), referenced: IdVec::filled(false, slots as usize) }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, _: &SlotTable) {
        self.ring.push_front(slot);
        self.referenced[slot] = false;
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        self.referenced[slot] = true;
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.ring.remove(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let mut slot = self.ring.back()?;
        while self.referenced[slot] {
            self.referenced[slot] = false;
            self.ring.move_to_front(slot);
            slot = self.ring.back()?;
        }
        Some(slot)
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.ring.iter().for_each(show);
    }

    fn heap_bytes(&self) -> usize {
        self.ring.heap_bytes() + self.referenced.heap_bytes()
    }
}
