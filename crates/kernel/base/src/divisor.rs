//! Division by a number that is known only at run time, and then stays: a processor multiplies in a third of the time.
//!
//! Source: Granlund & Montgomery, "Division by invariant integers using multiplication" (PLDI 1994); Robison, "N-bit unsigned
//! division via N-bit multiply-add" (ARITH 2005) for the form used here. Crates for it (`strength_reduce`, `fastdivide`) ask first
//! whether the divisor is a power of two, at each division.

use crate::Save;

/// A divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Divisor {
    value: u32,
    /// The largest 64-bit number, divided by `value`.
    inverse: u64,
}

impl Divisor {
    /// Create a divisor; panics if it is zero.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self { value, inverse: u64::MAX / value as u64 }
    }

    /// `number` divided by this, rounded down.
    ///
    /// With r the rest, the product is the quotient plus (r + 1) / value, less at most 2^-32: that is less than a whole, and
    /// never negative.
    #[inline(always)]
    #[must_use]
    pub const fn divide(self, number: u32) -> u32 {
        (((number as u128 + 1) * self.inverse as u128) >> 64) as u32
    }

    /// The rest of the division of `number` by this.
    #[inline(always)]
    #[must_use]
    pub const fn rest(self, number: u32) -> u32 {
        number - self.divide(number) * self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotients_are_exact_where_they_change() {
        for value in (1..1000).chain([1 << 16, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX]) {
            let divisor = Divisor::new(value);
            let multiples = [0, 1, 2, 1000, u32::MAX / value].map(|times| value.wrapping_mul(times));
            for number in multiples.iter().flat_map(|&at| [at.wrapping_sub(1), at, at.wrapping_add(1)]) {
                assert_eq!(divisor.divide(number), number / value, "{number} / {value}");
                assert_eq!(divisor.rest(number), number % value, "{number} % {value}");
            }
        }
    }

    proptest! {
        #[test]
        fn quotients_are_exact(number: u32, value in 1..=u32::MAX) {
            prop_assert_eq!(Divisor::new(value).divide(number), number / value);
        }
    }
}
