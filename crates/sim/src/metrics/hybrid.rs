//! What a flash cache in front of disks did.

use super::ratio;
use coflash_hybrid::Tier;
use coflash_hybrid::disk::Disks;
use serde::Serialize;

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
    /// Reads that neither had, and that waited for a read of the disk that was under way.
    pub joined_reads_pages: u64,
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
    /// Of those pages, the ones that went only because the write cache was to be smaller; no write waited for them.
    pub given_up_pages: u64,
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
    /// Of the simulated time, the share for which a disk was busy, on average over the disks.
    pub disk_utilisation: Option<f64>,
    /// Time that a disk was busy for each of its transfers, on average.
    pub disk_service_mean_ns: Option<f64>,
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
    pub(crate) fn of(tier: &Tier, disks: &Disks, sizes: Vec<Sizes>, simulated_ns: u64) -> Self {
        let (tally, mapping, disk) = (tier.tally(), tier.mapping_tally(), disks.tally());
        let disk_time_ns = disks.busy_ns().sum();
        let write_hits = tally.write_hits + tally.read_hits_dirty;
        Self {
            read_hit_ratio: ratio(tally.read_hits, tally.read_hits + tally.read_misses),
            write_hit_ratio: ratio(write_hits, write_hits + tally.write_misses),
            read_hits_clean_pages: tally.read_hits,
            read_hits_dirty_pages: tally.read_hits_dirty,
            joined_reads_pages: tally.joined_reads,
            bypassed_reads_pages: tally.bypassed_reads,
            bypassed_writes_pages: tally.bypassed_writes,
            overflowed_writes_pages: tally.overflowed_writes,
            fills_pages: tally.fills,
            destages_pages: tally.destages,
            destage_groups: tally.destage_groups,
            given_up_pages: tally.given_up,
            disk_read_transfers: disk.reads,
            disk_write_transfers: disk.writes,
            disk_reads_pages: disk.reads_pages,
            disk_writes_pages: disk.writes_pages,
            disk_time_ns,
            disk_utilisation: ratio(disk_time_ns, disks.busy_ns().count() as u64 * simulated_ns),
            disk_service_mean_ns: ratio(disk_time_ns, disk.reads + disk.writes),
            journal_pages: mapping.journal_pages,
            checkpoints: mapping.checkpoints,
            divisions: tally.divisions,
            flash_pages: tier.flash_pages(),
            tracker_bytes: tier.heap_bytes().1 as u64,
            sizes,
        }
    }
}
