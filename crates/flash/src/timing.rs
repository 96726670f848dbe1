//! How long flash operations take.

use coflash_base::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the chips of a channel share its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Each die has a bus of its own: a die is busy for array and transfer time, and never waits for a bus.
    Private,
    /// The dies of a channel share one bus; transfers are granted in the order in which they are asked for.
    #[default]
    Shared,
}

/// Whether the planes of a die work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planes {
    /// A die does one operation at a time.
    #[default]
    Serial,
    /// Each plane does one operation at a time.
    Parallel,
}

/// Costs of the flash array and its bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Array time of a page read.
    pub page_read: Duration,
    /// Array time of a page program.
    pub page_program: Duration,
    /// Array time of a fast page program, whose data keeps for less long; `page_program` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_program_fast: Option<Duration>,
    /// Time of a block erase.
    pub block_erase: Duration,
    /// Bus time of a sector, spare bytes included.
    pub sector_transfer: Duration,
    /// Decoding the error correction after a page read, in the controller.
    pub ecc_decode: Duration,
    /// Whether GC copies inside a plane without a transfer.
    pub copy_back: bool,
    /// Whether the chips of a channel share its bus.
    pub channel: Channel,
    /// Whether the planes of a die overlap.
    pub planes: Planes,
}

impl Default for Timing {
    /// The SLC chip of the reference device (`msr-ssd`), on a shared bus.
    fn default() -> Self {
        Self {
            page_read: Duration { ns: 25_000 },
            page_program: Duration { ns: 200_000 },
            page_program_fast: None,
            block_erase: Duration { ns: 1_500_000 },
            sector_transfer: Duration { ns: 13_200 },
            ecc_decode: Duration::ZERO,
            copy_back: true,
            channel: Channel::Shared,
            planes: Planes::Serial,
        }
    }
}

/// Cost of an access to the device's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheTiming {
    /// Reading a page from it.
    pub read: Duration,
    /// Writing a page into it.
    pub write: Duration,
}
