//! Random layout of ranks in the space: a [`Permutation`] of its blocks.

use super::{Space, refuse};
use crate::WorkloadError;
use coflash_base::{Bytes, Permutation};

/// A bijection from ranks to positions, chosen by the seed. Blocks of ranks stay together.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    block_units: u64,
    /// Logarithm of `block_units` if that is a power of two, the usual case: it saves a division.
    block_shift: Option<u32>,
    /// Permutation of whole blocks; the units after the last whole block keep their positions.
    blocks: Permutation,
}

impl Scatter {
    /// Create the bijection from the parameters `scattered` and `scatter_block`; `None` if ranks are positions.
    pub(super) fn new(
        scattered: bool,
        block: Option<Bytes>,
        space: Space,
    ) -> Result<Option<Self>, WorkloadError> {
        const KEY: &str = "generator.scatter_block";
        let block = match (scattered, block) {
            (false, None) => return Ok(None),
            (false, Some(block)) => {
                return refuse(KEY, format!("{block} was given; with scattered = false none is allowed"));
            }
            (true, block) => block.unwrap_or(space.align),
        };
        let block_units = block.count / space.align.count;
        if !block.count.is_multiple_of(space.align.count) || !(1..=space.units).contains(&block_units) {
            let most = Bytes { count: space.units * space.align.count };
            let problem = format!(
                "{block} was given; a multiple of align, {}, up to the space, {most}, is allowed",
                space.align
            );
            return refuse(KEY, problem);
        }
        let blocks = Permutation::new(space.units / block_units, &mut space.seed.stream("scatter"));
        let block_shift = block_units.is_power_of_two().then(|| block_units.trailing_zeros());
        Ok(Some(Self { block_units, block_shift, blocks }))
    }

    #[inline]
    pub(super) fn position(&self, rank: u64) -> u64 {
        let (block, within) = match self.block_shift {
            Some(shift) => (rank >> shift, rank & (self.block_units - 1)),
            None => (rank / self.block_units, rank % self.block_units),
        };
        if block >= self.blocks.count() {
            return rank;
        }
        self.blocks.at(block) * self.block_units + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use proptest::prelude::*;

    fn scatter(units: u64, block: u64, seed: u64) -> Scatter {
        let space = Space { units, align: Bytes { count: 1 }, seed: Seed(seed) };
        Scatter::new(true, Some(Bytes { count: block }), space).unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn every_position_is_reached_once(positions in 1_u64..5000, block in 1_u64..50, seed: u64) {
            let block = block.min(positions);
            let scatter = scatter(positions, block, seed);
            for rank in (0..positions).filter(|rank| rank % block > 0) {
                prop_assert_eq!(scatter.position(rank), scatter.position(rank - 1) + 1);
            }
            let mut reached: Vec<u64> = (0..positions).map(|rank| scatter.position(rank)).collect();
            reached.sort_unstable();
            prop_assert!(reached.into_iter().eq(0..positions));
        }
    }

    #[test]
    fn neighbours_are_torn_apart_evenly() {
        // The hottest percent of the ranks must not gather anywhere: 10,000 of them over 10 tenths of the space.
        let scatter = scatter(1_000_000, 1, 1);
        let mut tenths = [0_u64; 10];
        (0..10_000).for_each(|rank| tenths[(scatter.position(rank) / 100_000) as usize] += 1);
        assert!(tenths.iter().all(|count| count.abs_diff(1000) < 120), "{tenths:?}");
        let adjacent = (0..10_000).filter(|&r| scatter.position(r).abs_diff(scatter.position(r + 1)) < 100);
        assert!(adjacent.count() < 20);
    }
}
