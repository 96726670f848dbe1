//! The profile of a workload: the input of a fit, and statistics for the comparison.
//!
//! Memory is bounded: up to 4,096 different sizes are counted exactly, more to an eighth of an octave; gaps go into a
//! histogram of three digits; pages are counted as in [`info`](crate::info).

use super::accesses::Accesses;
use super::clustering::Clustering;
use super::flows;
use crate::info::{Pages, Summary};
use coflash_base::{Bytes, Duration, Share};
use coflash_workload::synthetic::quantiles::{Quantile, QuantilesConfig};
use coflash_workload::synthetic::reuse_flows::ReuseFlowsConfig;
use coflash_workload::synthetic::size::{ByOpConfig, ChoiceConfig, WeightedSize};
use coflash_workload::{Op, Request, Source, WorkloadError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Statistics of a workload. Shares are from 0 to 1; `None` is an undefined value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// All requests.
    pub requests: u64,
    /// The reads.
    pub reads: u64,
    /// The writes.
    pub writes: u64,
    /// The trims.
    pub trims: u64,
    /// The flushes.
    pub flushes: u64,
    /// The share of reads among reads and writes.
    pub read_share: Option<f64>,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// The sizes of reads.
    pub read_size_bytes: Option<SizeProfile>,
    /// The sizes of writes.
    pub write_size_bytes: Option<SizeProfile>,
    /// Distinct pages read or written; of a request of more than 256 MiB only the first pages count.
    pub footprint_bytes: u64,
    /// The share of page accesses to the most popular hundredth of the footprint.
    pub top_1_percent_share: Option<f64>,
    /// The share of page accesses to the most popular tenth of the footprint.
    pub top_10_percent_share: Option<f64>,
    /// The share of pages that were counted. Below 1, footprint and popularity are estimates.
    pub pages_counted_share: f64,
    /// The share of reads, writes and trims that continue one of the 32 latest streams.
    pub sequential_share: Option<f64>,
    /// The gaps between arrivals.
    pub interarrival_ns: Option<Gaps>,
    /// The correlation of the logarithms of gaps: 0 without clustering.
    pub interarrival_correlation: Correlations,
    /// The time from the first arrival to the last.
    pub span_ns: u64,
}

/// The distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "mean and quantiles")]
pub struct SizeProfile {
    pub mean: f64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

/// The distribution of gaps; quantiles to three digits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "mean and quantiles")]
pub struct Gaps {
    pub mean: f64,
    pub p10: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// The correlation of gaps at a distance in requests; `None` for a trace that is too short.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "distances")]
pub struct Correlations {
    pub of_neighbours: Option<f64>,
    pub over_64_requests: Option<f64>,
    pub over_4096_requests: Option<f64>,
}

const STREAMS: usize = 32;
const PAGES_PER_REQUEST_MAX_BYTES: u64 = 256 << 20;

/// The most pages that are tracked; see [`Pages`].
const PAGES_MAX: usize = 1 << 20;

/// The counters of one pass.
pub(super) struct Counters {
    page_bytes: u64,
    ops: [u64; 4],
    bytes: [u64; 4],
    /// Of reads, writes and trims.
    sizes: [SizeCounts; 3],
    /// Of those at least half of whose pages are new, and of the others, counted in pages.
    new_sizes: [SizeCounts; 3],
    reused_sizes: [SizeCounts; 3],
    gaps: Summary,
    clustering: Clustering,
    pages: Pages,
    accesses: Accesses,
    sequential: u64,
    ends: [u64; STREAMS],
    oldest: usize,
    /// Requests by the largest power of two, 2^index bytes, that divides their start address.
    aligned: [u64; 64],
    first_ns: Option<u64>,
    latest_ns: u64,
}

impl Counters {
    pub(super) fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            ops: [0; 4],
            bytes: [0; 4],
            sizes: Default::default(),
            new_sizes: Default::default(),
            reused_sizes: Default::default(),
            gaps: Summary::new(),
            clustering: Clustering::new(),
            pages: Pages::new(PAGES_MAX),
            accesses: Accesses::new(page_bytes),
            sequential: 0,
            ends: [u64::MAX; STREAMS],
            oldest: 0,
            aligned: [0; 64],
            first_ns: None,
            latest_ns: 0,
        }
    }

