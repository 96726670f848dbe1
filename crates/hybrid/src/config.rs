//! What a scenario says of the tier.

use crate::disk::DisksConfig;
use crate::scheme::SchemeConfig;
use coflash_base::{Bytes, Share};
use coflash_cache::EvictionConfig;
use coflash_flash::Mode;
use coflash_ftl::{Demands, Fate, Source, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a write waits for the group that has to go before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destaging {
    /// The write that finds the write cache full is answered when the group is on the disk, as the cost model has it.
    #[default]
    Foreground,
    /// It is not held up.
    Background,
}

/// What a write cache that shrinks does to the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resizing {
    /// It shrinks with each request, whatever the disks can bear, and writes wait for what it destages.
    Steady,
    /// It is work for idle disks: a group at a time, for which no request waits and whose pages give way to other
    /// transfers.
    #[default]
    Yielding,
}

/// Which pages share the active blocks of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActiveBlocks {
    /// New pages as `ftl.shared_streams` says, clean ones being of the stream "evict"; what GC copies is mixed.
    #[default]
    Mixed,
    /// Blocks hold either clean pages or dirty ones, for GC keeps them apart, too.
    ByClass,
}

impl ActiveBlocks {
    /// What becomes of the clean pages of GC's victims.
    pub(crate) fn fate_of_clean(self) -> Fate {
        let stream = match self {
            Self::Mixed => Stream::Gc,
            Self::ByClass => Stream::Evict,
        };
        Fate::Copy { source: Source::Flash, stream, mode: Mode::Normal }
    }

    /// What is asked of the FTL.
    #[must_use]
    pub fn demands(self) -> Demands {
        Demands { evict_stream: self == Self::ByClass, ..Demands::NONE }
    }
}

/// What becomes of a write to a part of a page that is not cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrites {
    /// It counts as a write of the whole page: whoever sent it has the rest, too.
    #[default]
    Whole,
    /// It goes to the disk, which writes sectors.
    Disk,
}

/// A flash cache in front of disks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HybridConfig {
    /// The disks.
    pub disks: DisksConfig,
    /// How flash is divided: its name, or a table of its name and its parameters.
    pub scheme: SchemeConfig,
    /// Which page leaves the read cache, and the write cache, first.
    pub policy: EvictionConfig,
    /// Which pages share the active blocks of flash.
    pub active_blocks: ActiveBlocks,
    /// What the curves of hit rates are measured in, and the step in which flash is divided.
    pub segment: Bytes,
    /// Requests between two decisions how flash is to be divided.
    pub period_requests: u32,
    /// Pages by which a cache shrinks or grows with a request, at most.
    pub resize_pages: u32,
    /// What a write cache that shrinks does to the disks.
    pub resizing: Resizing,
    /// What the counts of earlier periods lose at the end of one.
    pub decay: Share,
    /// Runs of this size and more bypass the cache; "0B" where none does.
    pub sequential_unit: Bytes,
    /// Runs that are followed at once.
    pub sequential_streams: u32,
    /// Dirty pages that are destaged together.
    pub destage_pages: u32,
    /// Whether a write waits for them.
    pub destaging: Destaging,
    /// What becomes of a write to a part of a page that is not cached.
    pub partial_writes: PartialWrites,
}

impl Default for HybridConfig {
    fn default() -> Self {
        Self {
            disks: DisksConfig::default(),
            scheme: SchemeConfig::default(),
            policy: EvictionConfig::default(),
            active_blocks: ActiveBlocks::default(),
            segment: Bytes { count: 256 << 20 },
            period_requests: 1 << 16,
            resize_pages: 2,
            resizing: Resizing::default(),
            decay: Share::ONE,
            sequential_unit: Bytes { count: 128 << 10 },
            sequential_streams: 32,
            destage_pages: 64,
            destaging: Destaging::default(),
            partial_writes: PartialWrites::default(),
        }
    }
}

impl HybridConfig {
    /// What is wrong with it by itself, as (key, problem).
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let none = |count: u32| count == 0;
        let counts = [
            ("period_requests", self.period_requests),
            ("resize_pages", self.resize_pages),
            ("sequential_streams", self.sequential_streams),
            ("destage_pages", self.destage_pages),
        ];
        if let Some((key, _)) = counts.into_iter().find(|&(_, count)| none(count)) {
            return Err((key, "0 was given; at least 1 is allowed".to_owned()));
        }
        if self.decay > Share::ONE {
            return Err(("decay", format!("{} was given; at most 100% is allowed", self.decay)));
        }
        Ok(())
    }
}
