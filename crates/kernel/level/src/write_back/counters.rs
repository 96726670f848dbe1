//! The counters of a cache or write buffer.

use coflash_base::measure::{SectionInfo, ratio};

/// Pages written by the host.
const WRITES: &[&str] = &["write_hits", "write_misses"];
/// Pages written to the level below.
const WRITTEN_BACK: &[&str] = &["dirty_evictions_pages", "aged_pages", "crowded_pages", "flushed_pages"];

coflash_base::measures! {
    /// Hits, misses and write-backs of the cache. Accesses to its memory are counted because non-volatile memory wears,
    /// too.
    pub struct CacheCounters in "cache", "Cache" {
        /// Pages read by the host and found in the cache.
        read_hits: u64, "read hits", pages, untabled;
        /// Pages read by the host and not found.
        read_misses: u64, "read misses", pages, untabled;
        /// Pages written by the host and found in the cache.
        write_hits: u64, "write hits", pages, untabled;
        /// Pages written by the host and not found.
        write_misses: u64, "write misses", pages, untabled;
        /// Slots of the cache.
        capacity_pages: u32, "cache size", pages, untabled, state;
        /// Page reads of the cache memory: hits and evictions.
        nvm_reads_pages: u64, "NVM reads", pages, untabled;
        /// Page writes of the cache memory: host writes and fills.
        nvm_writes_pages: u64, "NVM writes", pages, untabled;
        /// Host writes to a page that was dirty in the cache: its older data is never written back.
        absorbed_pages: u64, "writes absorbed", pages, gain, of(WRITES);
        /// Clean pages evicted, which needs no write.
        clean_evictions_pages: u64, "clean pages evicted", pages;
        /// Dirty pages written back because they were evicted.
        dirty_evictions_pages: u64, "written back, cache full", pages, rare, of(WRITTEN_BACK);
        /// Dirty pages written back because they had been dirty for too long.
        aged_pages: u64, "written back, dirty for long", pages, rare, of(WRITTEN_BACK);
        /// Dirty pages written back because too many pages were dirty.
        crowded_pages: u64, "written back, too much dirty", pages, rare, of(WRITTEN_BACK);
        /// Dirty pages written back because of a flush.
        flushed_pages: u64, "written back, flushed", pages, rare, of(WRITTEN_BACK);
        /// Pages read from the level below because the host wrote only a part of them.
        merged_pages: u64, "pages read to complete a write", pages, cost, rare;
        /// Dirty pages trimmed before they were written back.
        dropped_pages: u64, "dirty pages trimmed", pages, rare;
        /// Pages still dirty at the end of the run.
        dirty_pages: u32, "still dirty at the end", pages, state;
    }
    derived {
        /// Pages read or written by the host and found in the cache.
        hits_pages: "pages found in the cache", pages, whole, untabled, series("cache_hits_pages")
            = |c| Some(c.read_hits + c.write_hits);
        /// Pages read or written by the host and not found in the cache.
        misses_pages: "pages not found in the cache", pages, whole, untabled, series("cache_misses_pages")
            = |c| Some(c.read_misses + c.write_misses);
        /// The share of the pages read and written by the host that were found in the cache.
        hit_ratio: "cache hits", share, gain, rare = |c| c.hit_ratio();
        /// Pages written below, for any reason.
        written_pages: "pages written back", pages, whole, cost = |c| Some(c.written_pages());
    }
}

impl CacheCounters {
    fn hit_ratio(&self) -> Option<f64> {
        let hits = self.read_hits + self.write_hits;
        if self.capacity_pages > 0 { ratio(hits, hits + self.read_misses + self.write_misses) } else { None }
    }

    /// Pages written below.
    #[must_use]
    pub fn written_pages(&self) -> u64 {
        self.dirty_evictions_pages + self.aged_pages + self.crowded_pages + self.flushed_pages
    }
}

/// The host's write buffer.
pub const HOST_BUFFER: SectionInfo = SectionInfo {
    path: "host_buffer",
    title: "Write buffer in the host",
    meaning: "The file system's page cache: a page is dirty in it until it is written to the device.",
    ..CacheCounters::INFO
};

coflash_base::measures! {
    /// The cost of drops that did not pay.
    pub struct DropCounters in "", "Dropped pages" {
        /// Unmodified pages written at their eviction, only because GC or the scheme had given up their flash copy.
        drop_rewrites_pages: u64, "dropped pages written later", pages, cost, rare, series("drop_rewrites_pages");
    }
}
