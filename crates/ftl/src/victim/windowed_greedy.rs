//! Windowed greedy: the cheapest of the w blocks sealed first. Ties go to the oldest.
//!
//! The window gives young blocks time to lose valid pages. O(w) per pick.

use super::{Candidates, Pool, VictimPolicy};
use crate::ids::LocalBlock;
use coflash_base::{List, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Parameters of `windowed-greedy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WindowedGreedyConfig {
    /// Number of blocks in the window, at least 1.
    pub window: NonZeroU32,
}

impl Default for WindowedGreedyConfig {
    fn default() -> Self {
        Self { window: NonZeroU32::new(128).expect("not zero") }
    }
}

/// The windowed greedy policy.
#[derive(Clone)]
pub struct WindowedGreedy {
    window: usize,
    order: List<LocalBlock>,
}

impl Policy for WindowedGreedy {
    type Config = WindowedGreedyConfig;
    const SUMMARY: &'static str = "Of the w blocks sealed first, the one with the fewest pages to copy.";
    const SOURCE: &'static str = "Hu et al. 2009";
}

impl VictimPolicy for WindowedGreedy {
    fn new(config: &WindowedGreedyConfig, pool: Pool) -> Self {
        Self { window: config.window.get() as usize, order: List::new(pool.blocks) }
    }

    fn sealed(&mut self, block: LocalBlock, _: u32) {
        self.order.push_back(block);
    }

    fn cost_changed(&mut self, _: LocalBlock, _: u32, _: u32) {}

    fn removed(&mut self, block: LocalBlock, _: u32) {
        self.order.remove(block);
    }

    fn pick(&mut self, candidates: Candidates<'_>) -> Option<LocalBlock> {
        self.order.iter().take(self.window).min_by_key(|&block| candidates.cost(block))
    }

    fn order(&self) -> Vec<LocalBlock> {
        self.order.iter().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
    }
}
