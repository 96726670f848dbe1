//! Sequential I/O Detector: runs that are long enough bypass the cache, for a disk serves them well and they would push out
//! what is used again.
//!
//! It follows a number of streams, each by the page it would go on with. A request that begins there belongs to the stream;
//! any other begins one, in the place of the stream that went on longest ago.

use coflash_base::{IdVec, Index, id_type};
use coflash_cache::List;
use std::num::NonZeroU64;

id_type!(
    /// A stream that is followed.
    Run
);

/// See the module. Each request looks at every run, so what it looks for lies together.
#[derive(Clone)]
pub struct SequentialDetector {
    /// How each run would go on; none where none is followed yet.
    next: IdVec<Run, Option<Next>>,
    /// How long each is.
    pages: IdVec<Run, u64>,
    /// The one that went on last is in front.
    order: List<Run>,
    /// Pages from which on a run is sequential; none where nothing is.
    unit_pages: Option<u64>,
}

/// The page after the last of a run, and whether it writes, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next(NonZeroU64);

impl Next {
    fn new(write: bool, page: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(page << 1 | u64::from(write)))
    }
}

impl SequentialDetector {
    /// A detector that follows so many streams and calls runs of `unit_pages` sequential; none where nothing is.
    #[must_use]
    pub fn new(streams: u32, unit_pages: Option<u64>) -> Self {
        let runs = streams.max(1);
        let next = IdVec::filled(None, runs as usize);
        let mut order = List::new(runs);
        next.ids().for_each(|run| order.push_front(run));
        Self { next, pages: IdVec::filled(0, runs as usize), order, unit_pages }
    }

    /// Whether a request belongs to a run that, with it, is long enough.
    pub fn is_sequential(&mut self, write: bool, first: u64, pages: u32) -> bool {
        let Some(unit_pages) = self.unit_pages else { return false };
        let pages = u64::from(pages);
        let (begin, next) = (Next::new(write, first), Next::new(write, first + pages));
        let (run, pages) = match self.next.iter().position(|&next| next == Some(begin)) {
            Some(run) => (Run::from_index(run), self.pages[Run::from_index(run)] + pages),
            None => (self.order.back().expect("at least one stream"), pages),
        };
        self.next[run] = Some(next);
        self.pages[run] = pages;
        self.order.move_to_front(run);
        pages >= unit_pages
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.next.heap_bytes() + self.pages.heap_bytes() + self.order.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_sequential_once_it_is_long_enough() {
        let mut detector = SequentialDetector::new(2, Some(32));
        assert!(detector.is_sequential(false, 0, 32), "one request may be enough");
        assert!(!detector.is_sequential(false, 100, 16));
        assert!(!detector.is_sequential(true, 116, 16), "reads do not go on as writes");
        assert!(detector.is_sequential(true, 132, 16));
        assert!(detector.is_sequential(true, 148, 1), "and it stays so");
        assert!(!detector.is_sequential(true, 150, 1), "a gap ends it");
    }

    #[test]
    fn streams_beyond_the_number_followed_are_forgotten() {
        let mut detector = SequentialDetector::new(2, Some(4));
        for first in [0, 100, 200] {
            assert!(!detector.is_sequential(false, first, 2));
        }
        assert!(!detector.is_sequential(false, 2, 2), "the oldest was given up");
        assert!(detector.is_sequential(false, 202, 2));
        let mut off = SequentialDetector::new(2, None);
        assert!(!off.is_sequential(false, 0, u32::MAX));
    }
}
