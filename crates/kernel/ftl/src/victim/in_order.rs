//! Policies that search the candidates in a maintained order: each is a rule.

use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::{List, Policy, Save};

/// The order of the candidates for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By sealing, the oldest first.
    Sealing,
    /// By the last cost change, the oldest first; sealing is a change.
    CostChange,
}

/// A choice among ordered candidates.
pub trait OrderRule: Policy {
    /// The order.
    const ORDER: Order;

    /// Create the rule for an empty pool.
    fn new(config: &Self::Config, pool: Pool) -> Self;

    /// See [`VictimPolicy::pick`].
    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock>;
}

/// The policy of a rule. A change of a block takes constant time.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct InOrder<R> {
    rule: R,
    order: List<LocalBlock>,
}

impl<R: OrderRule> Policy for InOrder<R> {
    type Config = R::Config;
    const SUMMARY: &'static str = R::SUMMARY;
    const SOURCE: &'static str = R::SOURCE;
}

impl<R: OrderRule> VictimPolicy for InOrder<R> {
    fn new(config: &R::Config, pool: Pool) -> Self {
        Self { rule: R::new(config, pool), order: List::new(pool.blocks) }
    }

    #[inline(always)]
    fn sealed(&mut self, block: LocalBlock, _: u32) {
        self.order.push_back(block);
    }

    #[inline(always)]
    fn cost_changed(&mut self, block: LocalBlock, _: u32, _: u32) {
        if R::ORDER == Order::CostChange {
            self.order.move_to_back(block);
        }
    }

    #[inline(always)]
    fn removed(&mut self, block: LocalBlock, _: u32) {
        self.order.remove(block);
    }

    fn pick(&mut self, candidates: Candidates<'_>) -> Option<LocalBlock> {
        self.rule.pick(&self.order, candidates)
    }
}
