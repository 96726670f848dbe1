//! CLOCK, or second chance: the pages stand in a ring, and a hand passes over those used since it last came by
//! (F. J. Corbató, "A Paging Experiment with the Multics System", 1968).
//!
//! A hit sets a bit and moves nothing. The ring is a list cut open at the hand: the page under the hand is at the back,
//! and the hand moves on by taking the back to the front. `victim` is O(1) amortised, since each step of the hand undoes
//! a hit; 9 bytes a slot.
//!
//! Two choices the paper leaves open. New pages come in with their bit unset: they have a whole turn to prove themselves
//! anyway (zipf(1.0), a cache of a tenth: 78.5 % hits, and 77.1 % with the bit set). And the ring is one of pages, not of
//! slots, which would need no links: in a ring of slots a page that fills the gap of a trimmed one may stand just ahead
//! of the hand, and the hand walks for long over a nearly empty cache.

use super::{EvictionPolicy, Shape};
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
    fn new(_: &NoParameters, shape: Shape) -> Self {
        Self { ring: List::new(shape.slots), referenced: IdVec::filled(false, shape.slots as usize) }
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
