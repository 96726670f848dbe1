//! RW-FCL: caching space is fixed; the cost model divides it into read and write cache.

use super::{PartitionScheme, Period, two_caches};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `rw-fcl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Save)]
#[serde(deny_unknown_fields, default)]
pub struct RwFclConfig {
    /// Caching space as a share of flash.
    pub caching: Share,
    /// Initial read cache as a share of caching space.
    pub initial_read: Share,
}

impl Default for RwFclConfig {
    fn default() -> Self {
        Self { caching: Share::percent(80), initial_read: Share::percent(50) }
    }
}

/// The RW-FCL scheme.
#[derive(Clone, Save)]
pub struct RwFcl {
    config: RwFclConfig,
}

impl Policy for RwFcl {
    type Config = RwFclConfig;
    const SUMMARY: &'static str =
        "Read and write cache are sized by the cost model, within a fixed caching space.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl PartitionScheme for RwFcl {
    fn new(config: &RwFclConfig) -> Self {
        Self { config: config.clone() }
    }

    fn first(&self) -> (Partition, Orders) {
        two_caches(self.config.caching, self.config.initial_read)
    }

    fn divides(&self) -> bool {
        true
    }

    fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        let caching = self.config.caching.as_f64().min(period.caching_max);
        Some(period.costs.best_within(period.demand, caching, period.step))
    }
}
