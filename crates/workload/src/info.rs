//! What a workload is like, in one pass: how much of what, how large, how dense, how sequential, and how much room it
//! touches.
//!
//! Memory does not grow with the length of the workload. Sizes and gaps go into histograms of three significant digits
//! (sizes that are whole powers of two are shown exactly). The footprint is a bitmap that exists only where something
//! was touched, in chunks of 32,768 pages; at most 65,536 chunks (256 MiB of memory, 8 TiB of touched address space at
//! 4 KiB pages) are kept, beyond which no footprint is given.

use crate::request::{Op, Request, Source, WorkloadError};
use crate::trace::{TraceOptions, open};
use coflash_base::Bytes;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a workload is like. Times are in nanoseconds, sizes in bytes, shares from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadInfo {
    /// The formats it is recorded in; none for a generator.
    pub formats: Vec<String>,
    /// All requests.
    pub requests: u64,
    /// The reads.
    pub read: OpInfo,
    /// The writes.
    pub write: OpInfo,
    /// The trims.
    pub trim: OpInfo,
    /// The flushes.
    pub flush: OpInfo,
    /// From the first arrival to the last.
    pub span_ns: u64,
    /// Between one arrival and the next; nothing below two requests.
    pub interarrival_ns: Option<Distribution>,
    /// The lowest byte asked for.
    pub address_min: Option<u64>,
    /// One more than the highest byte asked for.
    pub address_end: Option<u64>,
    /// The size of the pages in which the footprint and the alignment are counted.
    pub page_bytes: u64,
    /// Distinct pages that are read or written (a trim touches none); nothing where they are too scattered to count.
    pub footprint_pages: Option<u64>,
    /// Of the reads, writes and trims, those that begin and end at a boundary of a page.
    pub aligned_share: Option<f64>,
    /// What had to be assumed or left out.
    pub remarks: Vec<String>,
}

/// What the requests of one kind are like.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpInfo {
    /// How many.
    pub requests: u64,
    /// What they ask for in all.
    pub bytes: u64,
    /// How large they are; nothing where there are none, and for flushes.
    pub size_bytes: Option<Distribution>,
    /// Those that begin where the one before of the same kind ended.
    pub sequential_share: Option<f64>,
}

/// A distribution in a few numbers: mean, smallest and largest are exact, the others to three digits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// Nine of ten are no larger.
    pub p90: u64,
    /// Ninety-nine of a hundred are no larger.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// What the trace in `paths` is like.
///
/// # Errors
/// As [`open`], and whatever is wrong with a record.
pub fn inspect(paths: &[String], options: &TraceOptions, page: Bytes) -> Result<WorkloadInfo, WorkloadError> {
    let mut source = open(paths, options)?;
    let info = summarise(&mut source, page)?;
    Ok(WorkloadInfo { formats: source.formats().iter().map(ToString::to_string).collect(), ..info })
}

/// What the requests of `source` are like, to its end.
///
/// # Errors
/// What is wrong with the source; a page that is not a power of two of at least 512 bytes.
pub fn summarise(source: &mut dyn Source, page: Bytes) -> Result<WorkloadInfo, WorkloadError> {
    if page.count < 512 || !page.count.is_power_of_two() {
        let problem = format!("{page} given, a power of two of at least 512B expected");
        return Err(WorkloadError::Parameters { key: "page", problem });
    }
    let mut tally = Tally::new(page.count);
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(tally.finish(source.remarks()));
        }
        batch.iter().for_each(|request| tally.add(request));
    }
}

/// Counts of the pass.
struct Tally {
    page_bytes: u64,
    ops: [OpTally; 4],
    first_ns: Option<u64>,
    latest_ns: u64,
    gaps_ns: Summary,
    address_min: u64,
    address_end: u64,
    aligned: u64,
    footprint: Footprint,
}

struct OpTally {
    sizes: Summary,
    /// A flush has no size but is counted.
    requests: u64,
    sequential: u64,
    latest_end: Option<u64>,
}

