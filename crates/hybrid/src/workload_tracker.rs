//! Workload Tracker: which hit rate a read cache and a write cache of each size would have had.
//!
//! A ghost list holds the pages that a cache of all of flash would hold, in the order of their last use, cut into segments of
//! equal size. A hit in segment n is one that a cache of n segments has and a smaller one has not, so the counts per segment
//! add up to the curve of hit rates (R. L. Mattson et al., "Evaluation Techniques for Storage Hierarchies", IBM Systems
//! Journal 9(2), 1970). A use costs a step for each segment it is moved over.
//!
//! Memory: 9 bytes for each page of flash and 4 for each page of the disks, for reads and for writes.

use crate::costmodel::{Demand, HitCurve};
use coflash_base::{IdVec, Lpn, id_type};
use coflash_cache::List;

id_type!(
    /// A place in a ghost list.
    Ghost
);

/// One part of a ghost list.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    last: Option<Ghost>,
    pages: u32,
    /// Hits, weighted by decay.
    hits: f64,
}

/// Pages in the order of their last use, in segments.
#[derive(Clone)]
pub struct GhostList {
    order: List<Ghost>,
    /// Which segment each is in.
    segment_of: IdVec<Ghost, u8>,
    page_of: IdVec<Ghost, Option<Lpn>>,
    index: IdVec<Lpn, Option<Ghost>>,
    free: Vec<Ghost>,
    segments: Vec<Segment>,
    segment_pages: u32,
}

impl GhostList {
    /// An empty list over so many segments, at most 255, of so many pages.
    fn new(segments: u32, segment_pages: u32, disk_pages: usize) -> Self {
        let pages = segments * segment_pages;
        Self {
            order: List::new(pages),
            segment_of: IdVec::filled(0, pages as usize),
            page_of: IdVec::filled(None, pages as usize),
            index: IdVec::filled(None, disk_pages),
            free: (0..pages).rev().map(Ghost::new).collect(),
            segments: vec![Segment::default(); segments as usize],
            segment_pages,
        }
    }

    /// Uses a page; the segment it was in, if it was in one.
    #[inline]
    fn touch(&mut self, lpn: Lpn) -> Option<u8> {
        let found = self.index[lpn];
        let hit = found.map(|ghost| self.segment_of[ghost]);
        let ghost = match found {
            Some(ghost) => {
                if self.order.front() == Some(ghost) {
                    return hit;
                }
                self.unlink(ghost);
                ghost
            }
            None => {
                if self.free.is_empty() {
                    self.forget_last();
                }
                let ghost = self.free.pop().expect("the last one was forgotten");
                self.page_of[ghost] = Some(lpn);
                self.index[lpn] = Some(ghost);
                ghost
            }
        };
        self.link(ghost);
        hit
    }

    /// Puts a place at the front; each segment that is then too long hands its last to the next.
    fn link(&mut self, ghost: Ghost) {
        self.order.push_front(ghost);
        self.segment_of[ghost] = 0;
        let mut entering = ghost;
        for number in 0..self.segments.len() {
            let segment = &mut self.segments[number];
            segment.pages += 1;
            let last = *segment.last.get_or_insert(entering);
            if segment.pages <= self.segment_pages {
                return;
            }
            segment.pages -= 1;
            // A segment of one page hands on what it held, and what entered is its last.
            segment.last = self.order.before(last);
            self.segment_of[last] = number as u8 + 1;
            entering = last;
        }
        unreachable!("there are as many places as pages in all segments");
    }

    fn unlink(&mut self, ghost: Ghost) {
        let number = self.segment_of[ghost];
        let segment = &mut self.segments[number as usize];
        segment.pages -= 1;
        if segment.last == Some(ghost) {
            let before = self.order.before(ghost);
            segment.last = before.filter(|&before| self.segment_of[before] == number);
        }
        self.order.remove(ghost);
    }

    /// Takes a page out, wherever it is. The segments after its own keep their pages, so its own is short until the next
    /// use fills it up.
    fn forget(&mut self, lpn: Lpn) {
        if let Some(ghost) = self.index[lpn].take() {
            self.unlink(ghost);
            self.page_of[ghost] = None;
            self.free.push(ghost);
        }
    }

