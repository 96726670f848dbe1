//! What a workload is like, in the terms in which one is fitted, and in numbers to compare by.
//!
//! Memory is bounded: sizes are counted exactly while there are at most 4,096 different ones and to an eighth of an
//! octave beyond, gaps go into a histogram of three digits, places as in [`popularity`](super::popularity).

use super::popularity::Popularity;
use super::run;
use crate::synthetic::SyntheticConfig;
use crate::synthetic::quantiles::Quantile;
use crate::synthetic::size::WeightedSize;
use crate::{Op, Request, Source, WorkloadError};
use coflash_base::{Bytes, Duration, Seed, Share};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// A workload in numbers. Shares are from 0 to 1; what there is none of is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// All requests.
    pub requests: u64,
    /// Those that read.
    pub reads: u64,
    /// Those that write.
    pub writes: u64,
    /// Those that trim.
    pub trims: u64,
    /// Those that flush.
    pub flushes: u64,
    /// Reads among reads and writes.
    pub read_share: Option<f64>,
    /// What is read.
    pub read_bytes: u64,
    /// What is written.
    pub written_bytes: u64,
    /// How long reads, writes and trims are.
    pub size_bytes: Option<Sizes>,
    /// The pages that are read or written, each once; of a request of more than 256 MiB only the pages of the first.
    pub footprint_bytes: u64,
    /// The accesses to pages that go to the most popular hundredth of the footprint.
    pub top_1_percent_share: Option<f64>,
    /// The accesses to pages that go to the most popular tenth of the footprint.
    pub top_10_percent_share: Option<f64>,
    /// The share of pages that were counted, by which footprint and popularity are estimates where it is below 1.
    pub pages_counted_share: f64,
    /// Reads, writes and trims that begin where one of the 32 streams last seen had ended.
    pub sequential_share: Option<f64>,
    /// Between one arrival and the next.
    pub interarrival_ns: Option<Gaps>,
    /// From the first arrival to the last.
    pub span_ns: u64,
}

/// The distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "mean and quantiles")]
pub struct Sizes {
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

const STREAMS: usize = 32;
/// Candidates are tried for so many accesses to pages.
const TRIAL_ACCESSES: u64 = 1 << 21;
const PAGES_PER_REQUEST_MAX_BYTES: u64 = 256 << 20;

/// Counts of the pass.
pub(super) struct Tally {
    page_bytes: u64,
    ops: [u64; 4],
    bytes: [u64; 4],
    pub(super) sizes: SizeCounts,
    pub(super) gaps: GapCounts,
    pages: Popularity,
    /// Where requests begin that go on nowhere.
    pub(super) starts: Popularity,
    pub(super) sequential: u64,
    ends: [u64; STREAMS],
    oldest: usize,
    /// How many requests begin at a multiple of 2^index bytes and of no larger power.
    aligned: [u64; 64],
    end: u64,
    /// The pages touched by the first [`TRIAL_ACCESSES`].
    early_pages: u64,
    /// Whether that is all that is asked for.
    is_trial: bool,
    first_ns: Option<u64>,
    latest_ns: u64,
}

impl Tally {
    pub(super) fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            ops: [0; 4],
            bytes: [0; 4],
            sizes: SizeCounts::default(),
            gaps: GapCounts::new(),
            pages: Popularity::new(page_bytes),
            starts: Popularity::new(page_bytes),
            sequential: 0,
            ends: [u64::MAX; STREAMS],
            oldest: 0,
            aligned: [0; 64],
            end: 0,
            early_pages: 0,
            is_trial: false,
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
            if self.pages.requests() <= TRIAL_ACCESSES {
                self.early_pages = self.pages.places();
            } else if self.is_trial {
                return Ok(());
            }
        }
    }

    /// How far the footprint of a workload's beginning is from that of this one's, as the logarithm of their ratio.
    pub(super) fn distance_of_footprint(
        &self,
        config: &SyntheticConfig,
        seed: Seed,
    ) -> Result<f64, WorkloadError> {
        let mut trial = Self { is_trial: true, ..Self::new(self.page_bytes) };
        trial.read(&mut run(config, seed)?)?;
        Ok(libm::log((trial.early_pages + 1) as f64 / (self.early_pages + 1) as f64).abs())
    }

    fn add(&mut self, request: &Request) {
        let now_ns = request.arrival.ns;
        match self.first_ns {
            None => self.first_ns = Some(now_ns),
            Some(_) => self.gaps.add(now_ns - self.latest_ns),
        }
        self.latest_ns = now_ns;
        let op = request.op as usize;
        self.ops[op] += 1;
        if request.op == Op::Flush {
            return;
        }
        let (start, end) = (request.offset, request.offset + request.length);
        self.bytes[op] = self.bytes[op].saturating_add(request.length);
        self.sizes.add(request.length);
        self.aligned[(start.trailing_zeros() as usize).min(63)] += 1;
        self.end = self.end.max(end);
        if let Some(stream) = self.ends.iter().position(|&ended| ended == start) {
            self.sequential += 1;
            self.ends[stream] = end;
        } else {
            self.starts.add(start);
            self.ends[self.oldest] = end;
            self.oldest = (self.oldest + 1) % STREAMS;
        }
        if request.op != Op::Trim {
            let last = (end - 1).min(start + PAGES_PER_REQUEST_MAX_BYTES) / self.page_bytes;
            (start / self.page_bytes..=last).for_each(|page| self.pages.add(page * self.page_bytes));
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.ops.iter().sum()
    }

    pub(super) fn of(&self, op: Op) -> u64 {
        self.ops[op as usize]
    }

    /// Requests that have a range.
    pub(super) fn ranged(&self) -> u64 {
        self.requests() - self.of(Op::Flush)
    }

    /// One more than the highest byte asked for.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The largest power of two, from 512 to 64 KiB, of which at least 99 of 100 requests begin at a multiple.
    pub(super) fn align(&self) -> u64 {
        let at_least = |align: u64| self.aligned[align.trailing_zeros() as usize..].iter().sum::<u64>();
        let mut align = 64 << 10;
        while align > 512 && at_least(align) * 100 < self.ranged() * 99 {
            align /= 2;
        }
        align
    }

    pub(super) fn profile(&self) -> Profile {
        let [reads, writes, trims, flushes] =
            [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| self.of(op));
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let [top_1_percent_share, top_10_percent_share] = self.pages.top_shares([0.01, 0.1]);
        Profile {
            requests: self.requests(),
            reads,
            writes,
            trims,
            flushes,
            read_share: share(reads, reads + writes),
            read_bytes: self.bytes[Op::Read as usize],
            written_bytes: self.bytes[Op::Write as usize],
            size_bytes: self.sizes.sizes(),
            footprint_bytes: self.pages.places().saturating_mul(self.page_bytes),
            top_1_percent_share,
            top_10_percent_share,
            pages_counted_share: self.pages.kept(),
            sequential_share: share(self.sequential, self.ranged()),
            interarrival_ns: self.gaps.gaps(),
            span_ns: self.latest_ns - self.first_ns.unwrap_or(0),
        }
    }
}

