//! Cooperative data management, basic states (Lee, Kim, Bahn & Noh, MSST 2016, section 3).
//!
//! A page is in one of three states. They are not stored: they follow from the map, the mark and the cache.
//!
//! ```text
//! S0  flash valid, not cached        mapped, unmarked, no slot
//! S1  flash removable, cached clean  mapped, marked, clean slot
//! S2  no flash copy, cached dirty    unmapped, dirty slot (an orphan if GC dropped the flash copy)
//!
//! S0 ─read→ S1 ─eviction→ S0         S0, S1 ─write→ S2 ─eviction→ S0         S1 ─GC erases the block→ S2, no copy
//! ```
//!
//! CDM saves copies in two ways: an overwritten page is invalid at once, and a page cached clean need not be
//! copied. Two schemes have one of the two each. The paper argues against a third (section 3.A): the flash
//! copy is invalidated as soon as the page is cached. A fourth also tracks the dirty pages of a write buffer
//! in the host, and treats them as `hgc` does: they go to separate blocks, programmed fast.
//!
//! | | flash copy of an overwritten page | of a clean page | pages dirty in the host's buffer |
//! |---|---|---|---|
//! | `cdm` | invalid at once | removable | |
//! | `cdm-overwrites` | invalid at once | valid | |
//! | `cdm-removable` | valid until the page is written | removable | |
//! | `cdm-invalidate-on-cache` | invalid at once | invalid at once | |
//! | `cdm-hgc` | invalid at once | removable | apart and fast |
//!
//! A dropped page that is evicted unmodified must be written then. The paper leaves two choices open that
//! decide whether small caches gain at all: the weight of a removable page in a victim's cost
//! (`removable_weight`), and the write stream of the write at eviction (`rewrite_stream`). Such a page was
//! not written while it was cached, so it is cold. In a block of host writes GC copies it once more, while
//! the pages around it become invalid: this is the cost of an unprofitable drop.
//!
//! Pages cached in memory as a term of the victim's score: Pan, Lin, Wu, Zhang & Xu, "Caching-aware garbage collection
//! to improve performance and lifetime for NAND flash SSDs", IEEE Transactions on Consumer Electronics 67(2), 2021;
//! Lee, Shin & Kim, "Buffer-aware garbage collection for NAND flash memory-based storage systems", IWSSPS 2008. Here
//! the weight of a page is the expected cost of dropping it, and GC copies a page if dropping it costs no less than a
//! copy.

