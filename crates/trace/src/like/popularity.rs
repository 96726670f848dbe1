//! The access counts of places, and the best-fitting Zipf law. A place is the start address of a request.
//!
//! Up to 2^20 places (about 24 MiB) are counted exactly. Beyond, only places whose page has a hash below a limit are
//! sampled; the limit is halved when necessary. A sampled place was counted from the beginning, and the sample is
//! representative.
//!
//! The law is fitted to the numbers of places with at least 1, 2, 4, 8, … accesses. An exponent determines the number
//! of places: the expected number of places with at least one access must match. Among the exponents from 0 to 3, the
//! one with the nearest expected numbers is chosen, by squared logarithms weighted by their certainty. This accounts
//! for chance: a trace accesses few of the rare places, and some of them twice.
//!
//! Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS" (2015), for the sampling;
//! Clauset, Shalizi and Newman, "Power-law distributions in empirical data" (2009), on why not to fit a line to
//! frequencies. Cost: one hash per access; some tens of milliseconds for the law.

#![allow(clippy::disallowed_types, reason = "only counts are read from the table, and they are sorted")]

use crate::info::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const PLACES_MAX: usize = 1 << 20;

#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("places are numbers");
    }
    fn write_u64(&mut self, place: u64) {
        // Not the hash of the sample, whose upper bits are equal for all sampled places.
        self.0 = mix(place ^ 0x9e37_79b9_7f4a_7c15);
    }
}

/// The access counts of places.
pub(super) struct Popularity {
    page_bytes: u64,
    counts: HashMap<u64, u64, BuildHasherDefault<Mix>>,
    /// Places are sampled if the hash of their page is at most this.
    limit: u64,
    /// All requests, including those to places outside the sample.
    requests: u64,
    places_max: usize,
}

/// A Zipf law over a number of places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    pub(super) exponent: f64,
    pub(super) places: u64,
}

impl Popularity {
    pub(super) fn new(page_bytes: u64) -> Self {
        let counts = HashMap::default();
        Self { page_bytes, counts, limit: u64::MAX, requests: 0, places_max: PLACES_MAX }
    }

    /// Add a request to the place at `offset`.
    #[inline]
    pub(super) fn add(&mut self, offset: u64) {
        self.requests += 1;
        if mix(offset / self.page_bytes) <= self.limit {
            *self.counts.entry(offset).or_insert(0) += 1;
            if self.counts.len() > self.places_max {
                self.limit /= 2;
                let (limit, page_bytes) = (self.limit, self.page_bytes);
                self.counts.retain(|offset, _| mix(offset / page_bytes) <= limit);
            }
        }
    }

    /// All requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// The sampled share of places.
    pub(super) fn kept(&self) -> f64 {
        self.limit as f64 / u64::MAX as f64
    }

    /// The number of distinct places.
    pub(super) fn places(&self) -> u64 {
        (self.counts.len() as f64 / self.kept() + 0.5) as u64
    }

