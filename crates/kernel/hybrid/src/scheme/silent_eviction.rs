//! Silent eviction: as FP-FCL, but GC drops clean pages instead of copying them, since the disk holds them, too.
//!
//! M. Saxena, M. M. Swift & Y. Zhang, "FlashTier: a lightweight, consistent and durable storage cache", EuroSys 2012.

use super::{PartitionScheme, one_cache};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `silent-eviction`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Save)]
#[serde(deny_unknown_fields, default)]
pub struct SilentEvictionConfig {
    /// Caching space as a share of flash.
    pub caching: Share,
}

impl Default for SilentEvictionConfig {
    fn default() -> Self {
        Self { caching: Share::percent(80) }
    }
}

/// The silent eviction scheme.
#[derive(Clone, Save)]
pub struct SilentEviction {
    config: SilentEvictionConfig,
}

impl Policy for SilentEviction {
    type Config = SilentEvictionConfig;
    const SUMMARY: &'static str =
        "One cache of a fixed share of flash, whose clean pages GC drops instead of copying them.";
    const SOURCE: &'static str = "M. Saxena, M. M. Swift & Y. Zhang, EuroSys 2012";
}

impl PartitionScheme for SilentEviction {
    fn new(config: &SilentEvictionConfig) -> Self {
        Self { config: config.clone() }
    }

    fn first(&self) -> (Partition, Orders) {
        one_cache(self.config.caching)
    }

    fn drops_clean_from(&self) -> Option<f64> {
        Some(0.0)
    }
}
