//! Statistics of a workload in one pass: operations, sizes, gaps, sequentiality, footprint, popularity, reuse.
//!
//! Memory is independent of the length of the workload. Sizes and gaps are in histograms (about 3 MiB), time series in
//! a few hundred points. Footprint and working sets take two bits per page, in chunks of 32,768 pages for accessed
//! regions only; with more than 65,536 chunks (512 MiB of memory, 8 TiB of accessed address space at 4 KiB pages) they
//! are omitted. Popularity and reuse track individual pages: all of them up to 2^14 pages (64 MiB at 4 KiB pages),
//! otherwise a sample of this number, in about a MiB; both say how far they may be off.

mod bins;
mod course;
mod distribution;
mod footprint;
mod groups;
mod growth;
mod pages;
mod popularity;
mod reuse;
#[cfg(test)]
mod tests;

pub use bins::Histogram;
pub use course::Course;
pub use distribution::Distribution;
pub use footprint::WorkingSets;
pub use growth::Growth;
pub use pages::{Method, Sampling};
pub use popularity::{Hottest, Popularity, PopularityCurve, Spread};
pub use reuse::{MissRatioCurve, Reuse};

use crate::Result;
use crate::record::counted;
pub(crate) use bins::bin_of;
use coflash_base::Bytes;
use coflash_base::prefetch::Ahead;
use coflash_workload::{Op, Request, Source, refuse};
use course::Windows;
pub(crate) use distribution::Summary;
use footprint::Footprint;
use growth::{Point, Points};
pub(crate) use pages::{Pages, mix};
use serde::{Deserialize, Serialize};

/// Statistics of a workload. Times are in nanoseconds, sizes in bytes, shares from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadInfo {
    /// The formats of its files; empty for a generator.
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
    /// The time from the first arrival to the last.
    pub span_ns: u64,
    /// The gaps between arrivals; `None` for fewer than two requests.
    pub interarrival_ns: Option<Distribution>,
    /// The lowest address.
    pub address_min: Option<u64>,
    /// The highest address plus one.
    pub address_end: Option<u64>,
    /// The share of reads, writes and trims that begin and end at page boundaries.
    pub aligned_share: Option<f64>,
    /// The page size for alignment and the following statistics.
    pub page_bytes: u64,
    /// Distinct pages read or written, trims excluded; `None` if they are too scattered to count.
    pub footprint_pages: Option<u64>,
    /// Distinct pages read, and distinct pages written.
    pub working_set: Option<WorkingSets>,
    /// The sample of pages for popularity and reuse.
    pub sampling: Sampling,
    /// The distribution of accesses over pages.
    pub popularity: Popularity,
    /// Reuse distances; `None` if no page is accessed.
    pub reuse: Option<Reuse>,
    /// Written and distinct written pages over time.
    pub write_growth: Option<Growth>,
    /// Reads and writes over time.
    pub course: Course,
    /// Assumptions and omissions.
    pub remarks: Vec<String>,
}

/// Statistics of the requests of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpInfo {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
    /// Distribution of sizes; `None` for flushes and without requests.
    pub size_bytes: Option<Distribution>,
    /// The share that begins at the end of the previous request of the same kind.
    pub sequential_share: Option<f64>,
}

/// Options of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InfoOptions {
    /// The size of a page, a power of two of at least 512 bytes.
    pub page: Bytes,
    /// Upper limit of tracked pages for popularity and reuse.
    pub sample: Sample,
    /// Whether the whole pages of trims are in the footprint, as read, too: a run that numbers pages densely has room for them.
    pub trims: bool,
}

/// Upper limit of tracked pages, in about 80 bytes each. If the workload has no more pages, popularity and reuse are
/// exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Sample(usize);

impl Sample {
    /// 4 TiB at 4 KiB pages.
    pub const EXACT: Self = Self(1 << 30);
    /// Enough for miniature caches.
    pub const MINIATURE: Self = Self(1 << 17);
    /// The smallest sample.
    const PAGES_MIN: usize = 64;

    /// The number of pages.
    #[must_use]
    pub fn pages(self) -> usize {
        self.0
    }
}

impl Default for Sample {
    fn default() -> Self {
        Self(1 << 14)
    }
}

impl TryFrom<String> for Sample {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (least, most) = (Self::PAGES_MIN, Self::EXACT.0);
        let pages = match text.as_str() {
            "auto" => return Ok(Self::default()),
            "exact" => return Ok(Self::EXACT),
            given => given.replace('_', "").parse().ok(),
        };
        pages.filter(|pages| (least..=most).contains(pages)).map(Self).ok_or_else(|| {
            format!(
                "\"{text}\" was given; auto, exact, or a number of pages from {least} to {most} is allowed"
            )
        })
    }
}

impl Default for InfoOptions {
    fn default() -> Self {
        Self { page: Bytes { count: 4096 }, sample: Sample::default(), trims: false }
    }
}

/// Compute the statistics of `source`, which is read to its end.
///
/// # Errors
/// An error of the source; a page size that is not a power of two of at least 512 bytes.
pub fn summarise(source: &mut dyn Source, options: InfoOptions) -> Result<WorkloadInfo> {
    summarise_each(source, options, |_| {})
}

