//! Distributions: mean, quantiles and a histogram.

use super::bins::{Bins, Histogram};
use hdrhistogram::Histogram as Digits;
use serde::Serialize;

/// A distribution: mean, smallest, largest and histogram are exact, the quantiles to three digits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// The minimum.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The maximum.
    pub max: u64,
    /// The histogram.
    pub histogram: Histogram,
}

/// The counters of a distribution.
pub(crate) struct Summary {
    digits: Digits<u64>,
    bins: Bins,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Summary {
    fn default() -> Self {
        // The whole range from the start: growth on demand can fail.
        let digits = Digits::new_with_bounds(1, u64::MAX, 3).expect("bounds and digits are allowed");
        Self { digits, bins: Bins::default(), sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Summary {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.digits.saturating_record(value);
        self.bins.add(value);
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub(crate) fn count(&self) -> u64 {
        self.digits.len()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.count() as f64
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The lower end of a bucket, so that 4096 is not shown as 4099.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        self.digits.lowest_equivalent(self.digits.value_at_quantile(share))
    }

    /// The middles of the buckets that are not empty, and their counts.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let middle = |end| self.digits.median_equivalent(end).min(self.max);
        self.digits.iter_recorded().map(move |one| (middle(one.value_iterated_to()), one.count_at_value()))
    }

    /// The sum, at most 2^64 − 1.
    pub(super) fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    pub(super) fn distribution(&self) -> Option<Distribution> {
        (self.count() > 0).then(|| Distribution {
            mean: self.mean(),
            min: self.min,
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            max: self.max,
            histogram: self.bins.histogram(),
        })
    }
}
