//! The collector: the candidates of each pool, their costs, and the partly cleaned victim.

use crate::block::{Block, Blocks, Histories, State};
use crate::config::{GcConfig, GcMode, Trigger};
use crate::dimensions::Dimensions;
use crate::ids::PoolId;
use crate::requirements::Requirements;
use crate::victim::{self, Candidates, Victim};
use crate::weight::{Scale, Weight, Weights};
use coflash_base::{Ahead, IdVec, Save, Seed};
use coflash_media::{BlockId, Cause, DieId, Geometry};

/// A block being cleaned in steps.
#[derive(Clone, Copy, Debug, Save)]
pub(super) struct Cleaning {
    pub(super) block: BlockId,
    /// Garbage collection, or wear levelling.
    pub(super) cause: Cause,
    /// Whether pages of it were dropped because another memory holds them.
    pub(super) dropped: bool,
}

/// The state of GC in a pool.
#[derive(Clone, Save)]
#[save(in_place)]
struct Pool {
    victim: Victim,
    /// The partly cleaned victim.
    cleaning: Option<Cleaning>,
}

/// The collector of a device.
#[derive(Clone, Save)]
#[save(in_place)]
pub(super) struct Collector {
    pub(super) trigger: Trigger,
    /// Whether GC works on idle dies.
    pub(super) in_idle_time: bool,
    /// The most steps before an operation.
    pub(super) steps_max: u32,
    /// The most valid pages of a victim that is cleaned above the low mark.
    pub(super) lazy_pages: Option<u32>,
    pools: IdVec<PoolId, Pool>,
    /// The pool of each die at which the search for the next victim begins.
    next_clean: IdVec<DieId, u32>,
    /// The cost weights of marked pages.
    pub(super) weights: Weights,
    weight_max: Weight,
    /// The unit of costs.
    pub(super) scale: Scale,
}

impl Collector {
    pub(super) fn new(
        geometry: &Geometry,
        dims: &Dimensions,
        gc: &GcConfig,
        requirements: Requirements,
        seed: Seed,
    ) -> Self {
        let unit = if requirements.fractional_costs { Weight::SIXTEENTHS } else { 1 };
        let dearest = Scale::new(unit, Weights::all(requirements.weight_max), dims.data_pages_per_block);
        let pool = |index: u32| Pool {
            victim: gc.victim.build(victim::Pool {
                blocks: dims.blocks_per_pool,
                cost_max: dearest.full_cost,
                seed: seed.child(&format!("pool/{index}")),
            }),
            cleaning: None,
        };
        Self {
            trigger: gc.trigger,
            in_idle_time: matches!(gc.mode, GcMode::Background { .. }),
            steps_max: if let GcMode::Preemptive { steps_max } = gc.mode { steps_max } else { 0 },
            lazy_pages: match gc.mode {
                GcMode::Lazy { valid, .. } => Some(valid.part_of(dims.data_pages_per_block.into()) as u32),
                _ => None,
            },
            pools: (0..dims.pools(geometry)).map(pool).collect(),
            next_clean: IdVec::filled(0, geometry.dies() as usize),
            weights: Weights::all(Weight::FULL),
            weight_max: requirements.weight_max,
            scale: Scale::new(unit, Weights::all(Weight::FULL), dims.data_pages_per_block),
        }
    }

    /// Set the cost weights of marked pages, without updating the costs of blocks.
    pub(super) fn set_weights(&mut self, weights: Weights, dims: &Dimensions) {
        let most = self.weight_max;
        assert!(weights.0.iter().all(|&weight| weight <= most), "{weights:?} is more than was required");
        self.weights = weights;
        self.scale = Scale::new(self.scale.valid, weights, dims.data_pages_per_block);
    }

    /// Add a sealed block to the candidates.
    pub(super) fn add(&mut self, pool: PoolId, block: BlockId, cost: u32, dims: &Dimensions) {
        self.pools[pool].victim.sealed(dims.local(pool, block), cost);
    }