impl Tally {
    fn new(page_bytes: u64) -> Self {
        let op = || OpTally { sizes: Summary::new(), requests: 0, sequential: 0, latest_end: None };
        Self {
            page_bytes,
            ops: [op(), op(), op(), op()],
            first_ns: None,
            latest_ns: 0,
            gaps_ns: Summary::new(),
            address_min: u64::MAX,
            address_end: 0,
            aligned: 0,
            footprint: Footprint::default(),
        }
    }

    fn add(&mut self, request: &Request) {
        let now_ns = request.arrival.ns;
        match self.first_ns {
            None => self.first_ns = Some(now_ns),
            Some(_) => self.gaps_ns.add(now_ns - self.latest_ns),
        }
        self.latest_ns = now_ns;
        let op = &mut self.ops[request.op as usize];
        op.requests += 1;
        if request.op == Op::Flush {
            return;
        }
        let (start, end) = (request.offset, request.offset + request.length);
        op.sizes.add(request.length);
        op.sequential += u64::from(op.latest_end == Some(start));
        op.latest_end = Some(end);
        self.address_min = self.address_min.min(start);
        self.address_end = self.address_end.max(end);
        let within_page = self.page_bytes - 1;
        self.aligned += u64::from((start | end) & within_page == 0);
        if request.op != Op::Trim {
            self.footprint.touch(start / self.page_bytes, (end - 1) / self.page_bytes);
        }
    }

    fn finish(self, remarks: Vec<String>) -> WorkloadInfo {
        let requests = self.ops.iter().map(|op| op.requests).sum();
        let ranged = requests - self.ops[Op::Flush as usize].requests;
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let [read, write, trim, flush] = self.ops.map(|op| OpInfo {
            requests: op.requests,
            bytes: u64::try_from(op.sizes.sum).unwrap_or(u64::MAX),
            size_bytes: op.sizes.distribution(),
            sequential_share: share(op.sequential, op.sizes.histogram.len()),
        });
        WorkloadInfo {
            formats: Vec::new(),
            requests,
            read,
            write,
            trim,
            flush,
            span_ns: self.latest_ns - self.first_ns.unwrap_or(0),
            interarrival_ns: self.gaps_ns.distribution(),
            address_min: (ranged > 0).then_some(self.address_min),
            address_end: (ranged > 0).then_some(self.address_end),
            page_bytes: self.page_bytes,
            footprint_pages: self.footprint.pages(),
            aligned_share: share(self.aligned, ranged),
            remarks,
        }
    }
}

/// A distribution in the making.
struct Summary {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Summary {
    fn new() -> Self {
        // The whole range from the start: a histogram that grows on demand can fail to.
        let histogram = Histogram::new_with_bounds(1, u64::MAX, 3).expect("bounds and digits are allowed");
        Self { histogram, sum: 0, min: u64::MAX, max: 0 }
    }

    #[inline]
    fn add(&mut self, value: u64) {
        self.histogram.saturating_record(value);
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn distribution(&self) -> Option<Distribution> {
        let histogram = &self.histogram;
        if histogram.is_empty() {
            return None;
        }
        // The lower end of a bucket, so that 4096 does not read as 4099.
        let quantile = |q| histogram.lowest_equivalent(histogram.value_at_quantile(q));
        Some(Distribution {
            mean: self.sum as f64 / histogram.len() as f64,
            min: self.min,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: self.max,
        })
    }
}

const CHUNK_WORDS: usize = 512;
const CHUNK_PAGES: u64 = CHUNK_WORDS as u64 * 64;
const CHUNKS_MAX: usize = 1 << 16;

/// The set of pages touched.
#[derive(Default)]
struct Footprint {
    chunks: BTreeMap<u64, Box<[u64; CHUNK_WORDS]>>,
    too_scattered: bool,
}

impl Footprint {
    /// Touches the pages from `first` to `last`, both included.
    fn touch(&mut self, first: u64, last: u64) {
        for chunk in first / CHUNK_PAGES..=last / CHUNK_PAGES {
            if self.too_scattered {
                return;
            }
            let bits = self.chunks.entry(chunk).or_insert_with(|| Box::new([0; CHUNK_WORDS]));
            let from = first.saturating_sub(chunk * CHUNK_PAGES);
            let to = (last - chunk * CHUNK_PAGES).min(CHUNK_PAGES - 1);
            for word in from / 64..=to / 64 {
                let low = from.saturating_sub(word * 64);
                let high = (to - word * 64).min(63);
                bits[word as usize] |= u64::MAX << low & u64::MAX >> (63 - high);
            }
            if self.chunks.len() > CHUNKS_MAX {
                self.too_scattered = true;
                self.chunks.clear();
            }
        }
    }

