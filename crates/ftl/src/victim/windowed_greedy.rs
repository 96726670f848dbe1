//! Windowed greedy: the cheapest of the w blocks sealed first; of equals the oldest.
//!
//! The window gives young blocks time to lose pages before they are judged. O(w) per pick.

use super::sealed::SealOrder;
use super::{Blocks, Pool, VictimPolicy};
use coflash_base::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Parameters of `windowed-greedy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WindowedGreedyConfig {
    /// Blocks in the window, at least 1.
    pub window: NonZeroU32,
}

impl Default for WindowedGreedyConfig {
    fn default() -> Self {
        Self { window: NonZeroU32::new(128).expect("not zero") }
    }
}

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct WindowedGreedy {
    window: usize,
    order: SealOrder,
}

impl Policy for WindowedGreedy {
    type Config = WindowedGreedyConfig;
    const SUMMARY: &'static str = "of the w blocks sealed first, the one with the fewest pages to copy";
    const SOURCE: &'static str = "Hu et al. 2009";
}

impl VictimPolicy for WindowedGreedy {
    fn new(config: &WindowedGreedyConfig, pool: Pool) -> Self {
        Self { window: config.window.get() as usize, order: SealOrder::new(pool.blocks) }
    }

    fn sealed(&mut self, block: u32, _: u32) {
        self.order.push(block);
    }

    fn cost_changed(&mut self, _: u32, _: u32, _: u32) {}

    fn removed(&mut self, block: u32, _: u32) {
        self.order.remove(block);
    }

    fn pick(&mut self, blocks: Blocks<'_>) -> Option<u32> {
        self.order.iter().take(self.window).min_by_key(|&block| blocks.cost[block as usize])
    }

    fn order(&self) -> Vec<u32> {
        self.order.iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
    }
}
