//! Age threshold: greedy within the class of the oldest blocks. Younger blocks are left alone, since they lose
//! more pages by themselves.
//!
//! The class consists of the blocks with an invalid page whose age is in the upper part of the span from the youngest
//! to the oldest of them, and at most a share of them. Ties go to the oldest. O(candidates) per pick.
//!
//! Written from the description of the patch that brought it to F2FS. Its code later weighs age and valid blocks
//! against each other, and measures the threshold in seconds; its second part, which fills the free places of
//! a block of the same age, needs overwrites that flash has not.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::{List, Policy, Save, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `age-threshold`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Save)]
#[serde(deny_unknown_fields, default)]
pub struct AgeThresholdConfig {
    /// The least age of a candidate, from that of the youngest block (0%) to that of the oldest (100%).
    pub threshold: Share,
    /// The largest share of the blocks that are candidates, the oldest first.
    pub share: Share,
}

impl Default for AgeThresholdConfig {
    fn default() -> Self {
        Self { threshold: Share::percent(80), share: Share::percent(20) }
    }
}

/// The age-threshold policy.
#[derive(Clone, Save)]
pub struct AgeThreshold(AgeThresholdConfig);

impl Policy for AgeThreshold {
    type Config = AgeThresholdConfig;
    const SUMMARY: &'static str = "Of the oldest blocks, the one with the fewest pages to copy.";
    const SOURCE: &'static str = "Yu 2020 (ATGC of the Linux file system F2FS)";
}

impl OrderRule for AgeThreshold {
    const ORDER: Order = Order::Sealing;

    fn new(config: &AgeThresholdConfig, _: Pool) -> Self {
        Self(config.clone())
    }

    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock> {
        let dirty = || order.iter().filter(|&block| candidates.freed(block) > 0);
        let (Some(oldest), Some(youngest)) = (dirty().next(), dirty().last()) else { return order.front() };
        let [oldest, youngest] = [oldest, youngest].map(|block| candidates.age(block));
        let least = youngest + self.0.threshold.of(oldest.saturating_sub(youngest));
        let most = self.0.share.of(dirty().count() as u64).max(1) as usize;
        let class = dirty().take(most).take_while(|&block| candidates.age(block) >= least);
        class.min_by_key(|&block| candidates.cost(block))
    }
}
