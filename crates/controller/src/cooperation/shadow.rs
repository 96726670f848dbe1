//! ShadowGC ("ShadowGC: Cooperative Garbage Collection with Multi-level Buffer for Performance Improvement in NAND
//! flash-based SSDs", DATE 2018) and the schemes it is compared with: a flash page whose logical page is dirty in a write
//! buffer is a *shadow*, since it will soon be replaced.
//!
//! State of a flash page: bit 0 valid, bit 1 dirty in the host's buffer, bit 2 dirty in the device's. The FTL keeps them
//! ([`Marks`]): 3 bits a page and 4 bytes a block.
//!
//! ```text
//! 001 valid   011 host-shadow   101 device-shadow   111 twin-shadow
//!
//! 001 ─host dirties→ 011 ─host evicts→ 101 ─host dirties→ 111 ─host evicts→ 101        001 ─write past the host→ 101
//! 101 ─device evicts→ 000, a new page 001     111 ─device evicts→ 011, no program     011 ─host drops→ 001
//! GC:  001→001   011→011   101→001   111→011
//! ```
//!
//! **A flush is a promise.** Every dirty page of the device's buffer is programmed, twins included. A twin that was evicted
//! before is gone, though, and its newest data is in the host: so a host that tells of its dirty pages writes them all
//! before it flushes the device. Nothing else would do: a flush that left them in the host would promise what the device
//! has let go.
//!
//! A scheme is put together of pieces: which shadows it knows of, how far it puts their blocks off (λ), whether they go to
//! blocks of their own, whether these are programmed fast, and whether a device-shadow is read from its buffer, whose copy
//! is clean then.
//!
//! | | knows of | λ | apart | fast | from the buffer | twins discarded |
//! |---|---|---|---|---|---|---|
//! | `ggc` | none | | | | | |
//! | `separation` | host (option) | | yes | | | |
//! | `delay` | host (option) | 1 (option) | | | | |
//! | `zgc` | host | 1 (option) | yes | | | |
//! | `hgc` | host | | yes | yes | | |
//! | `dgc` | device | | | | yes | |
//! | `sgc` | both | | host | host | yes | yes |

use super::{CooperationScheme, GcAnswers};
use crate::write_back::{Below, Cached};
use coflash_base::Lpn;
use coflash_base::Policy;
use coflash_base::policy::NoParameters;
use coflash_cache::Cache;
use coflash_flash::{Media, Mode};
use coflash_ftl::{Demands, Fate, Ftl, Marks, Source, Stream, Tier, Weight, Weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// Which shadows a scheme knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shadows {
    /// Pages that are dirty in the host's buffer.
    #[default]
    Host,
    /// Pages that are dirty in the device's buffer.
    Device,
    /// Both.
    Both,
}

impl Shadows {
    fn marks(self) -> Marks {
        Marks { host: self != Self::Device, device: self != Self::Host }
    }
}

/// What becomes of a page that is dirty in both buffers when the host flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Twins {
    /// The device's copy is programmed: a flush is a promise.
    #[default]
    Durable,
    /// It is discarded as in an eviction, and lost if power is cut before the host writes its own. A literal reading of the
    /// paper, to compare with: it breaks the promise.
    Discarded,
}

/// Parameters of `separation`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeparationConfig {
    /// Which shadows go to blocks of their own.
    pub shadows: Shadows,
}

/// Parameters of `delay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelayConfig {
    /// Which shadows put a block off.
    pub shadows: Shadows,
    /// What a shadow counts in a victim's cost beyond any valid page, from 0 to 15. Kept to the nearest sixteenth.
    pub lambda: f64,
}

impl Default for DelayConfig {
    fn default() -> Self {
        Self { shadows: Shadows::default(), lambda: 1.0 }
    }
}

/// Parameters of `zgc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ZgcConfig {
    /// What a shadow counts in a victim's cost beyond any valid page, from 0 to 15. Kept to the nearest sixteenth.
    pub lambda: f64,
}

impl Default for ZgcConfig {
    fn default() -> Self {
        Self { lambda: 1.0 }
    }
}

/// Parameters of `sgc`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SgcConfig {
    /// What becomes of the device's copy of a page that is dirty in both buffers, when the host flushes.
    pub twins_at_flush: Twins,
}

