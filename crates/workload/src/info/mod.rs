//! What a workload is like, in one pass: how much of what, how large, how dense, how sequential, how much room it touches,
//! how its accesses are spread over it, and how soon they return.
//!
//! Memory does not grow with the length of the workload. Sizes and gaps go into histograms (some 3 MiB), courses into a few
//! hundred points. Footprint and working sets are two bits a page, in chunks of 32,768 pages that exist only where something
//! was touched; at most 65,536 chunks (512 MiB of memory, 8 TiB of touched address space at 4 KiB pages) are kept, beyond
//! which none of them is given. Popularity and reuse follow pages one by one: all of them while there are at most 2^20
//! (4 GiB at 4 KiB pages), a sample of at most so many beyond, in some 80 MiB.

mod bins;
mod course;
mod distribution;
mod footprint;
mod growth;
mod pages;
mod popularity;
mod recency;
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

use crate::request::{Op, Request, Source, WorkloadError};
use crate::trace::{TraceOptions, open};
use coflash_base::Bytes;
use course::Windows;
use distribution::Summary;
use footprint::Footprint;
use growth::{Point, Points};
use pages::Pages;
pub(crate) use pages::mix;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

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
    /// Of the reads, writes and trims, those that begin and end at a boundary of a page.
    pub aligned_share: Option<f64>,
    /// The size of the pages in which the alignment and all that follows is counted.
    pub page_bytes: u64,
    /// Distinct pages that are read or written (a trim touches none); nothing where they are too scattered to count.
    pub footprint_pages: Option<u64>,
    /// Those that are read, and that are written.
    pub working_set: Option<WorkingSets>,
    /// How pages were followed for what comes next.
    pub sampling: Sampling,
    /// How accesses are spread over pages.
    pub popularity: Popularity,
    /// How soon pages are used again; nothing where none is.
    pub reuse: Option<Reuse>,
    /// How what is written grows, and how much of it is new.
    pub write_growth: Option<Growth>,
    /// Reads and writes over time.
    pub course: Course,
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

/// What to find out, and how precisely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InfoOptions {
    /// The size of a page, a power of two of at least 512 bytes.
    pub page: Bytes,
    /// How many pages are followed for popularity and reuse.
    pub sample: Sample,
}

/// The most pages that are followed one by one: some 80 bytes each. With no more in the workload, what is found is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Sample(usize);

impl Sample {
    /// As many as any device has in a few years: 4 TiB at 4 KiB pages.
    pub const EXACT: Self = Self(1 << 30);
    /// Fewer are no sample.
    const PAGES_MIN: usize = 64;
}

impl Default for Sample {
    fn default() -> Self {
        Self(1 << 20)
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = Self::PAGES_MIN..=Self::EXACT.0;
        match text {
            "auto" => Ok(Self::default()),
            "exact" => Ok(Self::EXACT),
            _ => text
                .replace('_', "")
                .parse()
                .ok()
                .filter(|pages| allowed.contains(pages))
                .map(Self)
                .ok_or_else(|| {
                    format!(
                        "\"{text}\" was given; auto, exact, or a number of pages from {} to {} is allowed",
                        allowed.start(),
                        allowed.end()
                    )
                }),
        }
    }
}

