//! The one question GC asks: what becomes of this valid page?

use crate::marks::Marks;
use crate::pool::Stream;
use coflash_base::Lpn;
use coflash_flash::{Media, Mode};
use serde::{Deserialize, Serialize};

/// What becomes of a valid page of a GC victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is written to another block.
    Copy {
        /// Where its data is taken from.
        source: Source,
        /// The stream whose active block takes it: [`Stream::Gc`], or one that was [demanded](Demands) for copies.
        stream: Stream,
        /// How it is programmed.
        mode: Mode,
    },
    /// It is copied as [`COPY`](Self::COPY) says, and its marks were out of date: the copy has none.
    CopyUnmarked,
    /// It is dropped: another tier holds the data and has taken responsibility for it.
    Drop,
}

impl Fate {
    /// No other tier holds it: copied from flash, to where GC's copies go.
    pub const COPY: Self = Self::Copy { source: Source::Flash, stream: Stream::Gc, mode: Mode::Normal };
}

/// Where the data of a page that GC moves is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The page of the victim.
    Flash,
    /// A slot of the device's cache, whose data is as new or newer: the mark of the device's tier is taken back.
    Slot(u32),
}

/// What an advisor may ask for beyond copies of every valid page, and marked pages that count all or nothing. The FTL is
/// built for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demands {
    /// Whether a marked page may count a fraction of a page in a victim's cost.
    #[serde(rename = "fractional_costs")]
    pub fractional: bool,
    /// The most that a marked page may count.
    #[serde(default, skip_serializing_if = "is_full")]
    pub weight_max: Weight,
    /// Whether [`Stream::Shadow`] is used, and needs an active block of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow_stream: bool,
    /// Whether copies go to [`Stream::Evict`], too: GC may then find one block more full when it begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evict_stream: bool,
    /// Whether marks have grades other than the first: two bits a page more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grades: bool,
}

impl Demands {
    /// Nothing more.
    pub const NONE: Self = Self {
        fractional: false,
        weight_max: Weight::FULL,
        shadow_stream: false,
        evict_stream: false,
        grades: false,
    };

    /// The streams that GC copies to.
    pub(crate) fn copy_streams(&self) -> impl Iterator<Item = Stream> {
        let more = [(self.shadow_stream, Stream::Shadow), (self.evict_stream, Stream::Evict)];
        std::iter::once(Stream::Gc)
            .chain(more.into_iter().filter_map(|(demanded, stream)| demanded.then_some(stream)))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_full(weight: &Weight) -> bool {
    *weight == Weight::FULL
}

/// Whoever knows of other copies: a cooperation scheme.
pub trait Advisor {
    /// Asked once for each valid page of a victim, when its turn to be copied comes. `marks` are what
    /// [`Ftl::set_mark`](crate::Ftl::set_mark) said of the page. After [`Fate::Drop`] the page is no longer mapped: the advisor
    /// must have made sure that its data lives elsewhere. It must not call back into the FTL.
    fn fate<M: Media>(&mut self, page: Lpn, marks: Marks, media: &mut M) -> Fate;

    /// Asked of a victim that is cleaned at one go, with how many of its valid pages no tier has marked: whether these are
    /// copied, all of them, as [`Fate::COPY`] says. Then nothing is asked of the single ones.
    fn copies_unmarked(&mut self, pages: u32) -> bool {
        let _ = pages;
        false
    }

    /// Called before a block is erased from which pages were dropped: what the advisor has taken responsibility for must
    /// be durable when it returns. What it returns is when the erase may begin, `after` or later.
    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        let _ = media;
        after
    }

    /// What marked pages count in a victim's cost, by their grade. Asked once per cleaned block; may change over time, within
    /// what was [demanded](Demands). Less than [`Weight::FULL`] only where such pages are dropped or lose their mark: blocks
    /// of marked pages that look cheap and are copied all the same would be picked again and again, and GC would not end.
    /// More than it puts a block off; one without an invalid page is then put off for longest, so that GC ends in any case.
    fn weights(&mut self) -> Weights {
        Weights::all(Weight::FULL)
    }
}

/// Nobody knows of other copies: every valid page is copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyAll;

impl Advisor for CopyAll {
    #[inline(always)]
    fn fate<M: Media>(&mut self, _: Lpn, _: Marks, _: &mut M) -> Fate {
        Fate::COPY
    }

    fn copies_unmarked(&mut self, _: u32) -> bool {
        true
    }
}

/// The mark of the device's tier is of one of a few grades; what each means is the advisor's affair.
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

/// What a marked page counts, by its grade; one that only the host's tier marks is of the first.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Weight(pub u32);

impl Default for Weight {
    fn default() -> Self {
        Self::FULL
    }
}

impl Weight {
    /// Sixteenths in a whole page.
    pub const SIXTEENTHS: u32 = 16;
    /// Counts as any valid page.
    pub const FULL: Self = Self(Self::SIXTEENTHS);
    /// Counts nothing.
    pub const NONE: Self = Self(0);

    /// Counts as sixteen valid pages.
    pub const MAX: Self = Self(16 * Self::SIXTEENTHS);

    /// The nearest weight to a number from 0 to 16.
    #[must_use]
    pub fn nearest(weight: f64) -> Self {
        Self((weight.clamp(0.0, 16.0) * f64::from(Self::SIXTEENTHS)).round() as u32)
    }
}
