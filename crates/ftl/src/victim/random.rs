//! Random: any sealed block, all alike. Constant time.

use super::sealed::SealedSet;
use super::{Blocks, Pool, VictimPolicy};
use coflash_base::Policy;
use coflash_base::policy::NoParameters;
use coflash_base::seed::{RngExt, Stream};

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Random {
    sealed: SealedSet,
    draws: Stream,
}

impl Policy for Random {
    type Config = NoParameters;
    const SUMMARY: &'static str = "any sealed block";
    const SOURCE: &'static str = "Van Houdt 2013 (d = 1)";
}

impl VictimPolicy for Random {
    fn new(_: &NoParameters, pool: Pool) -> Self {
        Self { sealed: SealedSet::new(pool.blocks), draws: pool.seed.stream("victim/random") }
    }

    fn sealed(&mut self, block: u32, _: u32) {
        self.sealed.insert(block);
    }

    fn cost_changed(&mut self, _: u32, _: u32, _: u32) {}

    fn removed(&mut self, block: u32, _: u32) {
        self.sealed.remove(block);
    }

    fn pick(&mut self, _: Blocks<'_>) -> Option<u32> {
        let members = self.sealed.members();
        (!members.is_empty()).then(|| members[self.draws.random_range(0..members.len() as u32) as usize])
    }

    fn order(&self) -> Vec<u32> {
        self.sealed.members().to_vec()
    }

    fn draws(&mut self) -> Option<&mut Stream> {
        Some(&mut self.draws)
    }

    fn heap_bytes(&self) -> usize {
        self.sealed.heap_bytes()
    }
}
