//! Static wear levelling: blocks that hold cold data are never erased, however evenly the others are handed out. So a
//! block that has been erased `wear_gap` times more often than one full of cold data takes that data over, and rests; the
//! young block takes its place among those that are written.
//!
//! Only sealed blocks are looked at. One that stays open because its stream is no longer written stays young, so the gap is
//! bounded but for one block of each such stream in a pool. To seal it half empty is no remedy: GC would copy what it holds
//! into the next young block, and that would be sealed again.
//!
//! Moving cold data where the wear is uneven: Chang, Hsieh & Kuo, "Endurance enhancement of flash-memory storage systems: an
//! efficient static wear leveling design", DAC 2007. The gap as the measure, and the swap with a worn block: L.-P. Chang,
//! "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007 (the dual-pool algorithm).

use crate::block::State;
use crate::config::WearLevelling;
use crate::ftl::Ftl;
use crate::pool::{Active, Cleaning, Taken};
use coflash_flash::{BlockId, Cause};

impl Ftl {
    /// Lets a block that GC has just erased take over cold data, if it is worn enough. That needs no other free block.
    #[inline]
    pub(crate) fn take_over_cold(&mut self, pool: usize, worn: BlockId) -> bool {
        let most = self.pools[pool].erases_min.saturating_add(self.wear_gap);
        if self.wear_levelling != WearLevelling::Static || self.blocks.erases[worn] <= most {
            return false;
        }
        let Some(block) = self.coldest(pool) else {
            return false;
        };
        if self.blocks.erases[worn].saturating_sub(self.blocks.erases[block]) <= self.wear_gap {
            return false;
        }
        let first_block = self.pools[pool].first_block;
        self.pools[pool].victim.removed(block.get() - first_block, self.blocks.cost[block]);
        self.blocks.state[block] = State::Victim;
        self.blocks.state[worn] = State::Open;
        self.pools[pool].cold = Active { block: Some(worn), next: 0 };
        self.pools[pool].cleaning = Some(Cleaning { block, cause: Cause::WearLevelling, dropped: false });
        true
    }

    /// The least-erased sealed block; of equals the one that was sealed first.
    fn coldest(&mut self, pool: usize) -> Option<BlockId> {
        let first = self.pools[pool].first_block;
        let blocks = || (first..first + self.dims.blocks_per_pool).map(BlockId::new);
        // Erase counts do not fall, so this holds from now on.
        self.pools[pool].erases_min = blocks().map(|block| self.blocks.erases[block]).min()?;
        blocks()
            .filter(|&block| self.blocks.state[block] == State::Sealed)
            .min_by_key(|&block| (self.blocks.erases[block], self.blocks.sealed_at[block]))
    }

    /// The next page for cold data.
    pub(crate) fn take_cold_page(&mut self, pool: usize) -> Taken {
        let cold = &mut self.pools[pool].cold;
        let (block, index) = (cold.block.expect("cold data is being moved"), cold.next);
        cold.next += 1;
        Taken { block, index, page: self.geometry.page(block, index) }
    }

    pub(crate) fn seal_cold_if_full(&mut self, pool: usize) -> bool {
        let full = self.pools[pool].cold.next == self.dims.data_pages_per_block;
        if full {
            self.close_cold(pool);
        }
        full
    }

    /// Ends the taking over of cold data. A block that is not full is sealed all the same: it lacks as many pages as were
    /// invalid where the data came from. It gets no summary.
    pub(crate) fn close_cold(&mut self, pool: usize) {
        match std::mem::take(&mut self.pools[pool].cold) {
            Active { block: None, .. } => {}
            Active { block: Some(block), next: 0 } => self.hand_back(pool, block),
            Active { block: Some(block), .. } => self.seal(pool, block),
        }
    }
}
