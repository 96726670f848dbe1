//! Exponentially distributed draws that are equal on every machine: the logarithm is from a table, because those of the
//! operating systems differ in the last bit.
//!
//! Source: Tang, "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic" (1990). Cost:
//! O(1) per draw, one random number.

use crate::RandomStream;
use crate::seed::Rng;

/// Draw an exponentially distributed number with mean 1: minus the logarithm of a number from 2^-53 to 1.
#[inline]
pub fn exponential(stream: &mut RandomStream) -> f64 {
    minus_log((stream.next_u64() >> 11) + 1)
}

/// Minus the logarithm of `count` / 2^53, for a count from 1 to 2^53. The error is below 10^-14: among millions of
/// gaps in nanoseconds, one differs from that of the exact logarithm.
#[inline]
fn minus_log(count: u64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    // The count is 2^exponent * mantissa, and the mantissa is middle * (1 + rest).
    let bits = (count as f64).to_bits();
    let halvings = 53 + 1023 - (bits >> 52) as i64;
    let mantissa = f64::from_bits(bits & MANTISSA | 1.0_f64.to_bits());
    let Middle { inverse, log } = MIDDLES[((bits & MANTISSA) >> (52 - MIDDLES.len().ilog2())) as usize];
    let rest = mantissa * inverse - 1.0;
    let log_rest =
        rest - rest * rest * (1.0 / 2.0 - rest * (1.0 / 3.0 - rest * (1.0 / 4.0 - rest * (1.0 / 5.0))));
    // Rounding must not make it negative.
    (halvings as f64 * std::f64::consts::LN_2 - log - log_rest).max(0.0)
}

/// The middle of an interval of mantissas.
#[derive(Clone, Copy)]
struct Middle {
    inverse: f64,
    log: f64,
}

/// The middles of 128 equal intervals between 1 and 2: no mantissa is further than 1/256 from its middle.
static MIDDLES: [Middle; 128] = {
    let mut middles = [Middle { inverse: 1.0, log: 0.0 }; 128];
    let mut index = 0;
    while index < middles.len() {
        let middle = 1.0 + (index as f64 + 0.5) / middles.len() as f64;
        middles[index] = Middle { inverse: 1.0 / middle, log: log_by_series(middle) };
        index += 1;
    }
    middles
};

/// The logarithm of a number from 1 to 2 at compile time: 2 artanh((x - 1) / (x + 1)).
const fn log_by_series(x: f64) -> f64 {
    let z = (x - 1.0) / (x + 1.0);
    let (mut sum, mut power, mut n) = (0.0, z, 1);
    while n < 40 {
        sum += power / n as f64;
        power *= z * z;
        n += 2;
    }
    2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn the_exponential_has_its_mean_and_deviation() {
        let mut stream = Seed(1).stream("exponential");
        let draws: Vec<f64> = (0..1_000_000).map(|_| exponential(&mut stream)).collect();
        let mean = draws.iter().sum::<f64>() / 1e6;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e6;
        assert!((mean - 1.0).abs() < 0.004 && (variance - 1.0).abs() < 0.012, "{mean} {variance}");
    }

    /// The Kolmogorov-Smirnov distance from the distribution function; 1 in 1000 streams exceeds the bound.
    #[test]
    fn the_exponential_has_its_distribution() {
        let mut stream = Seed(1).stream("exponential");
        let mut draws: Vec<f64> = (0..200_000).map(|_| exponential(&mut stream)).collect();
        draws.sort_by(f64::total_cmp);
        let count = draws.len() as f64;
        let off = |(index, &draw): (usize, &f64)| {
            let (below, expected) = (index as f64 / count, 1.0 - libm::exp(-draw));
            (expected - below).abs().max((below + 1.0 / count - expected).abs())
        };
        let distance = draws.iter().enumerate().map(off).fold(0.0, f64::max);
        assert!(distance < 1.95 / count.sqrt(), "{distance}");
    }

    #[test]
    fn the_table_gives_logarithms() {
        let mut stream = Seed(1).stream("logarithms");
        let drawn = (0..1_000_000).map(|step| (stream.next_u64() >> 11 >> (step % 53)) + 1);
        let powers = (0..=53).flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1]);
        // The boundaries of the table's intervals.
        let seams = (0..128).flat_map(|index| [(128 + index) << 45, ((128 + index) << 45) + 1]);
        for count in drawn.chain(powers).chain(seams).filter(|count| (1..=1 << 53).contains(count)) {
            let (log, expected) = (minus_log(count), -libm::log(count as f64 / (1_u64 << 53) as f64));
            assert!((log - expected).abs() < 1e-14, "{count}: {log} instead of {expected}");
            assert!(log >= 0.0 && log.is_finite(), "{count}: {log}");
        }
    }

    #[test]
    fn draws_are_bit_for_bit_the_same() {
        // Golden bits: a change of one changes all results ("Results changed" in the changelog).
        let draws = [1, 3 << 50, 1 << 53].map(|count| minus_log(count).to_bits());
        assert_eq!(draws, [0x4042_5e4f_7b27_37fa, 0x3fef_62f4_0794_a7b8, 0]);
    }
}
