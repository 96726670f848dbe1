//! Reuse distances, and the miss ratio of every LRU cache, which follows from them.
//!
//! The depth of a reuse is the number of distinct pages accessed since the page was last, itself included: the place of the
//! page in the LRU stack. An LRU cache of so many pages or more has it, a smaller one does not, for reads and writes alike
//! where a miss of either takes the page in. A trim is no access. The first access to a page misses in any cache.
//!
//! Where pages are sampled, depths and counts are in proportion. Some pages are accessed so often that whether they are in
//! the sample shows in the sum; what is too much or too little, against the accesses there were, is taken to be reuse at
//! the least depth.
//!
//! Source: Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies" (1970); for the correction,
//! SHARDS-adj in Waldspurger et al., "Efficient MRC construction with SHARDS" (FAST 2015), section 3.5.

use super::bins::{bin_of, end_of};
use serde::Serialize;

/// How soon pages are used again. All accesses are to pages: a request to three of them is three.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// Accesses that are followed.
    pub accesses_pages: u64,
    /// The share that is the first to its page, the miss ratio of a cache without end.
    pub first_share: f64,
    /// The distances, and what follows from them.
    pub curve: MissRatioCurve,
}

/// Reuses by depth, and the miss ratios of LRU caches; columns of equal length. A ratio holds for its cache size and those
/// up to the next; a cache of none misses all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MissRatioCurve {
    /// The largest depth of the row, which is the size of the cache.
    pub cache_pages: Vec<u64>,
    /// Accesses of a depth above that of the row before, at most that of this one.
    pub reuses: Vec<u64>,
    /// Of all accesses, those that miss.
    pub miss_ratio: Vec<f64>,
    /// Of the reads; nothing where there are none.
    pub read_miss_ratio: Option<Vec<f64>>,
    /// Of the writes.
    pub write_miss_ratio: Option<Vec<f64>>,
}

impl MissRatioCurve {
    /// The miss ratio of a cache of so many pages; exact where that is a bin's end, and an upper bound between two.
    #[must_use]
    pub fn at(&self, pages: u64) -> f64 {
        match self.cache_pages.partition_point(|&size| size <= pages) {
            0 => 1.0,
            row => self.miss_ratio[row - 1],
        }
    }
}

/// Reuses in the making: of reads, and of writes.
#[derive(Default)]
pub(super) struct Reuses([Depths; 2]);

/// Accesses by depth, each weighing as many as it stands for.
#[derive(Default)]
struct Depths {
    bins: Vec<f64>,
    first: f64,
}

impl Reuses {
    /// An access to a page, after so many `others`, that stands for `weight`.
    #[inline]
    pub(super) fn again(&mut self, op: usize, others: f64, weight: f64) {
        let bin = bin_of((others + 0.5) as u64 + 1);
        let bins = &mut self.0[op].bins;
        if bin >= bins.len() {
            bins.resize(bin + 1, 0.0);
        }
        bins[bin] += weight;
    }

    /// The first access to a page.
    #[inline]
    pub(super) fn first(&mut self, op: usize, weight: f64) {
        self.0[op].first += weight;
    }

    /// What came of `accesses` reads and writes; nothing where there are none.
    pub(super) fn finish(&self, accesses: [u64; 2]) -> Option<Reuse> {
        let accesses_pages = accesses[0] + accesses[1];
        if accesses_pages == 0 {
            return None;
        }
        let bins = self.0.iter().map(|depths| depths.bins.len()).max().unwrap_or(0);
        let mut hits = [0, 1].map(|op| accesses[op] as f64 - self.0[op].sum());
        let mut curve = MissRatioCurve::default();
        let mut ratios = [Vec::new(), Vec::new()];
        let missed = |all: u64, hits: f64| ((all as f64 - hits) / all as f64).clamp(0.0, 1.0);
        for bin in 0..bins {
            let here = self.0.each_ref().map(|depths| depths.bins.get(bin).copied().unwrap_or(0.0));
            if here == [0.0; 2] {
                continue;
            }
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
        let first = self.0.iter().map(|depths| depths.first).sum::<f64>();
        Some(Reuse { accesses_pages, first_share: (first / accesses_pages as f64).min(1.0), curve })
    }
}

impl Depths {
    fn sum(&self) -> f64 {
        self.first + self.bins.iter().sum::<f64>()
    }
}
