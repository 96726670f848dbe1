//! Windowed greedy: the cheapest of the w blocks sealed first. Ties go to the oldest.
//!
//! The window gives young blocks time to lose valid pages. O(w) per pick.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::{List, Policy, Save};
use std::num::NonZeroU32;

coflash_base::config! {
    /// Parameters of `windowed-greedy`.
    #[derive(Copy, Eq)]
    pub struct WindowedGreedyConfig {
        /// Number of blocks in the window, at least 1.
        pub window: NonZeroU32 = NonZeroU32::new(128).expect("not zero"),
    }
}

/// The windowed greedy policy.
#[derive(Clone, Save)]
pub struct WindowedGreedy(NonZeroU32);

impl Policy for WindowedGreedy {
    type Config = WindowedGreedyConfig;
    const SUMMARY: &'static str = "Of the w blocks sealed first, the one with the fewest pages to copy.";
    const SOURCE: &'static str = "Hu et al. 2009";
}

impl OrderRule for WindowedGreedy {
    const ORDER: Order = Order::Sealing;

    fn new(config: &WindowedGreedyConfig, _: Pool) -> Self {
        Self(config.window)
    }

    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock> {
        order.iter().take(self.0.get() as usize).min_by_key(|&block| candidates.cost(block))
    }
}
