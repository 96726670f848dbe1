//! W-TinyLFU: a page that leaves a small LRU window is kept only if it was used more often lately than the page that
//! would be evicted for it (G. Einziger, R. Friedman & B. Manes, "TinyLFU: A Highly Efficient Cache Admission Policy",
//! ACM Transactions on Storage 13(4), 2017).
//!
//! New pages enter the window. Behind it is a segmented LRU list (SLRU): pages on probation, and protected ones that
//! were used there; too many protected pages fall back into probation. The last page of the window competes with the
//! last one on probation: the one with fewer uses is evicted, at equal numbers that of the window. Uses are counted up
//! to 15; after as many as `sample` times the pages of the cache, all counts are halved.
//!
//! The paper counts in a sketch of four hashes, with a Bloom filter before it, since keys are texts. Here every logical
//! page has a counter of its own, so counts are exact and the order of eviction depends on no hash. A counter is halved
//! when it is read. Every hook is O(1); 9 bytes per slot and 4 per logical page.

use super::EvictionPolicy;
use super::queues::Queues;
use crate::shape::CacheShape;
use crate::slots::{SlotId, SlotTable};
use coflash_base::{IdVec, Lpn, Policy, Save, Share};
use std::num::NonZeroU16;

coflash_base::config! {
    /// Parameters of `w-tinylfu`.
    #[derive(Copy)]
    pub struct WTinyLfuConfig {
        /// The window as a share of the cache, at least a page.
        pub window: Share = Share::percent(1),
        /// The protected pages as a share of those behind the window.
        pub protected: Share = Share::percent(80),
        /// The number of uses after which counts are halved, as a multiple of the pages of the cache.
        pub sample: NonZeroU16 = NonZeroU16::new(10).expect("not zero"),
    }
}

/// The uses of a page as of some halving.
#[derive(Clone, Copy, Default, Save)]
struct Count(u32);

impl Count {
    /// The bits of the number of uses; the others number the halving.
    const BITS: u32 = 4;
    const USES_MAX: u32 = (1 << Self::BITS) - 1;

    #[inline]
    fn uses(self, halvings: u32) -> u32 {
        let missed = halvings.wrapping_sub(self.0 >> Self::BITS) & (u32::MAX >> Self::BITS);
        (self.0 & Self::USES_MAX) >> missed.min(Self::BITS)
    }

    #[inline]
    fn used(self, halvings: u32) -> Self {
        Self(halvings << Self::BITS | (self.uses(halvings) + 1).min(Self::USES_MAX))
    }
}

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

/// The W-TinyLFU policy.
#[derive(Clone, Save)]
pub struct WTinyLfu {
    /// The page used last in front.
    queues: Queues<3>,
    window_max: u32,
    protected_max: u32,
    counts: IdVec<Lpn, Count>,
    halvings: u32,
    /// Uses since the counts were halved, and half of those before.
    uses: u64,
    uses_max: u64,
}

impl WTinyLfu {
    #[inline]
    fn count(&mut self, lpn: Lpn) {
        self.counts[lpn] = self.counts[lpn].used(self.halvings);
        self.uses += 1;
        if self.uses >= self.uses_max {
            self.uses /= 2;
            self.halvings = self.halvings.wrapping_add(1);
        }
    }

    /// Move the last page of a list that holds more than `most` to the front of those on probation.
    #[inline]
    fn overflow(&mut self, list: usize, most: u32) {
        if self.queues.len(list) > most
            && let Some(last) = self.queues.back(list)
        {
            self.queues.move_to(PROBATION, last);
        }
    }
}

impl Policy for WTinyLfu {
    type Config = WTinyLfuConfig;
    const SUMMARY: &'static str =
        "Pages leave a small window for the main part only if they were used more often than its victim.";
    const SOURCE: &'static str = "Einziger, Friedman & Manes, ACM TOS 13(4), 2017";
    const NEEDS: &'static str = "9 B a slot, 4 B a logical page";
}

impl EvictionPolicy for WTinyLfu {
    fn new(config: &WTinyLfuConfig, shape: CacheShape) -> Self {
        let slots = shape.slots;
        let window_max = config.window.part_of(u64::from(slots)).max(1).min(u64::from(slots)) as u32;
        let main = u64::from(slots - window_max);
        let pages = if slots == 0 { 0 } else { shape.pages as usize };
        Self {
            queues: Queues::new(slots),
            window_max,
            protected_max: config.protected.part_of(main) as u32,
            counts: IdVec::filled(Count::default(), pages),
            halvings: 0,
            uses: 0,
            uses_max: u64::from(config.sample.get()) * u64::from(slots),
        }
    }

    #[inline]
    fn inserted(&mut self, slot: SlotId, table: &SlotTable) {
        self.count(table.page_of(slot));
        self.queues.push(WINDOW, slot);
        self.overflow(WINDOW, self.window_max);
    }

    #[inline]
    fn touched(&mut self, slot: SlotId, table: &SlotTable) {
        self.count(table.page_of(slot));
        let list = self.queues.take(slot);
        self.queues.push(if list == WINDOW { WINDOW } else { PROTECTED }, slot);
        self.overflow(PROTECTED, self.protected_max);
    }

    #[inline]
    fn removed(&mut self, slot: SlotId, _: &SlotTable) {
        self.queues.take(slot);
    }

    #[inline]
    fn victim(&mut self, table: &SlotTable) -> Option<SlotId> {
        let candidate = self.queues.back(WINDOW);
        let rival = self.queues.back(PROBATION).or_else(|| self.queues.back(PROTECTED));
        let (Some(last), Some(other)) = (candidate, rival) else { return candidate.or(rival) };
        let uses = |slot| self.counts[table.page_of(slot)].uses(self.halvings);
        let stays = self.queues.len(WINDOW) < self.window_max || uses(last) > uses(other);
        if stays { rival } else { candidate }
    }

    fn tracked(&self, show: &mut dyn FnMut(SlotId)) {
        self.queues.iter().for_each(show);
    }
}
