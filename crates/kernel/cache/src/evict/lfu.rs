//! Least frequently used: evict the page with the fewest uses since it was inserted; among equals, the one used longest
//! ago (folklore).
//!
//! Pages with equal numbers of uses share a list, and the lists are in order (K. Shah, A. Mitra & D. Matani, "An O(1)
//! Algorithm for Implementing the LFU Cache Eviction Scheme", 2010). The number of uses is lost with the page. Every
//! hook is O(1); 36 bytes per slot.

use super::EvictionPolicy;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{IdVec, Index, List, Lists, Policy, Save, id_type};

id_type!(
    /// The pages with the same number of uses.
    Frequency
);

/// The LFU policy.
#[derive(Clone, Save)]
pub struct Lfu {
    /// The pages of each frequency, the one used last in front.
    pages: Lists<SlotId>,
    frequency_of: IdVec<SlotId, Option<Frequency>>,
    /// Frequencies with pages, the highest in front.
    order: List<Frequency>,
    uses: IdVec<Frequency, u32>,
    unused: Vec<Frequency>,
}

impl Lfu {
    /// Put a page into the frequency of `uses` if it is `next`, or into a new one behind `next` in the order.
    #[inline]
    fn put(&mut self, slot: SlotId, uses: u32, next: Option<Frequency>, lower: Option<Frequency>) {
        let frequency = match next.filter(|&next| self.uses[next] == uses) {
            Some(frequency) => frequency,
            None => {
                let frequency = self.unused.pop().expect("there are no more frequencies than pages");
                self.uses[frequency] = uses;
                match lower {
                    Some(lower) => self.order.insert_before(lower, frequency),
                    None => self.order.push_back(frequency),
                }
                frequency
            }
        };
        self.pages.push_front(frequency.get(), slot);
        self.frequency_of[slot] = Some(frequency);
    }

    #[inline]
    fn take(&mut self, slot: SlotId) {
        let frequency = self.frequency_of[slot].take().expect("it is in a list");
        self.pages.remove(slot);
        if self.pages.back(frequency.get()).is_none() {
            self.order.remove(frequency);
            self.unused.push(frequency);
        }
    }
}

impl Policy for Lfu {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Evicts the page with the fewest uses since it was inserted.";
    const SOURCE: &'static str = "folklore; in O(1) by Shah, Mitra & Matani, 2010";
    const NEEDS: &'static str = "36 B a slot";
}

impl EvictionPolicy for Lfu {
    fn new(_: &NoParameters, shape: CacheShape) -> Self {
        let slots = shape.slots;
        Self {
            pages: Lists::new(slots, slots),
            frequency_of: IdVec::filled(None, slots as usize),
            order: List::new(slots),
            uses: IdVec::filled(0, slots as usize),
            unused: (0..slots as usize).rev().map(Frequency::from_index).collect(),
        }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, _: &SlotTable) {
        let lowest = self.order.back();
        self.put(slot, 1, lowest, None);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        let frequency = self.frequency_of[slot].expect("it is in a list");
        let uses = self.uses[frequency].saturating_add(1);
        let next = self.order.before(frequency);
        let list = frequency.get();
        let is_alone = self.pages.front(list) == self.pages.back(list);
        if is_alone && next.is_none_or(|next| self.uses[next] != uses) {
            self.uses[frequency] = uses;
        } else if uses > self.uses[frequency] {
            self.take(slot);
            self.put(slot, uses, next, Some(frequency));
        }
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.take(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.pages.back(self.order.back()?.get())
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.order.iter().flat_map(|frequency| self.pages.iter(frequency.get())).for_each(show);
    }
}