    fn pages(&self) -> Option<u64> {
        let count =
            |bits: &[u64; CHUNK_WORDS]| bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        (!self.too_scattered).then(|| self.chunks.values().map(|bits| count(bits)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Time;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Yields the requests once.
    struct Once(Vec<Request>);

    impl Source for Once {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
            *batch = std::mem::take(&mut self.0);
            Ok(())
        }
        fn progress(&self) -> Option<f64> {
            None
        }
    }

    fn summary(requests: &[(u64, u64, u64, Op)]) -> WorkloadInfo {
        let request = |&(ns, offset, length, op)| Request { arrival: Time { ns }, offset, length, op };
        summarise(&mut Once(requests.iter().map(request).collect()), Bytes { count: 4096 }).unwrap()
    }

    #[test]
    fn every_number_is_what_a_hand_count_gives() {
        let info = summary(&[
            (100, 4096, 4096, Op::Read),
            (100, 0, 512, Op::Write),
            (400, 8192, 8192, Op::Read),
            (400, 0, 0, Op::Flush),
            (500, 512, 7680, Op::Write),
            (600, 1 << 40, 1 << 40, Op::Trim),
        ]);
        assert_eq!((info.requests, info.span_ns), (6, 500));
        assert_eq!((info.read.requests, info.read.bytes), (2, 12_288));
        assert_eq!(info.read.sequential_share, Some(0.5));
        assert_eq!(info.write.sequential_share, Some(0.5));
        let sizes = info.write.size_bytes.unwrap();
        assert_eq!((sizes.min, sizes.max, sizes.mean), (512, 7680, 4096.0));
        assert_eq!(
            (info.flush.requests, info.flush.size_bytes, info.flush.sequential_share),
            (1, None, None)
        );
        let gaps = info.interarrival_ns.unwrap();
        assert_eq!((gaps.mean, gaps.min, gaps.p50, gaps.p99, gaps.max), (100.0, 0, 100, 300, 300));
        assert_eq!((info.address_min, info.address_end), (Some(0), Some(1 << 41)));
        assert_eq!(info.footprint_pages, Some(4), "a trim touches no page");
        assert_eq!(info.aligned_share, Some(0.6));
    }

    #[test]
    fn nothing_at_all_has_no_shares() {
        let info = summary(&[]);
        assert_eq!((info.requests, info.span_ns, info.footprint_pages), (0, 0, Some(0)));
        assert_eq!((info.address_end, info.aligned_share, info.interarrival_ns), (None, None, None));
    }

    #[test]
    fn the_largest_numbers_fit() {
        let info = summary(&[(0, 0, 1 << 63, Op::Trim), (u64::MAX, 0, 1 << 63, Op::Trim)]);
        assert_eq!(info.trim.bytes, u64::MAX, "2^64 bytes read as one less");
        assert_eq!(info.trim.size_bytes.unwrap().p50, 1 << 63);
        assert_eq!(info.interarrival_ns.unwrap().max, u64::MAX);
    }

    #[test]
    fn a_page_that_is_none_is_refused() {
        for count in [0, 1, 256, 4095] {
            let error = summarise(&mut Once(Vec::new()), Bytes { count }).unwrap_err().to_string();
            assert!(error.contains("power of two"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn the_footprint_is_that_of_a_plain_set(ranges in proptest::collection::vec((0..200_000_u64, 0..70_000_u64), 1..12)) {
            let (mut footprint, mut set) = (Footprint::default(), BTreeSet::new());
            for (first, more) in ranges {
                footprint.touch(first, first + more);
                set.extend(first..=first + more);
            }
            prop_assert_eq!(footprint.pages(), Some(set.len() as u64));
        }
    }

    #[test]
    fn a_footprint_too_scattered_to_count_is_not_given() {
        let mut footprint = Footprint::default();
        footprint.touch(0, (1 << 54) - 1);
        assert_eq!(footprint.pages(), None);
    }
}