use super::rewrite_predictor::RewritePredictor;
use super::shadow::ShadowCounters;
use super::sole_copies::SoleCopies;
use super::{CooperationScheme, Event, Needs, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates, Message};
use coflash_base::measure::Report;
use coflash_base::policy::{NoParameters, Parameters};
use coflash_base::{Amount, Lpn, Misfit, Policy, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{AgeClass, Decision, Ftl, Marks, Requirements, Weight, Weights, WriteStream};
use coflash_media::Memory;
use std::marker::PhantomData;

coflash_base::number_or_name! {
    /// The weight of a removable page in a victim's cost.
    pub enum RemovableWeight, expects "a number from 0 to 1, \"adaptive\" or \"by-age\"" {
        /// A constant: 0 is free, 1 counts as any valid page. Rounded to the nearest sixteenth.
        Fixed(0..=1),
        /// The expected cost of a drop, from the share of removable pages that were recently evicted unmodified. GC copies
        /// a page if a drop costs no less than a copy.
        Adaptive = "adaptive",
        /// As `Adaptive`, by the age of each page: the time since its last use, in thirds of a turnover of the cache.
        ByAge = "by-age",
    }
}

coflash_base::config! {
    /// Parameters of `cdm`.
    pub struct CdmConfig {
        /// The weight of a removable page in a victim's cost: from 0 (free) to 1 (as any valid page), or the expected cost
        /// of dropping it, the same for all pages ("adaptive") or by the time since the last use of each ("by-age"). With
        /// an expected cost, GC copies a page if dropping it costs no less than a copy.
        pub removable_weight: RemovableWeight = RemovableWeight::Fixed(1.0),
        /// The write stream of a dropped page that is evicted unmodified: "evict" (as any evicted page), or "gc" (with GC's
        /// copies, since it is as cold).
        pub rewrite_stream: WriteStream = WriteStream::Evict,
        /// The bound on sole copies in the cache, dirty or dropped: bytes or a share of the cache. At the bound GC copies
        /// instead of dropping, and a write waits until an older sole copy is in flash. Without it, all of the cache.
        pub sole_copies_max: Option<Amount>,
    }
}

/// A scheme of the table at the top of the file.
pub trait CdmVariant: Clone {
    /// The parameters.
    type Config: Parameters;
    /// The name in scenarios.
    const NAME: &'static str;
    /// A summary in one sentence.
    const SUMMARY: &'static str;
    /// Whether the flash copy of an overwritten page is invalid at once.
    const INVALIDATES_OVERWRITTEN: bool = true;
    /// Whether a page that is cached clean is removable.
    const REMOVES_CLEAN: bool = true;
    /// Whether the flash copy of a page that is cached clean is invalid at once.
    const INVALIDATES_CLEAN: bool = false;
    /// Whether pages that are dirty in the host's write buffer go to blocks of their own.
    const KNOWS_HOST: bool = false;
    /// The parameters of `cdm` with which it works.
    fn config(config: &Self::Config) -> CdmConfig;
}

macro_rules! variants {
    ($($(#[$meta:meta])* $variant:ident($config:ty), $name:literal, $summary:literal, $given:expr, { $($body:item)* })*) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, Save)]
        pub struct $variant;

        impl CdmVariant for $variant {
            type Config = $config;
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            $($body)*
            fn config(config: &$config) -> CdmConfig {
                let given: fn(&$config) -> CdmConfig = $given;
                given(config)
            }
        })*
    };
}

variants! {
    /// `cdm`
    Whole(CdmConfig), "cdm", "A page with a cached copy is removable: GC drops it instead of copying it.", CdmConfig::clone, {}
    /// `cdm-overwrites`
    Overwrites(NoParameters), "cdm-overwrites",
        "The first half of cdm: an overwritten page is invalid in flash at once; GC copies pages that are cached clean.",
        |_| CdmConfig::default(), { const REMOVES_CLEAN: bool = false; }
    /// `cdm-removable`
    Removable(CdmConfig), "cdm-removable",
        "The second half of cdm: GC drops pages that are cached clean; an overwritten page is valid in flash until it is written.",
        CdmConfig::clone, { const INVALIDATES_OVERWRITTEN: bool = false; }
    /// `cdm-invalidate-on-cache`
    InvalidateOnCache(NoParameters), "cdm-invalidate-on-cache",
        "A page is invalid in flash as soon as it is cached, so each eviction is a write.",
        |_| CdmConfig::default(), { const REMOVES_CLEAN: bool = false; const INVALIDATES_CLEAN: bool = true; }
    /// `cdm-hgc`
    WithHgc(NoParameters), "cdm-hgc",
        "cdm and hgc: pages that are dirty in the host's write buffer go to blocks of their own, programmed fast.",
        |_| CdmConfig::default(), { const KNOWS_HOST: bool = true; }
}

/// Any of the schemes above.
#[derive(Clone, Save)]
pub struct Cdm<V> {
    rewrite_stream: WriteStream,
    weights: Weights,
    predictor: Option<RewritePredictor>,
    /// The cost of a drop, in copies, if the page is evicted unmodified.
    rewrite_copies: f64,
    /// What a sole copy saves while it is cached, in copies, since its page of flash is free. Zero where nobody estimates it.
    room_copies: f64,
    sole_copies: SoleCopies,
    shadows: ShadowCounters,
    variant: PhantomData<V>,
}

impl<V: CdmVariant> Policy for Cdm<V> {
    type Config = V::Config;
    const SUMMARY: &'static str = V::SUMMARY;
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 3";
}

impl<V: CdmVariant> Cdm<V> {
    /// Whether there may be no other sole copy now.
    pub(super) fn is_at_bound(&self, cache: &Cache) -> bool {
        self.sole_copies.are_at_bound(cache)
    }

    /// Set what a sole copy saves while it is cached, in copies.
    pub(super) fn set_room_copies(&mut self, copies: f64) {
        self.room_copies = copies;
    }

    /// Update the weights to the expected cost of a drop, where it has changed enough.
    fn update_weights(&mut self) {
        let Some(predictor) = &self.predictor else { return };
        for (weight, unmodified) in self.weights.0.iter_mut().zip(predictor.unmodified) {
            let copies = (unmodified * self.rewrite_copies - self.room_copies).max(0.0);
            let changed = (copies * f64::from(Weight::SIXTEENTHS) - f64::from(weight.0)).abs();
            if copies > 1.0 || changed > STEP_SIXTEENTHS {
                *weight = Weight::nearest(copies.min(1.0));
            }
        }
    }

    /// Whether dropping a page costs less than a copy. At equal cost GC copies: there is one sole copy fewer.
    fn pays(&self, slot: SlotId) -> bool {
        self.predictor
            .as_ref()
            .is_none_or(|predictor| self.weights.0[predictor.class(slot).index()] < Weight::FULL)
    }

    /// A page was read while it was cached.
    #[inline(always)]
    fn used<B: Cooperates>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        if let Some(predictor) = &mut self.predictor
            && cache.is_unmodified(page.slot)
            && predictor.used(page.slot)
            && !cache.is_dirty(page.slot)
        {
            below.send(Message::Age(page.lpn, AgeClass::FIRST));
        }
    }

    /// The host is about to replace a cached page.
    #[inline(always)]
    fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        if let Some(predictor) = &mut self.predictor
            && cache.is_unmodified(slot)
        {
            predictor.overwritten(slot);
        }
    }

    /// S0 → S1: cache and flash hold the same data.
    #[inline(always)]
    fn entered_clean<B: Cooperates>(&mut self, page: Cached, below: &mut B) {
        if V::REMOVES_CLEAN {
            below.send(Message::Mark(page));
        }
        if let Some(predictor) = &mut self.predictor {
            predictor.entered(page.slot);
        }
    }
}

