//! FIFO: the block that was sealed first, as a circular log would. Constant time.

use super::sealed::SealOrder;
use super::{Blocks, Pool, VictimPolicy};
use coflash_base::Policy;
use coflash_base::policy::NoParameters;

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Fifo {
    order: SealOrder,
}

impl Policy for Fifo {
    type Config = NoParameters;
    const SUMMARY: &'static str = "the block that was sealed first";
    const SOURCE: &'static str = "Robinson 1996; Desnoyers 2012 (as LRU)";
}

impl VictimPolicy for Fifo {
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

    fn pick(&mut self, _: Blocks<'_>) -> Option<u32> {
        self.order.iter().next()
    }

    fn order(&self) -> Vec<u32> {
        self.order.iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
    }
}