    /// The share of requests to the most popular places, for each share of the places; `None` without places.
    pub(super) fn top_shares<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        let counts = self.sorted();
        let all: u64 = counts.iter().sum();
        shares.map(|share| {
            let hot = ((counts.len() as f64 * share + 0.5) as usize).max(1).min(counts.len());
            (all > 0).then(|| counts[..hot].iter().sum::<u64>() as f64 / all as f64)
        })
    }

    /// The counts in descending order.
    fn sorted(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    /// The law that fits best, over at most `places_max` places.
    pub(super) fn law(&self, places_max: u64) -> Law {
        let counts = self.sorted();
        let mut seen = Vec::new();
        for times in (0..).map(|doubling| 1_u64 << doubling) {
            let places = counts.partition_point(|&count| count >= times);
            // Smaller numbers are not significant.
            if places < 5 && times > 1 || places == 0 {
                break;
            }
            seen.push((times, places as f64 / self.kept()));
        }
        let Some(&(_, at_all)) = seen.first() else {
            return Law { exponent: EXPONENT_MIN, places: 1 };
        };
        let fit = |exponent: f64| {
            let places = self.places_for(exponent, at_all, places_max);
            let steps = steps(exponent, places, self.requests);
            let error = |&(times, places): &(u64, f64)| {
                let off = libm::log(places / expected(&steps, times).max(1e-9));
                // The uncertainty of a count is its square root, and no law fits better than a tenth.
                off * off / (0.01 + 1.0 / (places * self.kept()))
            };
            (seen.iter().map(error).sum::<f64>(), Law { exponent: exponent.max(EXPONENT_MIN), places })
        };
        // Coarse steps over the whole range, then fine ones around the best.
        let best = |exponents: &mut dyn Iterator<Item = f64>| {
            exponents.map(|exponent| (exponent, fit(exponent))).min_by(|a, b| a.1.0.total_cmp(&b.1.0))
        };
        let (near, _) = best(&mut (0..=30).map(|step| f64::from(step) * 0.1)).expect("there are steps");
        let fine = &mut (-9..=9).map(|step| (near + f64::from(step) * 0.01).max(0.0));
        best(fine).expect("there are steps").1.1
    }

    /// The number of places for which the expected number of accessed ones is `at_all`.
    fn places_for(&self, exponent: f64, at_all: f64, places_max: u64) -> u64 {
        let (mut low, mut high) = ((at_all as u64).clamp(1, places_max), places_max.max(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if expected(&steps(exponent, middle, self.requests), 1) < at_all {
                low = middle + 1;
            } else {
                high = middle;
            }
            // A precision of 0.1 % suffices.
            if high - low < low >> 10 {
                break;
            }
        }
        low
    }
}

/// The least exponent: the generator excludes 0.
const EXPONENT_MIN: f64 = 0.01;

/// Places of adjacent ranks: their number, and the expected accesses of each.
struct Step {
    places: f64,
    times: f64,
}

/// The places of a law in steps, the most popular first, for a number of requests. A step is a sixteenth of its first
/// rank wide.
fn steps(exponent: f64, places: u64, requests: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut first = 1;
    while first <= places {
        let width = (first / 16).clamp(1, places - first + 1);
        let middle = first as f64 + (width - 1) as f64 / 2.0;
        steps.push(Step { places: width as f64, times: libm::pow(middle, -exponent) });
        first += width;
    }
    let scale = requests as f64 / steps.iter().map(|step| step.places * step.times).sum::<f64>();
    steps.iter_mut().for_each(|step| step.times *= scale);
    steps
}

/// The expected number of places with at least `times` accesses.
fn expected(steps: &[Step], times: u64) -> f64 {
    steps.iter().map(|step| step.places * at_least(times, step.times)).sum()
}

/// The probability that a Poisson variable of this mean is at least `times`.
fn at_least(times: u64, mean: f64) -> f64 {
    if times > 16 {
        // The normal distribution is a sufficient approximation.
        let deviations = (times as f64 - 0.5 - mean) / libm::sqrt(mean);
        return 0.5 * libm::erfc(deviations / std::f64::consts::SQRT_2);
    }
    let (mut term, mut below) = (libm::exp(-mean), 0.0);
    for count in 0..times {
        below += term;
        term *= mean / (count + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::{Bytes, Seed};
    use coflash_workload::Source;
    use coflash_workload::synthetic::zipf::ZipfConfig;
    use coflash_workload::synthetic::{GeneratorConfig, Synthetic, SyntheticConfig};

    fn popularity(exponent: f64, places: u64, places_max: usize) -> Popularity {
        let zipf =
            ZipfConfig { exponent, footprint: Some(Bytes { count: places * 4096 }), ..ZipfConfig::default() };
        let config = SyntheticConfig { generator: GeneratorConfig::Zipf(zipf), ..SyntheticConfig::default() };
        let mut source = Synthetic::new(&config, 1 << 36, Seed(1)).unwrap();
        let mut popularity = Popularity { places_max, ..Popularity::new(4096) };
        let mut batch = Vec::new();
        while {
            source.next_batch(&mut batch).unwrap();
            !batch.is_empty()
        } {
            batch.iter().for_each(|request| popularity.add(request.offset));
        }
        popularity
    }

    #[test]
    fn the_law_is_found_again_whether_all_places_are_kept_or_few() {
        for (exponent, places) in
            [(0.3, 100_000), (0.8, 1_000_000), (1.0, 50_000), (1.3, 1_000_000), (2.0, 10_000)]
        {
            for places_max in [PLACES_MAX, 1 << 13] {
                let popularity = popularity(exponent, places, places_max);
                let law = popularity.law(1 << 24);
                assert!(
                    (law.exponent - exponent).abs() < 0.06,
                    "{law:?} instead of {exponent}, {places_max}"
                );
                // With a steep law, most places are never accessed.
                let ratio = law.places as f64 / places as f64;
                assert!(
                    (0.6..1.6).contains(&ratio) || exponent > 1.1,
                    "{law:?} instead of {places}, {places_max}"
                );
            }
        }
    }

    #[test]
    fn places_that_are_all_alike_have_hardly_an_exponent() {
        let mut popularity = Popularity::new(4096);
        (0..300_000).for_each(|index| popularity.add(mix(index) % 100_000 * 4096));
        let law = popularity.law(1 << 24);
        assert!(law.exponent < 0.1 && (90_000..115_000).contains(&law.places), "{law:?}");
    }

    #[test]
    fn what_is_kept_stands_for_all() {
        let (all, few) = (popularity(0.8, 200_000, PLACES_MAX), popularity(0.8, 200_000, 1 << 13));
        assert!(all.kept() == 1.0 && few.kept() < 0.1 && few.counts.len() <= 1 << 13);
        let ratio = few.places() as f64 / all.places() as f64;
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    }
}
