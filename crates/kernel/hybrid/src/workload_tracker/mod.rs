//! Workload Tracker: the hit rates that read caches and write caches of all sizes would have had.
//!
//! It simulates *ghosts*: caches of every size, in segments, that hold no data. Under LRU, one list
//! represents all of them exactly (`stack.rs`). Under any other eviction policy each size has a miniature
//! cache that runs the policy over a sample of the pages (`miniature.rs`). Ghosts evict page by page; the
//! write cache destages groups.
//!
//! Memory, for reads and again for writes: 17 bytes per page of flash and 4 per page of the disks. With
//! miniatures half of what a cache needs for a slot per page of flash (9 bytes under FIFO) and 4 per page of the
//! disks at a sampling rate of one page per number of segments, more with a larger sample, and the policy's memory
//! per block.

mod miniature;
mod stack;

use crate::costmodel::{Demand, HitCurve};
use coflash_base::{Ahead, Lpn, Save};
use coflash_cache::EvictionConfig;
pub use miniature::Miniature;
use miniature::Sampled;
use stack::Stack;

/// Ghosts of caches of every size.
#[derive(Clone, Save)]
#[save(in_place)]
enum Ghosts {
    Stack(Stack),
    Sampled(Sampled),
}

macro_rules! ghosts_dispatch {
    ($ghosts:expr, $variant:pat => $call:expr) => {
        match $ghosts {
            Ghosts::Stack($variant) => $call,
            Ghosts::Sampled($variant) => $call,
        }
    };
}

impl Ghosts {
    /// Ask for the memory that a use of a page will need. A sample is small.
    #[inline]
    fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        if let Self::Stack(stack) = self {
            stack.look_ahead(lpn, ahead);
        }
    }

    coflash_base::forward_to_variant! { ghosts_dispatch;
        /// Use a page. Returns whether a cache of the size of flash had it, if that is known for this page.
        fn use_page(&mut self, lpn: Lpn) -> bool;
        fn forget(&mut self, lpn: Lpn);
        fn fade(&mut self, kept: f64);
    }

    /// The hits of caches of one segment, two …, among `uses` uses. They never fall with the size.
    fn hits(&self, uses: f64) -> Vec<f64> {
        match self {
            Self::Stack(stack) => stack.hits().collect(),
            Self::Sampled(sampled) => sampled.hits(uses).collect(),
        }
    }
}

/// The bytes of memory of a tracker for each page of flash, and for each page of the disks, as an upper estimate.
pub(crate) fn bytes_per_page(policy: &EvictionConfig, flash_pages: u32, segment_pages: u64) -> [u64; 2] {
    if policy.is_lru_of_one_kind() {
        return [2 * 17, 2 * 4];
    }
    let segment_pages = segment_pages.clamp(1, u64::from(flash_pages.max(1))) as u32;
    let segments = flash_pages.div_ceil(segment_pages);
    // Of reads and of writes, of each size: a mean one is half as large as flash. The policy has an index, too.
    let caches = 2 * u64::from(segments.div_ceil(miniature::one_in(policy, segments, segment_pages)));
    [caches / 2 * 58, caches * 8]
}

/// Uses of a class of pages, weighted by decay.
#[derive(Clone, Save)]
#[save(in_place)]
struct Class {
    ghosts: Ghosts,
    uses: f64,
}

impl Class {
    #[inline]
    fn use_page(&mut self, lpn: Lpn) -> bool {
        self.uses += 1.0;
        self.ghosts.use_page(lpn)
    }

    fn curve(&self, segment: f64) -> HitCurve {
        HitCurve::new(self.ghosts.hits(self.uses).into_iter().map(|hits| ratio(hits, self.uses)), segment)
    }

    fn fade(&mut self, kept: f64) {
        self.uses *= kept;
        self.ghosts.fade(kept);
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

/// The workload tracker.
#[derive(Clone, Save)]
#[save(in_place)]
pub(crate) struct WorkloadTracker {
    reads: Class,
    writes: Class,
    /// Known hits of a write cache of the size of flash, and the reads among them, weighted by decay.
    write_hits: f64,
    read_hits_of_writes: f64,
    /// The factor on earlier counts at the end of a period.
    kept: f64,
    /// The size of a segment as a share of flash.
    segment: f64,
}

impl WorkloadTracker {
    /// Create a tracker of caches with eviction policy `policy`, in `segments` segments of `segment` of flash each.
    /// `kept`, from 0 to 1, is the weight of earlier counts at the end of a period.
    pub(crate) fn new(
        policy: &EvictionConfig,
        segments: u32,
        segment_pages: u32,
        segment: f64,
        disk_pages: usize,
        kept: f64,
    ) -> Self {
        let ghosts = |dirty| {
            if policy.is_lru_of_one_kind() {
                Ghosts::Stack(Stack::new(segments, segment_pages, disk_pages))
            } else {
                Ghosts::Sampled(Sampled::new(policy, segments, segment_pages, disk_pages, dirty))
            }
        };
        let class = |dirty| Class { ghosts: ghosts(dirty), uses: 0.0 };
        Self {
            reads: class(false),
            writes: class(true),
            write_hits: 0.0,
            read_hits_of_writes: 0.0,
            kept,
            segment,
        }
    }

    /// Ask for the memory that counting an access of a page will need.
    #[inline]
    pub(crate) fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        [&self.reads, &self.writes].into_iter().for_each(|class| class.ghosts.look_ahead(lpn, ahead));
    }

    /// Count a read of a page. `in_write_cache` if it is dirty in the cache.
    #[inline]
    pub(crate) fn read(&mut self, lpn: Lpn, in_write_cache: bool) {
        if !in_write_cache {
            self.reads.use_page(lpn);
        } else if self.writes.use_page(lpn) {
            self.write_hits += 1.0;
            self.read_hits_of_writes += 1.0;
        }
    }

    /// Count a write of a page: it removes the page from read caches.
    #[inline]
    pub(crate) fn write(&mut self, lpn: Lpn) {
        self.reads.ghosts.forget(lpn);
        if self.writes.use_page(lpn) {
            self.write_hits += 1.0;
        }
    }

    /// Remove a page that was trimmed or written past the cache.
    pub(crate) fn forget(&mut self, lpn: Lpn) {
        self.reads.ghosts.forget(lpn);
        self.writes.ghosts.forget(lpn);
    }

    /// The demand so far, for the cost model.
    pub(crate) fn demand(&self) -> Demand {
        let uses = self.reads.uses + self.writes.uses;
        Demand {
            reads: ratio(self.reads.uses, uses),
            writes: ratio(self.writes.uses, uses),
            read_hits: self.reads.curve(self.segment),
            write_hits: self.writes.curve(self.segment),
            reads_of_write_hits: ratio(self.read_hits_of_writes, self.write_hits),
        }
    }

    /// Decay all counts at the end of a period.
    pub(crate) fn fade(&mut self) {
        self.reads.fade(self.kept);
        self.writes.fade(self.kept);
        self.write_hits *= self.kept;
        self.read_hits_of_writes *= self.kept;
    }
}

#[cfg(test)]
mod tests;
