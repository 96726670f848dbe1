//! How interarrival times cluster: the correlation of the logarithms of gaps at distances from 1 to 2^15 requests, and
//! the shares of variance for the arrivals `quantiles` that give the same.
//!
//! The correlation of gaps is not that of the normal variable behind them. The logarithm of the gap, as a function of
//! that variable, is developed in Hermite polynomials, with coefficients c(n): at a correlation of r, that of the
//! logarithms is the sum of c(n)² rⁿ over that of c(n)². This is inverted at each distance. The shares of the parts
//! follow by least squares with none below 0.
//!
//! Source: Cario and Nelson, "Autoregressive to anything" (1996), for the inversion; Mehler's formula for the series.
//! Cost: sixteen additions per request; 256 KiB.

use super::Correlations;
use super::distributions::quantiles;
use crate::info::Summary;
use coflash_base::{Share, Time};
use coflash_workload::synthetic::quantiles::{Quantile, QuantilesConfig, kept_requests};

/// The distances are the powers of two up to this one.
const FURTHEST_LOG2: usize = 15;
/// Parts are kept for 8 to 8^5 = 2^15 requests.
const PARTS: usize = 5;
/// The order of the Hermite series.
const ORDER: usize = 12;

/// The gaps between arrivals.
#[derive(Default)]
pub(super) struct Gaps {
    latest_arrival: Option<Time>,
    all: Summary,
    /// The latest values, in a ring.
    latest: Vec<f64>,
    count: usize,
    sum: f64,
    sum_of_squares: f64,
    /// By distance: sum of products, sum of the earlier and of the later values.
    products: [[f64; 3]; FURTHEST_LOG2 + 1],
}

impl Gaps {
    pub(super) fn new() -> Self {
        Self { latest: vec![0.0; 1 << FURTHEST_LOG2], ..Self::default() }
    }

    pub(super) fn add(&mut self, arrival: Time) {
        let Some(before) = self.latest_arrival.replace(arrival) else { return };
        let gap_ns = arrival.ns - before.ns;
        self.all.add(gap_ns);
        let value = level(gap_ns as f64);
        let mask = self.latest.len() - 1;
        for (log2, sums) in self.products.iter_mut().enumerate() {
            let distance = 1 << log2;
            if distance > self.count {
                break;
            }
            let earlier = self.latest[(self.count - distance) & mask];
            sums[0] += earlier * value;
            sums[1] += earlier;
            sums[2] += value;
        }
        self.latest[self.count & mask] = value;
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
    }

    /// The correlations for the comparison.
    pub(super) fn correlations(&self) -> Correlations {
        let [of_neighbours, over_64_requests, over_4096_requests] =
            [0, 6, 12].map(|log2| self.correlation(log2));
        Correlations { of_neighbours, over_64_requests, over_4096_requests }
    }

    /// The arrivals with such gaps; `None` if all are zero.
    pub(super) fn config(&self) -> Option<QuantilesConfig> {
        let gaps = quantiles(&self.all);
        (!gaps.is_empty()).then(|| QuantilesConfig { clustering: self.shares(&gaps), gaps })
    }

    /// The correlation of gaps at a distance of 2^`log2`; `None` without variance, or with fewer than 16 such distances
    /// after one another.
    fn correlation(&self, log2: usize) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.sum / count;
        let variance = self.sum_of_squares / count - mean * mean;
        let [products, earlier, later] = self.products[log2];
        let pairs = self.count.checked_sub(1 << log2)? as f64;
        let covariance = products / pairs - mean * (earlier + later) / pairs + mean * mean;
        (self.count >= 16 << log2 && variance > 1e-9).then(|| (covariance / variance).clamp(-1.0, 1.0))
    }

    /// The shares of variance for gaps with the quantiles `gaps`.
    fn shares(&self, gaps: &[Quantile]) -> Vec<Share> {
        let squares = hermite_squares(gaps);
        let seen: Vec<(f64, f64)> = (0..=FURTHEST_LOG2)
            .map_while(|log2| {
                Some((2_f64.powi(log2 as i32), normal_correlation(self.correlation(log2)?, &squares)))
            })
            .collect();
        // With fewer than 128 draws of a part, the mean gap would be left to chance.
        let parts = (0..PARTS).filter(|&part| kept_requests(part) << 7 <= self.count as u64).count();
        let kept = |part: usize, distance: f64| libm::pow(1.0 - 1.0 / kept_requests(part) as f64, distance);
        let mut shares = vec![0.0_f64; parts];
        // Coordinate descent: each share in turn is the best for the others. Rounding may bring their sum above 1.
        for _ in 0..1000 {
            for part in 0..parts {
                let (mut error, mut weight) = (0.0, 0.0);
                for &(distance, wanted) in &seen {
                    let others: f64 = (0..parts)
                        .filter(|&other| other != part)
                        .map(|other| shares[other] * kept(other, distance))
                        .sum();
                    error += (wanted - others) * kept(part, distance);
                    weight += kept(part, distance) * kept(part, distance);
                }
                shares[part] = (error / weight.max(1e-12)).max(0.0);
            }
        }
        while shares.last().is_some_and(|&share| share < 0.005) {
            shares.pop();
        }
        let all = shares.iter().sum::<f64>().max(1.0);
        shares
            .iter()
            .map(|share| share / all)
            .map(|share| Share { ppb: (share * 1000.0) as u64 * 1_000_000 })
            .collect()
    }
}

/// The logarithm of a gap.
fn level(gap_ns: f64) -> f64 {
    libm::log1p(gap_ns)
}

/// The squares of the coefficients of the logarithm of a gap in normalised Hermite polynomials, from the first on.
fn hermite_squares(gaps: &[Quantile]) -> [f64; ORDER] {
    const STEP: f64 = 0.005;
    let mut coefficients = [0.0; ORDER];
    for step in -1400..=1400 {
        let z = f64::from(step) * STEP;
        let quantile = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        let after = gaps.partition_point(|gap| gap.share.as_f64() < quantile).clamp(1, gaps.len() - 1);
        let (low, high) = (gaps[after - 1], gaps[after]);
        let width = (high.share.as_f64() - low.share.as_f64()).max(1e-12);
        let along = ((quantile - low.share.as_f64()) / width).clamp(0.0, 1.0);
        let value = level(low.gap.ns as f64 + along * (high.gap.ns - low.gap.ns) as f64);
        let weight = value * libm::exp(-z * z / 2.0) * STEP / libm::sqrt(std::f64::consts::TAU);
        // Normalised polynomials: h(n + 1) = (z h(n) - √n h(n - 1)) / √(n + 1).
        let (mut before, mut polynomial) = (0.0, 1.0);
        for (order, coefficient) in coefficients.iter_mut().enumerate() {
            let next = (z * polynomial - libm::sqrt(order as f64) * before) / libm::sqrt(order as f64 + 1.0);
            (before, polynomial) = (polynomial, next);
            *coefficient += weight * polynomial;
        }
    }
    coefficients.map(|coefficient| coefficient * coefficient)
}

/// The correlation of the normal variable at which the logarithms of gaps have this one; 0 for a negative one.
fn normal_correlation(wanted: f64, squares: &[f64]) -> f64 {
    let all: f64 = squares.iter().sum();
    let seen = |r: f64| squares.iter().rev().fold(0.0, |sum, square| (sum + square) * r) / all.max(1e-12);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if seen(middle) < wanted { low = middle } else { high = middle }
    }
    low
}
