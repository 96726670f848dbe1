//! Response times: exact sums for mean and deviation, a histogram of three significant digits for percentiles.

use coflash_base::Duration;
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

    fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("the histogram grows");
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.max = self.max.max(other.max);
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

/// Response times being recorded. They are counted many at a time: the histogram does not fit a processor's nearest cache,
/// and its counts do not depend on each other.
#[derive(Clone, Debug)]
pub(crate) struct LatencyRecorder {
    before: Latency,
    recent: Vec<Duration>,
}

impl LatencyRecorder {
    const RECENT: usize = 64;

    pub(crate) fn new() -> Self {
        Self { before: Latency::default(), recent: Vec::with_capacity(Self::RECENT) }
    }

    #[inline]
    pub(crate) fn record(&mut self, response: Duration) {
        self.recent.push(response);
        if self.recent.len() == Self::RECENT {
            count(&self.recent, &mut self.before);
            self.recent.clear();
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.before.count() + self.recent.len() as u64
    }

    /// The response times so far.
    pub(crate) fn latency(&self) -> Latency {
        let mut latency = Latency::default();
        self.add_to(&mut latency);
        latency
    }

    /// Add the response times so far to others.
    pub(crate) fn add_to(&self, latency: &mut Latency) {
        latency.add(&self.before);
        count(&self.recent, latency);
    }
}

/// Count response times, equal ones in a row together.
#[inline(never)]
fn count(responses: &[Duration], latency: &mut Latency) {
    for equal in responses.chunk_by(|one, other| one == other) {
        latency.record(equal[0], equal.len() as u64);
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
}
