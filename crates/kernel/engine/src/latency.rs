//! Response times: exact sums for mean and deviation, a histogram of three significant digits for percentiles.

use coflash_base::{Duration, Save};
use hdrhistogram::Histogram;

/// Response times of one kind of request.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum: u128,
    /// Sum of squares, saturating; 10^10 requests of a day each fit.
    squares: u128,
    max: u64,
}

/// No requests.
impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three digits are supported");
        Self { histogram, sum: 0, squares: 0, max: 0 }
    }
}

impl Latency {
    /// Count requests that took the same time.
    #[inline]
    pub fn record(&mut self, response: Duration, requests: u64) {
        self.histogram.record_n(response.ns, requests).expect("the histogram grows");
        let (ns, times) = (u128::from(response.ns), u128::from(requests));
        self.sum += ns * times;
        self.squares = self.squares.saturating_add((ns * ns).saturating_mul(times));
        self.max = self.max.max(response.ns);
    }

    /// The number of requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The mean in nanoseconds; `None` without requests.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.of_some(|n| self.sum as f64 / n as f64)
    }

    pub(crate) fn stddev(&self) -> Option<f64> {
        // n·Σx² − (Σx)² in integers: exact, and independent of the order.
        let variance = |n: u128| match (n.checked_mul(self.squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => (a - b) as f64 / (n as f64 * n as f64),
            _ => {
                let mean = self.sum as f64 / n as f64;
                (self.squares as f64 / n as f64 - mean * mean).max(0.0)
            }
        };
        self.of_some(|n| variance(n).sqrt())
    }

    /// The percentile for a share of the requests in nanoseconds, to three digits; `None` without requests.
    #[must_use]
    pub fn at(&self, quantile: f64) -> Option<u64> {
        // A percentile is the end of a bucket, and may exceed the largest value.
        self.of_some(|_| self.histogram.value_at_quantile(quantile).min(self.max))
    }

    /// The smallest response time, to three digits.
    pub(crate) fn min(&self) -> Option<u64> {
        self.of_some(|_| self.histogram.min())
    }

    pub(crate) fn max(&self) -> Option<u64> {
        self.of_some(|_| self.max)
    }

    /// `value` if there are requests.
    fn of_some<T>(&self, say: impl Fn(u128) -> T) -> Option<T> {
        let count = self.count();
        (count > 0).then(|| say(count.into()))
    }

    /// The buckets in use: (highest value in nanoseconds, requests).
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
    }
}

/// Response times being recorded. A run records one each request, so they are only counted here; the library makes of them what is
/// read at the end.
#[derive(Clone, Debug, Save)]
pub(crate) struct LatencyRecorder {
    /// By [`bucket`].
    counts: Vec<u64>,
    requests: u64,
    sum: u128,
    squares: u128,
    max: u64,
}

/// A bucket is at most one part in 1,024 of its times wide: three digits.
pub(crate) const PARTS: u32 = 1 << 10;

/// The buckets of each power of two.
const BUCKETS: u64 = PARTS as u64;

/// The bucket of a time: times below 2048 ns have one each, longer ones share it with those of the same first eleven bits.
#[inline(always)]
fn bucket(ns: u64) -> usize {
    let shift = (ns | (2 * BUCKETS - 1)).ilog2() - (2 * BUCKETS - 1).ilog2();
    (u64::from(shift) * BUCKETS + (ns >> shift)) as usize
}

/// The least time of a bucket.
fn least_ns(bucket: u64) -> u64 {
    let shift = (bucket / BUCKETS).saturating_sub(1);
    (bucket - shift * BUCKETS) << shift
}

impl LatencyRecorder {
    pub(crate) fn new() -> Self {
        Self { counts: Vec::new(), requests: 0, sum: 0, squares: 0, max: 0 }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, response: Duration) {
        let bucket = bucket(response.ns);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.count_first(bucket),
        }
        let ns = u128::from(response.ns);
        self.requests += 1;
        self.sum += ns;
        self.squares = self.squares.saturating_add(ns * ns);
        self.max = self.max.max(response.ns);
    }

    /// Count the first time beyond the buckets so far.
    #[cold]
    fn count_first(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
        self.counts[bucket] = 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.requests
    }

    /// The response times so far.
    pub(crate) fn latency(&self) -> Latency {
        let mut latency = Latency::default();
        self.add_to(&mut latency);
        latency
    }

    /// Add the response times so far to others.
    pub(crate) fn add_to(&self, latency: &mut Latency) {
        for (bucket, &count) in (0..).zip(&self.counts).filter(|(_, count)| **count > 0) {
            latency.histogram.record_n(least_ns(bucket), count).expect("the histogram grows");
        }
        latency.sum += self.sum;
        latency.squares = latency.squares.saturating_add(self.squares);
        latency.max = latency.max.max(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_within_a_thousandth() {
        let mut recorder = LatencyRecorder::new();
        for number in 0..20_000 {
            recorder.record(Duration { ns: (number / 2 + 1) * 1000 });
        }
        assert_eq!(recorder.count(), 20_000);
        let latency = recorder.latency();
        assert_eq!((latency.count(), latency.min()), (20_000, Some(1000)));
        assert_eq!(latency.mean(), Some(5_000_500.0));
        let expected = ((10_000.0_f64 * 10_000.0 - 1.0) / 12.0).sqrt() * 1000.0;
        assert!((latency.stddev().unwrap() - expected).abs() < 1e-3);
        assert_eq!(latency.max(), Some(10_000_000));
        let p99 = latency.at(0.99).unwrap() as f64;
        assert!((p99 / 9_900_000.0 - 1.0).abs() < 1e-3, "{p99}");
        assert_eq!((Latency::default().mean(), Latency::default().at(0.5)), (None, None));
    }

    #[test]
    fn a_bin_is_at_most_the_stated_part_of_a_time_wide() {
        let mut recorder = LatencyRecorder::new();
        for bits in 0..60 {
            for ns in [1_u64 << bits, (1 << bits) + 1, (3 << bits) >> 1, (1 << (bits + 1)) - 1] {
                recorder.record(Duration { ns });
                let mut one = Latency::default();
                one.record(Duration { ns }, 1);
                one.record(Duration { ns: u64::MAX >> 2 }, 1);
                let found = one.at(0.5).unwrap();
                assert!(found >= ns && (found - ns) * u64::from(PARTS) <= found, "{ns}: {found}");
            }
        }
        let (mut least, latency) = (0, recorder.latency());
        for (most, _) in latency.buckets() {
            assert!((most - least_ns(bucket(most) as u64)) * u64::from(PARTS) <= most && most > least);
            least = most;
        }
    }

    #[test]
    fn recorded_times_are_those_of_the_histogram() {
        let (mut recorder, mut direct) = (LatencyRecorder::new(), Latency::default());
        for bits in 0..64 {
            for ns in [1_u64 << bits, (1 << bits) - 1, 3 << bits >> 1, 1_234_567_890_123_456_789 >> bits] {
                recorder.record(Duration { ns });
                direct.record(Duration { ns }, 1);
            }
        }
        let recorded = recorder.latency();
        assert!(recorded.buckets().eq(direct.buckets()));
        assert_eq!((recorded.count(), recorded.min()), (direct.count(), direct.min()));
        assert_eq!((recorded.mean(), recorded.stddev()), (direct.mean(), direct.stddev()));
        assert_eq!((recorded.max(), recorded.at(0.5)), (direct.max(), direct.at(0.5)));
    }
}
