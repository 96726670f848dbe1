//! ShadowGC ("ShadowGC: Cooperative Garbage Collection with Multi-level Buffer for Performance Improvement in
//! NAND flash-based SSDs", DATE 2018) and its baselines. A *shadow* is a flash page with newer data of its
//! logical page in a write buffer: it will soon be replaced.
//!
//! State of a flash page: bit 0 valid, bit 1 dirty in the host's buffer, bit 2 dirty in the device's. The FTL stores
//! them as [`Marks`]: 3 bits per page and 4 bytes per block.
//!
//! ```text
//! 001 valid   011 host-shadow   101 device-shadow   111 twin-shadow
//!
//! 001 ─host dirties→ 011 ─host evicts→ 101 ─host dirties→ 111 ─host evicts→ 101        001 ─write past the host→ 101
//! 101 ─device evicts→ 000, a new page 001     111 ─device evicts→ 011, no program     011 ─host drops→ 001
//! GC:  001→001   011→011   101→001   111→011
//! ```
//!
//! **A flush is a promise.** Every dirty page of the device's buffer is programmed, twins included. But a
//! twin evicted earlier is gone, and its newest data is in the host. A host that announces its dirty pages
//! therefore writes them all before it flushes the device; otherwise the flush would promise data that the
//! device has discarded.
//!
//! A scheme is a combination of features: the kinds of shadows it tracks, the penalty of their blocks as
//! victims (λ), separate blocks for shadows, fast programs for these, and reading device-shadows from the
//! buffer; the buffer's copy is clean after that.
//!
//! | | knows of | λ | separate | fast | from the buffer | twins discarded |
//! |---|---|---|---|---|---|---|
//! | `ggc` | none | | | | | |
//! | `separation` | host (option) | | yes | | | |
//! | `delay` | host (option) | 1 (option) | | | | |
//! | `zgc` | host | 1 (option) | yes | | | |
//! | `hgc` | host | | yes | yes | | |
//! | `dgc` | device | | | | yes | |
//! | `sgc` | both | | host | host | yes | yes |
//! | `hgc-dgc` | both | | host | host | yes | |
//! | `twin-discard` | both | | | | | yes |
//!
//! The last two take `sgc` apart: what discarding twins saves, alone and beside the rest.

use super::{CooperationScheme, Event, Needs, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates, Message};
use coflash_base::measure::Report;
use coflash_base::policy::{NoParameters, Parameters};
use coflash_base::{Lpn, Misfit, Policy, Save};
use coflash_cache::Cache;
use coflash_ftl::{CopySource, Decision, Ftl, Marks, Requirements, Weight, Weights, WriteStream};
use coflash_media::{Memory, Mode, Slot};
use std::marker::PhantomData;

coflash_base::config! {
    /// The shadows that a scheme knows of.
    pub enum Shadows, default Host {
        /// Pages that are dirty in the host's buffer.
        Host,
        /// Pages that are dirty in the device's buffer.
        Device,
        /// Both.
        Both,
    }
}

impl Shadows {
    fn marks(self) -> Marks {
        Marks { host: self != Self::Device, device: self != Self::Host }
    }
}

coflash_base::config! {
    /// The treatment of a page that is dirty in both buffers when the host flushes.
    pub enum Twins, default Durable {
        /// The device programs its copy: a flush is a promise.
        Durable,
        /// The device discards its copy as in an eviction. The data is lost if power is cut before the host writes its own
        /// copy: this literal reading of the paper breaks the promise of a flush. For comparison only.
        Discarded,
    }

    /// Parameters of `separation`.
    pub struct SeparationConfig {
        /// The shadows that GC writes to blocks of their own.
        pub shadows: Shadows,
    }

    /// Parameters of `delay`.
    pub struct DelayConfig {
        /// The shadows that make a block a worse victim.
        pub shadows: Shadows,
        /// The additional weight of a shadow in a victim's cost, compared with any valid page: from 0 to 15, rounded to the
        /// nearest sixteenth.
        pub lambda: f64 = 1.0,
    }

    /// Parameters of `zgc`.
    pub struct ZgcConfig {
        /// The additional weight of a shadow in a victim's cost, compared with any valid page: from 0 to 15, rounded to the
        /// nearest sixteenth.
        pub lambda: f64 = 1.0,
    }

    /// Parameters of `sgc`.
    pub struct SgcConfig {
        /// The treatment of the device's copy of a page that is dirty in both buffers, when the host flushes.
        pub twins_at_flush: Twins,
    }
}

