//! Victim policies: which sealed block GC cleans next. One file each, one line in the list below.

use coflash_base::Seed;
use coflash_base::seed::Stream;

#[cfg(test)]
mod contract;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod sealed;
mod windowed_greedy;

coflash_base::policy_family! { ($)
    /// Which sealed block GC cleans next.
    pub family Victim, config VictimConfig, dispatch victim_dispatch, build victim_build {
        "greedy" => Greedy(greedy::Greedy),
        "random" => Random(random::Random),
        "fifo" => Fifo(fifo::Fifo),
        "d-choices" => DChoices(d_choices::DChoices),
        "windowed-greedy" => WindowedGreedy(windowed_greedy::WindowedGreedy),
        "cost-benefit" => CostBenefit(cost_benefit::CostBenefit),
    }
}

/// What a policy may look at: the blocks of its pool, numbered from 0.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// What cleaning each block costs; `full_cost` where every page would be copied.
    pub cost: &'a [u32],
    /// The cost of a block whose pages are all valid.
    pub full_cost: u32,
    /// The program count of the device when each block was sealed.
    pub sealed_at: &'a [u64],
    /// How often each block was erased.
    pub erases: &'a [u32],
    /// The program count of the device now.
    pub now: u64,
}

/// The pool that a policy serves.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Its blocks.
    pub blocks: u32,
    /// The highest cost of a block.
    pub cost_max: u32,
    /// For policies that draw.
    pub seed: Seed,
}

/// The contract. One instance serves one pool; blocks are numbered within it.
///
/// The life of a block: [`sealed`](Self::sealed) once, when its last page is programmed; then any number of
/// [`cost_changed`](Self::cost_changed), always downwards by invalidations, either way when the weight of marked pages
/// changes; then [`removed`](Self::removed) once, when GC takes it.
pub trait VictimPolicy: coflash_base::Policy {
    /// A policy for an empty pool.
    fn new(config: &Self::Config, pool: Pool) -> Self;

    /// `block` is full and a candidate from now on.
    fn sealed(&mut self, block: u32, cost: u32);

    /// The cost of candidate `block` changed; called for every invalidation, so it should take constant time.
    fn cost_changed(&mut self, block: u32, old: u32, new: u32);

    /// `block` is a candidate no longer; `cost` is what it cost last.
    fn removed(&mut self, block: u32, cost: u32);

    /// The candidate to clean; none where there are no candidates. Called once per cleaned block, and again only after
    /// [`removed`](Self::removed).
    fn pick(&mut self, blocks: Blocks<'_>) -> Option<u32>;

    /// The candidates in an order that says all there is to know of the policy: a new one to which they are sealed in this
    /// order, each at its present cost, picks the same blocks from then on. This is how a warm device is kept in a file.
    fn order(&self) -> Vec<u32>;

    /// The random stream of a policy that draws; what [`order`](Self::order) cannot say.
    fn draws(&mut self) -> Option<&mut Stream> {
        None
    }

    /// The bytes the policy holds on the heap.
    fn heap_bytes(&self) -> usize;
}

impl VictimConfig {
    /// A policy for one pool.
    #[must_use]
    pub fn build(&self, pool: Pool) -> Victim {
        victim_build!(self, config => VictimPolicy::new(config, pool))
    }
}

impl Victim {
    #[inline(always)]
    pub(crate) fn sealed(&mut self, block: u32, cost: u32) {
        victim_dispatch!(self, policy => policy.sealed(block, cost));
    }

    #[inline(always)]
    pub(crate) fn cost_changed(&mut self, block: u32, old: u32, new: u32) {
        victim_dispatch!(self, policy => policy.cost_changed(block, old, new));
    }

    #[inline(always)]
    pub(crate) fn removed(&mut self, block: u32, cost: u32) {
        victim_dispatch!(self, policy => policy.removed(block, cost));
    }

    #[inline(always)]
    pub(crate) fn pick(&mut self, blocks: Blocks<'_>) -> Option<u32> {
        victim_dispatch!(self, policy => policy.pick(blocks))
    }

    pub(crate) fn order(&self) -> Vec<u32> {
        victim_dispatch!(self, policy => policy.order())
    }

    pub(crate) fn draws(&mut self) -> Option<&mut Stream> {
        victim_dispatch!(self, policy => policy.draws())
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        victim_dispatch!(self, policy => policy.heap_bytes())
    }
}