/// What a scheme is put together of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pieces {
    /// The shadows it knows of.
    knows: Marks,
    /// What a shadow counts beyond a valid page.
    lambda: f64,
    /// The shadows that GC writes to blocks of their own.
    apart: Marks,
    /// Whether those blocks are programmed fast.
    fast: bool,
    /// Whether GC takes a device-shadow from the buffer.
    from_buffer: bool,
    /// Whether the device lets go of its copy of a twin without a program.
    discards_twins: bool,
    /// Also in a flush.
    breaks_promise: bool,
}

/// A scheme by name: nothing but its pieces.
pub trait Plan: Clone {
    /// Its parameters.
    type Config: Clone
        + std::fmt::Debug
        + Default
        + PartialEq
        + Serialize
        + serde::de::DeserializeOwned
        + JsonSchema;
    /// What it does, in one sentence.
    const SUMMARY: &'static str;
    /// What it is put together of.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only schemes look at their pieces")]
    fn pieces(config: &Self::Config) -> Pieces;
}

/// The schemes: name, parameters, sentence, pieces.
macro_rules! plans {
    ($($(#[$meta:meta])* $plan:ident($config:ty), $summary:literal, $pieces:expr;)*) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $plan;

        impl Plan for $plan {
            type Config = $config;
            const SUMMARY: &'static str = $summary;
            #[allow(private_interfaces, reason = "only schemes look at their pieces")]
            fn pieces(config: &$config) -> Pieces {
                let pieces: fn(&$config) -> Pieces = $pieces;
                pieces(config)
            }
        })*
    };
}

const HOST: Marks = Marks { host: true, device: false };
const BOTH: Marks = Marks { host: true, device: true };

plans! {
    /// `ggc`
    Ggc(NoParameters), "GC knows nothing of write buffers (greedy only)", |_| Pieces::default();
    /// `separation`
    Separation(SeparationConfig), "GC writes shadows, pages about to be replaced, to blocks of their own",
        |config| Pieces { knows: config.shadows.marks(), apart: config.shadows.marks(), ..Pieces::default() };
    /// `delay`
    Delay(DelayConfig), "blocks with many shadows are put off",
        |config| Pieces { knows: config.shadows.marks(), lambda: config.lambda, ..Pieces::default() };
    /// `zgc`
    Zgc(ZgcConfig), "separation and delay, for pages that are dirty in the host (zombies)",
        |config| Pieces { knows: HOST, apart: HOST, lambda: config.lambda, ..Pieces::default() };
    /// `hgc`
    Hgc(NoParameters), "pages that are dirty in the host go to blocks of their own, programmed fast",
        |_| Pieces { knows: HOST, apart: HOST, fast: true, ..Pieces::default() };
    /// `dgc`
    Dgc(NoParameters), "GC takes pages that are dirty in the device's buffer from there, and need not write them again",
        |_| Pieces { knows: Marks::DEVICE, from_buffer: true, ..Pieces::default() };
    /// `sgc`
    Sgc(SgcConfig), "ShadowGC: hgc and dgc, and what is dirty in both buffers is not written by the device",
        |config| Pieces {
            knows: BOTH,
            apart: HOST,
            fast: true,
            from_buffer: true,
            discards_twins: true,
            breaks_promise: config.twins_at_flush == Twins::Discarded,
            ..Pieces::default()
        };
}

/// What a scheme has seen and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowTally {
    /// Pages that GC or refresh moved, by what the scheme knew of them: valid, host-, device-, twin-shadow.
    pub moved_pages: [u64; 4],
    /// Of those, pages taken from the device's buffer.
    pub from_buffer_pages: u64,
    /// Of those, pages programmed fast.
    pub fast_pages: u64,
    /// Twins that the device let go of without a program.
    pub discarded_twins_pages: u64,
}

/// Any of the schemes above.
#[derive(Clone, Debug)]
pub struct Shadow<P> {
    pieces: Pieces,
    tally: ShadowTally,
    plan: PhantomData<P>,
}

impl<P: Plan> Policy for Shadow<P> {
    type Config = P::Config;
    const SUMMARY: &'static str = P::SUMMARY;
    const SOURCE: &'static str = "ShadowGC, DATE 2018";
}

impl<P: Plan> Shadow<P> {
    fn weight(&self) -> Weight {
        Weight::nearest(1.0 + self.pieces.lambda)
    }
}

