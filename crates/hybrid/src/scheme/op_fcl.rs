//! OP-FCL: read cache, write cache and over-provisioned space are all sized by the cost model.

use super::{PartitionScheme, Period};
use crate::costmodel::Partition;
use coflash_base::{Policy, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpFclConfig {
    /// Caching space at first, as a share of flash.
    pub initial_caching: Share,
    /// Read cache at first, as a share of caching space.
    pub initial_read: Share,
}

impl Default for OpFclConfig {
    fn default() -> Self {
        Self { initial_caching: Share::percent(95), initial_read: Share::percent(50) }
    }
}

/// See the module.
#[derive(Clone)]
pub struct OpFcl {
    config: OpFclConfig,
}

impl Policy for OpFcl {
    type Config = OpFclConfig;
    const SUMMARY: &'static str =
        "Read cache, write cache and over-provisioned space are sized by the cost model.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl PartitionScheme for OpFcl {
    fn new(config: &OpFclConfig) -> Self {
        Self { config: config.clone() }
    }

    fn first(&self) -> Partition {
        Partition { caching: self.config.initial_caching.as_f64(), read: self.config.initial_read.as_f64() }
    }

    fn divides(&self) -> bool {
        true
    }

    fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        let Period { demand, costs, step, caching_max } = *period;
        Some(costs.best(demand, step, caching_max))
    }
}
