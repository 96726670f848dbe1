//! Sequential I/O Detector: long sequential runs bypass the cache, since a disk serves them well and they would evict
//! pages that are used again.
//!
//! It tracks a number of runs by their next page. A request that begins there continues the run; any other
//! request begins a new run in place of the run continued longest ago.

use coflash_base::{IdVec, Index, List, Save, id_type};
use std::num::NonZeroU64;

id_type!(
    /// A tracked run.
    Run
);

/// The detector. Each request compares all runs, so their next pages are contiguous in memory.
#[derive(Clone, Save)]
pub(crate) struct SequentialDetector {
    /// The expected next access of each run; `None` for an unused entry.
    next: IdVec<Run, Option<Next>>,
    /// The length of each run in pages.
    pages: IdVec<Run, u64>,
    /// Runs, the one continued last at the front.
    order: List<Run>,
    /// The least length of a sequential run in pages; `None` for no bypass.
    unit_pages: Option<u64>,
}

/// The page after a run, and whether the run writes, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
struct Next(NonZeroU64);

impl Next {
    fn new(write: bool, page: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(page << 1 | u64::from(write)))
    }
}

impl SequentialDetector {
    /// Create a detector that tracks `streams` runs and treats runs of `unit_pages` as sequential; `None` for no
    /// bypass.
    pub(crate) fn new(streams: u32, unit_pages: Option<u64>) -> Self {
        let runs = streams.max(1);
        let next = IdVec::filled(None, runs as usize);
        let mut order = List::new(runs);
        next.ids().for_each(|run| order.push_front(run));
        Self { next, pages: IdVec::filled(0, runs as usize), order, unit_pages }
    }

    /// Whether a request, itself included, belongs to a run that is long enough.
    pub(crate) fn is_sequential(&mut self, write: bool, first: u64, pages: u32) -> bool {
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
