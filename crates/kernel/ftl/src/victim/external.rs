//! External victim policies: in Python, or in a crate that uses this one.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::external::Asked;
use coflash_base::{ExternalConfig, List, Policy, Save};
use std::sync::Arc;

/// The candidates of a pool as columns of equal length, in order of their last cost change, the oldest first.
///
/// Numbers have a sign, so that differences of them do in NumPy, too.
/// A policy may keep the columns of a pick: they do not change.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The number of the block in its pool.
    pub blocks: Vec<i64>,
    /// Its valid pages.
    pub valid: Vec<i64>,
    /// The pages to be copied: the valid ones, with marked pages by their weight.
    pub cost: Vec<f64>,
    /// Its age: programs of the device since it was sealed.
    pub age: Vec<i64>,
    /// Its erase count.
    pub erases: Vec<i64>,
    /// The number of programs of the device so far.
    pub now: u64,
    /// The number of data pages of a block.
    pub pages_per_block: u32,
}

/// An external victim policy. One instance serves one pool.
///
/// Clones must make the same choices as the original: a warm device is cloned with its policies.
pub trait ExternalVictim: dyn_clone::DynClone + Send + Sync {
    /// Pick the candidate to clean, by its place in the columns; there is at least one. Called once per
    /// cleaned block. `None` if the policy has failed: from then on, the cheapest candidate is cleaned.
    fn pick(&mut self, candidates: &Arc<Columns>) -> Option<usize>;

    /// Report an unusable pick; it counts as a failure.
    fn refused(&mut self, problem: &str) {
        panic!("{problem}");
    }
}

dyn_clone::clone_trait_object!(ExternalVictim);

/// The constructor of the policy of a pool.
pub type MakeVictim = dyn Fn(Pool) -> Box<dyn ExternalVictim> + Send + Sync;

/// An external policy.
#[derive(Clone, Save)]
pub struct ExternalSelector {
    policy: Asked<dyn ExternalVictim>,
    #[save(skip)]
    columns: Arc<Columns>,
    /// The number of picks in a row that freed nothing.
    vain: usize,
}

impl Policy for ExternalSelector {
    type Config = ExternalConfig<MakeVictim>;
    const SUMMARY: &'static str = "The choice of code that is no part of coflash.";
    const SOURCE: &'static str = "the user's";
}

impl OrderRule for ExternalSelector {
    const ORDER: Order = Order::CostChange;

    fn new(config: &ExternalConfig<MakeVictim>, pool: Pool) -> Self {
        Self { policy: Asked::new(config.make()(pool)), columns: Arc::default(), vain: 0 }
    }

    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock> {
        order.front()?;
        if Arc::get_mut(&mut self.columns).is_none() {
            self.columns = Arc::default(); // the policy has kept the last ones
        }
        let columns = Arc::get_mut(&mut self.columns).expect("nobody else has it");
        columns.fill(order, candidates);
        let Self { policy, columns, vain } = self;
        let picked = policy.ask(
            |policy| policy.pick(columns),
            |picked| check(picked, columns, vain),
            |policy, problem| policy.refused(problem),
        );
        let cost = |place: &usize| columns.cost[*place];
        let cheapest = || (0..columns.blocks.len()).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let picked = picked.or_else(cheapest).expect("there are candidates");
        order.iter().nth(picked)
    }
}

/// Check that the pick is a candidate, and that GC makes progress: `vain` counts the picks in a row that free
/// nothing.
fn check(
    picked: usize,
    Columns { valid, pages_per_block, .. }: &Columns,
    vain: &mut usize,
) -> Result<usize, String> {
    let candidates = valid.len();
    let Some(valid) = valid.get(picked) else {
        return Err(format!("{picked} was returned; a place from 0 to {} is allowed", candidates - 1));
    };
    *vain = if *valid == i64::from(*pages_per_block) { *vain + 1 } else { 0 };
    if *vain <= candidates {
        return Ok(picked);
    }
    Err(format!(
        "{vain} picks in a row were blocks without an invalid page; a low cost means few pages to copy (argmin, not \
         argmax), and a pick is a place in the arrays, not a block's number"
    ))
}

impl Columns {
    fn fill(&mut self, blocks: &List<LocalBlock>, pool: Candidates<'_>) {
        let unit = f64::from(pool.scale.valid);
        let Self { blocks: numbers, valid, cost, age, erases, .. } = self;
        numbers.clear();
        numbers.extend(blocks.iter().map(|block| i64::from(block.get())));
        valid.clear();
        valid.extend(blocks.iter().map(|block| i64::from(pool.block(block).valid)));
        cost.clear();
        cost.extend(blocks.iter().map(|block| f64::from(pool.cost(block)) / unit));
        age.clear();
        age.extend(blocks.iter().map(|block| pool.age(block).cast_signed()));
        erases.clear();
        erases.extend(blocks.iter().map(|block| i64::from(pool.erases(block))));
        (self.now, self.pages_per_block) = (pool.now, pool.pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, History};
    use crate::victim::VictimConfig;
    use crate::weight::{Scale, Weight, Weights};
    use coflash_base::Seed;

    /// Picks the candidate at a place, and keeps the columns.
    #[derive(Clone)]
    struct At(Option<usize>, Vec<Arc<Columns>>);

    impl ExternalVictim for At {
        fn pick(&mut self, candidates: &Arc<Columns>) -> Option<usize> {
            assert!(self.1.iter().all(|kept| kept.now != candidates.now), "what was kept does not change");
            self.1.push(candidates.clone());
            self.0
        }
    }

    /// Three candidates of 4 pages; block 1 changed last.
    fn pick(at: impl Into<Option<usize>>) -> Vec<u32> {
        let at = at.into();
        let mut config = ExternalConfig::<MakeVictim>::default();
        config.bind(Arc::new(move |_| Box::new(At(at, Vec::new()))));
        let mut victim = VictimConfig::External(config).build(Pool { blocks: 4, cost_max: 4, seed: Seed(0) });
        [1, 0, 3].into_iter().for_each(|block| victim.sealed(LocalBlock::new(block), 4));
        victim.cost_changed(LocalBlock::new(1), 4, 2);
        let block = |valid| Block { valid, cost: valid, ..Block::ERASED };
        let blocks = [4, 2, 0, 4].map(block);
        let histories = [5, 3, 0, 7].map(|sealed_at| History { sealed_at, erases: 1 });
        let scale = &Scale::new(1, Weights::all(Weight::FULL), 4);
        (8..14)
            .map(|now| {
                let candidates = Candidates { blocks: &blocks, histories: &histories, scale, pages: 4, now };
                let picked = victim.clone().pick(candidates);
                assert_eq!(victim.pick(candidates), picked, "a clone picks the same");
                picked.expect("there are candidates").get()
            })
            .collect()
    }

    #[test]
    fn columns_are_in_the_order_of_changes() {
        assert_eq!(pick(2), [1; 6]);
    }

    #[test]
    fn with_a_policy_that_has_failed_the_cheapest_is_cleaned() {
        assert_eq!(pick(None), [1; 6]);
    }

    #[test]
    #[should_panic(expected = "4 picks in a row were blocks without an invalid page")]
    fn a_policy_that_frees_nothing_is_refused() {
        pick(1);
    }

    #[test]
    #[should_panic(expected = "3 was returned; a place from 0 to 2 is allowed")]
    fn a_place_without_a_candidate_is_refused() {
        pick(3);
    }
}