    fn forget_last(&mut self) {
        let last = self.order.back().expect("no place is free");
        self.forget(self.page_of[last].expect("it is in the list"));
    }

    fn heap_bytes(&self) -> usize {
        self.order.heap_bytes()
            + self.segment_of.heap_bytes()
            + self.page_of.heap_bytes()
            + self.index.heap_bytes()
            + self.free.capacity() * size_of::<Ghost>()
            + self.segments.capacity() * size_of::<Segment>()
    }
}

/// See the module.
#[derive(Clone)]
pub struct WorkloadTracker {
    reads: GhostList,
    writes: GhostList,
    /// Uses of each list, and hits of the write list that were reads; weighted by decay.
    read_uses: f64,
    write_uses: f64,
    read_hits_of_writes: f64,
    /// What earlier periods count at the end of one.
    kept: f64,
    /// The size of a segment as a share of flash.
    segment: f64,
}

impl WorkloadTracker {
    /// A tracker of so many segments; each is `segment` of flash. `kept` is what all that was counted before a period's end
    /// counts after it, from 0 to 1.
    #[must_use]
    pub fn new(segments: u32, segment_pages: u32, segment: f64, disk_pages: usize, kept: f64) -> Self {
        let list = || GhostList::new(segments, segment_pages, disk_pages);
        Self {
            reads: list(),
            writes: list(),
            read_uses: 0.0,
            write_uses: 0.0,
            read_hits_of_writes: 0.0,
            kept,
            segment,
        }
    }

    /// A page is read; `in_write_cache` where it is dirty in the cache.
    #[inline]
    pub fn read(&mut self, lpn: Lpn, in_write_cache: bool) {
        if in_write_cache {
            self.write_uses += 1.0;
            if let Some(segment) = self.writes.touch(lpn) {
                self.writes.segments[segment as usize].hits += 1.0;
                self.read_hits_of_writes += 1.0;
            }
        } else {
            self.read_uses += 1.0;
            if let Some(segment) = self.reads.touch(lpn) {
                self.reads.segments[segment as usize].hits += 1.0;
            }
        }
    }

    /// A page is written: a read cache no longer has it.
    #[inline]
    pub fn write(&mut self, lpn: Lpn) {
        self.write_uses += 1.0;
        self.reads.forget(lpn);
        if let Some(segment) = self.writes.touch(lpn) {
            self.writes.segments[segment as usize].hits += 1.0;
        }
    }

    /// A page is gone: trimmed, or written past the cache.
    pub fn forget(&mut self, lpn: Lpn) {
        self.reads.forget(lpn);
        self.writes.forget(lpn);
    }