/// Compute the statistics of `source`, and do something with each request.
///
/// # Errors
/// See [`summarise`].
pub(crate) fn summarise_each(
    source: &mut dyn Source,
    options: InfoOptions,
    mut each: impl FnMut(&Request),
) -> Result<WorkloadInfo> {
    let mut counters = Counters::new(page_bytes(options.page)?, options);
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(counters.finish(source.remarks()));
        }
        for (at, request) in batch.iter().enumerate() {
            if let Some(later) = batch.get(at + Ahead::Far.distance()) {
                counters.look_ahead(later);
            }
            counters.add(request);
            each(request);
        }
    }
}

/// The page size for the description of a trace.
///
/// # Errors
/// Not a power of two of at least 512 bytes.
pub fn page_bytes(page: Bytes) -> Result<u64> {
    if page.count >= 512 && page.count.is_power_of_two() {
        return Ok(page.count);
    }
    refuse("page", format!("{page} was given; a power of two of at least 512B is allowed"))
}

/// Upper limit of tracked pages per request, 256 MiB at 4 KiB: a request may be as large as a device.
pub(crate) const TRACKED_PER_REQUEST_MAX: u64 = 1 << 16;

/// The counters of one pass.
#[derive(Default)]
struct Counters {
    /// The binary logarithm of the size of a page.
    page_bits: u32,
    ops: [OpCounters; 4],
    first_ns: Option<u64>,
    latest_ns: u64,
    gaps_ns: Summary,
    address_min: u64,
    address_end: u64,
    aligned: u64,
    footprint: Footprint,
    /// Whether trims are in it.
    trims: bool,
    pages: Pages,
    followed_in_part: u64,
    written_pages: u64,
    growth: Points,
    course: Windows,
}

#[derive(Default)]
struct OpCounters {
    sizes: Summary,
    /// Includes flushes, which have no size.
    requests: u64,
    sequential: u64,
    latest_end: Option<u64>,
}

impl Counters {
    fn new(page_bytes: u64, InfoOptions { sample, trims, .. }: InfoOptions) -> Self {
        let (page_bits, pages) = (page_bytes.ilog2(), Pages::new(sample.0));
        Self { page_bits, address_min: u64::MAX, trims, pages, ..Self::default() }
    }

    /// Ask for the memory that a later request needs.
    #[inline]
    fn look_ahead(&self, request: &Request) {
        self.footprint.look_ahead(request.offset >> self.page_bits, request.op == Op::Write);
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
        self.aligned += u64::from((start | end).trailing_zeros() >= self.page_bits);
        if request.op != Op::Trim {
            self.touch(request);
        } else if self.trims {
            let page_bytes = 1 << self.page_bits;
            let (first, end) = (start.div_ceil(page_bytes), end >> self.page_bits);
            if first < end {
                self.footprint.touch(first, end - 1, false);
            }
        }
    }

    /// Count the pages of a read or a write.
    fn touch(&mut self, request: &Request) {
        let first = request.offset >> self.page_bits;
        let last = (request.offset + request.length - 1) >> self.page_bits;
        let writes = request.op == Op::Write;
        self.footprint.touch(first, last, writes);
        let last_followed = last.min(first + TRACKED_PER_REQUEST_MAX - 1);
        self.followed_in_part += u64::from(last_followed < last);
        (first..=last_followed).for_each(|page| {
            self.pages.access(page, usize::from(writes));
        });
        self.course.add(request, self.span_ns());
        if writes {
            self.written_pages = self.written_pages.saturating_add(last - first + 1);
            if self.growth.is_due() {
                self.growth.add(self.written());
            }
        }
    }

    fn span_ns(&self) -> u64 {
        self.latest_ns - self.first_ns.unwrap_or(0)
    }

    fn requests(&self) -> u64 {
        self.ops.iter().map(|op| op.requests).sum()
    }

    fn written(&self) -> Point {
        let bytes = self.ops[Op::Write as usize].sizes.sum();
        let distinct_pages = self.footprint.written_pages().unwrap_or(0);
        [self.requests(), self.span_ns(), bytes, self.written_pages, distinct_pages]
    }

    fn finish(self, mut remarks: Vec<String>) -> WorkloadInfo {
        let followed = format!(
            "of more than {TRACKED_PER_REQUEST_MAX} pages: popularity and reuse count the first pages"
        );
        remarks.extend(counted(self.followed_in_part, "request", followed));
        let (requests, span_ns, written) = (self.requests(), self.span_ns(), self.written());
        let ranged = requests - self.ops[Op::Flush as usize].requests;
        let working_set = self.footprint.working_sets();
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let [read, write, trim, flush] = self.ops.map(|op| OpInfo {
            requests: op.requests,
            bytes: op.sizes.sum(),
            size_bytes: op.sizes.distribution(),
            sequential_share: share(op.sequential, op.sizes.count()),
        });
        WorkloadInfo {
            formats: Vec::new(),
            requests,
            read,
            write,
            trim,
            flush,
            span_ns,
            interarrival_ns: self.gaps_ns.distribution(),
            address_min: (ranged > 0).then_some(self.address_min),
            address_end: (ranged > 0).then_some(self.address_end),
            aligned_share: share(self.aligned, ranged),
            page_bytes: 1 << self.page_bits,
            footprint_pages: working_set.map(|sets| sets.all_pages()),
            working_set,
            sampling: self.pages.sampling(),
            popularity: self.pages.popularity(),
            reuse: self.pages.reuse(),
            write_growth: working_set.map(|_| self.growth.finish(written)),
            course: self.course.finish(),
            remarks,
        }
    }
}
