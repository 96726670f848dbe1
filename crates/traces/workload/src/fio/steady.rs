//! Steady state: when fio's `steadystate` ends the jobs of a report.
//!
//! The rate of requests or bytes, or the mean response time, of each interval stands in a window. Jobs end when all
//! values of a full window are near their mean, or when their best straight line hardly rises or falls.
//!
//! Source: fio's documentation of `steadystate`, `ss_dur`, `ss_ramp` and `ss_interval`.

use coflash_base::{Duration, Time};
use std::collections::VecDeque;

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quantity {
    #[default]
    Requests,
    Bytes,
    Response,
}

/// When jobs are steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    pub(super) quantity: Quantity,
    /// Whether the slope is judged rather than the largest distance from the mean.
    pub(super) is_slope: bool,
    pub(super) limit: f64,
    /// Whether the limit is a percentage of the mean.
    pub(super) is_share: bool,
    pub(super) window: Duration,
    pub(super) interval: Duration,
    pub(super) ramp: Duration,
}

impl Default for SteadyState {
    /// fio's defaults: a window of no length judges nothing.
    fn default() -> Self {
        Self {
            quantity: Quantity::Requests,
            is_slope: true,
            limit: 0.01,
            is_share: true,
            window: Duration::ZERO,
            interval: Duration { ns: 1_000_000_000 },
            ramp: Duration::ZERO,
        }
    }
}

impl SteadyState {
    /// Watch jobs that begin at `begin`.
    #[must_use]
    pub fn watch(self, begin: Time) -> Watch {
        let until = begin + self.ramp + self.interval;
        Watch { rule: self, until, answers: 0, bytes: 0, response_ns: 0, values: VecDeque::new() }
    }

    fn is_met(&self, values: &VecDeque<f64>) -> bool {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let found = if self.is_slope {
            let middle = (count - 1.0) / 2.0;
            let squares: f64 = (0..values.len()).map(|place| (place as f64 - middle).powi(2)).sum();
            let products = values.iter().enumerate().map(|(place, value)| (place as f64 - middle) * value);
            (products.sum::<f64>() / squares).abs()
        } else {
            values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
        };
        (if self.is_share { 100.0 * found / mean } else { found }) < self.limit
    }
}

/// The window of the jobs of a report.
#[derive(Clone, Debug)]
pub struct Watch {
    rule: SteadyState,
    /// The end of the current interval.
    until: Time,
    answers: u64,
    bytes: u64,
    response_ns: u64,
    values: VecDeque<f64>,
}

impl Watch {
    /// Count the bytes of a request.
    pub fn issued(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Take the answer to a request, `response` after it was issued. Returns whether the jobs end: the window of the intervals
    /// before it is steady.
    pub fn answered(&mut self, at: Time, response: Duration) -> bool {
        let mut is_steady = false;
        while at >= self.until && !is_steady {
            is_steady = self.close();
        }
        self.answers += 1;
        self.response_ns += response.ns;
        is_steady
    }

    fn close(&mut self) -> bool {
        let seconds = self.rule.interval.ns as f64 / 1e9;
        self.values.push_back(match self.rule.quantity {
            Quantity::Requests => self.answers as f64 / seconds,
            Quantity::Bytes => self.bytes as f64 / seconds,
            Quantity::Response => self.response_ns as f64 / self.answers.max(1) as f64,
        });
        (self.answers, self.bytes, self.response_ns) = (0, 0, 0);
        self.until = self.until + self.rule.interval;
        let room = (self.rule.window.ns / self.rule.interval.ns) as usize;
        if self.values.len() > room {
            self.values.pop_front();
        }
        self.values.len() == room && self.rule.is_met(&self.values)
    }
}