    /// What was asked for until now, as the cost model takes it.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let ratio = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
        let curve = |list: &GhostList, uses: f64| {
            let mut hits = 0.0;
            let rates = list.segments.iter().map(|segment| {
                hits += segment.hits;
                ratio(hits, uses)
            });
            HitCurve::new(rates.collect::<Vec<_>>(), self.segment)
        };
        let uses = self.read_uses + self.write_uses;
        let write_hits: f64 = self.writes.segments.iter().map(|segment| segment.hits).sum();
        Demand {
            reads: ratio(self.read_uses, uses),
            writes: ratio(self.write_uses, uses),
            read_hits: curve(&self.reads, self.read_uses),
            write_hits: curve(&self.writes, self.write_uses),
            reads_of_write_hits: ratio(self.read_hits_of_writes, write_hits),
        }
    }

    /// A period ends: what was counted fades.
    pub fn fade(&mut self) {
        for list in [&mut self.reads, &mut self.writes] {
            for segment in &mut list.segments {
                segment.hits *= self.kept;
            }
        }
        self.read_uses *= self.kept;
        self.write_uses *= self.kept;
        self.read_hits_of_writes *= self.kept;
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.reads.heap_bytes() + self.writes.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use coflash_base::seed::RngExt;

    /// A list of pages in the order of their last use, and nothing else.
    #[derive(Default)]
    struct Plain(Vec<Lpn>);

    impl Plain {
        fn touch(&mut self, lpn: Lpn, most: usize) -> Option<usize> {
            let found = self.0.iter().position(|&page| page == lpn);
            if let Some(at) = found {
                self.0.remove(at);
            }
            self.0.insert(0, lpn);
            self.0.truncate(most);
            found
        }
    }

    #[test]
    fn a_hit_is_counted_in_the_segment_it_lies_in() {
        for (segments, segment_pages) in [(1, 4), (4, 1), (3, 5), (2, 7)] {
            let mut list = GhostList::new(segments, segment_pages, 40);
            let mut plain = Plain::default();
            let mut stream = Seed(u64::from(segments)).stream("ghost");
            for step in 0..20_000 {
                let lpn = Lpn::new(stream.random_range(0..40));
                let depth = plain.touch(lpn, (segments * segment_pages) as usize);
                let expected = depth.map(|depth| (depth / segment_pages as usize) as u8);
                assert_eq!(list.touch(lpn), expected, "step {step} of {segments} × {segment_pages}");
            }
        }
    }

    #[test]
    fn what_is_forgotten_leaves_the_others_in_order() {
        let mut list = GhostList::new(3, 4, 40);
        let mut stream = Seed(3).stream("ghost");
        for _ in 0..20_000 {
            let lpn = Lpn::new(stream.random_range(0..40));
            if stream.random_range(0..4) == 0 {
                list.forget(lpn);
            } else {
                list.touch(lpn);
            }
            let numbers: Vec<_> = list.order.iter().map(|ghost| list.segment_of[ghost]).collect();
            assert!(numbers.is_sorted(), "segments follow one another: {numbers:?}");
            for (number, segment) in (0_u8..).zip(&list.segments) {
                let of = || list.order.iter().filter(|&ghost| list.segment_of[ghost] == number);
                assert_eq!(of().count(), segment.pages as usize);
                assert!(segment.pages <= 4);
                assert_eq!(of().last(), segment.last, "the last of segment {number}");
            }
        }
    }

    #[test]
    fn the_curve_is_the_hit_rate_that_caches_of_each_size_have() {
        let mut tracker = WorkloadTracker::new(4, 3, 0.25, 40, 0.5);
        let mut plain = [(); 4].map(|()| Plain::default());
        let mut hits = [0.0; 4];
        let mut stream = Seed(5).stream("tracker");
        for _ in 0..10_000 {
            let lpn = Lpn::new(stream.random_range(0..7) * stream.random_range(0..6));
            tracker.read(lpn, false);
            for (size, (plain, hits)) in (1..).zip(std::iter::zip(&mut plain, &mut hits)) {
                *hits += f64::from(u8::from(plain.touch(lpn, 3 * size).is_some()));
            }
        }
        let demand = tracker.demand();
        assert_eq!((demand.reads, demand.writes), (1.0, 0.0));
        for (size, hits) in (1..).zip(hits) {
            let rate = demand.read_hits.at(0.25 * f64::from(size));
            assert!((rate - hits / 10_000.0).abs() < 1e-12, "{size} segments: {rate}");
        }
        tracker.fade();
        assert_eq!(tracker.demand(), demand, "all fades alike");
        assert_eq!(tracker.read_uses, 5000.0);
    }

    #[test]
    fn reads_of_dirty_pages_are_hits_of_the_write_cache() {
        let mut tracker = WorkloadTracker::new(2, 2, 0.5, 9, 0.0);
        tracker.read(Lpn::new(1), false);
        tracker.write(Lpn::new(1));
        tracker.read(Lpn::new(1), true);
        tracker.write(Lpn::new(1));
        tracker.read(Lpn::new(2), false);
        let demand = tracker.demand();
        assert_eq!((demand.reads, demand.writes), (0.4, 0.6));
        assert_eq!(demand.reads_of_write_hits, 0.5);
        assert!((demand.write_hits.at(0.5) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(demand.read_hits.at(1.0), 0.0);
        tracker.fade();
        assert_eq!(tracker.demand().reads, 0.0);
    }
}
