//! The numbers of a result, by name (SPEC 1.5).

use crate::latency::LatencySummary;
use coflash_controller::{CacheTally, CommitTally};
use coflash_flash::Cause;
use coflash_ftl::Tally;
use coflash_host::{ExchangeTally, LaneTally, Remote, RemoteTally};
use coflash_hybrid::Tier;
use coflash_hybrid::disk::Disks;
use serde::Serialize;

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

/// How large the caches of a hybrid are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// When.
    pub at_ns: u64,
    /// Clean pages.
    pub clean_pages: u32,
    /// Dirty pages, those on their way to the disk included.
    pub dirty_pages: u32,
    /// How many pages the read cache may hold.
    pub read_limit_pages: u32,
    /// How many pages the write cache may hold.
    pub write_limit_pages: u32,
}

/// What a flash cache in front of disks did; only with `hybrid`. Counts are pages unless they say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HybridMetrics {
    /// Reads that the read cache had / reads that the write cache did not have.
    pub read_hit_ratio: Option<f64>,
    /// Requests that the write cache had / writes, and reads that it had.
    pub write_hit_ratio: Option<f64>,
    /// Reads that found a clean page.
    pub read_hits_clean_pages: u64,
    /// Reads that found a dirty page.
    pub read_hits_dirty_pages: u64,
    /// Reads that went past the cache.
    pub bypassed_reads_pages: u64,
    /// Writes that went past the cache.
    pub bypassed_writes_pages: u64,
    /// Of those, the ones that found no free page.
    pub overflowed_writes_pages: u64,
    /// Pages put into the read cache.
    pub fills_pages: u64,
    /// Dirty pages that went to the disk.
    pub destages_pages: u64,
    /// Groups of them.
    pub destage_groups: u64,
    /// Transfers from the disks.
    pub disk_read_transfers: u64,
    /// Transfers to the disks.
    pub disk_write_transfers: u64,
    /// Pages from the disks.
    pub disk_reads_pages: u64,
    /// Pages to the disks.
    pub disk_writes_pages: u64,
    /// Time that disks were busy, summed.
    pub disk_time_ns: u64,
    /// Pages of the journal that were programmed.
    pub journal_pages: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// How often flash was divided.
    pub divisions: u64,
    /// Pages of flash that may hold data.
    pub flash_pages: u32,
    /// Memory that the workload tracker takes.
    pub tracker_bytes: u64,
    /// How large the caches were over time; the last is where they ended.
    pub sizes: Vec<Sizes>,
}

impl HybridMetrics {
    pub(crate) fn of(tier: &Tier, disks: &Disks, sizes: Vec<Sizes>) -> Self {
        let (tally, mapping, disk) = (tier.tally(), tier.mapping_tally(), disks.tally());
        let write_hits = tally.write_hits + tally.read_hits_dirty;
        Self {
            read_hit_ratio: ratio(tally.read_hits, tally.read_hits + tally.read_misses),
            write_hit_ratio: ratio(write_hits, write_hits + tally.write_misses),
            read_hits_clean_pages: tally.read_hits,
            read_hits_dirty_pages: tally.read_hits_dirty,
            bypassed_reads_pages: tally.bypassed_reads,
            bypassed_writes_pages: tally.bypassed_writes,
            overflowed_writes_pages: tally.overflowed_writes,
            fills_pages: tally.fills,
            destages_pages: tally.destages,
            destage_groups: tally.destage_groups,
            disk_read_transfers: disk.reads,
            disk_write_transfers: disk.writes,
            disk_reads_pages: disk.reads_pages,
            disk_writes_pages: disk.writes_pages,
            disk_time_ns: disks.busy_ns().sum(),
            journal_pages: mapping.journal_pages,
            checkpoints: mapping.checkpoints,
            divisions: tally.divisions,
            flash_pages: tier.flash_pages(),
            tracker_bytes: tier.heap_bytes().1 as u64,
            sizes,
        }
    }
}

/// Notices that crossed the link in one direction, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoticeMetrics {
    /// Notices handed over.
    pub posted: u64,
    /// Of those, notices taken back before they were sent, since they said nothing any more.
    pub withdrawn: u64,
    /// Of those, notices sent; the rest waited when the run ended.
    pub sent: u64,
    /// Messages that carried them.
    pub messages: u64,
    /// Commands that took notices along.
    pub rides: u64,
    /// Bytes of notices.
    pub bytes: u64,
    /// Time that the messages took, and that notices added to commands.
    pub time_ns: u64,
    /// From handing over to arrival.
    pub delay_mean_ns: Option<f64>,
    /// The longest of these.
    pub delay_max_ns: u64,
}

