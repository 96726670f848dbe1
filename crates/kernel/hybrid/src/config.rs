//! The flash cache before disks in a scenario.

use crate::scheme::SchemeConfig;
use crate::workload_tracker;
use crate::write_policy::WritePolicy;
use coflash_base::{Bytes, Misfit, Share};
use coflash_cache::EvictionConfig;
use coflash_ftl::{CopySource, Decision, Requirements, WriteStream};
use coflash_media::Mode;
use coflash_media::disk::DisksConfig;

coflash_base::config! {
    /// Whether a request waits for the group that is destaged to make room for it.
    pub enum Destaging, default Foreground {
        /// A write, or a read of a page that enters the cache, is answered when the group is on the disk, as in the cost model.
        Foreground,
        /// No request waits.
        Background,
    }

    /// How a write cache shrinks.
    pub enum Resizing, default Yielding {
        /// With each request, whatever the load of the disks. Writes wait for its destages.
        Steady,
        /// In the idle time of the disks, one group at a time. No request waits for it, and it yields to other transfers.
        Yielding,
    }

    /// The pages that share active blocks of flash.
    pub enum ActiveBlocks, default Mixed {
        /// New pages share blocks as set by `ftl.shared_streams`, where clean pages are of the stream "evict". GC's copies
        /// are mixed.
        Mixed,
        /// A block holds either clean or dirty pages; GC keeps them separate, too.
        ByClass,
    }
}

impl ActiveBlocks {
    /// The decision about clean pages of GC's victims that are kept.
    pub(crate) fn copies_clean(self) -> Decision {
        let stream = match self {
            Self::Mixed => WriteStream::Gc,
            Self::ByClass => WriteStream::Evict,
        };
        Decision::Copy { source: CopySource::Flash, stream, mode: Mode::Normal }
    }

    /// The requirements on the FTL.
    #[must_use]
    pub fn requirements(self) -> Requirements {
        Requirements { evict_stream: self == Self::ByClass, ..Requirements::NONE }
    }
}

coflash_base::config! {
    /// The treatment of a partial write to a page that is not cached.
    pub enum PartialWrites, default Whole {
        /// As a write of the whole page: the writer has the rest, too.
        Whole,
        /// As a write to the disk, which writes sectors.
        Disk,
    }

    /// A flash cache in front of disks.
    pub struct HybridConfig {
        /// The disks.
        pub disks: DisksConfig,
        /// The partition scheme: a name, or a table of name and parameters.
        pub scheme: SchemeConfig,
        /// The eviction policy of the read cache and of the write cache.
        pub policy: EvictionConfig,
        /// The pages that share active blocks of flash.
        pub active_blocks: ActiveBlocks,
        /// Size of a segment: the resolution of hit-rate curves and of the partition. From a 255th of flash to all that may be
        /// cached.
        pub segment: Bytes = Bytes { count: 256 << 20 },
        /// Requests of a period. The scheme decides about the partition at the end of each.
        pub period_requests: u32 = 1 << 16,
        /// The most pages by which a cache shrinks or grows with a request.
        pub resize_pages: u32 = 2,
        /// How a write cache shrinks.
        pub resizing: Resizing,
        /// The share by which the counts of earlier periods decay at the end of a period.
        pub decay: Share = Share::ONE,
        /// Sequential runs of at least this size bypass the cache; "0B" for no bypass.
        pub sequential_unit: Bytes = Bytes { count: 128 << 10 },
        /// The number of sequential runs that are tracked at once, at most 4096.
        pub sequential_streams: u32 = 32,
        /// The number of dirty pages that are destaged together, as a group.
        pub destage_pages: u32 = 64,
        /// When the disk gets a page that is written to the write cache.
        pub write_policy: WritePolicy,
        /// Whether a request waits for the group that is destaged to make room for it.
        pub destaging: Destaging,
        /// The treatment of a partial write to a page that is not cached.
        pub partial_writes: PartialWrites,
    }
}

/// The most sequential runs that are tracked: each request is compared with all of them.
const STREAMS_MAX: u32 = 1 << 12;

impl HybridConfig {
    /// Check the values.
    ///
    /// # Errors
    /// The first value that is not allowed, with its key in the table.
    pub fn check(&self) -> Result<(), Misfit> {
        let counts = [
            ("period_requests", self.period_requests),
            ("resize_pages", self.resize_pages),
            ("sequential_streams", self.sequential_streams),
            ("destage_pages", self.destage_pages),
        ];
        if let Some((key, _)) = counts.into_iter().find(|&(_, count)| count == 0) {
            return Err(Misfit::out_of_range(key, 0, "at least 1"));
        }
        if self.sequential_streams > STREAMS_MAX {
            let allowed = format!("from 1 to {STREAMS_MAX}");
            return Err(Misfit::out_of_range("sequential_streams", self.sequential_streams, &allowed));
        }
        if let EvictionConfig::External(_) = self.policy {
            let problem = "\"external\" was given; a flash cache before disks takes the policies of coflash";
            return Err(Misfit::new("policy", problem));
        }
        Ok(())
    }

    /// The bytes of memory for each page of flash beside the FTL's, and for each page of the disks, as an upper estimate.
    #[must_use]
    pub fn bytes_per_page(&self, flash_pages: u32, page_bytes: u64) -> [u64; 2] {
        let segment_pages = self.segment.count.checked_div(page_bytes).unwrap_or(0);
        let tracked = if self.scheme.build().divides() {
            workload_tracker::bytes_per_page(&self.policy, flash_pages, segment_pages)
        } else {
            [0, 0]
        };
        // Slots, orders, versions; index and bitmap of recorded pages.
        [48 + tracked[0], 5 + tracked[1]]
    }
}
