//! Arrivals with bursts at every time scale: the b-model.
//!
//! The total time is halved; one half, chosen at random, gets a share b of the requests, the other the rest.
//! Each half is divided in the same way, down to single requests or single nanoseconds. The mean square of
//! the counts per interval then falls with the interval's length like that of a self-similar process with the
//! Hurst parameter H = 1/2 - log2(b^2 + (1 - b)^2) / 2. This determines b. (With H near 1, bursts are lower
//! and last longer.)
//!
//! The tree of halves is traversed depth first, so only one path is held. A count is rounded up with a probability
//! equal to its fraction; a single request is uniformly distributed in its interval.
//!
//! Source: Wang, Madhyastha, Chan, Papadimitriou and Faloutsos, "Data mining meets performance evaluation: fast
//! algorithms for modeling bursty traffic" (2002). Cost: about two random numbers per request; O(log time) memory.

use super::arrival::gap_ns;
use super::{ArrivalPolicy, draw, refuse};
use crate::WorkloadError;
use coflash_base::seed::Rng;
use coflash_base::{Duration, Policy, RandomStream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of `"self-similar"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SelfSimilarConfig {
    /// Mean interarrival time.
    pub mean: Duration,
    /// Hurst parameter, above 0.5 and below 1.
    pub hurst: f64,
}

impl Default for SelfSimilarConfig {
    fn default() -> Self {
        Self { mean: Duration { ns: 500_000 }, hurst: 0.8 }
    }
}

/// Arrivals `"self-similar"`.
#[derive(Clone, Debug)]
pub struct SelfSimilar {
    /// The share b of the busier half.
    bias: f64,
    /// Pending intervals, the next one last.
    pending: Vec<Interval>,
    now_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    begin_ns: u64,
    length_ns: u64,
    requests: u64,
}

impl Policy for SelfSimilar {
    type Config = SelfSimilarConfig;
    const SUMMARY: &'static str = "Bursts at every time scale, with a given Hurst parameter (b-model).";
    const SOURCE: &'static str = "Wang, Madhyastha, Chan, Papadimitriou and Faloutsos, \"Data mining meets performance \
                                  evaluation: fast algorithms for modeling bursty traffic\" (2002)";
}

/// The share b for a Hurst parameter: the solution of b^2 + (1 - b)^2 = 2^(1 - 2H) with b ≥ 1/2.
fn bias(hurst: f64) -> f64 {
    (1.0 + libm::sqrt(2.0 * libm::exp2(1.0 - 2.0 * hurst) - 1.0)) / 2.0
}

impl ArrivalPolicy for SelfSimilar {
    fn new(config: &SelfSimilarConfig, requests: u64) -> Result<Self, WorkloadError> {
        let SelfSimilarConfig { mean, hurst } = *config;
        let mean_ns = gap_ns("arrival.mean", mean, 1, requests)?;
        if !(hurst > 0.5 && hurst < 1.0) {
            let problem = format!("{hurst} was given; a number above 0.5 and below 1 is allowed");
            return refuse("arrival.hurst", problem);
        }
        let all = Interval { begin_ns: 0, length_ns: mean_ns * requests, requests };
        Ok(Self { bias: bias(hurst), pending: vec![all], now_ns: 0 })
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64 {
        let at_ns = self.next_ns(stream);
        let gap_ns = at_ns - self.now_ns;
        self.now_ns = at_ns;
        gap_ns
    }
}

impl SelfSimilar {
    fn next_ns(&mut self, stream: &mut RandomStream) -> u64 {
        // Nothing is left after the announced number of requests.
        let Some(mut interval) = self.pending.pop() else { return self.now_ns };
        loop {
            let Interval { begin_ns, length_ns, requests } = interval;
            if requests == 1 {
                return begin_ns + draw::below(stream, length_ns.max(1));
            }
            if length_ns <= 1 {
                self.pending.push(Interval { requests: requests - 1, ..interval });
                return begin_ns;
            }
            let draw = stream.next_u64();
            let fraction = (draw >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
            let larger = ((requests as f64 * self.bias + fraction) as u64).min(requests);
            let early = if draw & 1 == 0 { larger } else { requests - larger };
            let half_ns = length_ns / 2;
            let late = Interval {
                begin_ns: begin_ns + half_ns,
                length_ns: length_ns - half_ns,
                requests: requests - early,
            };
            interval = Interval { begin_ns, length_ns: half_ns, requests: early };
            if early == 0 {
                interval = late;
            } else if late.requests > 0 {
                self.pending.push(late);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;

    #[test]
    fn the_bias_gives_back_the_hurst_parameter() {
        for hurst in [0.51, 0.6, 0.75, 0.8, 0.99] {
            let bias = bias(hurst);
            assert!((0.5..1.0).contains(&bias), "{bias}");
            let back = 0.5 - 0.5 * libm::log2(bias * bias + (1.0 - bias) * (1.0 - bias));
            assert!((back - hurst).abs() < 1e-12, "{hurst} became {back}");
        }
    }

    #[test]
    fn every_request_comes_within_the_time_of_all_and_the_stack_stays_small() {
        for (mean, requests) in [(1, 1), (1, 1000), (3, 7), (500_000, 100_000), (1 << 40, 1000)] {
            let config = SelfSimilarConfig { mean: Duration { ns: mean }, hurst: 0.7 };
            let mut timing = SelfSimilar::new(&config, requests).unwrap();
            let mut stream = Seed(1).stream("when");
            for _ in 0..requests {
                timing.gap_ns(&mut stream);
                assert!(timing.now_ns < mean * requests && timing.pending.len() < 130);
            }
            assert!(timing.pending.is_empty(), "as many as announced");
        }
    }
}
