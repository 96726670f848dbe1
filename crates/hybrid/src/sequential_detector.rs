//! Sequential I/O Detector: runs that are long enough bypass the cache, for a disk serves them well and they would push out
//! what is used again.
//!
//! It follows a number of streams, each by the page it would go on with. A request that begins there belongs to the stream;
//! any other begins one, in the place of the stream that went on longest ago.

/// See the module. Each request looks at every run, so what it looks for lies together.
#[derive(Clone, Debug)]
pub struct SequentialDetector {
    /// How each run would go on.
    next: Vec<Next>,
    /// When each last went on, in requests.
    at: Vec<u64>,
    /// How long each is.
    pages: Vec<u64>,
    runs_max: usize,
    /// Pages from which on a run is sequential; none where nothing is.
    unit_pages: Option<u64>,
    requests: u64,
}

/// The page after the last of a run, and whether it writes, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next(u64);

impl Next {
    fn new(write: bool, page: u64) -> Self {
        Self(page << 1 | u64::from(write))
    }
}

impl SequentialDetector {
    /// A detector that follows so many streams and calls runs of `unit_pages` sequential; none where nothing is.
    #[must_use]
    pub fn new(streams: u32, unit_pages: Option<u64>) -> Self {
        let runs_max = streams.max(1) as usize;
        let [at, pages] = [(); 2].map(|()| Vec::with_capacity(runs_max));
        Self { next: Vec::with_capacity(runs_max), at, pages, runs_max, unit_pages, requests: 0 }
    }

    /// Whether a request belongs to a run that, with it, is long enough.
    pub fn is_sequential(&mut self, write: bool, first: u64, pages: u32) -> bool {
        let Some(unit_pages) = self.unit_pages else { return false };
        self.requests += 1;
        let (begin, next) = (Next::new(write, first), Next::new(write, first + u64::from(pages)));
        let pages = u64::from(pages);
        if let Some(run) = self.next.iter().position(|&next| next == begin) {
            (self.next[run], self.at[run]) = (next, self.requests);
            self.pages[run] += pages;
            return self.pages[run] >= unit_pages;
        }
        if self.next.len() < self.runs_max {
            self.next.push(next);
            self.at.push(self.requests);
            self.pages.push(pages);
        } else {
            let oldest = self.at.iter().min().expect("at least one stream");
            let run = self.at.iter().position(|at| at == oldest).expect("it is one of them");
            (self.next[run], self.at[run], self.pages[run]) = (next, self.requests, pages);
        }
        pages >= unit_pages
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        (self.next.capacity() + self.at.capacity() + self.pages.capacity()) * size_of::<u64>()
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