    /// Remove a block from the candidates.
    pub(super) fn remove(&mut self, pool: PoolId, block: BlockId, cost: u32, dims: &Dimensions) {
        self.pools[pool].victim.removed(dims.local(pool, block), cost);
    }

    /// Prefetch the memory for a change of a block's cost.
    #[inline(always)]
    pub(super) fn look_ahead(&self, block: BlockId, ahead: Ahead, dims: &Dimensions) {
        let pool = dims.pool_of(block);
        self.pools[pool].victim.look_ahead(dims.local(pool, block), ahead);
    }

    /// The next victim of a pool, if it is known without a search.
    pub(super) fn next(&self, pool: PoolId, dims: &Dimensions) -> Option<BlockId> {
        self.pools[pool].victim.next().map(|local| dims.block(pool, local))
    }

    /// Change the cost of a candidate.
    #[inline(always)]
    pub(super) fn cost_changed(
        &mut self,
        pool: PoolId,
        block: BlockId,
        old: u32,
        new: u32,
        dims: &Dimensions,
    ) {
        self.pools[pool].victim.cost_changed(dims.local(pool, block), old, new);
    }

    /// Remove the policy's victim from the candidates of a pool, unless more than `most_valid` of its pages are valid.
    pub(super) fn pick(
        &mut self,
        pool: PoolId,
        most_valid: u32,
        blocks: &mut Blocks,
        histories: &Histories,
        dims: &Dimensions,
        now: u64,
    ) -> Option<BlockId> {
        let candidates = Candidates {
            blocks: &(**blocks)[dims.indices_of(pool)],
            histories: &(**histories)[dims.indices_of(pool)],
            scale: &self.scale,
            pages: dims.data_pages_per_block,
            now,
        };
        let local = self.pools[pool].victim.pick(candidates)?;
        let block = dims.block(pool, local);
        if blocks[block].valid > most_valid {
            return None;
        }
        self.remove(pool, block, blocks[block].cost, dims);
        blocks[block].state = State::Victim;
        Some(block)
    }

    /// The partly cleaned victim.
    pub(super) fn cleaning(&self, pool: PoolId) -> Option<Cleaning> {
        self.pools[pool].cleaning
    }

    pub(super) fn take_cleaning(&mut self, pool: PoolId) -> Option<Cleaning> {
        self.pools[pool].cleaning.take()
    }

    /// Suspend the cleaning of a victim.
    pub(super) fn set_cleaning(&mut self, pool: PoolId, cleaning: Cleaning) {
        self.pools[pool].cleaning = Some(cleaning);
    }

    /// The pools of a die in turn, from the next one on.
    pub(super) fn in_turn(&self, die: DieId, dims: &Dimensions) -> impl Iterator<Item = PoolId> + use<> {
        let (pools, begin) = (dims.pools_per_die, self.next_clean[die]);
        let first = dims.pool(die, 0).get();
        (0..pools).map(move |step| PoolId::new(first + (begin + step) % pools))
    }

    /// Begin the next search for a victim on the die at this pool, or after it.
    pub(super) fn turn_to(&mut self, pool: PoolId, after: bool, dims: &Dimensions) {
        let die = dims.die_of(pool);
        let local = pool.get() - dims.pool(die, 0).get();
        self.next_clean[die] = (local + u32::from(after)) % dims.pools_per_die;
    }
}

impl Block {
    /// The cost of cleaning it.
    #[inline(always)]
    pub(super) fn cost_on(&self, scale: &Scale, aged: impl FnOnce() -> crate::weight::Aged) -> u32 {
        scale.cost(self.valid, self.marked, aged)
    }

    /// Compute the cost of a candidate anew. Returns the old and the new cost if they differ.
    #[inline(always)]
    pub(super) fn recount(
        &mut self,
        scale: &Scale,
        aged: impl FnOnce() -> crate::weight::Aged,
    ) -> Option<(u32, u32)> {
        if self.state != State::Sealed {
            return None;
        }
        let new = self.cost_on(scale, aged);
        let old = std::mem::replace(&mut self.cost, new);
        (old != new).then_some((old, new))
    }
}
