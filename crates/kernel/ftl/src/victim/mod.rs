//! Victim policies: the choice of the next sealed block for GC to clean. Each is one file and one line in the
//! list below.

use crate::block::{Block, History};
use crate::ids::LocalBlock;
use crate::weight::Scale;
use coflash_base::{Ahead, Index, Misfit, Seed};

mod cost_benefit;
mod d_choices;
mod external;
mod fifo;
mod greedy;
mod in_order;
mod score;
mod sealed;
#[cfg(test)]
mod tests;
mod windowed_greedy;

coflash_base::policy_family! { ($)
    /// The choice of the sealed block that GC cleans next.
    pub family Victim: Save, config VictimConfig, dispatch victim_dispatch, build victim_build,
        external "external" => External(InOrder<external::ExternalSelector>) {
        "greedy" => Greedy(greedy::Greedy),
        "fifo" => Fifo(InOrder<fifo::FifoVictim>),
        "d-choices" => DChoices(d_choices::DChoices),
        "windowed-greedy" => WindowedGreedy(InOrder<windowed_greedy::WindowedGreedy>),
        "cost-benefit" => CostBenefit(InOrder<cost_benefit::CostBenefit>),
        "score" => Score(InOrder<score::VictimByScore>),
    }
}

use in_order::InOrder;

pub use external::{Columns, ExternalVictim, MakeVictim};
pub use score::{Score, ScoreConfig, ScoreTie};

/// The blocks of a pool, as a policy sees them.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    pub(crate) blocks: &'a [Block],
    pub(crate) histories: &'a [History],
    pub(crate) scale: &'a Scale,
    /// The number of data pages of a block.
    pub(crate) pages: u32,
    pub(crate) now: u64,
}

impl Candidates<'_> {
    #[inline(always)]
    fn block(&self, block: LocalBlock) -> &Block {
        &self.blocks[block.index()]
    }

    /// The cost of cleaning a block: its valid pages, with marked ones by their weight. In pages or
    /// sixteenths of a page.
    #[inline(always)]
    #[must_use]
    pub fn cost(&self, block: LocalBlock) -> u32 {
        self.block(block).cost
    }

    /// The space that cleaning a block frees, in the unit of [`cost`](Self::cost): its invalid pages, and the
    /// part of its marked pages that their weight leaves out. Marked pages with a weight above one make a
    /// block a worse victim, but free nothing.
    #[inline(always)]
    #[must_use]
    pub fn freed(&self, block: LocalBlock) -> u32 {
        let known = self.block(block);
        self.size() - known.cost.min(known.valid * self.scale.valid)
    }

    /// The pages of a block, in the unit of [`cost`](Self::cost).
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> u32 {
        self.pages * self.scale.valid
    }

    /// The age of a block: programs of the device since it was sealed.
    #[inline(always)]
    #[must_use]
    pub fn age(&self, block: LocalBlock) -> u64 {
        self.now - self.histories[block.index()].sealed_at
    }

    /// The erase count of a block.
    #[inline(always)]
    #[must_use]
    pub fn erases(&self, block: LocalBlock) -> u32 {
        self.histories[block.index()].erases
    }
}

/// The pool of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// The number of its blocks.
    pub blocks: u32,
    /// The highest cost of a block.
    pub cost_max: u32,
    /// The seed of randomised policies.
    pub seed: Seed,
}

/// The contract of a victim policy. One instance serves one pool, with blocks numbered from 0.
///
/// The life of a block: [`sealed`](Self::sealed) once, when its last page is programmed; then any number of
/// [`cost_changed`](Self::cost_changed), downwards by invalidations, in either direction when the weight of marked
/// pages changes; then [`removed`](Self::removed) once, when GC takes it.
pub trait VictimPolicy: coflash_base::Policy {
    /// Create a policy for an empty pool.
    fn new(config: &Self::Config, pool: Pool) -> Self;

    /// Add the full block `block` to the candidates.
    fn sealed(&mut self, block: LocalBlock, cost: u32);

    /// Prefetch the memory for a change of the cost of `block`: its own, and at last that of others. It changes nothing.
    fn look_ahead(&self, block: LocalBlock, ahead: Ahead) {
        let _ = (block, ahead);
    }

    /// The candidate that would be picked now, if that is known without a search: its memory is prefetched.
    fn next(&self) -> Option<LocalBlock> {
        None
    }

    /// Change the cost of candidate `block`. Called for every invalidation, so it should take constant time.
    fn cost_changed(&mut self, block: LocalBlock, old: u32, new: u32);

    /// Remove `block` from the candidates. `cost` is its last cost.
    fn removed(&mut self, block: LocalBlock, cost: u32);

    /// Pick the candidate to clean; `None` if there is none. Called once per cleaned block, and again only after
    /// [`removed`](Self::removed).
    fn pick(&mut self, candidates: Candidates<'_>) -> Option<LocalBlock>;
}

impl VictimConfig {
    /// Check that an external policy can be built.
    pub(crate) fn check(&self) -> Result<(), Misfit> {
        match self {
            Self::External(external) => external.check(),
            _ => Ok(()),
        }
    }

    /// Create the policy for one pool.
    #[must_use]
    pub fn build(&self, pool: Pool) -> Victim {
        victim_build!(self, config => VictimPolicy::new(config, pool))
    }
}

impl Victim {
    coflash_base::forward_to_variant! { victim_dispatch;
        pub(crate) fn sealed(&mut self, block: LocalBlock, cost: u32);
        pub(crate) fn look_ahead(&self, block: LocalBlock, ahead: Ahead);
        pub(crate) fn next(&self) -> Option<LocalBlock>;
        pub(crate) fn cost_changed(&mut self, block: LocalBlock, old: u32, new: u32);
        pub(crate) fn removed(&mut self, block: LocalBlock, cost: u32);
        pub(crate) fn pick(&mut self, candidates: Candidates<'_>) -> Option<LocalBlock>;
    }
}
