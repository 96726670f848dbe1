//! FP-FCL: one cache for clean and dirty pages, with a fixed share of flash.

use super::{PartitionScheme, one_cache};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `fp-fcl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Save)]
#[serde(deny_unknown_fields, default)]
pub struct FpFclConfig {
    /// Caching space as a share of flash.
    pub caching: Share,
}

impl Default for FpFclConfig {
    fn default() -> Self {
        Self { caching: Share::percent(80) }
    }
}

/// The FP-FCL scheme.
#[derive(Clone, Save)]
pub struct FpFcl {
    config: FpFclConfig,
}

impl Policy for FpFcl {
    type Config = FpFclConfig;
    const SUMMARY: &'static str = "One cache for clean and dirty pages, of a fixed share of flash.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl PartitionScheme for FpFcl {
    fn new(config: &FpFclConfig) -> Self {
        Self { config: config.clone() }
    }

    fn first(&self) -> (Partition, Orders) {
        one_cache(self.config.caching)
    }
}
