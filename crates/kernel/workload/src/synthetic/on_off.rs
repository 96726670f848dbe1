//! Bursts: Poisson arrivals during periods of activity, and pauses between them.
//!
//! Periods are exponentially or Pareto distributed. The long tail of Pareto's distribution makes the load bursty at
//! every time scale: many such workloads together (`tenants`) are self-similar, with a Hurst parameter of (3 - shape)
//! / 2 for a shape from 1 to 2. The first period begins at time 0.
//!
//! A draw is the active time until the next request; the pauses inside it are added. So a period may end without a
//! request.
//!
//! Source: Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook" (1993), for exponential
//! periods; Willinger, Taqqu, Sherman and Wilson, "Self-similarity through high-variability" (1997), for Pareto's.
//! Cost: one random number and a logarithm per request, two more of each (or two powers) per period.

use super::arrival::gap_ns;
use super::{ArrivalPolicy, draw, refuse};
use crate::WorkloadError;
use coflash_base::{Duration, Policy, RandomStream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of `"on-off"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnOffConfig {
    /// Mean interarrival time during activity, at most `on`. The overall mean is longer by the factor (`on` + `off`) /
    /// `on`.
    pub gap: Duration,
    /// Mean length of a period of activity.
    pub on: Duration,
    /// Mean length of a pause.
    pub off: Duration,
    /// Shape of the Pareto distribution of periods and pauses, above 1; from 1 to 2 their variance is infinite.
    /// Default: exponential distributions.
    pub pareto_shape: Option<f64>,
}

impl Default for OnOffConfig {
    fn default() -> Self {
        let ms = |ms: u64| Duration { ns: ms * 1_000_000 };
        Self { gap: Duration { ns: 50_000 }, on: ms(10), off: ms(90), pareto_shape: None }
    }
}

/// Arrivals `"on-off"`.
#[derive(Clone, Debug)]
pub struct OnOff {
    gap_ns: f64,
    on_ns: f64,
    off_ns: f64,
    pareto_shape: Option<f64>,
    /// The rest of the current period.
    left_ns: f64,
    /// Whether the first period has begun.
    begun: bool,
}

impl Policy for OnOff {
    type Config = OnOffConfig;
    const SUMMARY: &'static str =
        "Bursts: Poisson arrivals during periods of random length, with pauses between them.";
    const SOURCE: &'static str = "Willinger, Taqqu, Sherman and Wilson, \"Self-similarity through high-variability\" \
                                  (1997)";
}

impl ArrivalPolicy for OnOff {
    fn new(config: &OnOffConfig, requests: u64) -> Result<Self, WorkloadError> {
        let OnOffConfig { gap, on, off, pareto_shape } = *config;
        gap_ns("arrival.gap", gap, 1, requests)?;
        if on < gap {
            return refuse("arrival.on", format!("{on} was given; at least arrival.gap, {gap}, is allowed"));
        }
        // The pauses of all requests must fit the clock: there are requests * gap / on of them.
        let most = (i64::MAX as u64 / requests / gap.ns).saturating_mul(on.ns).min(i64::MAX as u64);
        if off.ns == 0 || off.ns > most || on.ns > i64::MAX as u64 {
            let most = Duration { ns: most };
            let problem = format!("{off} was given; with {requests} requests from 1ns to {most} is allowed");
            return refuse("arrival.off", problem);
        }
        if let Some(shape) = pareto_shape.filter(|shape| !(shape.is_finite() && *shape > 1.0)) {
            return refuse("arrival.pareto_shape", format!("{shape} was given; a number above 1 is allowed"));
        }
        let [gap_ns, on_ns, off_ns] = [gap, on, off].map(|mean| mean.ns as f64);
        Ok(Self { gap_ns, on_ns, off_ns, pareto_shape, left_ns: 0.0, begun: false })
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64 {
        let active_ns = self.gap_ns * draw::exponential(stream);
        let pauses_ns = if active_ns < self.left_ns {
            self.left_ns -= active_ns;
            0.0
        } else {
            self.pauses_ns(active_ns, stream)
        };
        (active_ns + pauses_ns + 0.5) as u64
    }
}

impl OnOff {
    /// The pauses within `active_ns` of activity; the activity exceeds the rest of the current period.
    #[inline(never)]
    fn pauses_ns(&mut self, mut active_ns: f64, stream: &mut RandomStream) -> f64 {
        let mut pauses_ns = 0.0;
        while active_ns >= self.left_ns {
            active_ns -= self.left_ns;
            if std::mem::replace(&mut self.begun, true) {
                pauses_ns += self.off_ns * self.period(stream);
            }
            self.left_ns = self.on_ns * self.period(stream);
        }
        self.left_ns -= active_ns;
        pauses_ns
    }

    /// The length of a period in units of its mean.
    fn period(&self, stream: &mut RandomStream) -> f64 {
        match self.pareto_shape {
            None => draw::exponential(stream),
            Some(shape) => draw::pareto(shape, stream),
        }
    }
}
