//! Workload Tracker: which hit rate a read cache and a write cache of each size would have had.
//!
//! It keeps *ghosts*: caches of every size, in segments, that know their pages and hold no data. Where pages leave in the
//! order of their last use, one list stands for all of them (`stack.rs`, exact). Under any other eviction policy each size
//! has a miniature of its own that runs the policy over a sample of the pages (`miniature.rs`). The eviction policy decides
//! which; what is asked of the ghosts is the same. They evict page by page, where the write cache destages groups.
//!
//! Memory, for reads and again for writes: 17 bytes for each page of flash and 4 for each page of the disks. With
//! miniatures 9 to 18 bytes for each page of flash and 4 for each page of the disks, where a page is followed of as many as
//! there are segments; in proportion more where more are followed, and what the policy keeps of blocks.

mod miniature;
mod stack;

use crate::costmodel::{Demand, HitCurve};
use coflash_base::Lpn;
use coflash_cache::EvictionConfig;
use miniature::Miniature;
use stack::Stack;

/// What caches of every size would have held.
#[derive(Clone)]
enum Ghosts {
    Stack(Stack),
    Miniature(Miniature),
}

impl Ghosts {
    fn new(
        policy: &EvictionConfig,
        segments: u32,
        segment_pages: u32,
        disk_pages: usize,
        dirty: bool,
    ) -> Self {
        if policy.is_lru_of_one_kind() {
            Self::Stack(Stack::new(segments, segment_pages, disk_pages))
        } else {
            Self::Miniature(Miniature::new(policy, segments, segment_pages, disk_pages, dirty))
        }
    }

    /// A page is used; whether a cache of all of flash had it, if that is known of this page.
    #[inline]
    fn use_page(&mut self, lpn: Lpn) -> bool {
        match self {
            Self::Stack(stack) => stack.use_page(lpn),
            Self::Miniature(miniature) => miniature.use_page(lpn),
        }
    }

    #[inline]
    fn forget(&mut self, lpn: Lpn) {
        match self {
            Self::Stack(stack) => stack.forget(lpn),
            Self::Miniature(miniature) => miniature.forget(lpn),
        }
    }

    /// Hits of caches of one segment, two …, of so many uses; never falling.
    fn hits(&self, uses: f64) -> Vec<f64> {
        match self {
            Self::Stack(stack) => stack.hits().collect(),
            Self::Miniature(miniature) => miniature.hits(uses).collect(),
        }
    }

    fn fade(&mut self, kept: f64) {
        match self {
            Self::Stack(stack) => stack.fade(kept),
            Self::Miniature(miniature) => miniature.fade(kept),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Stack(stack) => stack.heap_bytes(),
            Self::Miniature(miniature) => miniature.heap_bytes(),
        }
    }
}

/// Uses of a class of pages, weighted by decay.
#[derive(Clone)]
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

/// See the module.
#[derive(Clone)]
pub struct WorkloadTracker {
    reads: Class,
    writes: Class,
    /// Hits of a write cache of all of flash, where known, and those of them that were reads; weighted by decay.
    write_hits: f64,
    read_hits_of_writes: f64,
    /// What earlier periods count at the end of one.
    kept: f64,
    /// The size of a segment as a share of flash.
    segment: f64,
}

impl WorkloadTracker {
    /// A tracker of caches that evict by `policy`, in so many segments; each is `segment` of flash. `kept` is what all that
    /// was counted before a period's end counts after it, from 0 to 1.
    #[must_use]
    pub fn new(
        policy: &EvictionConfig,
        segments: u32,
        segment_pages: u32,
        segment: f64,
        disk_pages: usize,
        kept: f64,
    ) -> Self {
        let class = |dirty| Class {
            ghosts: Ghosts::new(policy, segments, segment_pages, disk_pages, dirty),
            uses: 0.0,
        };
        Self {
            reads: class(false),
            writes: class(true),
            write_hits: 0.0,
            read_hits_of_writes: 0.0,
            kept,
            segment,
        }
    }

    /// A page is read; `in_write_cache` where it is dirty in the cache.
    #[inline]
    pub fn read(&mut self, lpn: Lpn, in_write_cache: bool) {
        if !in_write_cache {
            self.reads.use_page(lpn);
        } else if self.writes.use_page(lpn) {
            self.write_hits += 1.0;
            self.read_hits_of_writes += 1.0;
        }
    }

    /// A page is written: a read cache no longer has it.
    #[inline]
    pub fn write(&mut self, lpn: Lpn) {
        self.reads.ghosts.forget(lpn);
        if self.writes.use_page(lpn) {
            self.write_hits += 1.0;
        }
    }

    /// A page is gone: trimmed, or written past the cache.
    pub fn forget(&mut self, lpn: Lpn) {
        self.reads.ghosts.forget(lpn);
        self.writes.ghosts.forget(lpn);
    }

    /// What was asked for until now, as the cost model takes it.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let uses = self.reads.uses + self.writes.uses;
        Demand {
            reads: ratio(self.reads.uses, uses),
            writes: ratio(self.writes.uses, uses),
            read_hits: self.reads.curve(self.segment),
            write_hits: self.writes.curve(self.segment),
            reads_of_write_hits: ratio(self.read_hits_of_writes, self.write_hits),
        }
    }

    /// A period ends: what was counted fades.
    pub fn fade(&mut self) {
        self.reads.fade(self.kept);
        self.writes.fade(self.kept);
        self.write_hits *= self.kept;
        self.read_hits_of_writes *= self.kept;
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.reads.ghosts.heap_bytes() + self.writes.ghosts.heap_bytes()
    }
}

#[cfg(test)]
mod tests;