/// A new weight reorders every block, so it must differ by more than rounding.
const STEP_SIXTEENTHS: f64 = 0.75;

/// The initial weight. Without evidence every page counts in full.
fn first_weight(weight: RemovableWeight) -> Weight {
    match weight {
        RemovableWeight::Fixed(weight) => Weight::nearest(weight),
        RemovableWeight::Adaptive | RemovableWeight::ByAge => Weight::FULL,
    }
}

/// Create the bound on sole copies of a scenario.
fn bound(config: &CdmConfig, setting: &Setting) -> Result<SoleCopies, Misfit> {
    const KEY: &str = "cooperation.sole_copies_max";
    let Some(size) = config.sole_copies_max else { return Ok(SoleCopies::unbounded()) };
    if setting.grants {
        let problem = "a bound was given with host.protecting \"grants\": what the device drops under a grant is a sole copy \
                       before the host hears of it, so nobody could keep the bound; \"request\" is allowed";
        return Err(Misfit::new(KEY, problem));
    }
    let max = size.pages(setting.page_bytes, setting.slots.into());
    if max == 0 {
        let problem = format!("{size} is less than a page: there must be room for one sole copy");
        return Err(Misfit::new(KEY, problem));
    }
    let bounds = max <= setting.slots.into();
    Ok(if bounds { SoleCopies::bounded(max as u32, setting.slots) } else { SoleCopies::unbounded() })
}

impl<V: CdmVariant> CooperationScheme for Cdm<V> {
    fn requirements(config: &V::Config) -> Requirements {
        let config = V::config(config);
        let is_whole = matches!(config.removable_weight, RemovableWeight::Fixed(_))
            && [Weight::NONE, Weight::FULL].contains(&first_weight(config.removable_weight));
        Requirements {
            fractional_costs: !is_whole,
            age_classes: config.removable_weight == RemovableWeight::ByAge,
            shadow_stream: V::KNOWS_HOST,
            fast_programs: V::KNOWS_HOST,
            ..Requirements::NONE
        }
    }

