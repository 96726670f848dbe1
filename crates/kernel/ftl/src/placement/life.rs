//! The mean life of blocks with short-lived pages.

use super::Cleaned;
use coflash_base::Save;

/// The number of blocks in the mean.
const BLOCKS: u64 = 16;

/// The mean life of the 16 blocks of class 0 cleaned last, from their first page to their cleaning, in pages
/// written. It is updated once per 16 blocks.
#[derive(Clone, Save)]
pub(super) struct Life {
    /// The mean; the greatest number until there are 16 blocks.
    pub(super) mean: u64,
    /// The number of blocks cleaned since the last update, and the sum of their lives.
    blocks: u64,
    sum: u64,
}

impl Default for Life {
    fn default() -> Self {
        Self { mean: u64::MAX, blocks: 0, sum: 0 }
    }
}

impl Life {
    /// Learn from a victim.
    pub(super) fn cleaned(&mut self, block: Cleaned) {
        if block.class.get() != 0 {
            return;
        }
        self.blocks += 1;
        self.sum = self.sum.saturating_add(block.now.saturating_sub(block.opened_at));
        if self.blocks >= BLOCKS {
            self.mean = self.sum / self.blocks;
            (self.blocks, self.sum) = (0, 0);
        }
    }
}