const SIZES_MAX: usize = 4096;
/// The most sizes that a configuration lists one by one.
const SIZES_LISTED: usize = 32;

/// How often each size comes.
#[derive(Default)]
pub(super) struct SizeCounts {
    counts: BTreeMap<u64, u64>,
    sum: u128,
}

impl SizeCounts {
    fn add(&mut self, bytes: u64) {
        self.sum += u128::from(bytes);
        // Beyond so many, only its four highest bits.
        let known = self.counts.len() < SIZES_MAX || self.counts.contains_key(&bytes);
        let shift = if known { 0 } else { bytes.ilog2().saturating_sub(3) };
        *self.counts.entry(bytes >> shift << shift).or_insert(0) += 1;
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    fn sizes(&self) -> Option<Sizes> {
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
        Some(Sizes { mean, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), max })
    }

    /// The most frequent sizes as they are, and of each octave of the others their mean, in whole sectors; in parts of a
    /// million.
    pub(super) fn choice(&self) -> Vec<WeightedSize> {
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

/// How long gaps are.
pub(super) struct GapCounts {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
}

/// Where the quantiles of a configuration lie, in parts per billion.
const EDGES_PPB: [u64; 17] = [
    0,
    10_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    300_000_000,
    400_000_000,
    500_000_000,
    600_000_000,
    700_000_000,
    800_000_000,
    900_000_000,
    950_000_000,
    990_000_000,
    999_000_000,
    999_900_000,
    1_000_000_000,
];

impl GapCounts {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, u64::MAX, 3).expect("bounds and digits are allowed");
        Self { histogram, sum: 0, max: 0 }
    }

    fn add(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    fn gaps(&self) -> Option<Gaps> {
        let count = self.histogram.len();
        let quantile = |q| self.histogram.lowest_equivalent(self.histogram.value_at_quantile(q));
        (count > 0).then(|| Gaps {
            mean: self.sum as f64 / count as f64,
            p10: quantile(0.1),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.max,
        })
    }

    /// The gaps as quantiles between which they are spread evenly; nothing where all are zero.
    ///
    /// Evenly spread, the gaps between two quantiles would have the wrong mean, so a point is put between them: their
    /// mean m, at the share at which the halves below and above it balance.
    pub(super) fn quantiles(&self) -> Vec<Quantile> {
        if self.max == 0 {
            return Vec::new();
        }
        let point =
            |ppb: u64, ns: f64| Quantile { share: Share { ppb }, gap: Duration { ns: (ns + 0.5) as u64 } };
        let gaps: Vec<(f64, f64)> = self
            .histogram
            .iter_recorded()
            .map(|bucket| {
                let middle = self.histogram.median_equivalent(bucket.value_iterated_to()).min(self.max);
                (middle as f64, bucket.count_at_value() as f64)
            })
            .collect();
        let per_ppb = self.histogram.len() as f64 / 1e9;
        let mut points = vec![point(0, gaps[0].0)];
        let (mut bucket, mut used, mut lowest) = (0, 0.0, gaps[0].0);
        for pair in EDGES_PPB.windows(2) {
            let wanted = (pair[1] - pair[0]) as f64 * per_ppb;
            let (mut left, mut sum) = (wanted, 0.0);
            loop {
                let (gap, count) = gaps[bucket];
                let taken = left.min(count - used);
                sum += gap * taken;
                left -= taken;
                used += taken;
                // The last bucket takes what rounding leaves.
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
}
