//! How interarrival times cluster: the correlation of the logarithms of gaps at distances of 1 to 4,096 requests, and the
//! shares of variance for the arrivals `quantiles` that give about the same.
//!
//! The correlation at the furthest distance gives the share of the part that is kept longest; what this part leaves of the
//! correlation at a shorter distance gives the share of the next one.
//!
//! Cost: five additions per request; 32 KiB.

use super::Correlations;
use super::distributions::quantiles;
use crate::info::Summary;
use coflash_base::{Share, Time};
use coflash_workload::synthetic::quantiles::{QuantilesConfig, kept_requests};

/// Parts are kept for 8 to 8^5 requests, and measured at distances of 1 to 8^4.
const PARTS: usize = 5;
const FURTHEST: usize = 1 << 12;

/// The gaps between arrivals.
#[derive(Default)]
pub(super) struct Gaps {
    latest_arrival: Option<Time>,
    all: Summary,
    /// The logarithms of the latest gaps, in a ring.
    latest: Vec<f64>,
    count: usize,
    sum: f64,
    sum_of_squares: f64,
    /// By distance: sum of products, sum of the earlier and of the later values.
    products: [[f64; 3]; PARTS],
}

impl Gaps {
    pub(super) fn new() -> Self {
        Self { latest: vec![0.0; FURTHEST], ..Self::default() }
    }

    pub(super) fn add(&mut self, arrival: Time) {
        let Some(before) = self.latest_arrival.replace(arrival) else { return };
        let gap_ns = arrival.ns - before.ns;
        self.all.add(gap_ns);
        let value = libm::log1p(gap_ns as f64);
        for (part, sums) in self.products.iter_mut().enumerate() {
            if let Some(before) = self.count.checked_sub(distance_of(part)) {
                let earlier = self.latest[before % FURTHEST];
                sums[0] += earlier * value;
                sums[1] += earlier;
                sums[2] += value;
            }
        }
        self.latest[self.count % FURTHEST] = value;
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
    }

    /// The correlations for the comparison.
    pub(super) fn correlations(&self) -> Correlations {
        let [of_neighbours, over_64_requests, over_4096_requests] =
            [0, 2, 4].map(|part| self.correlation(part));
        Correlations { of_neighbours, over_64_requests, over_4096_requests }
    }

    /// The arrivals with such gaps; `None` if all are zero.
    pub(super) fn config(&self) -> Option<QuantilesConfig> {
        let gaps = quantiles(&self.all);
        (!gaps.is_empty()).then(|| QuantilesConfig { clustering: self.shares(), gaps })
    }

    /// The correlation of gaps at the distance of a part; `None` without variance, or with fewer than 16 such distances after one
    /// another.
    fn correlation(&self, part: usize) -> Option<f64> {
        let distance = distance_of(part);
        let count = self.count as f64;
        let mean = self.sum / count;
        let variance = self.sum_of_squares / count - mean * mean;
        let [products, earlier, later] = self.products[part];
        let pairs = self.count.checked_sub(distance)? as f64;
        let covariance = products / pairs - mean * (earlier + later) / pairs + mean * mean;
        (self.count >= 16 * distance && variance > 1e-9).then(|| (covariance / variance).clamp(-1.0, 1.0))
    }

    /// The shares of variance that are kept for 8, 64, 512, … requests.
    fn shares(&self) -> Vec<Share> {
        let mut shares = [0.0_f64; PARTS];
        for part in (0..PARTS).rev() {
            // With fewer than 128 draws of a part, the mean gap would be left to chance.
            if kept_requests(part) << 7 <= self.count as u64 {
                let seen = self.correlation(part).unwrap_or(0.0);
                let distance = distance_of(part) as f64;
                let kept = |part| libm::pow(1.0 - 1.0 / kept_requests(part) as f64, distance);
                let longer: f64 = (part + 1..PARTS).map(|other| shares[other] * kept(other)).sum();
                let left = 1.0 - shares.iter().sum::<f64>();
                shares[part] = ((seen - longer) / kept(part)).min(left).max(0.0);
            }
        }
        let mut shares = shares.map(|share| Share { ppb: (share * 1000.0) as u64 * 1_000_000 }).to_vec();
        while shares.pop_if(|share| *share == Share::ZERO).is_some() {}
        shares
    }
}

/// The distance at which a part is measured: an eighth of the requests for which it is kept.
fn distance_of(part: usize) -> usize {
    1 << (3 * part)
}
