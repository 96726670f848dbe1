//! The counters.

coflash_base::measures! {
    /// Flash holds a read cache of clean pages and a write cache of dirty pages. The rest is over-provisioned space,
    /// which makes garbage collection cheap.
    pub struct TierCounters in "hybrid", "Flash cache before disks" {
        /// Pages read and found clean in flash.
        read_hits_clean_pages: u64, "reads that found a clean page", pages, untabled;
        /// Pages read and found dirty in flash.
        read_hits_dirty_pages: u64, "reads that found a dirty page", pages, untabled;
        /// Pages read through the cache and not found.
        read_misses_pages: u64, "reads that found none", pages, untabled;
        /// Read misses that waited for a transfer under way: of the page from disk, or past flash to it.
        joined_reads_pages: u64, "reads that joined a fetch", pages, rare;
        /// Pages written and found dirty in flash.
        write_hits_pages: u64, "writes that found a dirty page", pages, untabled;
        /// Pages written through the cache and found clean or not at all.
        write_misses_pages: u64, "writes that found a clean page or none", pages, untabled;
        /// Pages of sequential runs read past the cache.
        bypassed_reads_pages: u64, "pages read past the cache", pages;
        /// Pages written past the cache, mostly of sequential runs.
        bypassed_writes_pages: u64, "pages written past the cache", pages;
        /// Pages written past the cache because no page could be evicted at once.
        overflowed_writes_pages: u64, "pages written past a full cache", pages, rare;
        /// Pages put into the read cache.
        fills_pages: u64, "pages put into the read cache", pages, untabled;
        /// Clean pages evicted. Under write-through those of the write cache count.
        clean_evictions_pages: u64, "clean pages that gave way", pages, untabled;
        /// Dirty pages written from the write cache to disk, in groups, in the order of their addresses.
        destages_pages: u64, "pages destaged", pages, cost;
        /// Pages written through to the disk, as well as to flash, for one write.
        written_through_pages: u64, "pages written through", pages, rare;
        /// Groups of pages destaged.
        destage_groups: u64, "groups destaged";
        /// Pages destaged only because the write cache was being shrunk. No write waited for them.
        given_up_pages: u64, "of those, given up by resizing", pages, rare;
        /// Partitions of flash by the cost model, at ends of periods.
        divisions: u64, "times flash was divided";
    }
    derived {
        /// The share of the pages read through the cache that were found in flash, clean or dirty.
        read_hits_share: "read hits", share, gain
            = |c| ratio(c.read_hits(), c.read_hits() + c.read_misses_pages);
        /// The share of the pages written through the cache that were already dirty in flash.
        write_hits_share: "write hits", share, gain
            = |c| ratio(c.write_hits_pages, c.write_hits_pages + c.write_misses_pages);
        /// Hit rate of the read cache: of reads that miss the write cache, the share that hits the read cache. H_R of
        /// the cost model.
        read_hit_ratio: "hits of the read cache", share, gain
            = |c| ratio(c.read_hits_clean_pages, c.read_hits_clean_pages + c.read_misses_pages);
        /// Hit rate of the write cache: of writes and of reads that hit it, the share that hits. H_W of the cost model.
        write_hit_ratio: "hits of the write cache", share, gain = |c| {
            let hits = c.write_hits_pages + c.read_hits_dirty_pages;
            ratio(hits, hits + c.write_misses_pages)
        };
    }
}

use coflash_base::measure::ratio;

impl TierCounters {
    /// The pages read and found.
    #[must_use]
    pub fn read_hits(&self) -> u64 {
        self.read_hits_clean_pages + self.read_hits_dirty_pages
    }

    /// The pages that went through the cache.
    #[must_use]
    pub fn page_requests(&self) -> u64 {
        self.read_hits() + self.read_misses_pages + self.write_hits_pages + self.write_misses_pages
    }
}

coflash_base::measures! {
    /// What a flash cache gives up to a cache above it, if that says what it holds.
    pub struct AboveCounters in "hybrid", "Below a cache" {
        /// Pages given up in flash because a cache above got newer data: GC need not copy them, nor the disk write them.
        superseded_pages: u64, "pages given up to a cache above", pages, rare;
    }
}

coflash_base::measures! {
    /// Writes of the tier's own metadata.
    pub struct MappingCounters in "hybrid", "Mapping" {
        /// Pages of the journal programmed.
        journal_pages: u64, "pages of the journal", pages, cost, untabled;
        /// Checkpoints written.
        checkpoints: u64, "checkpoints", cost, untabled;
    }
}

coflash_base::measures! {
    /// Sizes of the tier.
    pub struct TierSize in "hybrid", "Size" {
        /// Pages of flash that may hold data.
        flash_pages: u32, "pages of flash", pages, untabled;
        /// Memory of the workload tracker.
        tracker_bytes: u64, "memory of the workload tracker", bytes, untabled;
    }
}

coflash_base::measures! {
    /// The sizes of the caches over time. The last entry is the end of the run.
    pub struct Sizes in "hybrid.sizes", "Sizes of the caches" {
        /// The time.
        at_ns: u64, "time", ns, untabled;
        /// Clean pages.
        clean_pages: u32, "clean pages", pages, untabled;
        /// Dirty pages, including those being destaged. Under write-through those of the write cache.
        dirty_pages: u32, "dirty pages", pages, untabled;
        /// The pages that the read cache may hold.
        read_limit_pages: u32, "limit of the read cache", pages, untabled;
        /// The pages that the write cache may hold.
        write_limit_pages: u32, "limit of the write cache", pages, untabled;
    }
}
