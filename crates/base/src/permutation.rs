//! A permutation of the first numbers that looks random and needs no table.
//!
//! Each round multiplies by an odd number and folds the upper half of the bits into the lower one; both steps can be
//! undone, so together they permute the numbers of so many bits. What lands outside is sent through again until it lands
//! inside (cycle walking), which keeps the map a bijection.
//!
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains" (2002), for the cycle walking.
//! Cost: O(1), fewer than two passes on average.

use crate::seed::{Rng, Stream};

/// A bijection of the numbers below `len`, drawn from a stream.
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    mask: u64,
    fold: u32,
    /// What each round adds and multiplies by; without the addition zero would stay where it is.
    rounds: [(u64, u64); 3],
}

impl Permutation {
    /// Of at least one number.
    #[must_use]
    pub fn new(len: u64, stream: &mut Stream) -> Self {
        let bits = u64::BITS - (len - 1).leading_zeros();
        let rounds = [(); 3].map(|()| (stream.next_u64(), stream.next_u64() | 1));
        Self { len, mask: (1_u64 << bits) - 1, fold: bits.div_ceil(2).max(1), rounds }
    }

    /// How many numbers it permutes.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.len
    }

    /// Where a number goes.
    #[inline]
    #[must_use]
    pub fn at(&self, number: u64) -> u64 {
        let mut x = number;
        loop {
            for (add, multiply) in self.rounds {
                x = x.wrapping_add(add).wrapping_mul(multiply) & self.mask;
                x ^= x >> self.fold;
            }
            if x < self.len {
                return x;
            }
        }
    }
}
