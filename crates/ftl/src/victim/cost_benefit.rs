//! Cost-benefit: the block with the greatest (1 − u) · age / 2u, where u is the share of its pages to copy.
//!
//! A cold block is worth cleaning at a higher utilisation than a hot one, because the space it frees lasts. The age is
//! the number of programs since the block was sealed. Candidates are searched in the order of sealing: O(candidates)
//! per pick.

use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::policy::NoParameters;
use coflash_base::{List, Policy};

/// The cost-benefit policy.
#[derive(Clone)]
pub struct CostBenefit {
    order: List<LocalBlock>,
}

impl Policy for CostBenefit {
    type Config = NoParameters;
    const SUMMARY: &'static str = "The block with the greatest age × freed space / cost of copying.";
    const SOURCE: &'static str = "Rosenblum & Ousterhout 1992 (LFS); Kawaguchi et al. 1995 (eNVy)";
}

impl VictimPolicy for CostBenefit {
    fn new(_: &NoParameters, pool: Pool) -> Self {
        Self { order: List::new(pool.blocks) }
    }

    fn sealed(&mut self, block: LocalBlock, _: u32) {
        self.order.push_back(block);
    }

    fn cost_changed(&mut self, _: LocalBlock, _: u32, _: u32) {}

    fn removed(&mut self, block: LocalBlock, _: u32) {
        self.order.remove(block);
    }

    fn pick(&mut self, candidates: Candidates<'_>) -> Option<LocalBlock> {
        // Compared as fractions benefit / cost by cross-multiplication: exact, and the same on every machine.
        let mut best: Option<(u128, u128, LocalBlock)> = None;
        for block in self.order.iter() {
            let cost = u128::from(candidates.cost(block));
            if cost == 0 {
                return Some(block);
            }
            let benefit = u128::from(candidates.age(block) + 1) * u128::from(candidates.freed(block));
            if best.is_none_or(|(best_benefit, best_cost, _)| benefit * best_cost > best_benefit * cost) {
                best = Some((benefit, cost, block));
            }
        }
        best.map(|(_, _, block)| block)
    }

    fn order(&self) -> Vec<LocalBlock> {
        self.order.iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
    }
}