impl TryFrom<String> for Sample {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Default for InfoOptions {
    fn default() -> Self {
        Bytes { count: 4096 }.into()
    }
}

/// In pages of that size, and else as always.
impl From<Bytes> for InfoOptions {
    fn from(page: Bytes) -> Self {
        Self { page, sample: Sample::default() }
    }
}

/// What the trace in `paths` is like.
///
/// # Errors
/// As [`open`], and whatever is wrong with a record; as [`summarise`].
pub fn inspect(
    paths: &[String],
    options: &TraceOptions,
    info: impl Into<InfoOptions>,
) -> Result<WorkloadInfo, WorkloadError> {
    let mut source = open(paths, options)?;
    let info = summarise(&mut source, info)?;
    Ok(WorkloadInfo { formats: source.formats().iter().map(ToString::to_string).collect(), ..info })
}

/// What the requests of `source` are like, to its end.
///
/// # Errors
/// What is wrong with the source; a page that is not a power of two of at least 512 bytes.
pub fn summarise(
    source: &mut dyn Source,
    options: impl Into<InfoOptions>,
) -> Result<WorkloadInfo, WorkloadError> {
    let InfoOptions { page, sample } = options.into();
    if page.count < 512 || !page.count.is_power_of_two() {
        let problem = format!("{page} given, a power of two of at least 512B expected");
        return Err(WorkloadError::Parameters { key: "page", problem });
    }
    let mut tally = Tally::new(page.count, sample);
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(tally.finish(source.remarks()));
        }
        batch.iter().for_each(|request| tally.add(request));
    }
}

/// Of a request, so many pages are followed: 256 MiB at 4 KiB. One may be as large as any device.
const FOLLOWED_PER_REQUEST_MAX: u64 = 1 << 16;

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
    pages: Pages,
    /// Accesses to pages that are, or might have been, followed: reads, and writes.
    accesses: [u64; 2],
    followed_in_part: u64,
    written_pages: u64,
    growth: Points,
    course: Windows,
}

struct OpTally {
    sizes: Summary,
    /// A flush has no size but is counted.
    requests: u64,
    sequential: u64,
    latest_end: Option<u64>,
}

impl Tally {
    fn new(page_bytes: u64, sample: Sample) -> Self {
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
            pages: Pages::new(sample.0),
            accesses: [0; 2],
            followed_in_part: 0,
            written_pages: 0,
            growth: Points::new(),
            course: Windows::new(),
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
            self.touch(request);
        }
    }

    /// A read or a write.
    fn touch(&mut self, request: &Request) {
        let first = request.offset / self.page_bytes;
        let last = (request.offset + request.length - 1) / self.page_bytes;
        let writes = request.op == Op::Write;
        self.footprint.touch(first, last, writes);
        let last_followed = last.min(first + FOLLOWED_PER_REQUEST_MAX - 1);
        self.followed_in_part += u64::from(last_followed < last);
        self.accesses[usize::from(writes)] += last_followed - first + 1;
        (first..=last_followed).for_each(|page| self.pages.access(page, usize::from(writes)));
        self.course.add(request, self.span_ns());
        if writes {
            self.written_pages = self.written_pages.saturating_add(last - first + 1);
            let now = self.written();
            self.growth.add(now);
        }
    }

    fn span_ns(&self) -> u64 {
        self.latest_ns - self.first_ns.unwrap_or(0)
    }

    fn requests(&self) -> u64 {
        self.ops.iter().map(|op| op.requests).sum()
    }

    fn written(&self) -> Point {
        Point {
            requests: self.requests(),
            time_ns: self.span_ns(),
            written_bytes: self.ops[Op::Write as usize].sizes.sum(),
            written_pages: self.written_pages,
            distinct_pages: self.footprint.written_pages().unwrap_or(0),
        }
    }

    fn finish(self, mut remarks: Vec<String>) -> WorkloadInfo {
        if self.followed_in_part > 0 {
            remarks.push(format!(
                "{} requests are to more than {FOLLOWED_PER_REQUEST_MAX} pages; popularity and reuse count the first so many of each",
                self.followed_in_part
            ));
        }
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
            page_bytes: self.page_bytes,
            footprint_pages: working_set.map(|sets| sets.all_pages()),
            working_set,
            sampling: self.pages.sampling(),
            popularity: Popularity::of(self.pages.accesses()),
            reuse: self.pages.reuses().finish(self.accesses),
            write_growth: working_set.map(|_| self.growth.finish(written)),
            course: self.course.finish(),
            remarks,
        }
    }
}