impl<P: Plan> GcAnswers for Shadow<P> {
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, _: &mut M) -> Fate {
        let Pieces { apart, fast, from_buffer, .. } = self.pieces;
        self.tally.moved_pages[marks.index()] += 1;
        if !marks.any() {
            return Fate::COPY;
        }
        let source = if from_buffer && marks.device {
            let slot = cache.lookup(lpn).expect("a device-shadow is in the buffer");
            cache.set_dirty(slot, false);
            self.tally.from_buffer_pages += 1;
            Source::Slot(slot.get())
        } else {
            Source::Flash
        };
        if marks.host && apart.host || marks.device && apart.device {
            let mode = if fast { Mode::Fast } else { Mode::Normal };
            self.tally.fast_pages += u64::from(fast);
            Fate::Copy { source, stream: Stream::Shadow, mode }
        } else {
            Fate::Copy { source, stream: Stream::Gc, mode: Mode::Normal }
        }
    }

    fn copies_unmarked(&mut self, pages: u32) {
        self.tally.moved_pages[Marks::NONE.index()] += u64::from(pages);
    }

    #[inline(always)]
    fn weights(&mut self, _: &Cache) -> Weights {
        Weights::all(self.weight())
    }
}

impl<P: Plan> CooperationScheme for Shadow<P> {
    fn new(config: &P::Config, _: u32) -> Self {
        Self { pieces: P::pieces(config), tally: ShadowTally::default(), plan: PhantomData }
    }

    fn demands(&self) -> Demands {
        let weight_max = self.weight();
        let fractional = !weight_max.0.is_multiple_of(Weight::SIXTEENTHS);
        Demands { fractional, weight_max, shadow_stream: self.pieces.apart.any(), ..Demands::NONE }
    }

    /// 001 → 101, 011 → 101, 111 → 101: what the host writes it holds dirty no more.
    #[inline(always)]
    fn written<B: Below>(&mut self, page: Cached, _: &Cache, below: &mut B) {
        if self.pieces.knows.device {
            below.shadow(page.lpn, Tier::Device, true);
        }
        if self.pieces.knows.host {
            below.shadow(page.lpn, Tier::Host, false);
        }
    }

    /// 111 → 011, in an eviction, and in a flush where the promise does not count. Else a program follows: GC, which may
    /// come by while room is made for that, takes nothing from the buffer that is on its way to flash already.
    #[inline(always)]
    fn discards<B: Below>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool {
        let may = self.pieces.discards_twins && (!in_flush || self.pieces.breaks_promise);
        let discards = may && below.shadows(page.lpn) == BOTH;
        self.tally.discarded_twins_pages += u64::from(discards);
        if self.pieces.knows.device {
            below.shadow(page.lpn, Tier::Device, false);
        }
        discards
    }

    fn shadows(&self) -> Option<(Marks, &ShadowTally)> {
        Some((self.pieces.knows, &self.tally))
    }

    fn refuses(&self, volatile: bool) -> Option<(&'static str, String)> {
        if !(0.0..=15.0).contains(&self.pieces.lambda) {
            let problem = format!("{} was given; from 0 to 15 is allowed", self.pieces.lambda);
            return Some(("cooperation.lambda", problem));
        }
        (self.pieces.discards_twins && !volatile).then(|| {
            let problem = "false was given; sgc lets go of the device's copy of what is dirty in the host too, which a \
                           non-volatile cache has promised to keep: true is allowed, or cooperation \"dgc\" or \"hgc\""
                .to_owned();
            ("cache.volatile", problem)
        })
    }

    /// A page is marked for the device's tier if, and only if, it is mapped and dirty in the buffer.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for lpn in ftl.mapped() {
            let marks = ftl.marks(lpn).expect("it is mapped");
            let dirty = cache.lookup(lpn).is_some_and(|slot| cache.is_dirty(slot));
            assert_eq!(marks.device, dirty && self.pieces.knows.device, "{lpn:?}: device-shadow");
            assert!(!marks.host || self.pieces.knows.host, "{lpn:?}: host-shadow");
        }
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            assert!(!cache.is_orphan(slot), "{lpn:?} is an orphan, but GC drops nothing");
            assert!(cache.is_dirty(slot) || ftl.lookup(lpn).is_some(), "{lpn:?} is cached clean, so mapped");
        }
    }
}
