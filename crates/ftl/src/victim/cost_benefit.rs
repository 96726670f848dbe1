//! Cost-benefit: the block with the greatest (1 − u) · age / 2u, u the share of its pages to copy.
//!
//! A cold block is worth cleaning at a higher utilisation than a hot one, because the space it frees lasts. The age is
//! counted in programs since the block was sealed. Candidates are searched in the order of sealing: O(candidates) a pick.

use super::sealed::SealOrder;
use super::{Blocks, Pool, VictimPolicy};
use coflash_base::Policy;
use coflash_base::policy::NoParameters;

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct CostBenefit {
    order: SealOrder,
}

impl Policy for CostBenefit {
    type Config = NoParameters;
    const SUMMARY: &'static str = "the block with the greatest age × freed space / cost of copying";
    const SOURCE: &'static str = "Rosenblum & Ousterhout 1992 (LFS); Kawaguchi et al. 1995 (eNVy)";
}

impl VictimPolicy for CostBenefit {
    fn new(_: &NoParameters, pool: Pool) -> Self {
        Self { order: SealOrder::new(pool.blocks) }
    }

    fn sealed(&mut self, block: u32, _: u32) {
        self.order.push(block);
    }

    fn cost_changed(&mut self, _: u32, _: u32, _: u32) {}

    fn removed(&mut self, block: u32, _: u32) {
        self.order.remove(block);
    }

    fn pick(&mut self, blocks: Blocks<'_>) -> Option<u32> {
        // Compared as fractions benefit / cost by cross-multiplication: exact, and the same on every machine.
        let mut best: Option<(u128, u128, u32)> = None;
        for block in self.order.iter() {
            let cost = u128::from(blocks.cost[block as usize]);
            let age = u128::from(blocks.now - blocks.sealed_at[block as usize]) + 1;
            let benefit = age * (u128::from(blocks.full_cost) - cost);
            if cost == 0 {
                return Some(block);
            }
            if best.is_none_or(|(best_benefit, best_cost, _)| benefit * best_cost > best_benefit * cost) {
                best = Some((benefit, cost, block));
            }
        }
        best.map(|(_, _, block)| block)
    }

    fn order(&self) -> Vec<u32> {
        self.order.iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
    }
}
