//! Static wear levelling. Blocks with cold data are never erased, however evenly the other blocks are used. Therefore a
//! block that was erased `wear_gap` times more often than a block of cold data takes over this data and rests; the
//! less-worn block is used in its place.
//!
//! Only sealed blocks are considered. An active block of an unused stream keeps its low count, so the gap is
//! bounded except for one block of each such stream in a pool. Sealing it half empty does not help: GC would
//! copy its data into the next less-worn block, which would be sealed again.
//!
//! Moving cold data when wear is uneven: Chang, Hsieh & Kuo, "Endurance enhancement of flash-memory storage systems: an
//! efficient static wear leveling design", DAC 2007. The gap as the measure, and the swap with a worn block: L.-P.
//! Chang, "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007 (the dual-pool
//! algorithm).

use super::Ftl;
use super::allocator::{Active, Taken};
use super::collector::Cleaning;
use crate::block::State;
use crate::config::{FtlConfig, WearLevelling};
use crate::ids::PoolId;
use coflash_base::{IdVec, Save};
use coflash_media::{BlockId, Cause};

/// The state of wear levelling in a pool.
#[derive(Clone, Copy, Debug, Default, Save)]
struct Pool {
    /// The block that takes over cold data, during the move.
    cold: Active,
    /// A lower bound of the erase counts of its blocks.
    erases_min: u32,
}

/// The state of wear levelling.
#[derive(Clone, Save)]
pub(super) struct Wear {
    /// The erases by which a block must be ahead of the least-erased one; `None` where cold data stays.
    gap: Option<u32>,
    pools: IdVec<PoolId, Pool>,
}

impl Wear {
    pub(super) fn new(config: &FtlConfig, pools: u32) -> Self {
        Self {
            gap: if let WearLevelling::Static { gap } = config.wear_levelling { Some(gap) } else { None },
            pools: IdVec::filled(Pool::default(), pools as usize),
        }
    }

    /// The block that takes over cold data.
    pub(super) fn cold(&self, pool: PoolId) -> Active {
        self.pools[pool].cold
    }
}

impl Ftl {
    /// Move cold data to a block that GC has just erased, if it is worn enough. No other free block is
    /// needed.
    #[inline]
    pub(super) fn take_over_cold(&mut self, pool: PoolId, worn: BlockId) -> bool {
        let erases = self.histories[worn].erases;
        let Some(gap) = self.wear.gap else { return false };
        if erases <= self.wear.pools[pool].erases_min.saturating_add(gap) {
            return false;
        }
        let Some(block) = self.coldest(pool) else {
            return false;
        };
        if erases.saturating_sub(self.histories[block].erases) <= gap {
            return false;
        }
        self.seize(pool, block);
        self.blocks[worn].state = State::Open;
        self.refresh.opened(worn, erases);
        self.placer.took_over(worn, block);
        self.wear.pools[pool].cold = Active { block: Some(worn), next: 0 };
        self.collector.set_cleaning(pool, Cleaning { block, cause: Cause::WearLevelling, dropped: false });
        true
    }

    /// The least-erased full block. Ties go to the block sealed first.
    fn coldest(&mut self, pool: PoolId) -> Option<BlockId> {
        let blocks = || self.dims.blocks_of(pool);
        // Erase counts only rise, so this bound stays valid.
        self.wear.pools[pool].erases_min = blocks().map(|block| self.histories[block].erases).min()?;
        blocks()
            .filter(|&block| self.blocks[block].is_full())
            .min_by_key(|&block| (self.histories[block].erases, self.histories[block].sealed_at))
    }

    /// Take the next page for cold data.
    pub(super) fn take_cold_page(&mut self, pool: PoolId) -> Taken {
        let cold = &mut self.wear.pools[pool].cold;
        let (block, index) = (cold.block.expect("cold data is being moved"), cold.next);
        cold.next += 1;
        Taken { block, index, page: self.geometry.page(block, index) }
    }

    pub(super) fn seal_cold_if_full(&mut self, pool: PoolId) -> bool {
        let full = self.wear.cold(pool).next == self.dims.data_pages_per_block;
        if full {
            self.close_cold(pool);
        }
        full
    }

    /// End the move of cold data. The block is sealed even if it is not full: the source may have had invalid
    /// pages. The block gets no summary.
    pub(super) fn close_cold(&mut self, pool: PoolId) {
        match std::mem::take(&mut self.wear.pools[pool].cold) {
            Active { block: None, .. } => {}
            Active { block: Some(block), next: 0 } => self.hand_back(pool, block),
            Active { block: Some(block), .. } => self.seal(pool, block),
        }
    }
}
