//! Spreads ranks over the space: a bijection that looks random and needs no table.
//!
//! Each round multiplies by an odd number and folds the upper half of the bits into the lower one; both steps can be
//! undone, so together they permute the numbers of so many bits. What lands outside the space is sent through again
//! until it lands inside (cycle walking), which keeps the map a bijection of the space.
//!
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains" (2002), for the cycle walking.
//! Cost: O(1), fewer than two passes on average.

use coflash_base::Seed;
use coflash_base::seed::Rng;

/// A bijection of the positions 0 to `positions` − 1, chosen by the seed.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    positions: u64,
    mask: u64,
    fold: u32,
    /// What each round adds and multiplies by; without the addition zero would stay where it is.
    rounds: [(u64, u64); 3],
}

impl Scatter {
    pub(super) fn new(positions: u64, seed: Seed) -> Self {
        let bits = u64::BITS - (positions - 1).leading_zeros();
        let mut stream = seed.stream("scatter");
        let rounds = [(); 3].map(|()| (stream.next_u64(), stream.next_u64() | 1));
        Self { positions, mask: (1_u64 << bits) - 1, fold: bits.div_ceil(2).max(1), rounds }
    }

    #[inline]
    pub(super) fn position(&self, rank: u64) -> u64 {
        let mut x = rank;
        loop {
            for (add, multiply) in self.rounds {
                x = x.wrapping_add(add).wrapping_mul(multiply) & self.mask;
                x ^= x >> self.fold;
            }
            if x < self.positions {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_position_is_reached_once(positions in 1_u64..5000, seed: u64) {
            let scatter = Scatter::new(positions, Seed(seed));
            let mut reached: Vec<u64> = (0..positions).map(|rank| scatter.position(rank)).collect();
            reached.sort_unstable();
            prop_assert!(reached.into_iter().eq(0..positions));
        }
    }

    #[test]
    fn neighbours_are_torn_apart_evenly() {
        // The hottest percent of the ranks must not gather anywhere: 10,000 of them over 10 tenths of the space.
        let scatter = Scatter::new(1_000_000, Seed(1));
        let mut tenths = [0_u64; 10];
        (0..10_000).for_each(|rank| tenths[(scatter.position(rank) / 100_000) as usize] += 1);
        assert!(tenths.iter().all(|count| count.abs_diff(1000) < 120), "{tenths:?}");
        let adjacent = (0..10_000).filter(|&r| scatter.position(r).abs_diff(scatter.position(r + 1)) < 100);
        assert!(adjacent.count() < 20);
    }
}