    /// The places of superseded copies; the age of each page, and a list of sole copies.
    fn memory(_: &V::Config) -> Needs {
        Needs { page_bytes: 4, slot_bytes: 9, bytes: 0 }
    }

    fn new(config: &V::Config, setting: &Setting) -> Result<Self, Misfit> {
        let config = V::config(config);
        if setting.is_volatile {
            return Err(super::needs_durable(V::NAME));
        }
        if V::KNOWS_HOST && setting.memory == Memory::Host {
            let problem = "\"host\" was given with a scheme for a cache in the device below a write buffer in the host \
                           (host_buffer); with the cache in the host, cooperation \"none\" and \"cdm\" are allowed";
            return Err(Misfit::new("cache.placement", problem));
        }
        let by_age = config.removable_weight == RemovableWeight::ByAge;
        if by_age && setting.memory == Memory::Host {
            let problem = "\"by-age\" was given with cache.placement \"host\": a notice for each page that grows older would \
                           cross the link; \"adaptive\" and numbers are allowed";
            return Err(Misfit::new("cooperation.removable_weight", problem));
        }
        let estimates = !matches!(config.removable_weight, RemovableWeight::Fixed(_));
        Ok(Self {
            rewrite_stream: config.rewrite_stream,
            weights: Weights::all(first_weight(config.removable_weight)),
            predictor: estimates.then(|| RewritePredictor::new(setting.slots, by_age)),
            rewrite_copies: 1.0,
            room_copies: 0.0,
            sole_copies: bound(&config, setting)?,
            shadows: ShadowCounters::default(),
            variant: PhantomData,
        })
    }
}

impl<V: CdmVariant> Scheme for Cdm<V> {
    /// S1 → S2 without a copy; S0 is copied.
    #[inline(always)]
    fn decide(&mut self, lpn: Lpn, marks: Marks, cache: &Cache) -> Decision {
        if !marks.device {
            return if V::KNOWS_HOST { self.shadows.copied_as_hgc(marks) } else { Decision::COPY };
        }
        let slot = cache.lookup(lpn).expect("a removable page is cached");
        if self.sole_copies.are_at_bound(cache) || !self.pays(slot) {
            return Decision::COPY;
        }
        self.sole_copies.added(slot, cache.dirty_len() + 1);
        Decision::Drop
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        if V::KNOWS_HOST {
            self.shadows.copied_unmarked(pages);
        }
        true
    }

    fn moved_in(&mut self, page: Cached, _: Lpn, cache: &Cache) {
        if let Some(predictor) = &mut self.predictor {
            predictor.left(page.slot, cache);
            predictor.entered(page.slot);
        }
        self.sole_copies.added(page.slot, cache.dirty_len() + 1);
    }

    fn weights(&mut self, cache: &Cache) -> Weights {
        self.update_weights();
        self.sole_copies.effective_weights(self.weights, cache)
    }

    /// A rewrite replaces the copy that the drop saved. Outside GC's blocks the page is sooner or later copied there,
    /// too.
    fn attach(&mut self, ftl: &Ftl) {
        let apart = !ftl.share_blocks(self.rewrite_stream, WriteStream::Gc);
        self.rewrite_copies = if apart { 2.0 } else { 1.0 };
    }

