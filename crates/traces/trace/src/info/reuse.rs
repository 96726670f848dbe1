//! Reuse distances, and the resulting miss ratios of LRU caches of all sizes.
//!
//! The depth of a reuse is the number of distinct pages accessed since the last access to the page, itself included:
//! its position in the LRU stack. An LRU cache of at least this many pages hits, a smaller one misses, if both reads
//! and writes allocate. A trim is no access. The first access to a page misses in any cache.
//!
//! If pages are sampled, depths and counts are scaled up. The sum depends on the presence of very hot pages in the
//! sample, so the difference to the true number of accesses is counted as reuse at the smallest depth.
//!
//! The error of an estimated miss ratio has two parts. Which pages are in the sample decides how many misses are counted:
//! this part is told by the differences between random groups of pages. It also decides how deep a reuse seems: of `c`
//! distinct pages, a sample of the share `f` holds `cf`, give or take the square root of `cf(1 − f)`.
//!
//! Source: Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies" (1970); for the
//! correction, SHARDS-adj in Waldspurger et al., "Efficient MRC construction with SHARDS" (FAST 2015), section 3.5.

use super::bins::{bin_of, end_of};
use super::groups::GROUPS;
use serde::Serialize;
use std::array;

/// The reuse of pages. Accesses are to pages: a request to three pages counts as three.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// The accesses.
    pub accesses_pages: u64,
    /// The share of accesses that are the first to their page: the miss ratio of an infinite cache.
    pub first_share: f64,
    /// The distances and the miss ratios.
    pub curve: MissRatioCurve,
}

/// Reuses by depth, and the miss ratios of LRU caches: columns of equal length. A ratio applies to cache sizes from
/// its row up to the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MissRatioCurve {
    /// The size of the cache: the largest depth of the row.
    pub cache_pages: Vec<u64>,
    /// Accesses deeper than the previous row, up to the depth of this one.
    pub reuses: Vec<u64>,
    /// The miss ratio of all accesses.
    pub miss_ratio: Vec<f64>,
    /// The miss ratio of the reads; `None` without reads.
    pub read_miss_ratio: Option<Vec<f64>>,
    /// The miss ratio of the writes.
    pub write_miss_ratio: Option<Vec<f64>>,
    /// The standard error of the miss ratio of all accesses; `None` if it is exact.
    pub miss_ratio_error: Option<Vec<f64>>,
}

impl MissRatioCurve {
    /// The miss ratio of a cache of `pages`: exact for the sizes in `cache_pages`, an upper bound between them.
    #[must_use]
    pub fn at(&self, pages: u64) -> f64 {
        match self.cache_pages.partition_point(|&size| size <= pages) {
            0 => 1.0,
            row => self.miss_ratio[row - 1],
        }
    }

    /// The standard errors of the miss ratios, given the standard deviations of the groups' sums of misses.
    fn errors(&self, spreads: &[f64], share: f64) -> Vec<f64> {
        let error = |(&pages, spread): (&u64, &f64)| {
            let farther = pages as f64 * ((1.0 - share) / (share * pages as f64)).sqrt();
            let (near, far) = ((pages as f64 - farther).max(0.0), pages as f64 + farther);
            let by_depth = (self.at(near as u64) - self.at(far as u64)) / 2.0;
            (spread * spread * (1.0 - share) + by_depth * by_depth).sqrt()
        };
        self.cache_pages.iter().zip(spreads).map(error).collect()
    }
}

/// The standard deviation of the sum of values of random groups.
fn spread(values: &[f64; GROUPS]) -> f64 {
    let count = GROUPS as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() * count / (count - 1.0)).sqrt()
}

/// The counters of reuses, of reads and of writes, by group of pages.
#[derive(Default)]
pub(super) struct Reuses([[Depths; GROUPS]; 2]);

/// Accesses by depth, each weighted by the accesses that it represents.
#[derive(Default)]
struct Depths {
    bins: Vec<f64>,
    first: f64,
}

impl Reuses {
    /// Add an access to a page after accesses to `others` other pages. It represents `weight` accesses.
    #[inline]
    pub(super) fn again(&mut self, op: usize, group: usize, others: f64, weight: f64) {
        let bin = bin_of((others + 0.5) as u64 + 1);
        let bins = &mut self.0[op][group].bins;
        if bin >= bins.len() {
            bins.resize(bin + 1, 0.0);
        }
        bins[bin] += weight;
    }

    /// Add the first access to a page.
    #[inline]
    pub(super) fn first(&mut self, op: usize, group: usize, weight: f64) {
        self.0[op][group].first += weight;
    }

    /// Compute the reuse from the numbers of reads and writes, and the share of pages that is tracked; `None` without
    /// accesses.
    pub(super) fn finish(&self, accesses: [u64; 2], share: f64) -> Option<Reuse> {
        let accesses_pages = accesses[0] + accesses[1];
        if accesses_pages == 0 {
            return None;
        }
        let bins = self.0.iter().flatten().map(|depths| depths.bins.len()).max().unwrap_or(0);
        let mut hits = [0, 1].map(|op| accesses[op] as f64 - self.0[op].iter().map(Depths::sum).sum::<f64>());
        // Of each group, the accesses that miss.
        let mut misses: [f64; GROUPS] = array::from_fn(|group| self.0.iter().map(|op| op[group].sum()).sum());
        let mut spreads = Vec::new();
        let mut curve = MissRatioCurve::default();
        let mut ratios = [Vec::new(), Vec::new()];
        let missed = |all: u64, hits: f64| ((all as f64 - hits) / all as f64).clamp(0.0, 1.0);
        for bin in 0..bins {
            let mut here = [0.0; 2];
            for (here, groups) in here.iter_mut().zip(&self.0) {
                for (misses, depths) in misses.iter_mut().zip(groups) {
                    let hits = depths.bins.get(bin).copied().unwrap_or(0.0);
                    *here += hits;
                    *misses -= hits;
                }
            }
            if here == [0.0; 2] {
                continue;
            }
            spreads.push(spread(&misses) / accesses_pages as f64);
            for op in 0..2 {
                hits[op] += here[op];
                ratios[op].push(missed(accesses[op].max(1), hits[op]));
            }
            curve.cache_pages.push(end_of(bin));
            curve.reuses.push((here[0] + here[1] + 0.5) as u64);
            curve.miss_ratio.push(missed(accesses_pages, hits[0] + hits[1]));
        }
        let [read, write] = ratios;
        curve.read_miss_ratio = (accesses[0] > 0).then_some(read);
        curve.write_miss_ratio = (accesses[1] > 0).then_some(write);
        curve.miss_ratio_error = (share < 1.0).then(|| curve.errors(&spreads, share));
        let first = self.0.iter().flatten().map(|depths| depths.first).sum::<f64>();
        Some(Reuse { accesses_pages, first_share: (first / accesses_pages as f64).min(1.0), curve })
    }
}

impl Depths {
    fn sum(&self) -> f64 {
        self.first + self.bins.iter().sum::<f64>()
    }
}
