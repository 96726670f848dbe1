//! Cost weights of marked pages in a victim's cost.

use coflash_base::Save;
use serde::{Deserialize, Serialize};

/// The time since the last use of a marked page, in a few classes. The scheme that marks pages defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Save)]
pub struct AgeClass(u8);

impl AgeClass {
    /// The number of classes.
    pub const COUNT: usize = 3;
    /// The class of a newly marked page.
    pub const FIRST: Self = Self(0);
    /// The last class.
    pub const LAST: Self = Self(Self::COUNT as u8 - 1);

    /// The class after this one; the last class stays.
    #[must_use]
    pub fn next(self) -> Self {
        Self((self.0 + 1).min(Self::LAST.0))
    }

    /// All classes in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The index in a table of [`COUNT`](Self::COUNT) entries.
    #[inline(always)]
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The inverse of [`index`](Self::index).
    #[inline(always)]
    pub(crate) fn at(index: u8) -> Self {
        debug_assert!(usize::from(index) < Self::COUNT);
        Self(index)
    }
}

/// The cost of a marked page in sixteenths of a page copy: 0 is free, 16 counts as any valid page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Save)]
pub struct Weight(pub u32);

impl Default for Weight {
    fn default() -> Self {
        Self::FULL
    }
}

impl Weight {
    /// The number of sixteenths in a whole page.
    pub const SIXTEENTHS: u32 = 16;
    /// Counts as any valid page.
    pub const FULL: Self = Self(Self::SIXTEENTHS);
    /// Counts as free.
    pub const NONE: Self = Self(0);
    /// Counts as sixteen valid pages.
    pub const MAX: Self = Self(16 * Self::SIXTEENTHS);

    /// The weight nearest to a number from 0 to 16.
    #[must_use]
    pub fn nearest(weight: f64) -> Self {
        Self((weight.clamp(0.0, 16.0) * f64::from(Self::SIXTEENTHS)).round() as u32)
    }
}

/// The weight of a marked page by its age class. A page marked only by the host's memory is in the first
/// class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Weights(pub [Weight; AgeClass::COUNT]);

impl Weights {
    /// The same for all classes.
    #[must_use]
    pub fn all(weight: Weight) -> Self {
        Self([weight; AgeClass::COUNT])
    }
}

/// The number of marked pages of a block in each age class after the first.
pub(crate) type Aged = [u32; AgeClass::COUNT - 1];

/// The unit of a victim's cost: whole pages if a marked page counts fully or not at all, sixteenths otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) struct Scale {
    /// The cost of a valid page.
    pub(crate) valid: u32,
    /// The cost of a marked page, by its age class.
    marked: [u32; AgeClass::COUNT],
    /// The number of valid pages at which a block costs `full_cost`, marked or not. It is out of reach unless
    /// marked pages have a weight above one: then a block without an invalid page must come last, since it
    /// frees nothing.
    full_pages: u32,
    /// The highest cost of a block.
    pub(crate) full_cost: u32,
}

impl Scale {
    /// Create a scale for blocks of `pages` data pages: a valid page costs `valid`, a marked page its weight
    /// times `valid`.
    pub(crate) fn new(valid: u32, weights: Weights, pages: u32) -> Self {
        let marked = weights.0.map(|weight| weight.0 * valid / Weight::SIXTEENTHS);
        let dearest = marked.into_iter().fold(valid, u32::max);
        let full_pages = if dearest > valid { pages } else { u32::MAX };
        Self { valid, marked, full_pages, full_cost: pages * dearest }
    }

    /// The cost of a block with `valid` valid pages, `marked` of them marked.
    #[inline(always)]
    pub(crate) fn cost(&self, valid: u32, marked: u32, aged: impl FnOnce() -> Aged) -> u32 {
        if valid == self.full_pages {
            return self.full_cost;
        }
        let mut cost = (valid - marked) * self.valid;
        if marked > 0 {
            cost += marked * self.marked[0];
            for (count, weight) in aged().into_iter().zip(&self.marked[1..]) {
                cost = cost + count * weight - count * self.marked[0];
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a weight above one, shadows make a block a worse victim, but a full block stays the worst.
    #[test]
    fn a_block_without_an_invalid_page_comes_last() {
        let scale = Scale::new(1, Weights::all(Weight(32)), 4);
        let costs = [(1, 0), (2, 0), (1, 1), (3, 0), (2, 2), (3, 3), (4, 0), (4, 4)]
            .map(|(valid, marked)| scale.cost(valid, marked, || [0; 2]));
        assert_eq!(costs, [1, 2, 2, 3, 4, 6, 8, 8]);
        assert_eq!(scale.full_cost, 8);
        let plain = Scale::new(16, Weights::all(Weight(8)), 4);
        let cost = |valid, marked, aged| plain.cost(valid, marked, || aged);
        assert_eq!([cost(4, 0, [0; 2]), cost(4, 4, [0; 2]), plain.full_cost], [64, 32, 64]);
        let by_age = Scale::new(16, Weights([Weight(8), Weight(0), Weight(16)]), 4);
        let cost = |marked, aged| by_age.cost(4, marked, || aged);
        assert_eq!([cost(4, [0, 0]), cost(4, [1, 2]), cost(2, [2, 0])], [32, 40, 32]);
    }
}
