//! The places of requests: the counts for fitting the LRU stack model.
//!
//! The last page of a request represents it: whether it was accessed before, the number of other pages
//! accessed since, the last operation on it, and the number of its uses. A request continues an earlier one
//! of its operation if it begins where one of the 32 latest streams ended, and both are at new pages or both
//! at old ones. Depths are in bins of a sixteenth of an octave until the footprint is known; then they become
//! shares of it.
//!
//! Memory: a few thousand bins, and the pages of [`Pages`].

use crate::info::{Access, Pages, bin_of, end_of};
use coflash_base::{Bytes, Share};
use coflash_workload::synthetic::lru_stack::{
    Accesses, Again, LastOp, LruStackConfig, OfSize, SIZES, size_class,
};
use coflash_workload::{Op, Request};
use std::collections::BTreeMap;

const STREAMS: usize = 32;
/// The sum of the weights in a configuration.
const WEIGHTS_SUM: f64 = 1e5;

/// The end of a stream of requests.
#[derive(Clone, Copy)]
struct End {
    /// Its last page.
    page: u64,
    op: Op,
    /// Whether its last page was new; `None` if that page is not tracked.
    is_new: Option<bool>,
}

/// Requests of one operation.
#[derive(Default)]
struct Kind {
    /// Requests to an old and to a new page.
    requests: [u64; 2],
    /// Requests that continue another.
    continued: [u64; 2],
    /// Requests that begin in its last page.
    overlapping: u64,
    /// By class of size.
    places: [Places; SIZES.len()],
}

/// The places of requests.
#[derive(Default)]
struct Places {
    /// Weight of the requests to new pages.
    new: f64,
    /// Weight of the other requests, by class and bin of depth.
    again: BTreeMap<(usize, usize), f64>,
}

/// The counters.
pub(super) struct Starts {
    page_bytes: u64,
    /// Reads, writes and trims.
    kinds: [Kind; 3],
    ends: [End; STREAMS],
    oldest: usize,
    /// Starts that continue none, by their sector within the page.
    sectors: Vec<u64>,
    /// New pages, by the operation that accessed them first.
    new_pages: [f64; 2],
}

const SECTOR_BYTES: u64 = 512;