/// Notices by kind, as they arrived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoticeKinds {
    /// To the device: the cache holds the same data as flash.
    pub cached: u64,
    /// To the device: the cache holds newer data.
    pub dirtied: u64,
    /// To the device: the cache held the same data, and holds it no more.
    pub evicted: u64,
    /// To the device: what a removable page counts has changed.
    pub weights: u64,
    /// To the host: GC has dropped a granted page.
    pub used: u64,
}

/// Questions that were waited for, and their answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeMetrics {
    /// Pages asked about.
    pub pages: u64,
    /// Of those, pages for which the answer was no.
    pub refused_pages: u64,
    /// Messages there and back.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// From question to answer, summed.
    pub time_ns: u64,
}

/// What it took to keep cache and flash in step across the link; only where the cache is in the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostMetrics {
    /// Commands that crossed the link: read misses by request, evictions, writes past the cache, trims.
    pub commands: u64,
    /// Everything else that crossed as a message: notices, questions and answers.
    pub messages: u64,
    /// The bytes of all that, and of what went with commands.
    pub bytes: u64,
    /// The time that all that took.
    pub time_ns: u64,
    /// What answers to requests waited for it.
    pub waited_ns: u64,
    /// Notices by kind, as they arrived.
    pub notices: NoticeKinds,
    /// Notices from host to device.
    pub to_device: NoticeMetrics,
    /// Notices from device to host.
    pub to_host: NoticeMetrics,
    /// Under `request`: may these pages be dropped? The erase waits for the answer.
    pub protect: ExchangeMetrics,
    /// Of the pages that were dropped so, those of which the host had newer data: the notice was on its way.
    pub protect_obsolete_pages: u64,
    /// Under `grants`: pages granted.
    pub grants_pages: u64,
    /// Of those, pages that GC dropped.
    pub grants_used_pages: u64,
    /// Under `grants`: was this grant used? Asked before a clean copy leaves the cache.
    pub revoke: ExchangeMetrics,
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
    /// The flash cache in front of disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<HybridMetrics>,
    /// What it took to keep cache and flash in step across the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostMetrics>,
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

impl NoticeMetrics {
    fn of(tally: &LaneTally) -> Self {
        Self {
            posted: tally.posted,
            withdrawn: tally.withdrawn,
            sent: tally.sent,
            messages: tally.messages,
            rides: tally.rides,
            bytes: tally.bytes,
            time_ns: tally.time.ns,
            delay_mean_ns: ratio(tally.delay_sum.ns, tally.sent),
            delay_max_ns: tally.delay_max.ns,
        }
    }
}

impl ExchangeMetrics {
    fn of(tally: &ExchangeTally) -> Self {
        Self {
            pages: tally.pages,
            refused_pages: tally.refused,
            messages: tally.messages,
            bytes: tally.bytes,
            time_ns: tally.time.ns,
        }
    }
}

impl HostMetrics {
    pub(crate) fn of(remote: &Remote) -> Self {
        let RemoteTally { commands, notices, protect, revoke, waited, .. } = *remote.tally();
        let [to_device, to_host] = [remote.to_device(), remote.to_host()].map(NoticeMetrics::of);
        let [protect, revoke] = [&protect, &revoke].map(ExchangeMetrics::of);
        let sum = |notices: fn(&NoticeMetrics) -> u64, exchange: fn(&ExchangeMetrics) -> u64| {
            notices(&to_device) + notices(&to_host) + exchange(&protect) + exchange(&revoke)
        };
        Self {
            commands,
            messages: sum(|notices| notices.messages, |exchange| exchange.messages),
            bytes: sum(|notices| notices.bytes, |exchange| exchange.bytes),
            time_ns: sum(|notices| notices.time_ns, |exchange| exchange.time_ns),
            waited_ns: waited.ns,
            notices: NoticeKinds {
                cached: notices.cached,
                dirtied: notices.dirtied,
                evicted: notices.evicted,
                weights: notices.weights,
                used: notices.used,
            },
            protect_obsolete_pages: remote.tally().protect_obsolete_pages,
            grants_pages: remote.tally().grants,
            grants_used_pages: remote.tally().grants_used,
            to_device,
            to_host,
            protect,
            revoke,
        }
    }
}

impl Programs {
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
