//! Arrivals with independent gaps; the first request has a gap, too.
//!
//! Source: folklore; DiskSim for the uniform gap. Cost: at most one random number per request.

use super::{ArrivalPolicy, draw, refuse};
use crate::WorkloadError;
use coflash_base::policy::NoParameters;
use coflash_base::{Duration, Policy, RandomStream};

/// Check that `gap` is at least `least` and that `requests` gaps fit a clock of 63 bits.
pub(super) fn gap_ns(
    key: &'static str,
    gap: Duration,
    least: u64,
    requests: u64,
) -> Result<u64, WorkloadError> {
    let most = i64::MAX as u64 / requests;
    if (least..=most).contains(&gap.ns) {
        return Ok(gap.ns);
    }
    let (least, most) = (Duration { ns: least }, Duration { ns: most });
    refuse(key, format!("{gap} was given; with {requests} requests from {least} to {most} is allowed"))
}

/// Arrivals `"back-to-back"`.
#[derive(Clone, Debug)]
pub struct BackToBack;

impl Policy for BackToBack {
    type Config = NoParameters;
    const SUMMARY: &'static str =
        "All requests arrive at time 0: the device sets the pace (`replay.mode` is \"closed\" by default).";
    const SOURCE: &'static str = "folklore";
}

impl ArrivalPolicy for BackToBack {
    fn new(_: &NoParameters, _: u64) -> Result<Self, WorkloadError> {
        Ok(Self)
    }

    #[inline]
    fn gap_ns(&mut self, _: &mut RandomStream) -> u64 {
        0
    }
}

coflash_base::config! {
    /// Arrivals `"uniform"` and their parameters.
    #[derive(Eq)]
    pub struct UniformGapConfig {
        /// Upper bound of the interarrival time: it is above 0 and below this, and half of this on average.
        pub max: Duration = Duration { ns: 1_000_000 },
    }
}

impl Policy for UniformGapConfig {
    type Config = Self;
    const SUMMARY: &'static str = "Interarrival times are uniformly distributed.";
    const SOURCE: &'static str = "DiskSim 4.0, synthetic generator";
}

impl ArrivalPolicy for UniformGapConfig {
    fn new(config: &Self, requests: u64) -> Result<Self, WorkloadError> {
        gap_ns("arrival.max", config.max, 2, requests).map(|_| config.clone())
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64 {
        1 + draw::below(stream, self.max.ns - 1)
    }
}

coflash_base::config! {
    /// The parameters of `"poisson"`.
    #[derive(Eq)]
    pub struct PoissonConfig {
        /// Mean interarrival time.
        pub mean: Duration = Duration { ns: 500_000 },
    }
}

impl Policy for PoissonConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "Requests arrive independently of each other: interarrival times are exponentially distributed.";
    const SOURCE: &'static str = "folklore";
}

impl ArrivalPolicy for PoissonConfig {
    fn new(config: &Self, requests: u64) -> Result<Self, WorkloadError> {
        gap_ns("arrival.mean", config.mean, 1, requests).map(|_| config.clone())
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64 {
        // Rounding down would shorten the mean by half a nanosecond.
        (self.mean.ns as f64 * draw::exponential(stream) + 0.5) as u64
    }
}

coflash_base::config! {
    /// Arrivals `"fixed"` and their parameters.
    #[derive(Eq)]
    pub struct FixedGapConfig {
        /// Interarrival time.
        pub interval: Duration = Duration { ns: 500_000 },
    }
}

impl Policy for FixedGapConfig {
    type Config = Self;
    const SUMMARY: &'static str = "Interarrival times are constant.";
    const SOURCE: &'static str = "folklore";
}

impl ArrivalPolicy for FixedGapConfig {
    fn new(config: &Self, requests: u64) -> Result<Self, WorkloadError> {
        gap_ns("arrival.interval", config.interval, 1, requests).map(|_| config.clone())
    }

    #[inline]
    fn gap_ns(&mut self, _: &mut RandomStream) -> u64 {
        self.interval.ns
    }
}
