//! Draws that are the same on every machine: integers throughout, and logarithms and powers from `libm`, because those
//! of the operating systems differ in the last bit.
//!
//! Source: Lemire, "Fast random integer generation in an interval" (2019); Vose, "A linear algorithm for generating
//! random numbers with a given distribution" (1991). Cost: O(1) a draw, one random number.

use coflash_base::Stream;
use coflash_base::seed::Rng;

/// A number from 0 to `bound` − 1.
///
/// Multiply-shift without its rejection step: the bias is below `bound` / 2^64, and in return every draw takes exactly
/// one random number, so that the bound of one draw cannot shift the draws after it.
#[inline]
pub(super) fn below(stream: &mut Stream, bound: u64) -> u64 {
    ((u128::from(stream.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A number from 2^-53 to 1, both included: its logarithm and its negative powers are finite.
#[inline]
pub(super) fn above_zero(stream: &mut Stream) -> f64 {
    ((stream.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// An exponentially distributed number with mean 1.
#[inline]
pub(super) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(above_zero(stream))
}

/// A number distributed as Pareto's with mean 1: the probability of more than x falls as x^-`shape`, with `shape` above
/// 1.
#[inline]
pub(super) fn pareto(shape: f64, stream: &mut Stream) -> f64 {
    (shape - 1.0) / shape * libm::pow(above_zero(stream), -1.0 / shape)
}

/// Draws an index with a probability in proportion to its weight; an index of weight zero is never drawn.
#[derive(Clone, Debug)]
pub(super) struct Weighted {
    slots: Vec<Slot>,
}

/// An equal share of all draws, divided between the slot's own index and one other.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The slot's own part, in 2^-64.
    own: u64,
    /// Who has the rest.
    other: u32,
}

impl Weighted {
    /// The table for `weights`; at least one is not zero and their sum is at most 2^63.
    pub(super) fn new(weights: &[u64]) -> Self {
        // In units in which every slot holds `total`, all steps are exact: no rounding can leave a slot to an index
        // of weight zero.
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        assert!(total > 0 && total <= 1 << 63, "weights that sum to {total}");
        let mut left: Vec<u128> =
            weights.iter().map(|&weight| u128::from(weight) * weights.len() as u128).collect();
        let mut slots: Vec<Slot> =
            (0..weights.len()).map(|index| Slot { own: u64::MAX, other: index as u32 }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&index| left[index] < total);
        while let Some(index) = small.pop() {
            let donor = *large.last().expect("the slots hold what the weights sum to");
            slots[index] = Slot { own: ((left[index] << 64) / total) as u64, other: donor as u32 };
            left[donor] -= total - left[index];
            if left[donor] < total {
                large.pop();
                small.push(donor);
            }
        }
        Self { slots }
    }

    /// One index.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        let wide = u128::from(stream.next_u64()) * self.slots.len() as u128;
        let index = (wide >> 64) as usize;
        let slot = self.slots[index];
        if (wide as u64) < slot.own { index } else { slot.other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use proptest::prelude::*;

    #[test]
    fn below_is_uniform() {
        let mut stream = Seed(1).stream("below");
        let mut counts = [0_u64; 7];
        (0..700_000).for_each(|_| counts[below(&mut stream, 7) as usize] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(100_000) < 1500), "{counts:?}");
    }

    #[test]
    fn the_exponential_has_its_mean_and_deviation() {
        let mut stream = Seed(1).stream("exponential");
        let draws: Vec<f64> = (0..1_000_000).map(|_| exponential(&mut stream)).collect();
        let mean = draws.iter().sum::<f64>() / 1e6;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e6;
        assert!((mean - 1.0).abs() < 0.004 && (variance - 1.0).abs() < 0.012, "{mean} {variance}");
    }

    #[test]
    fn logarithms_are_bit_for_bit_those_of_libm() {
        // Golden bits: if a change of `libm` moves one, streams move with it ("Results changed").
        assert_eq!(libm::log(0.1).to_bits(), 0xc002_6bb1_bbb5_5515);
        assert_eq!(libm::pow(3.0, -0.9).to_bits(), 0x3fd7_cf85_4c3b_60ba);
    }

    proptest! {
        /// The table is checked by adding up its slots: exact, where drawing would only be likely.
        #[test]
        fn the_slots_add_up_to_the_weights(weights in prop::collection::vec(0_u64..1_000_000, 1..40)) {
            prop_assume!(weights.iter().any(|&weight| weight > 0));
            let table = Weighted::new(&weights);
            let mut held = vec![0_f64; weights.len()];
            for (index, slot) in table.slots.iter().enumerate() {
                let own = slot.own as f64 / 2_f64.powi(64);
                held[index] += own;
                held[slot.other as usize] += 1.0 - own;
                prop_assert!(weights[slot.other as usize] > 0);
                prop_assert!(weights[index] > 0 || slot.own == 0);
            }
            let total: u64 = weights.iter().sum();
            for (held, &weight) in held.iter().zip(&weights) {
                let expected = weight as f64 * weights.len() as f64 / total as f64;
                prop_assert!((held - expected).abs() < 1e-9, "{} instead of {}", held, expected);
            }
        }
    }
}
