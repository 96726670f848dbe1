//! Score: the class of a page is the value of an expression over features of the page, rounded down. A value
//! below the first class, or NaN, gives the first class; a value above the last class gives the last.
//!
//! 9 bytes per page: the time and number of its writes, and its copies since then.

use super::life::Life;
use super::times::Times;
use super::{Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite};
use crate::stream::WriteStream;
use coflash_base::expression::{Expression, Features, Over};
use coflash_base::{IdVec, Lpn, Misfit, Policy, Save};

/// A page that is written or copied.
#[derive(Clone, Copy)]
struct Page {
    lpn: Lpn,
    is_copy: bool,
    is_evicted: bool,
    /// The class of the block with its old copy, or of the block that it is copied from.
    from: Option<Class>,
    now: u64,
}

/// The value of a feature for a page.
type Feature = fn(Page, &Known) -> f64;

/// The features by name.
const FEATURES: [(&str, Feature); 9] = [
    ("gc", |page, _| f64::from(page.is_copy)),
    ("evicted", |page, _| f64::from(page.is_evicted)),
    ("share", |page, known| f64::from(page.lpn.get()) / known.writes.len() as f64),
    ("pages", |_, known| known.writes.len() as f64),
    ("age", |page, known| match page.from {
        Some(_) => known.written.age(page.lpn, page.now) as f64,
        None => f64::INFINITY,
    }),
    ("writes", |page, known| f64::from(known.writes[page.lpn])),
    ("copies", |page, known| f64::from(known.copies[page.lpn])),
    ("class", |page, _| page.from.map_or(-1.0, |class| f64::from(class.get()))),
    ("life", |_, known| if known.life.mean == u64::MAX { f64::INFINITY } else { known.life.mean as f64 }),
];

/// The features of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfPage;

impl Features for OfPage {
    fn names() -> Vec<&'static str> {
        FEATURES.map(|(name, _)| name).to_vec()
    }
}

coflash_base::config! {
    /// Parameters of `score`.
    pub struct PlacementScoreConfig {
        /// An expression whose value, rounded down, is the class, over the features of a page: `gc`, 1 for a page that GC copies,
        /// else 0; `evicted`, 1 for one that a cache in the device evicts; `share`, its place in the address space from 0 to 1;
        /// `pages`, the logical pages of the device; `age`, pages written since it was, infinite for a page without data;
        /// `writes`, how often it was written before; `copies`, how often GC has copied it since; `class`, the class of the block
        /// with the copy that it replaces or that is copied, −1 without one; `life`, the mean life of the 16 blocks of class 0
        /// cleaned last, in pages written, infinite before. Operators and functions are those of `gc.victim.score`.
        pub score: Over<OfPage> = Over::parse("gc").expect("it is a feature"),
        /// Number of classes, from 1 to 16.
        pub classes: u32 = 2,
        /// Number of classes that GC copies into, the last ones; all if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub gc_classes: Option<u32>,
    }
}

/// The record of each page.
#[derive(Clone, Save)]
struct Known {
    written: Times,
    writes: IdVec<Lpn, u32>,
    copies: IdVec<Lpn, u8>,
    life: Life,
}

/// The policy of a score.
#[derive(Clone, Save)]
pub struct PlacementByScore {
    score: Expression,
    columns: Vec<[f64; 1]>,
    /// The number of classes, and the first one that GC copies into.
    classes: u32,
    first_gc: u32,
    known: Known,
}

impl PlacementByScore {
    /// The value of the score, within the classes from the first one on.
    #[inline]
    fn class(&mut self, first: u32, page: Page) -> Class {
        let known = &self.known;
        self.score.evaluate(&mut self.columns, |feature, [value]| *value = FEATURES[feature].1(page, known));
        // The conversion saturates: negative numbers and NaN become 0.
        Class::new((self.columns[0][0] as u32).clamp(first, self.classes - 1))
    }
}

impl Policy for PlacementByScore {
    type Config = PlacementScoreConfig;
    const SUMMARY: &'static str =
        "Classes by the value of an expression; the default separates what GC copies.";
    const SOURCE: &'static str = "the expression is the user's; the default: Van Houdt 2014";
}

impl PlacementPolicy for PlacementByScore {
    const BYTES_PER_PAGE: u32 = 9;

    fn classes(config: &PlacementScoreConfig) -> Result<Classes, Misfit> {
        super::own_classes(config.classes, config.gc_classes)
    }

    fn new(config: &PlacementScoreConfig, shape: Shape) -> Self {
        let score = config.score.expression().clone();
        Self {
            columns: score.columns(),
            score,
            classes: config.classes,
            first_gc: config.classes - config.gc_classes.unwrap_or(config.classes),
            known: Known {
                written: Times::new(shape.pages),
                writes: IdVec::filled(0, shape.pages as usize),
                copies: IdVec::filled(0, shape.pages as usize),
                life: Life::default(),
            },
        }
    }

    fn user_write(&mut self, UserWrite { lpn, stream, now, replaces, .. }: UserWrite) -> Class {
        let is_evicted = stream == WriteStream::Evict;
        let class = self
            .class(0, Page { lpn, is_copy: false, is_evicted, from: replaces.map(|block| block.class), now });
        self.known.written.set(lpn, now);
        self.known.writes[lpn] = self.known.writes[lpn].saturating_add(1);
        self.known.copies[lpn] = 0;
        class
    }

    fn gc_write(&mut self, GcWrite { lpn, now, from, .. }: GcWrite) -> Class {
        let page = Page { lpn, is_copy: true, is_evicted: false, from: Some(from), now };
        let class = self.class(self.first_gc, page);
        self.known.copies[lpn] = self.known.copies[lpn].saturating_add(1);
        class
    }

    fn cleaned(&mut self, block: Cleaned) {
        self.known.life.cleaned(block);
    }
}
