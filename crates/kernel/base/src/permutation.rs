//! Pseudorandom permutations of the numbers from 0 to n − 1, without a table.
//!
//! Each round adds a number, multiplies by an odd number and folds the upper half of the bits into the lower one.
//! These steps are invertible, so they permute the numbers of ⌈log2 n⌉ bits. A result of n or more goes through the
//! rounds again until it is below n (cycle walking), which keeps the map a bijection.
//!
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains" (2002), for the cycle walking.
//! Cost: O(1), fewer than two passes on average.

use crate::seed::{RandomStream, Rng};

/// A random bijection of the numbers below `len`.
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    mask: u64,
    fold: u32,
    /// Summand and factor of each round; without the addition, 0 would be a fixed point.
    rounds: [(u64, u64); 3],
}

impl Permutation {
    /// Create a permutation of at least one number.
    #[must_use]
    pub fn new(len: u64, stream: &mut RandomStream) -> Self {
        let bits = u64::BITS - (len - 1).leading_zeros();
        let rounds = [(); 3].map(|()| (stream.next_u64(), stream.next_u64() | 1));
        Self { len, mask: (1_u64 << bits) - 1, fold: bits.div_ceil(2).max(1), rounds }
    }

    /// The number of permuted numbers.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.len
    }

    /// The image of a number.
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
