//! PT-LRU: three LRU lists. Evict cold clean pages first, then cold dirty ones more often than hot clean ones (J. Cui,
//! W. Wu, Y. Wang & Z. Duan, "PT-LRU: A Probabilistic Page Replacement Algorithm for NAND Flash-Based Consumer
//! Electronics", IEEE Transactions on Consumer Electronics 60(4), 2014).
//!
//! A page is hot once it was used again. While there are cold clean pages, the least recently used of them is
//! evicted. Otherwise a dirty page is evicted in `dirty_share` of all cases, and the least recently used hot
//! clean page in the others, so that hot clean pages do not stay indefinitely. Dirty pages are evicted in LRU
//! order, but a hot page becomes cold at its turn and moves to the front. Two choices are ours: the default
//! share (the paper varies it), and an exact share instead of a random draw, so that no seed is needed. O(1)
//! amortised; 10 bytes per slot.

use super::EvictionPolicy;
use super::queues::Queues;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Policy, Save, Share};

coflash_base::config! {
    /// Parameters of `pt-lru`.
    #[derive(Copy)]
    pub struct PtLruConfig {
        /// If no clean page is cold: the share of evictions that take a dirty page instead of a hot clean one.
        pub dirty_share: Share = Share::percent(75),
    }
}

const COLD_CLEAN: usize = 0;
const HOT_CLEAN: usize = 1;
const DIRTY: usize = 2;

/// The PT-LRU policy.
#[derive(Clone, Save)]
pub struct PtLru {
    queues: Queues<3>,
    hot: IdVec<SlotId, bool>,
    dirty_share: Share,
    /// The balance of dirty evictions, in billionths: at a half or more, the next eviction takes a dirty page.
    dirty_balance_ppb: i64,
    /// The named victim, and the balance after its eviction.
    named: Option<(SlotId, i64)>,
}

impl PtLru {
    /// The list that a page belongs to.
    #[inline]
    fn list_for(&self, slot: SlotId, table: &SlotTable) -> usize {
        match (table.is_dirty(slot), self.hot[slot]) {
            (true, _) => DIRTY,
            (false, true) => HOT_CLEAN,
            (false, false) => COLD_CLEAN,
        }
    }

    /// The next dirty page to evict.
    fn cold_dirty(&mut self) -> Option<SlotId> {
        let mut slot = self.queues.back(DIRTY)?;
        while self.hot[slot] {
            self.hot[slot] = false;
            self.queues.move_to(DIRTY, slot);
            slot = self.queues.back(DIRTY)?;
        }
        Some(slot)
    }
}

impl Policy for PtLru {
    type Config = PtLruConfig;
    const SUMMARY: &'static str =
        "Evicts cold clean pages first, then cold dirty ones more often than hot clean ones.";
    const SOURCE: &'static str = "Cui, Wu, Wang & Duan, IEEE TCE 60(4), 2014";
    const NEEDS: &'static str = "10 B a slot";
}

impl EvictionPolicy for PtLru {
    fn new(config: &PtLruConfig, shape: CacheShape) -> Self {
        Self {
            queues: Queues::new(shape.slots),
            hot: IdVec::filled(false, shape.slots as usize),
            dirty_share: config.dirty_share,
            dirty_balance_ppb: 0,
            named: None,
        }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        self.hot[slot] = false;
        self.queues.push(self.list_for(slot, table), slot);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.hot[slot] = true;
        self.queues.move_to(self.list_for(slot, table), slot);
    }

    #[inline]
    fn flagged(&mut self, slot: SlotId, table: &SlotTable) {
        self.queues.move_to(self.list_for(slot, table), slot);
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.queues.take(slot);
        if let Some((named, dirty_balance_ppb)) = self.named.take()
            && named == slot
        {
            self.dirty_balance_ppb = dirty_balance_ppb;
        }
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        self.named = None;
        if let Some(slot) = self.queues.back(COLD_CLEAN) {
            return Some(slot);
        }
        let hot_clean = self.queues.back(HOT_CLEAN);
        let (Some(clean), Some(_)) = (hot_clean, self.queues.back(DIRTY)) else {
            return hot_clean.or_else(|| self.cold_dirty());
        };
        let one = Share::ONE.ppb as i64;
        let balance = self.dirty_balance_ppb + self.dirty_share.ppb as i64;
        let (slot, paid) = if balance >= one / 2 { (self.cold_dirty()?, one) } else { (clean, 0) };
        self.named = Some((slot, balance - paid));
        Some(slot)
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queues.iter().for_each(show);
    }
}
