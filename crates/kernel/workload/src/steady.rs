//! Steady state: when fio's `steadystate` ends the jobs of a report.
//!
//! The rate of requests or bytes, or the mean response time, of each interval stands in a window. Jobs end when all
//! values of a full window are near their mean, or when their best straight line hardly rises or falls.
//!
//! Source: fio's documentation of `steadystate`, `ss_dur`, `ss_ramp` and `ss_interval`.

use coflash_base::{Duration, Time};
use std::collections::VecDeque;

/// The quantity of requests in the rates of a criterion.
pub const REQUESTS: usize = 0;
/// The quantity of bytes.
pub const BYTES: usize = 1;
/// The quantity of response times.
pub const RESPONSE: usize = 2;

/// When values are steady.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Criterion {
    /// [`REQUESTS`], [`BYTES`] or [`RESPONSE`].
    pub quantity: usize,
    /// Whether the slope is judged rather than the largest distance from the mean.
    pub is_slope: bool,
    /// The largest distance or slope.
    pub limit: f64,
    /// Whether the limit is a percentage of the mean.
    pub is_share: bool,
}

/// The slope of the best straight line through values at equal distances.
pub fn slope<'a>(values: impl IntoIterator<Item = &'a f64, IntoIter: ExactSizeIterator + Clone>) -> f64 {
    let values = values.into_iter();
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let places = || (0..values.len()).map(|place| place as f64 - middle);
    let products: f64 = places().zip(values.clone()).map(|(place, value)| place * value).sum();
    products / places().map(|place| place * place).sum::<f64>()
}

impl Criterion {
    fn is_met(self, values: &VecDeque<f64>) -> bool {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let found = if self.is_slope {
            slope(values).abs()
        } else {
            values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
        };
        (if self.is_share { 100.0 * found / mean } else { found }) < self.limit
    }
}

/// The watch over the jobs of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// When they are steady.
    pub criterion: Criterion,
    /// The values of the window.
    pub values: VecDeque<f64>,
    /// The values that the window has room for.
    pub room: usize,
    /// The time that a value is of.
    pub interval: Duration,
    /// The end of the current interval, since the begin of the jobs.
    pub until: Duration,
    /// Answers, bytes and response times of the interval.
    pub sums: [u64; 3],
}

impl SteadyState {
    /// Count the bytes of a request.
    pub fn issued(&mut self, bytes: u64) {
        self.sums[BYTES] += bytes;
    }

    /// Take the answer to a request of jobs that began at `begin`. Returns whether the jobs end: the window before it is steady.
    pub fn answered(&mut self, begin: Time, at: Time, response: Duration) -> bool {
        let mut is_steady = false;
        while at >= begin + self.until && !is_steady {
            let sum = self.sums[self.criterion.quantity] as f64;
            self.values.push_back(match self.criterion.quantity {
                RESPONSE => sum / self.sums[0].max(1) as f64,
                _ => sum * 1e9 / self.interval.ns as f64,
            });
            self.values.drain(..self.values.len().saturating_sub(self.room));
            (self.sums, self.until) = ([0; 3], self.until + self.interval);
            is_steady = self.values.len() == self.room && self.criterion.is_met(&self.values);
        }
        self.sums[0] += 1;
        self.sums[RESPONSE] += response.ns;
        is_steady
    }
}
