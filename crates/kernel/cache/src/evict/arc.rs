//! ARC: two LRU lists, of pages used once and of pages used again. Hits in their ghost lists adapt the sizes
//! (N. Megiddo & D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003).
//!
//! T1 holds pages used once, T2 pages used again; B1 and B2 are their ghost lists. A page that arrives from
//! B1 raises the target of T1, one from B2 lowers it, by the ratio of the ghost lists. T1 and B1 hold at most
//! as many pages as the cache, and so do B1 and B2. If T1 alone is as large as the cache, its victim becomes
//! no ghost. The target is a fraction, as in the paper's analysis. An eviction without an arriving page
//! counts as an eviction for a page that is no ghost. Every hook is O(1); 22 bytes per slot and 4 per logical
//! page.

use super::EvictionPolicy;
use super::queues::Queues;
use crate::ghosts::Ghosts;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::policy::NoParameters;
use coflash_base::{Lpn, Policy, Save};

const ONCE: usize = 0;
const AGAIN: usize = 1;

/// The ARC policy.
#[derive(Clone, Save)]
pub struct Arc {
    slots: u32,
    /// T1 and T2.
    queues: Queues<2>,
    /// B1 and B2.
    ghosts: Ghosts,
    ghost_lens: [u32; 2],
    /// The target size of T1, p in the paper.
    target: f64,
    named: Option<SlotId>,
}

impl Arc {
    fn forget_oldest(&mut self, list: usize) {
        if let Some(ghost) = self.ghosts.oldest(list as u8) {
            self.ghosts.forget(ghost);
            self.ghost_lens[list] -= 1;
        }
    }

    /// Make a ghost of a page that is evicted from a list, and forget others that are too many.
    fn remember(&mut self, list: usize, lpn: Lpn) {
        if let Some(older) = self.ghosts.find(lpn) {
            self.ghost_lens[usize::from(self.ghosts.list_of(older))] -= 1;
            self.ghosts.forget(older);
        }
        let returns = self.ghosts.list_of_arriving().is_some();
        // Counts include the page that is evicted.
        if !returns && self.queues.len(ONCE) + self.ghost_lens[ONCE] >= self.slots {
            if self.ghost_lens[ONCE] == 0 {
                return;
            }
            self.forget_oldest(ONCE);
        }
        if self.ghosts.is_full() {
            self.forget_oldest(if self.ghost_lens[AGAIN] > 0 { AGAIN } else { ONCE });
        }
        self.ghosts.remember(list as u8, lpn);
        self.ghost_lens[list] += 1;
    }
}

impl Policy for Arc {
    type Config = NoParameters;
    const SUMMARY: &'static str =
        "Two LRU lists, of pages used once and used again, whose sizes adapt to what returns.";
    const SOURCE: &'static str = "Megiddo & Modha, FAST 2003";
    const NEEDS: &'static str = "22 B a slot, 4 B a logical page";
}

impl EvictionPolicy for Arc {
    fn new(_: &NoParameters, shape: CacheShape) -> Self {
        Self {
            slots: shape.slots,
            queues: Queues::new(shape.slots),
            ghosts: Ghosts::new(2, shape.slots, shape),
            ghost_lens: [0; 2],
            target: 0.0,
            named: None,
        }
    }

    #[inline]
    fn arriving(&mut self, lpn: Lpn) {
        if let Some(ghost) = self.ghosts.find(lpn) {
            let list = usize::from(self.ghosts.list_of(ghost));
            let step = (f64::from(self.ghost_lens[1 - list]) / f64::from(self.ghost_lens[list])).max(1.0);
            let change = if list == ONCE { step } else { -step };
            self.target = (self.target + change).clamp(0.0, f64::from(self.slots));
            self.ghost_lens[list] -= 1;
        }
        self.ghosts.arriving(lpn);
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let lpn = table.page_of(slot);
        self.arriving(lpn);
        let returns = self.ghosts.arrived(lpn).is_some();
        self.queues.push(if returns { AGAIN } else { ONCE }, slot);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        self.queues.move_to(AGAIN, slot);
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        if self.named.take() == Some(slot) {
            self.remember(self.queues.queue_of(slot), table.page_of(slot));
        }
        self.queues.take(slot);
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let once = f64::from(self.queues.len(ONCE));
        let returns_to_again = self.ghosts.list_of_arriving() == Some(AGAIN as u8);
        let from_once = if returns_to_again { once >= self.target } else { once > self.target };
        let [first, second] = [ONCE, AGAIN].map(|list| self.queues.back(list));
        self.named = if from_once { first.or(second) } else { second.or(first) };
        self.named
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queues.iter().for_each(show);
    }
}