/// The features of a scheme.
#[derive(Clone, Copy, Debug, Default, Save)]
pub(crate) struct Features {
    /// The shadows that the scheme tracks.
    knows: Marks,
    /// The additional weight of a shadow.
    lambda: f64,
    /// The shadows that GC writes to blocks of their own.
    separate: Marks,
    /// Whether the separate blocks are programmed fast.
    fast: bool,
    /// Whether GC takes a device-shadow from the buffer.
    from_buffer: bool,
    /// Whether an eviction discards the device's copy of a twin without a program.
    discards_twins: bool,
    /// Whether a flush discards it, too.
    breaks_promise: bool,
}

/// A named combination of features.
pub trait ShadowVariant: Clone {
    /// The parameters.
    type Config: Parameters;
    /// A summary in one sentence.
    const SUMMARY: &'static str;
    /// The features with these parameters.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only schemes look at their features")]
    fn features(config: &Self::Config) -> Features;
}

/// The schemes: name, parameters, summary, features.
macro_rules! variants {
    ($($(#[$meta:meta])* $variant:ident($config:ty), $summary:literal, $features:expr;)*) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, Save)]
        pub struct $variant;

        impl ShadowVariant for $variant {
            type Config = $config;
            const SUMMARY: &'static str = $summary;
            #[allow(private_interfaces, reason = "only schemes look at their features")]
            fn features(config: &$config) -> Features {
                let features: fn(&$config) -> Features = $features;
                features(config)
            }
        })*
    };
}

const HOST: Marks = Marks { host: true, device: false };

variants! {
    /// `ggc`
    Ggc(NoParameters), "GC knows nothing of write buffers (greedy only).", |_| Features::default();
    /// `separation`
    Separation(SeparationConfig), "GC writes shadows, pages about to be replaced, to blocks of their own.",
        |config| Features { knows: config.shadows.marks(), separate: config.shadows.marks(), ..Features::default() };
    /// `delay`
    Delay(DelayConfig), "Blocks with many shadows are worse victims.",
        |config| Features { knows: config.shadows.marks(), lambda: config.lambda, ..Features::default() };
    /// `zgc`
    Zgc(ZgcConfig), "Separation and delay, for pages that are dirty in the host (zombies).",
        |config| Features { knows: HOST, separate: HOST, lambda: config.lambda, ..Features::default() };
    /// `hgc`
    Hgc(NoParameters), "Pages that are dirty in the host go to blocks of their own, programmed fast.",
        |_| Features { knows: HOST, separate: HOST, fast: true, ..Features::default() };
    /// `dgc`
    Dgc(NoParameters), "GC takes pages that are dirty in the device's buffer from there, and need not write them again.",
        |_| Features { knows: Marks::DEVICE, from_buffer: true, ..Features::default() };
    /// `sgc`
    Sgc(SgcConfig), "ShadowGC: hgc and dgc, and the device does not write pages that are dirty in both buffers.",
        |config| Features {
            knows: Marks::BOTH,
            separate: HOST,
            fast: true,
            from_buffer: true,
            discards_twins: true,
            breaks_promise: config.twins_at_flush == Twins::Discarded,
            ..Features::default()
        };
    /// `hgc-dgc`
    HgcDgc(NoParameters), "hgc and dgc together: sgc, but the device writes pages that are dirty in both buffers.",
        |_| Features { knows: Marks::BOTH, separate: HOST, fast: true, from_buffer: true, ..Features::default() };
    /// `twin-discard`
    TwinDiscard(NoParameters), "The device does not write pages that are dirty in both buffers; GC knows of none.",
        |_| Features { knows: Marks::BOTH, discards_twins: true, ..Features::default() };
}

const MOVED: &[&str] = &["moved_valid_pages", "moved_host_pages", "moved_device_pages", "moved_twin_pages"];

coflash_base::measures! {
    /// Shadows are flash pages whose data is dirty in a write buffer, and so about to be replaced. A scheme counts the
    /// shadows that it knows of.
    pub struct ShadowCounters in "shadows", "Shadows in garbage collection" {
        /// Pages moved by GC and refresh that were dirty in no buffer.
        moved_valid_pages: u64, "pages moved, no shadows", pages, of(MOVED);
        /// Pages moved that were dirty in the host's buffer only.
        moved_host_pages: u64, "pages moved, host-shadows", pages, of(MOVED);
        /// Pages moved that were dirty in the device's buffer only.
        moved_device_pages: u64, "pages moved, device-shadows", pages, of(MOVED);
        /// Pages moved that were dirty in both buffers.
        moved_twin_pages: u64, "pages moved, twin-shadows", pages, of(MOVED);
        /// Pages moved that were read from the device's buffer instead of flash. The buffer's page is clean then and
        /// need not be written.
        from_buffer_pages: u64, "pages moved from the buffer", pages, of(MOVED);
        /// Pages moved by fast programs, to blocks of their own: their data is needed only for a short time.
        fast_pages: u64, "pages moved by fast programs", pages, of(MOVED);
        /// Pages that the device's buffer discarded without a program, since the host held newer data.
        discarded_twins_pages: u64, "twins let go without a program", pages;
    }
    derived {
        /// Pages moved by GC and refresh.
        moved_pages: "pages moved", pages, whole = |c| {
            Some(c.moved_valid_pages + c.moved_host_pages + c.moved_device_pages + c.moved_twin_pages)
        };
    }
}

/// GC's decision about a page that is dirty in the host's buffer, under `hgc`.
const HGC_DECISION: Decision =
    Decision::Copy { source: CopySource::Flash, stream: WriteStream::Shadow, mode: Mode::Fast };

impl ShadowCounters {
    /// Decide about a page that is not dirty in the device as `hgc` does, and count it.
    #[inline(always)]
    pub(super) fn copied_as_hgc(&mut self, marks: Marks) -> Decision {
        *self.moved_mut(marks) += 1;
        if !marks.host {
            return Decision::COPY;
        }
        self.fast_pages += 1;
        HGC_DECISION
    }

    /// Count pages that are dirty in no buffer.
    pub(super) fn copied_unmarked(&mut self, pages: u32) {
        self.moved_valid_pages += u64::from(pages);
    }

    #[inline(always)]
    fn moved_mut(&mut self, marks: Marks) -> &mut u64 {
        match (marks.host, marks.device) {
            (false, false) => &mut self.moved_valid_pages,
            (true, false) => &mut self.moved_host_pages,
            (false, true) => &mut self.moved_device_pages,
            (true, true) => &mut self.moved_twin_pages,
        }
    }
}

/// Any of the schemes above.
#[derive(Clone, Debug, Save)]
pub struct Shadow<P> {
    features: Features,
    counters: ShadowCounters,
    variant: PhantomData<P>,
}

impl<P: ShadowVariant> Policy for Shadow<P> {
    type Config = P::Config;
    const SUMMARY: &'static str = P::SUMMARY;
    const SOURCE: &'static str = "ShadowGC, DATE 2018";
}

impl Features {
    /// The cost weight of a shadow.
    fn weight(&self) -> Weight {
        Weight::nearest(1.0 + self.lambda)
    }
}

impl<P: ShadowVariant> CooperationScheme for Shadow<P> {
    fn requirements(config: &P::Config) -> Requirements {
        let features = P::features(config);
        let weight_max = features.weight();
        let fractional_costs = !weight_max.0.is_multiple_of(Weight::SIXTEENTHS);
        Requirements {
            fractional_costs,
            weight_max,
            shadow_stream: features.separate.any(),
            fast_programs: features.fast,
            ..Requirements::NONE
        }
    }

    fn memory(_: &P::Config) -> Needs {
        Needs::NOTHING
    }

    fn new(config: &P::Config, setting: &Setting) -> Result<Self, Misfit> {
        let features = P::features(config);
        if setting.memory == Memory::Host {
            let problem = "\"host\" was given with a scheme for write buffers, which works between two of them: one in the device \
                           (cache.volatile) and one in the host (host_buffer); with the cache in the host, cooperation \
                           \"none\", \"cdm\" and \"cdm-consistent\" are allowed";
            return Err(Misfit::new("cache.placement", problem));
        }
        if !(0.0..=15.0).contains(&features.lambda) {
            return Err(Misfit::out_of_range("cooperation.lambda", features.lambda, "from 0 to 15"));
        }
        if features.discards_twins && !setting.is_volatile {
            let problem = "false was given; sgc and twin-discard let go of the device's copy of pages that are dirty in the \
                           host, which a non-volatile cache has promised to keep: true is allowed, or cooperation \
                           \"hgc-dgc\", \"dgc\" or \"hgc\"";
            return Err(Misfit::new("cache.volatile", problem));
        }
        Ok(Self { features, counters: ShadowCounters::default(), variant: PhantomData })
    }
}

impl<P: ShadowVariant> Scheme for Shadow<P> {
    #[inline(always)]
    fn decide(&mut self, lpn: Lpn, marks: Marks, cache: &Cache) -> Decision {
        let Features { separate, fast, from_buffer, .. } = self.features;
        *self.counters.moved_mut(marks) += 1;
        if !marks.any() {
            return Decision::COPY;
        }
        let source = if from_buffer && marks.device {
            let slot = cache.lookup(lpn).expect("a device-shadow is in the buffer");
            self.counters.from_buffer_pages += 1;
            CopySource::Slot(Slot { memory: Memory::Device, number: slot.get() })
        } else {
            CopySource::Flash
        };
        if marks.host && separate.host || marks.device && separate.device {
            let mode = if fast { Mode::Fast } else { Mode::Normal };
            self.counters.fast_pages += u64::from(fast);
            Decision::Copy { source, stream: WriteStream::Shadow, mode }
        } else {
            Decision::Copy { source, stream: WriteStream::Gc, mode: Mode::Normal }
        }
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        self.counters.copied_unmarked(pages);
        true
    }

    #[inline(always)]
    fn weights(&mut self, _: &Cache) -> Weights {
        Weights::all(self.features.weight())
    }

    /// 001 → 101, 011 → 101, 111 → 101: a page that the host writes is no longer dirty in the host.
    #[inline(always)]
    fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, _: &mut Cache, below: &mut B) {
        if event == Event::Written && self.features.knows.device {
            below.send(Message::Shadow(page.lpn, Memory::Device, true));
        }
        if event == Event::Written && self.features.knows.host {
            below.send(Message::Shadow(page.lpn, Memory::Host, false));
        }
    }

    /// 111 → 011 in an eviction, and in a flush that breaks its promise. Otherwise a program follows. The device mark
    /// is cleared first, so that a GC triggered by this program does not take the page from the buffer again.
    #[inline(always)]
    fn discards<B: Cooperates>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool {
        let may = self.features.discards_twins && (!in_flush || self.features.breaks_promise);
        let discards = may && below.shadows(page.lpn) == Marks::BOTH;
        self.counters.discarded_twins_pages += u64::from(discards);
        if self.features.knows.device {
            below.send(Message::Shadow(page.lpn, Memory::Device, false));
        }
        discards
    }

    fn knows(&self) -> Marks {
        self.features.knows
    }

    fn report(&self, report: &mut Report) {
        report.add(&self.counters);
    }

    /// A page has the device mark if and only if it is mapped and dirty in the device's buffer.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for lpn in ftl.mapped() {
            let marks = ftl.marks(lpn).expect("it is mapped");
            let dirty = cache.lookup(lpn).is_some_and(|slot| cache.is_dirty(slot));
            assert_eq!(marks.device, dirty && self.features.knows.device, "{lpn:?}: device-shadow");
            assert!(!marks.host || self.features.knows.host, "{lpn:?}: host-shadow");
        }
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            assert!(!cache.is_orphan(slot), "{lpn:?} is an orphan, but GC drops nothing");
            assert!(cache.is_dirty(slot) || ftl.lookup(lpn).is_some(), "{lpn:?} is cached clean, so mapped");
        }
    }
}
