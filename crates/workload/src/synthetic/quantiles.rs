//! Interarrival times of any distribution, given by its quantiles, as measured from a trace.
//!
//! Between two quantiles every gap is equally likely. Gaps are independent of each other: bursts longer than a gap are
//! lost.
//!
//! Source: Devroye, "Non-uniform random variate generation" (1986), inversion. Cost: two random numbers per request.

use super::draw::AliasTable;
use super::{ArrivalPolicy, draw, refuse};
use crate::WorkloadError;
use coflash_base::{Duration, Policy, RandomStream, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One quantile of `"quantiles"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantile {
    /// Share of the gaps up to this quantile.
    pub share: Share,
    /// The quantile: no gap of the share is longer.
    pub gap: Duration,
}

/// The parameters of `"quantiles"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuantilesConfig {
    /// Quantiles of the interarrival times in ascending order, from 0% to 100%.
    pub gaps: Vec<Quantile>,
}

impl Default for QuantilesConfig {
    fn default() -> Self {
        let quantile =
            |percent, us: u64| Quantile { share: Share::percent(percent), gap: Duration { ns: us * 1000 } };
        Self { gaps: [(0, 10), (50, 100), (90, 1000), (100, 10_000)].map(|(p, us)| quantile(p, us)).to_vec() }
    }
}

/// Arrivals `"quantiles"`.
#[derive(Clone, Debug)]
pub struct Quantiles {
    between: AliasTable,
    /// From each quantile to the next: the shorter gap, and one more than the difference.
    spans: Vec<(u64, u64)>,
}

impl Policy for Quantiles {
    type Config = QuantilesConfig;
    const SUMMARY: &'static str = "Interarrival times have the given quantiles.";
    const SOURCE: &'static str = "Devroye, \"Non-uniform random variate generation\" (1986)";
}

impl ArrivalPolicy for Quantiles {
    fn new(config: &QuantilesConfig, requests: u64) -> Result<Self, WorkloadError> {
        const KEY: &str = "arrival.gaps";
        let gaps = &config.gaps;
        let ends = (gaps.first().map(|q| q.share), gaps.last().map(|q| q.share));
        if ends != (Some(Share::ZERO), Some(Share::ONE)) {
            return refuse(
                KEY,
                "a list from the gap of 0% to that of 100% is allowed; another was given".to_owned(),
            );
        }
        if let Some(pair) =
            gaps.windows(2).find(|pair| pair[0].share > pair[1].share || pair[0].gap > pair[1].gap)
        {
            let problem = format!(
                "{} at {} was given after {} at {}; ascending shares and gaps are allowed",
                pair[1].gap, pair[1].share, pair[0].gap, pair[0].share
            );
            return refuse(KEY, problem);
        }
        let most = Duration { ns: i64::MAX as u64 / requests };
        let mean_ns: f64 = gaps.windows(2).map(|pair| mean_part_ns(pair[0], pair[1])).sum();
        if mean_ns > most.ns as f64 {
            let mean = Duration { ns: mean_ns as u64 };
            let problem =
                format!("a mean of {mean} was given; with {requests} requests at most {most} is allowed");
            return refuse(KEY, problem);
        }
        let weights: Vec<u64> = gaps.windows(2).map(|pair| pair[1].share.ppb - pair[0].share.ppb).collect();
        let span = |pair: &[Quantile]| (pair[0].gap.ns, (pair[1].gap.ns - pair[0].gap.ns).saturating_add(1));
        Ok(Self { between: AliasTable::new(&weights), spans: gaps.windows(2).map(span).collect() })
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64 {
        let (shortest_ns, width_ns) = self.spans[self.between.draw(stream)];
        shortest_ns + draw::below(stream, width_ns)
    }
}

/// The contribution of the gaps between two quantiles to the mean.
fn mean_part_ns(low: Quantile, high: Quantile) -> f64 {
    (high.share.as_f64() - low.share.as_f64()) * (low.gap.ns as f64 + high.gap.ns as f64) / 2.0
}
