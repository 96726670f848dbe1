//! The one question GC asks: what becomes of this valid page?

use coflash_base::Lpn;
use coflash_flash::Media;

/// What becomes of a valid page of a GC victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is copied: no other tier holds it.
    Copy,
    /// It is copied, and its mark was out of date: the copy has none.
    CopyUnmarked,
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
    /// be durable when it returns. What it returns is when the erase may begin, `after` or later.
    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        let _ = media;
        after
    }

    /// What a marked page counts in a victim's cost. Asked once per cleaned block; may change over time. Less than
    /// [`Weight::FULL`] only where marked pages are dropped or lose their mark: blocks of marked pages that look cheap and are copied all
    /// the same would be picked again and again, and GC would not end.
    fn marked_weight(&self) -> Weight {
        Weight::FULL
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
