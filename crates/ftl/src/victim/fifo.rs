//! FIFO: the block that was sealed first, as in a circular log. Constant time.

use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::policy::NoParameters;
use coflash_base::{List, Policy};

/// The FIFO policy.
#[derive(Clone)]
pub struct Fifo {
    order: List<LocalBlock>,
}

impl Policy for Fifo {
    type Config = NoParameters;
    const SUMMARY: &'static str = "The block that was sealed first.";
    const SOURCE: &'static str = "Robinson 1996; Desnoyers 2012 (as LRU)";
}

impl VictimPolicy for Fifo {
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

    fn pick(&mut self, _: Candidates<'_>) -> Option<LocalBlock> {
        self.order.front()
    }

    fn order(&self) -> Vec<LocalBlock> {
        self.order.iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
    }
}
