//! d-choices: of d sealed blocks drawn at random (with replacement), the cheapest. Ties go to the block drawn first.
//!
//! d = 1 is any sealed block, large d approaches greedy, and a small d comes close to it without any ordering. O(d) per
//! pick.

use super::sealed::SealedSet;
use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Policy, Save};
use std::num::NonZeroU16;

coflash_base::config! {
    /// Parameters of `d-choices`.
    #[derive(Copy, Eq)]
    pub struct DChoicesConfig {
        /// Number of blocks drawn for each pick, from 1 to 65535.
        pub d: NonZeroU16 = NonZeroU16::new(10).expect("not zero"),
    }
}

/// The d-choices policy.
#[derive(Clone, Save)]
pub struct DChoices {
    d: u32,
    sealed: SealedSet,
    draws: RandomStream,
}

impl Policy for DChoices {
    type Config = DChoicesConfig;
    const SUMMARY: &'static str =
        "Of d sealed blocks drawn at random, the one with the fewest pages to copy; any with d = 1.";
    const SOURCE: &'static str = "Van Houdt 2013; Li, Lee & Lui 2013";
}

impl VictimPolicy for DChoices {
    fn new(config: &DChoicesConfig, pool: Pool) -> Self {
        let draws = pool.seed.stream("victim/d-choices");
        Self { d: config.d.get().into(), sealed: SealedSet::new(pool.blocks), draws }
    }

    fn sealed(&mut self, block: LocalBlock, _: u32) {
        self.sealed.insert(block);
    }

    fn cost_changed(&mut self, _: LocalBlock, _: u32, _: u32) {}

    fn removed(&mut self, block: LocalBlock, _: u32) {
        self.sealed.remove(block);
    }

    fn pick(&mut self, candidates: Candidates<'_>) -> Option<LocalBlock> {
        let members = &self.sealed.members;
        if members.is_empty() {
            return None;
        }
        let draw = |_| members[self.draws.random_range(0..members.len() as u32) as usize];
        (0..self.d).map(draw).min_by_key(|&block| candidates.cost(block))
    }
}
