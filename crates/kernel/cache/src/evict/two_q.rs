//! 2Q: new pages pass through a short FIFO; only pages that are used again soon after it get into an LRU list (T.
//! Johnson & D. Shasha, "2Q: A Low Overhead High Performance Buffer Management Replacement Algorithm", VLDB 1994; the
//! full version with the paper's sizes).
//!
//! A1in is a FIFO of new pages, A1out the ghosts of those evicted from it, Am an LRU list of pages that arrived while
//! they were in A1out. A hit in A1in changes nothing, since uses shortly after each other belong together. As long as
//! A1in holds more than `in_share` of the cache, its oldest page is evicted, else the last of Am. Our choice where the
//! paper leaves it open: an arriving page leaves A1out before room is made for it. Every hook is O(1); 9 bytes per
//! slot, 13 per ghost and 4 per logical page.

use super::EvictionPolicy;
use super::queues::Queues;
use crate::ghosts::Ghosts;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{Lpn, Policy, Save, Share};

coflash_base::config! {
    /// Parameters of `2q`.
    #[derive(Copy)]
    pub struct TwoQConfig {
        /// The size of A1in as a share of the cache (Kin).
        pub in_share: Share = Share::percent(25),
        /// The number of ghosts in A1out as a share of the pages of the cache (Kout).
        pub out_share: Share = Share::percent(50),
    }
}

const A1_IN: usize = 0;
const AM: usize = 1;
const A1_OUT: u8 = 0;

/// The 2Q policy.
#[derive(Clone, Save)]
pub struct TwoQ {
    queues: Queues<2>,
    in_max: u32,
    out: Ghosts,
    named: Option<SlotId>,
}

impl Policy for TwoQ {
    type Config = TwoQConfig;
    const SUMMARY: &'static str =
        "A FIFO of new pages before an LRU list of those that were used again after they left it.";
    const SOURCE: &'static str = "Johnson & Shasha, VLDB 1994";
    const NEEDS: &'static str = "15.5 B a slot, 4 B a logical page";
}

impl EvictionPolicy for TwoQ {
    fn new(config: &TwoQConfig, shape: CacheShape) -> Self {
        let share = |share: Share| share.part_of(u64::from(shape.slots)) as u32;
        Self {
            queues: Queues::new(shape.slots),
            in_max: share(config.in_share),
            out: Ghosts::new(1, share(config.out_share), shape),
            named: None,
        }
    }

    #[inline]
    fn arriving(&mut self, lpn: Lpn) {
        self.out.arriving(lpn);
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let returns = self.out.arrived(table.page_of(slot)).is_some();
        self.queues.push(if returns { AM } else { A1_IN }, slot);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        if self.queues.queue_of(slot) == AM {
            self.queues.move_to(AM, slot);
        }
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        let is_evicted = self.named.take() == Some(slot);
        if self.queues.take(slot) == A1_IN && is_evicted {
            self.out.remember_latest(A1_OUT, table.page_of(slot));
        }
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        let (oldest, coldest) = (self.queues.back(A1_IN), self.queues.back(AM));
        self.named = if self.queues.len(A1_IN) > self.in_max { oldest } else { coldest.or(oldest) };
        self.named
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queues.iter().for_each(show);
    }
}