impl Starts {
    pub(super) fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            kinds: Default::default(),
            ends: [End { page: u64::MAX - 1, op: Op::Flush, is_new: None }; STREAMS],
            oldest: 0,
            sectors: vec![0; (page_bytes / SECTOR_BYTES) as usize],
            new_pages: [0.0; 2],
        }
    }

    /// Count a page that a read or a write accesses.
    #[inline]
    pub(super) fn page(&mut self, op: Op, access: Access) {
        if access.before.is_none() {
            self.new_pages[op as usize] += access.weight;
        }
    }

    /// Count a request, with the access to its last page.
    pub(super) fn add(&mut self, request: &Request, access: Option<Access>) {
        let kind = &mut self.kinds[request.op as usize];
        let is_new = access.map(|access| access.before.is_none());
        let first = request.offset / self.page_bytes;
        let last = (request.offset + request.length - 1) / self.page_bytes;
        let follows =
            |end: &End| (end.page..=end.page + 1).contains(&first) && end.page < last && end.op == request.op;
        let stream = self.ends.iter().position(follows);
        let continues = stream.is_some_and(|stream| self.ends[stream].is_new == is_new);
        if stream.is_none() {
            self.sectors[(request.offset % self.page_bytes / SECTOR_BYTES) as usize] += 1;
        }
        if let (Some(Access { weight, before }), Some(is_new)) = (access, is_new) {
            let index = usize::from(is_new);
            kind.requests[index] += 1;
            kind.continued[index] += u64::from(continues);
            kind.overlapping +=
                u64::from(continues && stream.is_some_and(|stream| self.ends[stream].page == first));
            let places = &mut kind.places[size_class(request.length.div_ceil(self.page_bytes))];
            match before {
                None => places.new += weight,
                Some(before) => {
                    let last = if before.last_op == 0 { LastOp::Read } else { LastOp::Write };
                    let depth = bin_of((before.others + 0.5) as u64 + 1);
                    *places.again.entry((Again::class(last, before.uses), depth)).or_insert(0.0) += weight;
                }
            }
        }
        let stream = stream.unwrap_or_else(|| {
            self.oldest = (self.oldest + 1) % STREAMS;
            self.oldest
        });
        self.ends[stream] = End { page: last, op: request.op, is_new };
    }

    /// The generator, given the tracked pages and the alignment `align`.
    pub(super) fn config(&self, pages: &Pages, align: u64) -> LruStackConfig {
        let footprint = pages.footprint().max(1) as f64;
        let [read, write, trim] = self.kinds.each_ref().map(|kind| kind.config(footprint));
        let units = (self.page_bytes / align) as usize;
        let at_least = u64::div_ceil(SECTOR_BYTES, align);
        let mut offsets = vec![0; units];
        for (sector, &count) in self.sectors.iter().enumerate() {
            // A start between two units counts as one at the first.
            offsets[(sector as u64 * SECTOR_BYTES / align).min(units as u64 - at_least) as usize] += count;
        }
        let all: u64 = offsets.iter().sum();
        let mut offsets: Vec<u32> = offsets.iter().map(|&count| weight(count as f64, all as f64)).collect();
        trim_zeros(&mut offsets);
        if offsets.len() == 1 {
            offsets.clear();
        }
        let [by_read, by_write] = self.new_pages;
        LruStackConfig {
            page: Bytes { count: self.page_bytes },
            offsets,
            read_first: share(by_read, by_read + by_write),
            read,
            write,
            trim,
        }
    }
}

impl Kind {
    fn config(&self, footprint: f64) -> Accesses {
        let [continued, continued_new] =
            [0, 1].map(|is_new| share(self.continued[is_new] as f64, self.requests[is_new] as f64));
        // A request that continues needs no draw.
        let [begun, begun_new] = [continued, continued_new].map(|share| 1.0 - share.as_f64());
        let sizes = SIZES.iter().zip(&self.places);
        let sizes = sizes.filter_map(|(&pages, places)| places.config(pages, footprint, begun, begun_new));
        let overlapping = share(self.overlapping as f64, self.continued.iter().sum::<u64>() as f64);
        Accesses { continued_new, continued, overlapping, sizes: sizes.collect() }
    }
}

impl Places {
    fn config(&self, pages: u32, footprint: f64, begun: f64, begun_new: f64) -> Option<OfSize> {
        let all = self.new * begun_new + self.again.values().sum::<f64>() * begun;
        let mut weights: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (&(class, depth), &count) in &self.again {
            let bin = Again::bin(end_of(depth) as f64 / footprint);
            let weights = weights.entry(class).or_default();
            weights.resize(weights.len().max(bin + 1), 0.0);
            weights[bin] += count * begun;
        }
        let again = Again::classes().enumerate().filter_map(|(class, (after, uses))| {
            let mut depths: Vec<u32> = weights.get(&class)?.iter().map(|&count| weight(count, all)).collect();
            trim_zeros(&mut depths);
            (!depths.is_empty()).then_some(Again { after, uses, depths })
        });
        (all > 0.0).then(|| OfSize { pages, new: weight(self.new * begun_new, all), again: again.collect() })
    }
}

fn trim_zeros(weights: &mut Vec<u32>) {
    let end = weights.iter().rposition(|&weight| weight > 0).map_or(0, |last| last + 1);
    weights.truncate(end);
}

fn weight(count: f64, all: f64) -> u32 {
    (count / all.max(f64::MIN_POSITIVE) * WEIGHTS_SUM + 0.5) as u32
}

fn share(part: f64, all: f64) -> Share {
    Share { ppb: (part / all.max(1.0) * 1e9) as u64 }
}
