//! The rated life of the flash.

use coflash_media::Cell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rated life of the flash, from which the measures of endurance follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EnduranceConfig {
    /// Erases that a block is rated for. Default: by `flash.cell`. SLC 100000, as in the reference device, and MLC 10000 (Agrawal
    /// et al., USENIX ATC 2008); TLC 3000, the most of a white paper by HP ("Technology differences between SLC, MLC and TLC
    /// NAND": 1000 to 3000); QLC 1000, Micron's claim for its first (2018).
    pub rated_cycles: Option<u32>,
    /// Years over which drive writes per day are spread. Default: the usual warranty of drives for data centres.
    pub warranty_years: u32,
}

impl Default for EnduranceConfig {
    fn default() -> Self {
        Self { rated_cycles: None, warranty_years: 5 }
    }
}

impl EnduranceConfig {
    /// The erases that a block of such cells is rated for.
    #[must_use]
    pub fn cycles(&self, cell: Cell) -> u32 {
        self.rated_cycles.unwrap_or(match cell {
            Cell::Slc => 100_000,
            Cell::Mlc => 10_000,
            Cell::Tlc => 3_000,
            Cell::Qlc => 1_000,
        })
    }
}
