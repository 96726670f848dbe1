//! The one question GC asks: what becomes of this valid page?

use coflash_base::Lpn;
use coflash_flash::Media;

/// What becomes of a valid page of a GC victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is copied: no other tier holds it.
    Copy,
    /// It is dropped: another tier holds the data and has taken responsibility for it.
    Drop,
}

/// Whoever knows of other copies: a cooperation scheme.
pub trait Advisor {
    /// Asked once for each valid page of a victim, when its turn to be copied comes. `marked` is what
    /// [`Ftl::mark`](crate::Ftl::mark) said of the page. After [`Fate::Drop`] the page is no longer mapped: the advisor
    /// must have made sure that its data lives elsewhere. It must not call back into the FTL.
    fn fate<M: Media>(&mut self, page: Lpn, marked: bool, media: &mut M) -> Fate;

    /// Called before a block is erased from which pages were dropped: what the advisor has taken responsibility for must
    /// be durable when it returns.
    fn before_erase<M: Media>(&mut self, media: &mut M) {
        let _ = media;
    }

    /// What marked pages count in a victim's cost, by their grade. Asked once per cleaned block; may change over time. Less
    /// than [`Weight::FULL`] only where such pages are dropped: blocks of marked pages that look cheap and are copied all
    /// the same would be picked again and again, and GC would not end.
    fn weights(&mut self) -> Weights {
        Weights::all(Weight::FULL)
    }
}

/// Nobody knows of other copies: every valid page is copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyAll;

impl Advisor for CopyAll {
    #[inline(always)]
    fn fate<M: Media>(&mut self, _: Lpn, _: bool, _: &mut M) -> Fate {
        Fate::Copy
    }
}

/// A mark is of one of a few grades; what each means is the advisor's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Grade(u8);

impl Grade {
    /// How many there are.
    pub const COUNT: usize = 3;
    /// That of a page that was just marked.
    pub const FIRST: Self = Self(0);
    /// The last one.
    pub const LAST: Self = Self(Self::COUNT as u8 - 1);

    /// The grade after this one; the last stays.
    #[must_use]
    pub fn next(self) -> Self {
        Self((self.0 + 1).min(Self::LAST.0))
    }

    /// All of them in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// As a place in a table of [`COUNT`](Self::COUNT).
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

/// What a marked page counts, by its grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights(pub [Weight; Grade::COUNT]);

impl Weights {
    /// The same for all grades.
    #[must_use]
    pub fn all(weight: Weight) -> Self {
        Self([weight; Grade::COUNT])
    }
}

/// How much of a page copy a marked page counts, in sixteenths: 0 is free, 16 counts as any valid page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(pub u32);

impl Weight {
    /// Sixteenths in a whole page.
    pub const SIXTEENTHS: u32 = 16;
    /// Counts as any valid page.
    pub const FULL: Self = Self(Self::SIXTEENTHS);
    /// Counts nothing.
    pub const NONE: Self = Self(0);

    /// The nearest weight to a number from 0 to 1.
    #[must_use]
    pub fn nearest(weight: f64) -> Self {
        Self((weight.clamp(0.0, 1.0) * f64::from(Self::SIXTEENTHS)).round() as u32)
    }
}
