//! S3-FIFO: a small FIFO filters pages that are used only once; the others enter a large FIFO with second
//! chances (J. Yang, Y. Zhang, Z. Qiu, Y. Yue & K. V. Rashmi, "FIFO Queues are All You Need for Cache
//! Eviction", SOSP 2023).
//!
//! The version is libCacheSim 0.3.5 with its defaults. New pages enter the small queue. If the main queue is
//! not larger than its share, the oldest page of the small queue is evicted and becomes a ghost; before that,
//! pages at its end with two or more uses move to the main queue. Otherwise the oldest page of the main queue
//! is evicted; before that, used pages at its end go back to its front, with one use less. Up to 3 uses are
//! counted. A page that arrives while it is a ghost enters the main queue. Two differences from the paper's
//! algorithm 1: until the first eviction, pages that do not fit in the small queue enter the main one; and a
//! page that moves to the main queue begins there with no uses.
//!
//! An arriving page stops being a ghost before room is made for it. A hit is counted, and moves nothing.
//! Every hook is O(1), `victim` amortised; 10 bytes per slot, 13 per ghost and 4 per logical page.

use super::EvictionPolicy;
use super::queues::Queues;
use crate::ghosts::Ghosts;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Lpn, Policy, Save, Share};

coflash_base::config! {
    /// Parameters of `s3-fifo`.
    #[derive(Copy)]
    pub struct S3FifoConfig {
        /// The small queue as a share of the cache, at least a page.
        pub small_share: Share = Share::percent(10),
        /// The number of ghosts as a share of the pages of the cache.
        pub ghost_share: Share = Share::percent(90),
    }
}

/// The uses of a page that moves from the small queue to the main one.
const USES_TO_MOVE: u8 = 2;
/// The most uses that are counted.
const USES_MAX: u8 = 3;

const SMALL: usize = 0;
const MAIN: usize = 1;

/// The S3-FIFO policy.
#[derive(Clone, Save)]
pub struct S3Fifo {
    /// The newest page in front.
    queues: Queues<2>,
    maxima: [u32; 2],
    uses: IdVec<SlotId, u8>,
    ghosts: Ghosts,
    has_evicted: bool,
    /// The victim, while nothing has changed.
    named: Option<SlotId>,
}

impl S3Fifo {
    fn choose(&mut self) -> Option<SlotId> {
        if self.queues.len(MAIN) <= self.maxima[MAIN] {
            while let Some(slot) = self.queues.back(SMALL) {
                if self.uses[slot] < USES_TO_MOVE {
                    return Some(slot);
                }
                self.queues.move_to(MAIN, slot);
                self.uses[slot] = 0;
            }
        }
        loop {
            let slot = self.queues.back(MAIN)?;
            if self.uses[slot] == 0 {
                return Some(slot);
            }
            self.uses[slot] -= 1;
            self.queues.move_to(MAIN, slot);
        }
    }
}

impl Policy for S3Fifo {
    type Config = S3FifoConfig;
    const SUMMARY: &'static str =
        "A small FIFO sorts out pages used only once, before a large one with second chances.";
    const SOURCE: &'static str = "Yang, Zhang, Qiu, Yue & Rashmi, SOSP 2023; as in libCacheSim 0.3.5";
    const NEEDS: &'static str = "21.7 B a slot, 4 B a logical page";
}

impl EvictionPolicy for S3Fifo {
    fn new(config: &S3FifoConfig, shape: CacheShape) -> Self {
        let slots = shape.slots;
        let share = |share: Share| share.part_of(u64::from(slots)) as u32;
        let small = share(config.small_share).max(1).min(slots);
        Self {
            queues: Queues::new(slots),
            maxima: [small, slots - small],
            uses: IdVec::filled(0, slots as usize),
            ghosts: Ghosts::new(1, share(config.ghost_share), shape),
            has_evicted: false,
            named: None,
        }
    }

    #[inline]
    fn arriving(&mut self, lpn: Lpn) {
        self.ghosts.arriving(lpn);
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        let returns = self.ghosts.arrived(table.page_of(slot)).is_some();
        let overflows = !self.has_evicted && self.queues.len(SMALL) >= self.maxima[SMALL];
        self.queues.push(if returns || overflows { MAIN } else { SMALL }, slot);
        self.uses[slot] = 0;
        self.named = None;
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, _: &SlotTable) {
        self.uses[slot] = (self.uses[slot] + 1).min(USES_MAX);
        self.named = None;
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, table: &SlotTable) {
        self.queues.take(slot);
        if self.named.take() == Some(slot) {
            self.has_evicted = true;
            if self.queues.queue_of(slot) == SMALL {
                self.ghosts.remember_latest(0, table.page_of(slot));
            }
        }
    }

    #[inline]
    fn victim(&mut self, _: &SlotTable) -> Option<SlotId> {
        if self.named.is_none() {
            self.named = self.choose();
        }
        self.named
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queues.iter().for_each(show);
    }
}
