//! When requests arrive: the gap in front of each one, the first included.
//!
//! Source: folklore; the uniform gap is DiskSim's. Cost: at most one random number a request.

use super::{Timing, draw, refuse};
use crate::WorkloadError;
use coflash_base::policy::NoParameters;
use coflash_base::{Duration, Policy, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `gap` in nanoseconds, where it is at least `least` and so many of them still fit a clock of 63 bits.
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
        "All requests are there at time zero: the device sets the pace (a closed loop).";
    const SOURCE: &'static str = "folklore";
}

impl Timing for BackToBack {
    fn new(_: &NoParameters, _: u64) -> Result<Self, WorkloadError> {
        Ok(Self)
    }

    #[inline]
    fn gap_ns(&mut self, _: &mut Stream) -> u64 {
        0
    }
}

/// The parameters of `"uniform"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UniformGapConfig {
    /// The gap between two requests is above zero and below this; its mean is half of it.
    pub max: Duration,
}

impl Default for UniformGapConfig {
    fn default() -> Self {
        Self { max: Duration { ns: 1_000_000 } }
    }
}

/// Arrivals `"uniform"`.
#[derive(Clone, Debug)]
pub struct UniformGap {
    max_ns: u64,
}

impl Policy for UniformGap {
    type Config = UniformGapConfig;
    const SUMMARY: &'static str = "The gap between two requests is uniformly distributed.";
    const SOURCE: &'static str = "DiskSim 4.0, synthetic generator";
}

impl Timing for UniformGap {
    fn new(config: &UniformGapConfig, requests: u64) -> Result<Self, WorkloadError> {
        gap_ns("arrival.max", config.max, 2, requests).map(|max_ns| Self { max_ns })
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut Stream) -> u64 {
        1 + draw::below(stream, self.max_ns - 1)
    }
}

/// The parameters of `"poisson"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PoissonConfig {
    /// The mean gap between two requests.
    pub mean: Duration,
}

impl Default for PoissonConfig {
    fn default() -> Self {
        Self { mean: Duration { ns: 500_000 } }
    }
}

/// Arrivals `"poisson"`.
#[derive(Clone, Debug)]
pub struct Poisson {
    mean_ns: f64,
}

impl Policy for Poisson {
    type Config = PoissonConfig;
    const SUMMARY: &'static str =
        "Requests arrive independently of each other: the gap is exponentially distributed.";
    const SOURCE: &'static str = "folklore";
}

impl Timing for Poisson {
    fn new(config: &PoissonConfig, requests: u64) -> Result<Self, WorkloadError> {
        gap_ns("arrival.mean", config.mean, 1, requests).map(|mean_ns| Self { mean_ns: mean_ns as f64 })
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut Stream) -> u64 {
        // Rounded to the nearest: rounding down would shorten the mean by half a nanosecond.
        (self.mean_ns * draw::exponential(stream) + 0.5) as u64
    }
}

/// The parameters of `"fixed"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedGapConfig {
    /// The gap between two requests.
    pub interval: Duration,
}

impl Default for FixedGapConfig {
    fn default() -> Self {
        Self { interval: Duration { ns: 500_000 } }
    }
}

/// Arrivals `"fixed"`.
#[derive(Clone, Debug)]
pub struct FixedGap {
    interval_ns: u64,
}

impl Policy for FixedGap {
    type Config = FixedGapConfig;
    const SUMMARY: &'static str = "The gap between two requests is always the same.";
    const SOURCE: &'static str = "folklore";
}

impl Timing for FixedGap {
    fn new(config: &FixedGapConfig, requests: u64) -> Result<Self, WorkloadError> {
        gap_ns("arrival.interval", config.interval, 1, requests).map(|interval_ns| Self { interval_ns })
    }

    #[inline]
    fn gap_ns(&mut self, _: &mut Stream) -> u64 {
        self.interval_ns
    }
}
