//! Random: any sealed block with equal probability. Constant time.

use super::sealed::SealedSet;
use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::policy::NoParameters;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Policy, Save};

/// The random policy.
#[derive(Clone, Save)]
pub struct Random {
    sealed: SealedSet,
    draws: RandomStream,
}

impl Policy for Random {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Any sealed block.";
    const SOURCE: &'static str = "Van Houdt 2013 (d = 1)";
}

impl VictimPolicy for Random {
    fn new(_: &NoParameters, pool: Pool) -> Self {
        Self { sealed: SealedSet::new(pool.blocks), draws: pool.seed.stream("victim/random") }
    }

    fn sealed(&mut self, block: LocalBlock, _: u32) {
        self.sealed.insert(block);
    }

    fn cost_changed(&mut self, _: LocalBlock, _: u32, _: u32) {}

    fn removed(&mut self, block: LocalBlock, _: u32) {
        self.sealed.remove(block);
    }

    fn pick(&mut self, _: Candidates<'_>) -> Option<LocalBlock> {
        let members = &self.sealed.members;
        (!members.is_empty()).then(|| members[self.draws.random_range(0..members.len() as u32) as usize])
    }
}
