//! The timing of flash operations.

use coflash_base::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the chips of a channel share its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Each die has a bus of its own. It is busy for array and transfer time, and never waits for a bus.
    Private,
    /// The dies of a channel share one bus. Transfers are served in the order of their requests.
    #[default]
    Shared,
}

/// Whether the planes of a die work in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planes {
    /// Each die serves one operation at a time.
    #[default]
    Serial,
    /// Each plane serves one operation at a time.
    Parallel,
}

/// Times of the flash array and its bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Array time of a page read.
    pub page_read: Duration,
    /// Array time of a page program.
    pub page_program: Duration,
    /// Array time of a fast page program, whose data has a shorter retention time. By default `page_program`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_program_fast: Option<Duration>,
    /// Time of a block erase.
    pub block_erase: Duration,
    /// Bus time of a sector, including its spare bytes.
    pub sector_transfer: Duration,
    /// Time of error correction in the controller after a page read.
    pub ecc_decode: Duration,
    /// Whether GC copies within a plane without a transfer (copy-back).
    pub copy_back: bool,
    /// Whether the chips of a channel share its bus.
    pub channel: Channel,
    /// Whether the planes of a die work in parallel.
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

/// Times of cache accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheTiming {
    /// Time to read a page.
    pub read: Duration,
    /// Time to write a page.
    pub write: Duration,
}

/// Times of the caches, by [`Memory`](crate::Memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheTimings {
    /// The host's write buffer.
    pub host_buffer: CacheTiming,
    /// A cache in the host.
    pub host: CacheTiming,
    /// The cache or write buffer of the device.
    pub device: CacheTiming,
}
