//! Cost-age-times: the block with the least u / (1 − u) · erases / age; u is the share of its pages to copy.
//! Among equally good blocks the less worn one is cleaned, so that wear is also levelled.
//!
//! The age is the number of programs since the block was sealed; the original uses a step function of time.
//! One is added to the erase count, so that a block that was never erased can be compared. O(candidates) per
//! pick.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::policy::NoParameters;
use coflash_base::{List, Policy, Save};

/// The cost-age-times policy.
#[derive(Clone, Save)]
pub struct CostAgeTimes;

impl Policy for CostAgeTimes {
    type Config = NoParameters;
    const SUMMARY: &'static str = "The block with the least cost of copying × erases / (freed space × age).";
    const SOURCE: &'static str = "Chiang & Chang 1999 (CAT)";
}

impl OrderRule for CostAgeTimes {
    const ORDER: Order = Order::Sealing;

    fn new(_: &NoParameters, _: Pool) -> Self {
        Self
    }

    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock> {
        // Compared as fractions cost / benefit by cross-multiplication: exact, and the same on every machine.
        let mut best: Option<(u128, u128, LocalBlock)> = None;
        for block in order.iter() {
            let erases = u128::from(candidates.erases(block)) + 1;
            let cost = u128::from(candidates.cost(block)) * erases;
            let benefit = u128::from(candidates.age(block) + 1) * u128::from(candidates.freed(block));
            if best.is_none_or(|(best_cost, best_benefit, _)| cost * best_benefit < best_cost * benefit) {
                best = Some((cost, benefit, block));
            }
        }
        best.map(|(_, _, block)| block)
    }
}
