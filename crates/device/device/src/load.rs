//! The load of a server by the clock of its host: requests under way, and how long clients wait for answers.

use crate::lock::lock;
use coflash_base::Duration;
use coflash_engine::Latency;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The load of a server in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Requests that were answered.
    pub requests: u64,
    /// Requests under way, as a mean over time.
    pub queue_depth: f64,
    /// Mean response time in nanoseconds, from when a request was read from its connection; `None` without requests.
    pub response_mean_ns: Option<f64>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub response_p99_ns: Option<u64>,
}

/// A meter of the load.
#[derive(Debug)]
pub struct LoadMeter(Mutex<Interval>);

#[derive(Debug)]
struct Interval {
    begin: Instant,
    changed: Instant,
    under_way: u64,
    /// The requests under way, summed over time.
    waited_ns: u128,
    responses: Latency,
}

impl Interval {
    fn new(now: Instant) -> Self {
        Self { begin: now, changed: now, under_way: 0, waited_ns: 0, responses: Latency::default() }
    }
}

impl LoadMeter {
    /// A meter whose first interval begins now.
    pub fn new(now: Instant) -> Self {
        Self(Mutex::new(Interval::new(now)))
    }

    /// Note that requests have arrived.
    pub fn arrived(&self, requests: usize, now: Instant) {
        self.until(now).under_way += requests as u64;
    }

    /// Note that requests which arrived together are answered.
    pub fn answered(&self, requests: usize, arrival: Instant, now: Instant) {
        let mut interval = self.until(now);
        interval.under_way -= requests as u64;
        let response = Duration { ns: now.saturating_duration_since(arrival).as_nanos() as u64 };
        interval.responses.record(response, requests as u64);
    }

    /// End the interval, and begin the next.
    pub fn take(&self, now: Instant) -> Load {
        let mut interval = self.until(now);
        let next = Interval { under_way: interval.under_way, ..Interval::new(now) };
        let Interval { begin, waited_ns, responses, .. } = std::mem::replace(&mut *interval, next);
        let length_ns = now.saturating_duration_since(begin).as_nanos();
        Load {
            requests: responses.count(),
            queue_depth: waited_ns as f64 / length_ns.max(1) as f64,
            response_mean_ns: responses.mean(),
            response_p99_ns: responses.at(0.99),
        }
    }

    /// The interval with the time until now. Clocks of several threads may differ.
    fn until(&self, now: Instant) -> MutexGuard<'_, Interval> {
        let mut interval = lock(&self.0);
        let passed = now.saturating_duration_since(interval.changed).as_nanos();
        interval.waited_ns += u128::from(interval.under_way) * passed;
        interval.changed = interval.changed.max(now);
        interval
    }
}
