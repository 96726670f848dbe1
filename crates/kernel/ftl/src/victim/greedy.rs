//! Greedy: the block with the least cost of cleaning.
//!
//! Candidates are in buckets by cost. Each bucket is an intrusive list in the order of arrival, so a cost
//! change moves a block in constant time. A cursor marks the lowest bucket that may be occupied. It rises
//! only as far as it fell: O(1) amortised per pick.

use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::{Ahead, Lists, Policy, Save};

coflash_base::config! {
    /// The choice among several cheapest blocks.
    pub enum Tie, default Oldest {
        /// The block that has had its cost for longest.
        Oldest,
        /// The block that got its cost last.
        Newest,
        /// The block with the highest number (as in the reference simulator); searches the whole bucket.
        HighestBlock,
    }

    /// Parameters of `greedy`.
    #[derive(Copy, Eq)]
    pub struct GreedyConfig {
        /// The choice among several cheapest blocks; the oldest has had its cost for longest.
        pub tie: Tie,
    }
}

/// The greedy policy.
#[derive(Clone, Save)]
pub struct Greedy {
    tie: Tie,
    buckets: Lists<LocalBlock>,
    bucket_count: u32,
    /// Every bucket below this is empty.
    lowest: u32,
}

impl Policy for Greedy {
    type Config = GreedyConfig;
    const SUMMARY: &'static str = "The block with the fewest pages to copy.";
    const SOURCE: &'static str = "Rosenblum & Ousterhout 1992; Bux & Iliadis 2010";
}

impl VictimPolicy for Greedy {
    fn new(config: &GreedyConfig, pool: Pool) -> Self {
        let bucket_count = pool.cost_max + 1;
        Self { tie: config.tie, buckets: Lists::new(bucket_count, pool.blocks), bucket_count, lowest: 0 }
    }

    #[inline(always)]
    fn sealed(&mut self, block: LocalBlock, cost: u32) {
        self.buckets.push_back(cost, block);
        self.lowest = self.lowest.min(cost);
    }

    #[inline(always)]
    fn look_ahead(&self, block: LocalBlock, ahead: Ahead) {
        match ahead {
            Ahead::Last => self.buckets.prefetch_neighbours(block),
            Ahead::Far | Ahead::Near => self.buckets.prefetch(block),
        }
    }

    #[inline]
    fn next(&self) -> Option<LocalBlock> {
        let mut buckets = self.lowest..self.bucket_count;
        buckets.find_map(|bucket| self.buckets.front(bucket)).filter(|_| self.tie == Tie::Oldest)
    }

    #[inline(always)]
    fn cost_changed(&mut self, block: LocalBlock, _: u32, new: u32) {
        self.buckets.move_to_back(new, block);
        self.lowest = self.lowest.min(new);
    }

    #[inline(always)]
    fn removed(&mut self, block: LocalBlock, _: u32) {
        self.buckets.remove(block);
    }

    #[inline]
    fn pick(&mut self, _: Candidates<'_>) -> Option<LocalBlock> {
        while self.lowest < self.bucket_count {
            if let Some(oldest) = self.buckets.front(self.lowest) {
                return match self.tie {
                    Tie::Oldest => Some(oldest),
                    Tie::Newest => self.buckets.back(self.lowest),
                    Tie::HighestBlock => self.buckets.iter(self.lowest).max(),
                };
            }
            self.lowest += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::{Scale, Weight, Weights};

    /// The block that is told to be next, and the one that is picked.
    fn pick(tie: Tie) -> [Option<u32>; 2] {
        let pool = Pool { blocks: 5, cost_max: 4, seed: coflash_base::Seed(0) };
        let mut greedy = Greedy::new(&GreedyConfig { tie }, pool);
        for (block, cost) in [(0, 4), (3, 2), (1, 3), (2, 2)] {
            greedy.sealed(LocalBlock::new(block), cost);
        }
        greedy.cost_changed(LocalBlock::new(1), 3, 2);
        let scale = &Scale::new(1, Weights::all(Weight::FULL), 4);
        let candidates = Candidates { blocks: &[], histories: &[], scale, pages: 4, now: 0 };
        [greedy.next(), greedy.pick(candidates)].map(|block| block.map(LocalBlock::get))
    }

    #[test]
    fn ties_go_by_the_rule() {
        assert_eq!(pick(Tie::Oldest), [Some(3), Some(3)]);
        assert_eq!(pick(Tie::Newest), [None, Some(1)]);
        assert_eq!(pick(Tie::HighestBlock), [None, Some(3)]);
    }
}
