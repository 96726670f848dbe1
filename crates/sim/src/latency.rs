//! Response times: exact sums for mean and deviation, a histogram with three significant digits for the percentiles.

use coflash_base::Duration;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Response times of one kind of request.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    histogram: Histogram<u64>,
    sum: u128,
    /// Of squares; ten thousand million requests of a day each fit. It stops at its end.
    squares: u128,
    max: u64,
}

/// The summary of a [`Latency`], in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub struct LatencySummary {
    pub count: u64,
    pub mean: Option<f64>,
    pub stddev: Option<f64>,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    pub p99_99: Option<u64>,
    pub max: Option<u64>,
}

impl Latency {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new(3).expect("three digits are supported");
        Self { histogram, sum: 0, squares: 0, max: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, response: Duration) {
        self.histogram.record(response.ns).expect("the histogram grows");
        let ns = u128::from(response.ns);
        self.sum += ns;
        self.squares = self.squares.saturating_add(ns * ns);
        self.max = self.max.max(response.ns);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("the histogram grows");
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn summary(&self) -> LatencySummary {
        let count = self.histogram.len();
        if count == 0 {
            let none = (None, None, None, None, None, None);
            let (p50, p90, p99, p99_9, p99_99, max) = none;
            return LatencySummary { count, mean: None, stddev: None, p50, p90, p99, p99_9, p99_99, max };
        }
        let n = u128::from(count);
        // n·Σx² − (Σx)² in whole numbers: no cancellation, and no order of summation.
        let variance = match (n.checked_mul(self.squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => (a - b) as f64 / (n as f64 * n as f64),
            _ => {
                let mean = self.sum as f64 / n as f64;
                (self.squares as f64 / n as f64 - mean * mean).max(0.0)
            }
        };
        // Percentiles are bucket ends: none may exceed the largest value seen.
        let at = |quantile| Some(self.histogram.value_at_quantile(quantile).min(self.max));
        LatencySummary {
            count,
            mean: Some(self.sum as f64 / n as f64),
            stddev: Some(variance.sqrt()),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: Some(self.max),
        }
    }

    /// (Highest value of the bucket in nanoseconds, requests) of every bucket in use.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_within_a_thousandth() {
        let mut latency = Latency::new();
        for ns in 1..=10_000 {
            latency.record(Duration { ns: ns * 1000 });
        }
        let summary = latency.summary();
        assert_eq!(summary.mean, Some(5_000_500.0));
        let expected = ((10_000.0_f64 * 10_000.0 - 1.0) / 12.0).sqrt() * 1000.0;
        assert!((summary.stddev.unwrap() - expected).abs() < 1e-3);
        assert_eq!(summary.max, Some(10_000_000));
        let p99 = summary.p99.unwrap() as f64;
        assert!((p99 / 9_900_000.0 - 1.0).abs() < 1e-3, "{p99}");
        assert_eq!(Latency::new().summary().mean, None);
    }
}