    pub(super) fn read(&mut self, source: &mut dyn Source) -> Result<(), WorkloadError> {
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            batch.iter().for_each(|request| self.add(request));
        }
    }

    fn add(&mut self, request: &Request) {
        let now_ns = request.arrival.ns;
        match self.first_ns {
            None => self.first_ns = Some(now_ns),
            Some(_) => {
                self.gaps.add(now_ns - self.latest_ns);
                self.clustering.add(now_ns - self.latest_ns);
            }
        }
        self.latest_ns = now_ns;
        let op = request.op as usize;
        self.ops[op] += 1;
        if request.op == Op::Flush {
            return;
        }
        let (start, end) = (request.offset, request.offset + request.length);
        self.bytes[op] = self.bytes[op].saturating_add(request.length);
        self.sizes[op].add(request.length);
        self.aligned[(start.trailing_zeros() as usize).min(63)] += 1;
        if let Some(stream) = self.ends.iter().position(|&ended| ended == start) {
            self.sequential += 1;
            self.ends[stream] = end;
        } else {
            self.ends[self.oldest] = end;
            self.oldest = (self.oldest + 1) % STREAMS;
        }
        let first_page = start / self.page_bytes;
        let last_page = (end - 1).min(start + PAGES_PER_REQUEST_MAX_BYTES) / self.page_bytes;
        self.accesses.add(request, first_page, last_page);
        let known = (first_page..=last_page).filter_map(|page| self.pages.is_new(page));
        let (new, all) = known.fold((0, 0_u64), |(new, all), is_new| (new + u64::from(is_new), all + 1));
        if all > 0 && new * 2 >= all {
            self.new_sizes[op].add(request.length);
        } else if all > 0 {
            self.reused_sizes[op].add((last_page - first_page + 1) * self.page_bytes);
        }
        if request.op != Op::Trim {
            (first_page..=last_page).for_each(|page| self.pages.access(page, op));
        }
    }

    /// The generator of addresses.
    pub(super) fn generator(&self) -> ReuseFlowsConfig {
        flows::config(&self.accesses, self.align(), self.by_op(&self.reused_sizes))
    }

    /// The pages of all requests.
    pub(super) fn page_accesses(&self) -> u64 {
        self.accesses.count()
    }

    /// The sizes of each operation at new pages.
    pub(super) fn size(&self) -> ByOpConfig {
        self.by_op(&self.new_sizes)
    }

    /// The sizes of each operation; for one without such requests, all its sizes, or those of another.
    fn by_op(&self, sizes: &[SizeCounts; 3]) -> ByOpConfig {
        let [read, write, trim] = [0, 1, 2].map(|op| {
            let given = [&sizes[op], &self.sizes[op]].into_iter().chain(&self.sizes);
            let sizes = given.into_iter().find(|sizes| sizes.total() > 0);
            ChoiceConfig { sizes: sizes.map_or_else(Vec::new, SizeCounts::choice) }
        });
        ByOpConfig { read, write, trim }
    }

    /// The interarrival times; `None` if all are zero.
    pub(super) fn arrival(&self) -> Option<QuantilesConfig> {
        let gaps = quantiles(&self.gaps);
        (!gaps.is_empty()).then(|| QuantilesConfig { clustering: self.clustering.shares(&gaps), gaps })
    }

    /// The accessed pages, in bytes.
    pub(super) fn footprint_bytes(&self) -> u64 {
        self.pages.footprint().saturating_mul(self.page_bytes)
    }

    pub(super) fn requests(&self) -> u64 {
        self.ops.iter().sum()
    }

    pub(super) fn of(&self, op: Op) -> u64 {
        self.ops[op as usize]
    }

    /// Requests with an address range.
    pub(super) fn ranged(&self) -> u64 {
        self.requests() - self.of(Op::Flush)
    }

    /// The largest power of two, from 512 bytes to a page, to which at least 99 of 100 requests are aligned.
    pub(super) fn align(&self) -> u64 {
        let at_least = |align: u64| self.aligned[align.trailing_zeros() as usize..].iter().sum::<u64>();
        let mut align = self.page_bytes;
        while align > 512 && at_least(align) * 100 < self.ranged() * 99 {
            align /= 2;
        }
        align
    }

    pub(super) fn profile(&self) -> Profile {
        let [reads, writes, trims, flushes] =
            [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| self.of(op));
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let hottest = self.pages.popularity().all.map(|all| all.hottest_share);
        let [read_size_bytes, write_size_bytes, _] = self.sizes.each_ref().map(SizeCounts::sizes);
        Profile {
            requests: self.requests(),
            reads,
            writes,
            trims,
            flushes,
            read_share: share(reads, reads + writes),
            read_bytes: self.bytes[Op::Read as usize],
            written_bytes: self.bytes[Op::Write as usize],
            read_size_bytes,
            write_size_bytes,
            footprint_bytes: self.footprint_bytes(),
            top_1_percent_share: hottest.map(|hottest| hottest.of_1_percent),
            top_10_percent_share: hottest.map(|hottest| hottest.of_10_percent),
            pages_counted_share: self.pages.sampling().share,
            sequential_share: share(self.sequential, self.ranged()),
            interarrival_ns: (self.gaps.count() > 0).then(|| Gaps::of(&self.gaps)),
            interarrival_correlation: Correlations {
                of_neighbours: self.clustering.correlation(0),
                over_64_requests: self.clustering.correlation(6),
                over_4096_requests: self.clustering.correlation(12),
            },
            span_ns: self.latest_ns - self.first_ns.unwrap_or(0),
        }
    }
}

