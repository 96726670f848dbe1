//! The rated life of the flash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rated life of the flash, from which the measures of endurance follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EnduranceConfig {
    /// Erases that a block is rated for. Default: SLC as in the reference device (Agrawal et al., USENIX ATC 2008);
    /// MLC of that time has 10000, TLC a few thousand.
    pub rated_cycles: u32,
    /// Years over which drive writes per day are spread. Default: the usual warranty of drives for data centres.
    pub warranty_years: u32,
}

impl Default for EnduranceConfig {
    fn default() -> Self {
        Self { rated_cycles: 100_000, warranty_years: 5 }
    }
}
