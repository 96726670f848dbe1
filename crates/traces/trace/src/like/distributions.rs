//! The distributions of sizes and of gaps, as a configuration has them.
//!
//! Memory is bounded: up to 4,096 different sizes are counted exactly, more to an eighth of an octave; gaps go into a
//! histogram of three digits.

use crate::info::Summary;
use coflash_base::{Bytes, Duration, Share};
use coflash_workload::synthetic::quantiles::Quantile;
use coflash_workload::synthetic::size::WeightedSize;
use std::collections::BTreeMap;

const SIZES_MAX: usize = 4096;
/// The maximum number of individual sizes in a configuration.
const SIZES_LISTED: usize = 32;

/// The count of each size.
#[derive(Default)]
pub(super) struct SizeCounts {
    counts: BTreeMap<u64, u64>,
}

impl SizeCounts {
    pub(super) fn add(&mut self, bytes: u64) {
        // Further sizes are rounded to their four highest bits.
        let known = self.counts.len() < SIZES_MAX || self.counts.contains_key(&bytes);
        let shift = if known { 0 } else { bytes.ilog2().saturating_sub(3) };
        *self.counts.entry(bytes >> shift << shift).or_insert(0) += 1;
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The most frequent sizes exactly, and the mean of the others per octave, in whole sectors; weights in parts per
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

/// The shares of the quantiles in a configuration, in parts per ten thousand.
const EDGES: [u64; 17] =
    [0, 100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9500, 9900, 9990, 9999, 10_000];

/// The gaps as quantiles with uniform distributions between them; none if all gaps are zero.
///
/// A uniform distribution between two quantiles would have the wrong mean, so a point is inserted between them:
/// their mean m, at the share where the parts below and above it balance.
pub(super) fn quantiles(gaps: &Summary) -> Vec<Quantile> {
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