const SIZES_MAX: usize = 4096;
/// The maximum number of individual sizes in a configuration.
const SIZES_LISTED: usize = 32;

/// The count of each size.
#[derive(Default)]
struct SizeCounts {
    counts: BTreeMap<u64, u64>,
    sum: u128,
}

impl SizeCounts {
    fn add(&mut self, bytes: u64) {
        self.sum += u128::from(bytes);
        // Further sizes are rounded to their four highest bits.
        let known = self.counts.len() < SIZES_MAX || self.counts.contains_key(&bytes);
        let shift = if known { 0 } else { bytes.ilog2().saturating_sub(3) };
        *self.counts.entry(bytes >> shift << shift).or_insert(0) += 1;
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    fn sizes(&self) -> Option<SizeProfile> {
        let total = self.total();
        let quantile = |share: f64| {
            let mut left = (share * total as f64) as u64;
            let at = self.counts.iter().find(|&(_, &count)| {
                let found = count >= left;
                left = left.saturating_sub(count);
                found
            });
            at.map_or(0, |(&size, _)| size)
        };
        let (&max, _) = self.counts.last_key_value()?;
        let mean = self.sum as f64 / total as f64;
        Some(SizeProfile { mean, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), max })
    }

    /// The most frequent sizes exactly, and the mean of the others per octave, in whole sectors; weights in parts per
    /// million.
    fn choice(&self) -> Vec<WeightedSize> {
        let mut by_count: Vec<(u64, u64)> = self.counts.iter().map(|(&size, &count)| (size, count)).collect();
        by_count.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let others = by_count.split_off(by_count.len().min(SIZES_LISTED));
        let mut octaves: BTreeMap<u32, (u128, u64)> = BTreeMap::new();
        for (size, count) in others {
            let octave = octaves.entry(size.ilog2()).or_default();
            octave.0 += u128::from(size) * u128::from(count);
            octave.1 += count;
        }
        by_count.extend(octaves.into_values().map(|(bytes, count)| {
            let sectors = (bytes as f64 / count as f64 / 512.0 + 0.5) as u64;
            (sectors.max(1) * 512, count)
        }));
        by_count.sort_unstable();
        let total = self.total().max(1);
        let weight = |count: u64| ((u128::from(count) * 1_000_000 / u128::from(total)) as u32).max(1);
        by_count
            .into_iter()
            .map(|(size, count)| WeightedSize { size: Bytes { count: size }, weight: weight(count) })
            .collect()
    }
}

/// The shares of the quantiles in a configuration, in parts per ten thousand.
const EDGES: [u64; 17] =
    [0, 100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9500, 9900, 9990, 9999, 10_000];

impl Gaps {
    fn of(gaps: &Summary) -> Self {
        let [p10, p50, p90, p99, p999] = [0.1, 0.5, 0.9, 0.99, 0.999].map(|share| gaps.quantile(share));
        Self { mean: gaps.mean(), p10, p50, p90, p99, p999, max: gaps.max() }
    }
}

/// The gaps as quantiles with uniform distributions between them; `None` if all gaps are zero.
///
/// A uniform distribution between two quantiles would have the wrong mean, so a point is inserted between them:
/// their mean m, at the share where the parts below and above it balance.
fn quantiles(gaps: &Summary) -> Vec<Quantile> {
    if gaps.max() == 0 {
        return Vec::new();
    }
    let point =
        |ppb: u64, ns: f64| Quantile { share: Share { ppb }, gap: Duration { ns: (ns + 0.5) as u64 } };
    let per_ppb = gaps.count() as f64 / 1e9;
    let gaps: Vec<_> = gaps.buckets().map(|(gap, count)| (gap as f64, count as f64)).collect();
    let mut points = vec![point(0, gaps[0].0)];
    let (mut bucket, mut used, mut lowest) = (0, 0.0, gaps[0].0);
    for pair in EDGES.map(|edge| edge * 100_000).windows(2) {
        let wanted = (pair[1] - pair[0]) as f64 * per_ppb;
        let (mut left, mut sum) = (wanted, 0.0);
        loop {
            let (gap, count) = gaps[bucket];
            let taken = left.min(count - used);
            sum += gap * taken;
            left -= taken;
            used += taken;
            // The last bucket gets the rest from rounding.
            if left <= 1e-9 * wanted || bucket + 1 == gaps.len() {
                break;
            }
            (bucket, used) = (bucket + 1, 0.0);
        }
        let highest = gaps[bucket].0;
        let mean = (sum / (wanted - left)).clamp(lowest, highest);
        if highest > lowest {
            let below = (highest - mean) / (highest - lowest);
            let share = pair[0] + (below * (pair[1] - pair[0]) as f64) as u64;
            if share > pair[0] && share < pair[1] {
                points.push(point(share, mean));
            }
        }
        points.push(point(pair[1], highest));
        lowest = highest;
    }
    points
}
