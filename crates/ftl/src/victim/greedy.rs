//! Greedy: the block that costs least to clean.
//!
//! Candidates lie in buckets by cost, each an intrusive list in the order of arrival, so a cost change moves a block in
//! constant time. The cursor below which every bucket is empty rises only as far as it fell: O(1) amortised per pick.

use super::{Blocks, Pool, VictimPolicy};
use coflash_base::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;

/// Which of several cheapest blocks is cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// The one that has had its cost for longest.
    #[default]
    Oldest,
    /// The one that came to its cost last.
    Newest,
    /// The one with the highest block number (the reference simulator does this); searches the whole bucket.
    HighestBlock,
}

/// Parameters of `greedy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GreedyConfig {
    /// Which of several cheapest blocks is cleaned.
    pub tie: Tie,
}

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Greedy {
    tie: Tie,
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// Every bucket below this is empty.
    lowest: u32,
}

impl Greedy {
    /// The blocks of a bucket in the order of arrival.
    fn bucket(&self, bucket: usize) -> impl Iterator<Item = u32> + '_ {
        let follow = |block: u32| Some(block).filter(|&block| block != NONE);
        std::iter::successors(follow(self.first[bucket]), move |&block| follow(self.next[block as usize]))
    }
}

impl Policy for Greedy {
    type Config = GreedyConfig;
    const SUMMARY: &'static str = "the block with the fewest pages to copy";
    const SOURCE: &'static str = "Rosenblum & Ousterhout 1992; Bux & Iliadis 2010";
}

impl VictimPolicy for Greedy {
    fn new(config: &GreedyConfig, pool: Pool) -> Self {
        let (buckets, blocks) = (pool.cost_max as usize + 1, pool.blocks as usize);
        Self {
            tie: config.tie,
            first: vec![NONE; buckets],
            last: vec![NONE; buckets],
            next: vec![NONE; blocks],
            previous: vec![NONE; blocks],
            lowest: 0,
        }
    }

    #[inline(always)]
    fn sealed(&mut self, block: u32, cost: u32) {
        let bucket = cost as usize;
        let last = self.last[bucket];
        self.previous[block as usize] = last;
        self.next[block as usize] = NONE;
        if last == NONE {
            self.first[bucket] = block;
        } else {
            self.next[last as usize] = block;
        }
        self.last[bucket] = block;
        self.lowest = self.lowest.min(cost);
    }

    #[inline(always)]
    fn cost_changed(&mut self, block: u32, old: u32, new: u32) {
        self.removed(block, old);
        self.sealed(block, new);
    }

    #[inline(always)]
    fn removed(&mut self, block: u32, cost: u32) {
        let (previous, next) = (self.previous[block as usize], self.next[block as usize]);
        if previous == NONE {
            self.first[cost as usize] = next;
        } else {
            self.next[previous as usize] = next;
        }
        if next == NONE {
            self.last[cost as usize] = previous;
        } else {
            self.previous[next as usize] = previous;
        }
    }

    #[inline]
    fn pick(&mut self, _: Blocks<'_>) -> Option<u32> {
        while *self.first.get(self.lowest as usize)? == NONE {
            self.lowest += 1;
        }
        let bucket = self.lowest as usize;
        Some(match self.tie {
            Tie::Oldest => self.first[bucket],
            Tie::Newest => self.last[bucket],
            Tie::HighestBlock => self.bucket(bucket).max().expect("the bucket is not empty"),
        })
    }

    /// By cost, and among equals by arrival: the lists come out as they are.
    fn order(&self) -> Vec<u32> {
        (0..self.first.len()).flat_map(|bucket| self.bucket(bucket)).collect()
    }

    fn heap_bytes(&self) -> usize {
        (self.first.capacity() + self.last.capacity() + self.next.capacity() + self.previous.capacity())
            * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(tie: Tie) -> Option<u32> {
        let pool = Pool { blocks: 5, cost_max: 4, seed: coflash_base::Seed(0) };
        let mut greedy = Greedy::new(&GreedyConfig { tie }, pool);
        for (block, cost) in [(0, 4), (3, 2), (1, 3), (2, 2)] {
            greedy.sealed(block, cost);
        }
        greedy.cost_changed(1, 3, 2);
        greedy.pick(Blocks { cost: &[], full_cost: 4, sealed_at: &[], erases: &[], now: 0 })
    }

    #[test]
    fn ties_go_by_the_rule() {
        assert_eq!(pick(Tie::Oldest), Some(3));
        assert_eq!(pick(Tie::Newest), Some(1));
        assert_eq!(pick(Tie::HighestBlock), Some(3));
    }
}