    #[inline(always)]
    fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, cache: &mut Cache, below: &mut B) {
        match event {
            // S0 → S2: the flash copy is invalid at once.
            Event::Filled if V::INVALIDATES_CLEAN => {
                below.send(Message::Invalidate(page));
                cache.orphan(page.slot);
                self.sole_copies.added_by_read(page.slot, cache);
            }
            // S0 → S1
            Event::Filled => self.entered_clean(page, below),
            Event::Used => self.used(page, cache, below),
            Event::Overwritten => self.overwritten(page.slot, cache),
            // S0, S1 → S2: the flash page is invalid at once, or a page like any other until the cached copy is written. In S2
            // there is none.
            Event::Written => {
                let invalidates = V::INVALIDATES_OVERWRITTEN;
                below.send(if invalidates { Message::Invalidate(page) } else { Message::Unmark(page) });
                if V::KNOWS_HOST {
                    below.send(Message::Shadow(page.lpn, Memory::Host, false));
                }
                self.sole_copies.added(page.slot, cache.dirty_len());
            }
            Event::Trimmed => {
                self.overwritten(page.slot, cache);
                self.sole_copies.removed(page.slot);
            }
            // S1 → S0, S2 → S0
            Event::Evicted => {
                if let Some(predictor) = &mut self.predictor {
                    predictor.evicted(page.slot, cache, below);
                }
                if V::REMOVES_CLEAN && !cache.is_dirty(page.slot) {
                    below.send(Message::Unmark(page));
                }
                self.sole_copies.removed(page.slot);
            }
            Event::BecameSole => self.sole_copies.added(page.slot, cache.dirty_len()),
            // S2 → S1
            Event::Cleaned => {
                self.sole_copies.cleaned(page.slot);
                self.entered_clean(page, below);
            }
        }
    }

    #[inline(always)]
    fn next_to_clean(&self, cache: &Cache) -> Option<SlotId> {
        self.sole_copies.next_to_clean(cache)
    }

    fn rewrite_stream(&self) -> WriteStream {
        self.rewrite_stream
    }

    fn knows(&self) -> Marks {
        Marks { host: V::KNOWS_HOST, device: false }
    }

    fn report(&self, report: &mut Report) {
        report.add(&self.sole_copies.counters);
        if V::KNOWS_HOST {
            report.add(&self.shadows);
        }
    }

    /// Every page is in S0, S1 or S2, or was never written. Flash keeps old data only if it is not told.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            let removable = ftl.marks(lpn).map(|marks| marks.device);
            if !cache.is_dirty(slot) {
                assert!(!V::INVALIDATES_CLEAN, "{lpn:?} is cached, so it is the only copy");
                let is = if V::REMOVES_CLEAN { "removable (S1)" } else { "valid" };
                assert_eq!(
                    removable,
                    Some(V::REMOVES_CLEAN),
                    "{lpn:?} is cached clean, so its flash copy is {is}"
                );
            } else if V::INVALIDATES_OVERWRITTEN {
                assert_eq!(removable, None, "{lpn:?} is cached dirty, so flash has no copy (S2)");
            } else {
                assert_ne!(
                    removable,
                    Some(true),
                    "{lpn:?} is cached dirty, so its flash copy is not removable"
                );
            }
        }
        for lpn in ftl.mapped() {
            let marks = ftl.marks(lpn).expect("it is mapped");
            assert!(
                !marks.device || cache.lookup(lpn).is_some(),
                "{lpn:?} is removable, so it is cached (S1)"
            );
            assert!(!marks.host || V::KNOWS_HOST, "{lpn:?}: dirty in the host");
        }
        let orphans = cache.occupied().filter(|&slot| cache.is_orphan(slot)).count() as u64;
        let made = ftl.counters().gc_drops_pages + self.sole_copies.counters.from_reads_pages;
        assert!(orphans <= made, "an orphan was dropped by GC, or made by a read");
        self.sole_copies.assert_invariants(cache);
        if let Some(predictor) = &self.predictor {
            predictor.assert_invariants(cache, ftl);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fractions_need_fine_costs() {
        let fractional = |removable_weight| {
            Cdm::<Whole>::requirements(&CdmConfig { removable_weight, ..CdmConfig::default() })
                .fractional_costs
        };
        assert!(!fractional(RemovableWeight::Fixed(0.0)) && !fractional(RemovableWeight::Fixed(1.0)));
        assert!(
            [RemovableWeight::Fixed(0.5), RemovableWeight::Adaptive, RemovableWeight::ByAge]
                .into_iter()
                .all(fractional)
        );
    }
}
