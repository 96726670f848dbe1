//! FIFO: the block that was sealed first, as in a circular log. Constant time.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::policy::NoParameters;
use coflash_base::{List, Policy, Save};

/// The FIFO policy.
#[derive(Clone, Save)]
pub struct FifoVictim;

impl Policy for FifoVictim {
    type Config = NoParameters;
    const SUMMARY: &'static str = "The block that was sealed first.";
    const SOURCE: &'static str = "Robinson 1996; Desnoyers 2012 (as LRU)";
}

impl OrderRule for FifoVictim {
    const ORDER: Order = Order::Sealing;

    fn new(_: &NoParameters, _: Pool) -> Self {
        Self
    }

    fn pick(&mut self, order: &List<LocalBlock>, _: Candidates<'_>) -> Option<LocalBlock> {
        order.front()
    }
}
