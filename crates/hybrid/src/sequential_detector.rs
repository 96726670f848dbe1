//! Sequential I/O Detector: runs that are long enough bypass the cache, for a disk serves them well and they would push out
//! what is used again.
//!
//! It follows a number of streams, each by the page it would go on with. A request that begins there belongs to the stream;
//! any other begins one, in the place of the stream that went on longest ago.

/// A run of requests.
#[derive(Clone, Copy, Debug)]
struct Run {
    write: bool,
    /// The page after its last.
    next: u64,
    pages: u64,
    /// When it last went on, in requests.
    at: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SequentialDetector {
    runs: Vec<Run>,
    runs_max: usize,
    /// Pages from which on a run is sequential; none where nothing is.
    unit_pages: Option<u64>,
    requests: u64,
}

impl SequentialDetector {
    /// A detector that follows so many streams and calls runs of `unit_pages` sequential; none where nothing is.
    #[must_use]
    pub fn new(streams: u32, unit_pages: Option<u64>) -> Self {
        let runs_max = streams.max(1) as usize;
        Self { runs: Vec::with_capacity(runs_max), runs_max, unit_pages, requests: 0 }
    }

    /// Whether a request belongs to a run that, with it, is long enough.
    pub fn is_sequential(&mut self, write: bool, first: u64, pages: u32) -> bool {
        let Some(unit_pages) = self.unit_pages else { return false };
        self.requests += 1;
        let (next, pages) = (first + u64::from(pages), u64::from(pages));
        let at = self.requests;
        if let Some(run) = self.runs.iter_mut().find(|run| run.write == write && run.next == first) {
            *run = Run { next, pages: run.pages + pages, at, ..*run };
            return run.pages >= unit_pages;
        }
        let begun = Run { write, next, pages, at };
        if self.runs.len() < self.runs_max {
            self.runs.push(begun);
        } else {
            let oldest = self.runs.iter_mut().min_by_key(|run| run.at).expect("at least one stream");
            *oldest = begun;
        }
        pages >= unit_pages
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
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
