//! The numbers of a result, by name.

use crate::latency::LatencySummary;
use coflash_controller::{CacheTally, CommitTally};
use coflash_flash::Cause;
use coflash_ftl::Tally;
use serde::Serialize;

mod host;
mod hybrid;
mod shadow;

pub(crate) use host::HostMetrics;
pub(crate) use hybrid::{HybridMetrics, Sizes};
pub(crate) use shadow::{DeviceBuffer, HostBuffer, Shadows};

/// Programs by cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the causes are documented where they are defined")]
pub struct Programs {
    pub host: u64,
    pub evict: u64,
    pub gc: u64,
    pub refresh: u64,
    pub wear_levelling: u64,
    pub destage: u64,
    pub metadata: u64,
}

/// Hits and misses in pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub struct CacheMetrics {
    pub read_hits: u64,
    pub read_misses: u64,
    pub write_hits: u64,
    pub write_misses: u64,
    pub hit_ratio: Option<f64>,
    pub capacity_pages: u32,
    pub nvm_reads_pages: u64,
    pub nvm_writes_pages: u64,
    pub clean_evictions_pages: u64,
    pub dirty_evictions_pages: u64,
}

/// Response times by kind of request; `all` counts trims and flushes too.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub struct Responses {
    pub all: LatencySummary,
    pub read: LatencySummary,
    pub write: LatencySummary,
}

/// What crash consistency took; only under `cdm-consistent`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Consistency {
    /// Commits: by time, by flush, or early.
    pub commits: u64,
    /// Commits because nothing could leave the cache, or no deletion could be noted.
    pub early_commits: u64,
    /// Pages programmed so that slots become free.
    pub checkpoints_pages: u64,
    /// Pages copied within the cache because the committed version was write-protected.
    pub copies_on_write_pages: u64,
}

/// Cached pages of which flash had no valid copy; only under `cdm`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoleCopies {
    /// The most of them at any time: what must be saved when power is lost.
    pub peak_pages: u32,
    /// Pages written to flash ahead of their eviction, so that there could be another.
    pub cleaned_pages: u64,
}

/// Erases per block in the measured part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub struct EraseCounts {
    pub mean: f64,
    pub max: u32,
    pub stddev: f64,
}

/// What a run under way has measured until now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoFar {
    /// When the last answer so far was given.
    pub simulated_ns: u64,
    /// Pages that the host wrote.
    pub host_writes_pages: u64,
    /// Flash programs.
    pub programs_pages: u64,
    /// Flash programs for each page that the host wrote.
    pub waf_host: Option<f64>,
    /// Mean response of all requests.
    pub response_mean_ns: Option<f64>,
    /// The response that 99 % of them do not exceed.
    pub response_p99_ns: Option<u64>,
}

/// Everything that was counted in the measured part of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Requests answered.
    pub requests: u64,
    /// Pages the host read, parts of pages included.
    pub host_reads_pages: u64,
    /// Pages the host wrote, parts of pages included.
    pub host_writes_pages: u64,
    /// Whole pages the host trimmed.
    pub host_trims_pages: u64,
    /// Flushes.
    pub flushes: u64,
    /// Pages arriving at the FTL: host writes past the cache, and evictions.
    pub ftl_writes_pages: u64,
    /// Flash reads for requests; those of GC are part of its copies.
    pub flash_reads_pages: u64,
    /// Programs by cause.
    pub programs_pages: Programs,
    /// Valid pages that GC copied.
    pub gc_copies_pages: u64,
    /// Valid pages that GC did not copy because the cache had them.
    pub gc_drops_pages: u64,
    /// GC's page copies and erases that were done one by one, in idle time or between operations: where `gc.mode` is
    /// `background` or `preemptive`. The others were part of whole victims that an operation waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gc_steps: Option<u64>,
    /// Later writes that such a drop caused.
    pub drop_rewrites_pages: u64,
    /// Erased blocks.
    pub erases_blocks: u64,
    /// Time that dies spent on GC, summed.
    pub gc_time_ns: u64,
    /// Time that dies spent on everything else, summed.
    pub service_time_ns: u64,
    /// Simulated time from the start to the last answer.
    pub simulated_ns: u64,
    /// All programs / host page writes.
    pub waf_host: Option<f64>,
    /// All programs / pages arriving at the FTL.
    pub waf_ftl: Option<f64>,
    /// The device cache.
    pub cache: CacheMetrics,
    /// What crash consistency took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<Consistency>,
    /// What the cache alone held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sole_copies: Option<SoleCopies>,
    /// What it took to keep cache and flash in step across the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostMetrics>,
    /// The flash cache in front of disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<HybridMetrics>,
    /// What GC made of pages that are dirty in a write buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadows: Option<Shadows>,
    /// The device's write buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_buffer: Option<DeviceBuffer>,
    /// The host's write buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_buffer: Option<HostBuffer>,
    /// Response times in nanoseconds.
    pub response_ns: Responses,
    /// Erases per block.
    pub erase_count: EraseCounts,
}

/// Part of whole, where there is a whole.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Consistency {
    pub(crate) fn of(tally: &CommitTally) -> Self {
        Self {
            commits: tally.commits,
            early_commits: tally.early_commits,
            checkpoints_pages: tally.checkpoints_pages,
            copies_on_write_pages: tally.copies_on_write_pages,
        }
    }
}

impl SoleCopies {
    pub(crate) fn of(peak_pages: Option<u32>, tally: &CacheTally) -> Option<Self> {
        peak_pages.map(|peak_pages| Self { peak_pages, cleaned_pages: tally.cleaned_pages })
    }
}

impl Programs {
    /// All of them.
    pub(crate) fn all(&self) -> u64 {
        let Self { host, evict, gc, refresh, wear_levelling, destage, metadata } = self;
        host + evict + gc + refresh + wear_levelling + destage + metadata
    }

    pub(crate) fn of(tally: &Tally) -> Self {
        Self {
            host: tally.programs_for(Cause::Host),
            evict: tally.programs_for(Cause::Evict),
            gc: tally.programs_for(Cause::Gc),
            refresh: tally.programs_for(Cause::Refresh),
            wear_levelling: tally.programs_for(Cause::WearLevelling),
            destage: tally.programs_for(Cause::Destage),
            metadata: tally.programs_for(Cause::Metadata),
        }
    }
}

impl CacheMetrics {
    pub(crate) fn of(tally: &CacheTally, capacity_pages: u32) -> Self {
        let hits = tally.read_hits + tally.write_hits;
        let lookups = hits + tally.read_misses + tally.write_misses;
        Self {
            read_hits: tally.read_hits,
            read_misses: tally.read_misses,
            write_hits: tally.write_hits,
            write_misses: tally.write_misses,
            hit_ratio: if capacity_pages > 0 { ratio(hits, lookups) } else { None },
            capacity_pages,
            nvm_reads_pages: tally.nvm_reads_pages,
            nvm_writes_pages: tally.nvm_writes_pages,
            clean_evictions_pages: tally.clean_evictions_pages,
            dirty_evictions_pages: tally.dirty_evictions_pages,
        }
    }
}

impl EraseCounts {
    pub(crate) fn of(counts: &[u32]) -> Self {
        let n = counts.len() as u128;
        let sum: u128 = counts.iter().map(|&count| u128::from(count)).sum();
        let squares: u128 = counts.iter().map(|&count| u128::from(count).pow(2)).sum();
        let variance = (n * squares - sum * sum) as f64 / (n * n) as f64;
        Self {
            mean: sum as f64 / n as f64,
            max: counts.iter().copied().max().unwrap_or(0),
            stddev: variance.sqrt(),
        }
    }
}
