//! Interarrival times of any distribution, given by its quantiles, as measured from a trace.
//!
//! Between two quantiles every gap is equally likely. Without `clustering`, gaps are independent of each
//! other. With it, short gaps follow short ones, as in bursts. The quantile of a gap is that of a normal
//! variable. This is a sum of parts; each part is kept for a number of requests and then drawn anew. The
//! correlation of a part falls geometrically with the distance, and a sum of such parts with lengths of 8,
//! 64, 512, … has about any correlation.
//!
//! Source: Devroye, "Non-uniform random variate generation" (1986), inversion; Cario and Nelson, "Autoregressive to
//! anything" (1996), for a normal process behind any distribution; Robert and Le Boudec, "New models for pseudo
//! self-similar traffic" (1997), for time scales in geometric progression. Cost: two random numbers per request; with
//! clustering five, and an error function.

use super::draw::AliasTable;
use super::{ArrivalPolicy, draw, refuse};
use crate::WorkloadError;
use coflash_base::seed::Rng;
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

coflash_base::config! {
    /// The parameters of `"quantiles"`.
    #[derive(Eq)]
    pub struct QuantilesConfig {
        /// Quantiles of the interarrival times in ascending order, from 0% to 100%.
        pub gaps: Vec<Quantile> = [(0, 10), (50, 100), (90, 1000), (100, 10_000)]
            .map(|(percent, us)| Quantile { share: Share::percent(percent), gap: Duration { ns: us * 1000 } })
            .to_vec(),
        /// Shares of the variance that are kept for 8, 64, 512, … requests on average, in this order; at most ten, which sum
        /// to at most 100%. The rest is independent.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub clustering: Vec<Share>,
    }
}

/// Arrivals `"quantiles"`.
#[derive(Clone, Debug)]
pub struct Quantiles {
    between: AliasTable,
    /// From each quantile to the next: the shorter gap, and one more than the difference.
    spans: Vec<(u64, u64)>,
    clusters: Option<Clusters>,
}

/// The normal variable behind clustered gaps.
#[derive(Clone, Debug)]
struct Clusters {
    /// The share of each quantile, except that of 0%.
    shares: Vec<f64>,
    /// Standard deviation of the part that is independent.
    noise: f64,
    /// Standard deviation and value of the other parts.
    parts: Vec<(f64, f64)>,
    begun: bool,
}

/// A part is kept for 2^3 times as many requests as the one before it.
const LENGTHS_LOG2: u32 = 3;

/// The mean number of requests for which the part `index` of `clustering` is kept.
#[must_use]
pub fn kept_requests(index: usize) -> u64 {
    1 << (LENGTHS_LOG2 as usize * (index + 1))
}

impl Clusters {
    fn new(config: &QuantilesConfig) -> Result<Option<Self>, WorkloadError> {
        let kept: u64 = config.clustering.iter().fold(0, |sum, share| sum.saturating_add(share.ppb));
        if kept > Share::ONE.ppb || config.clustering.len() > 10 {
            let problem = format!(
                "{} shares that sum to {} were given; up to ten that sum to at most 100% are allowed",
                config.clustering.len(),
                Share { ppb: kept }
            );
            return refuse("arrival.clustering", problem);
        }
        let deviation = |share: Share| libm::sqrt(share.as_f64());
        Ok((!config.clustering.is_empty()).then(|| Self {
            shares: config.gaps[1..].iter().map(|quantile| quantile.share.as_f64()).collect(),
            noise: deviation(Share { ppb: Share::ONE.ppb - kept }),
            parts: config.clustering.iter().map(|&share| (deviation(share), 0.0)).collect(),
            begun: false,
        }))
    }

    /// Draw the next quantile, from 0 to 1.
    fn draw(&mut self, stream: &mut RandomStream) -> f64 {
        // One random number for all parts: of 3 bits more each, all must be 0.
        let zeros =
            if std::mem::replace(&mut self.begun, true) { stream.next_u64().trailing_zeros() } else { 64 };
        let mut normal = self.noise * draw::normal(stream);
        for (index, (deviation, value)) in self.parts.iter_mut().enumerate() {
            if zeros >= LENGTHS_LOG2 * (index as u32 + 1) {
                *value = *deviation * draw::normal(stream);
            }
            normal += *value;
        }
        0.5 * libm::erfc(-normal * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// Draw the next gap.
    fn gap_ns(&mut self, spans: &[(u64, u64)], stream: &mut RandomStream) -> u64 {
        let quantile = self.draw(stream);
        let index = self.shares.partition_point(|&share| share < quantile).min(spans.len() - 1);
        let least = if index == 0 { 0.0 } else { self.shares[index - 1] };
        let (shortest_ns, width_ns) = spans[index];
        let fraction = (quantile - least) / (self.shares[index] - least);
        shortest_ns + ((fraction * width_ns as f64) as u64).min(width_ns - 1)
    }
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
        Ok(Self {
            between: AliasTable::new(&weights),
            spans: gaps.windows(2).map(span).collect(),
            clusters: Clusters::new(config)?,
        })
    }

    #[inline]
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64 {
        if let Some(clusters) = &mut self.clusters {
            return clusters.gap_ns(&self.spans, stream);
        }
        let (shortest_ns, width_ns) = self.spans[self.between.draw(stream)];
        shortest_ns + draw::below(stream, width_ns)
    }
}

/// The contribution of the gaps between two quantiles to the mean.
fn mean_part_ns(low: Quantile, high: Quantile) -> f64 {
    (high.share.as_f64() - low.share.as_f64()) * (low.gap.ns as f64 + high.gap.ns as f64) / 2.0
}
