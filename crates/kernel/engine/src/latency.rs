//! Response times: exact sums for mean and deviation, a histogram of three significant digits for percentiles.
//!
//! Its buckets, and its percentiles, are those of HdrHistogram, with which the tests compare it.

use coflash_base::{Duration, Save};

/// Response times of one kind of request.
#[derive(Clone, Debug, Default, Save)]
pub struct Latency {
    histogram: Histogram<1>,
    requests: u64,
    sum: u128,
    /// Sum of squares, saturating; 10^10 requests of a day each fit.
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

/// The least time of a bucket. Beyond the last one it is 2^64, which wraps to 0.
fn least_ns(bucket: u64) -> u64 {
    let shift = (bucket / BUCKETS).saturating_sub(1);
    (bucket - shift * BUCKETS) << shift
}

/// Counts of requests by [`bucket`] of their time, or by `JOINED` of these in one.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Histogram<const JOINED: usize> {
    /// Up to the bucket of the longest time.
    counts: Vec<u64>,
}

impl<const JOINED: usize> Histogram<JOINED> {
    #[inline(always)]
    pub(crate) fn record(&mut self, time: Duration, requests: u64) {
        let bucket = bucket(time.ns) / JOINED;
        match self.counts.get_mut(bucket) {
            Some(count) => *count += requests,
            None => self.record_first(bucket, requests),
        }
    }

    /// Count the first time beyond the buckets so far.
    #[cold]
    fn record_first(&mut self, bucket: usize, requests: u64) {
        self.counts.resize(bucket + 1, 0);
        self.counts[bucket] = requests;
    }

    /// Count the requests of others, too.
    pub(crate) fn add(&mut self, others: &Self) {
        self.counts.resize(self.counts.len().max(others.counts.len()), 0);
        self.counts.iter_mut().zip(&others.counts).for_each(|(count, more)| *count += more);
    }

    /// The end of the bucket below which, or in which, a share of the `requests` counted lie; `None` without any.
    pub(crate) fn at(&self, quantile: f64, requests: u64) -> Option<u64> {
        let (wanted, mut seen) = (((quantile * requests as f64).ceil() as u64).max(1), 0);
        self.buckets().find_map(|(end, count)| {
            seen += count;
            (seen >= wanted).then_some(end)
        })
    }

    /// The buckets in use: (highest value in nanoseconds, requests).
    fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = (1..).zip(&self.counts).filter(|(_, count)| **count > 0);
        used.map(|(next, &count)| (least_ns(next * JOINED as u64).wrapping_sub(1), count))
    }
}

impl Latency {
    /// Count requests that took the same time.
    #[inline(always)]
    pub fn record(&mut self, response: Duration, requests: u64) {
        self.histogram.record(response, requests);
        let (ns, times) = (u128::from(response.ns), u128::from(requests));
        self.requests += requests;
        self.sum += ns * times;
        self.squares = self.squares.saturating_add((ns * ns).saturating_mul(times));
        self.max = self.max.max(response.ns);
    }

    /// Count the requests of others, too.
    pub(crate) fn add(&mut self, others: &Self) {
        self.histogram.add(&others.histogram);
        self.requests += others.requests;
        self.sum += others.sum;
        self.squares = self.squares.saturating_add(others.squares);
        self.max = self.max.max(others.max);
    }

    /// The number of requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.requests
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
        self.histogram.at(quantile, self.requests).map(|end| end.min(self.max))
    }

    /// The smallest response time, to three digits.
    pub(crate) fn min(&self) -> Option<u64> {
        self.histogram.counts.iter().position(|&count| count > 0).map(|bucket| least_ns(bucket as u64))
    }

    pub(crate) fn max(&self) -> Option<u64> {
        self.of_some(|_| self.max)
    }

    /// `value` if there are requests.
    fn of_some<T>(&self, say: impl Fn(u128) -> T) -> Option<T> {
        (self.requests > 0).then(|| say(self.requests.into()))
    }

    /// The buckets in use: (highest value in nanoseconds, requests).
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram.buckets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_within_a_thousandth() {
        let mut latency = Latency::default();
        for number in 0..20_000 {
            latency.record(Duration { ns: (number / 2 + 1) * 1000 }, 1);
        }
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
        let mut all = Latency::default();
        for bits in 0..60 {
            for ns in [1_u64 << bits, (1 << bits) + 1, (3 << bits) >> 1, (1 << (bits + 1)) - 1] {
                all.record(Duration { ns }, 1);
                let mut one = Latency::default();
                one.record(Duration { ns }, 1);
                one.record(Duration { ns: u64::MAX >> 2 }, 1);
                let found = one.at(0.5).unwrap();
                assert!(found >= ns && (found - ns) * u64::from(PARTS) <= found, "{ns}: {found}");
            }
        }
        let mut least = 0;
        for (most, _) in all.buckets() {
            assert!((most - least_ns(bucket(most) as u64)) * u64::from(PARTS) <= most && most > least);
            least = most;
        }
    }

    #[test]
    fn the_histogram_is_that_of_the_library() {
        let (mut parts, mut whole) = ([Latency::default(), Latency::default()], Latency::default());
        let mut library = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for bits in 0..64 {
            let times = [1_u64 << bits, (1 << bits) - 1, 3 << bits >> 1, 1_234_567_890_123_456_789 >> bits];
            for (ns, requests) in std::iter::zip(times, 1..) {
                parts[bits % 2].record(Duration { ns }, requests);
                library.record_n(ns, requests).unwrap();
            }
        }
        parts.iter().for_each(|part| whole.add(part));
        let theirs =
            library.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
        assert!(whole.buckets().eq(theirs));
        assert_eq!((whole.count(), whole.min()), (library.len(), Some(library.min())));
        for thousandth in 0..=1000 {
            let quantile = f64::from(thousandth) / 1000.0;
            // Of no requests the library tells where the smallest bucket begins; of most, where the largest one ends.
            let theirs = if thousandth == 0 { 0 } else { library.value_at_quantile(quantile).min(1 << 63) };
            assert_eq!(whole.at(quantile), Some(theirs), "{quantile}");
        }
    }
}
