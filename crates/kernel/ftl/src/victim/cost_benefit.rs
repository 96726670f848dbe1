//! Cost-benefit: the block with the greatest (1 − u) · age / cost; u is the share of its pages to copy.
//!
//! A cold block is worth cleaning at a higher utilisation than a hot one, because the freed space lasts
//! longer. The age is the number of programs since the block was sealed. The cost is 2u if valid pages are
//! read and written (eNVy), 1 + u if the whole block is read (LFS). Candidates are searched in the order of
//! sealing: O(candidates) per pick.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::{List, Policy, Save};

coflash_base::config! {
    /// What is read to clean a block.
    pub enum Reads, default Valid {
        /// Its valid pages.
        Valid,
        /// All its pages.
        Whole,
    }

    /// How much the age counts.
    pub enum AgeFactor, default Linear {
        /// The age.
        Linear,
        /// Its square root.
        Root,
    }
}

impl AgeFactor {
    /// The factor of an age: a whole number, so that it is the same on every machine.
    pub(super) fn factor(self, age: u64) -> u128 {
        match self {
            Self::Linear => (age + 1).into(),
            Self::Root => (u128::from(age + 1) << 32).isqrt(),
        }
    }
}

coflash_base::config! {
    /// The parameters of cost-benefit.
    #[derive(Eq, Save)]
    pub struct CostBenefitConfig {
        /// What is read to clean a block: `valid` for the cost 2u, `whole` for 1 + u as in LFS.
        pub reads: Reads,
        /// How much the age counts: `linear`, or `root` for its square root as in SepBIT's simulator.
        pub age: AgeFactor,
    }
}

/// The cost-benefit policy.
#[derive(Clone, Save)]
pub struct CostBenefit(CostBenefitConfig);

impl Policy for CostBenefit {
    type Config = CostBenefitConfig;
    const SUMMARY: &'static str = "The block with the greatest age × freed space / cost of copying.";
    const SOURCE: &'static str = "Rosenblum & Ousterhout 1992 (LFS); Kawaguchi et al. 1995 (eNVy)";
}

impl OrderRule for CostBenefit {
    const ORDER: Order = Order::Sealing;

    fn new(config: &CostBenefitConfig, _: Pool) -> Self {
        Self(config.clone())
    }

    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock> {
        // Compared as fractions benefit / cost by cross-multiplication: exact, and the same on every machine.
        let mut best: Option<(u128, u128, LocalBlock)> = None;
        for block in order.iter() {
            let copies = candidates.cost(block);
            if copies == 0 {
                return Some(block);
            }
            let cost = u128::from(match self.0.reads {
                Reads::Valid => copies,
                Reads::Whole => candidates.size() + copies,
            });
            let benefit = self.0.age.factor(candidates.age(block)) * u128::from(candidates.freed(block));
            if best.is_none_or(|(best_benefit, best_cost, _)| benefit * best_cost > best_benefit * cost) {
                best = Some((benefit, cost, block));
            }
        }
        best.map(|(_, _, block)| block)
    }
}
