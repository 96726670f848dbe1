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
//! A dropped page that is evicted unmodified must be written then. The paper leaves two choices open that decide
//! whether small caches gain at all: the weight of a removable page in a victim's cost (`removable_weight`), and the
//! write stream of that write (`rewrite_stream`). Such a page was not written while it was cached, so it is cold. In a
//! block of host writes GC copies it once more, while the pages around it become invalid: this is the cost of a drop
//! that does not pay.
//!
//! Pages cached in memory as a term of the victim's score: Pan, Lin, Wu, Zhang & Xu, "Caching-aware garbage collection
//! to improve performance and lifetime for NAND flash SSDs", IEEE Transactions on Consumer Electronics 67(2), 2021;
//! Lee, Shin & Kim, "Buffer-aware garbage collection for NAND flash memory-based storage systems", IWSSPS 2008. Here
//! the weight of a page is the expected cost of dropping it, and GC copies a page if dropping it costs no less than a
//! copy.

use super::rewrite_predictor::RewritePredictor;
use super::sole_copies::SoleCopies;
use super::{CooperationScheme, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates};
use coflash_base::measure::Report;
use coflash_base::{Amount, Lpn, Misfit, Policy};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{AgeClass, Decision, Ftl, Marks, Requirements, Weight, Weights, WriteStream};
use coflash_media::{Media, Memory};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// The weight of a removable page in a victim's cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RemovableWeight {
    /// A constant: 0 is free, 1 counts as any valid page. Rounded to the nearest sixteenth.
    Fixed(f64),
    /// The expected cost of a drop, from the share of removable pages that were recently evicted unmodified. GC copies
    /// a page if a drop costs no less than a copy.
    Adaptive,
    /// As `Adaptive`, by the age of each page: the time since its last use, in thirds of a turnover of the cache.
    ByAge,
}

const NAMED: [(&str, RemovableWeight); 2] =
    [("adaptive", RemovableWeight::Adaptive), ("by-age", RemovableWeight::ByAge)];

impl Serialize for RemovableWeight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(weight) => serializer.serialize_f64(*weight),
            Self::Adaptive => serializer.serialize_str("adaptive"),
            Self::ByAge => serializer.serialize_str("by-age"),
        }
    }
}

impl<'de> Deserialize<'de> for RemovableWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = RemovableWeight;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 1, \"adaptive\" or \"by-age\"")
            }
            fn visit_f64<E: de::Error>(self, weight: f64) -> Result<RemovableWeight, E> {
                if (0.0..=1.0).contains(&weight) {
                    Ok(RemovableWeight::Fixed(weight))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(weight), &self))
                }
            }
            fn visit_i64<E: de::Error>(self, weight: i64) -> Result<RemovableWeight, E> {
                self.visit_f64(weight as f64)
            }
            fn visit_u64<E: de::Error>(self, weight: u64) -> Result<RemovableWeight, E> {
                self.visit_f64(weight as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RemovableWeight, E> {
                let known = NAMED.into_iter().find(|&(name, _)| name == text);
                known
                    .map(|(_, weight)| weight)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for RemovableWeight {
    fn schema_name() -> Cow<'static, str> {
        "RemovableWeight".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "enum": NAMED.map(|(name, _)| name) }] })
    }
}

/// Parameters of `cdm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CdmConfig {
    /// The weight of a removable page in a victim's cost: from 0 (free) to 1 (as any valid page), or the expected cost
    /// of dropping it, the same for all pages ("adaptive") or by the time since the last use of each ("by-age"). With
    /// an expected cost, GC copies a page if dropping it costs no less than a copy.
    pub removable_weight: RemovableWeight,
    /// The write stream of a dropped page that is evicted unmodified: "evict" (as any evicted page), or "gc" (with GC's
    /// copies, since it is as cold).
    pub rewrite_stream: WriteStream,
    /// The bound on sole copies in the cache, dirty or dropped: bytes or a share of the cache. At the bound GC copies
    /// instead of dropping, and a write waits until an older sole copy is in flash. Without it, all of the cache.
    pub sole_copies_max: Option<Amount>,
}

impl Default for CdmConfig {
    fn default() -> Self {
        Self {
            removable_weight: RemovableWeight::Fixed(1.0),
            rewrite_stream: WriteStream::Evict,
            sole_copies_max: None,
        }
    }
}

/// See the top of the file.
#[derive(Clone)]
pub struct Cdm {
    rewrite_stream: WriteStream,
    weights: Weights,
    predictor: Option<RewritePredictor>,
    /// The cost of a drop, in copies, if the page is evicted unmodified.
    rewrite_copies: f64,
    sole_copies: SoleCopies,
}

impl Policy for Cdm {
    type Config = CdmConfig;
    const SUMMARY: &'static str =
        "A page with a cached copy is removable: GC drops it instead of copying it.";
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 3";
}

impl Cdm {
    /// Update the weights to the expected cost of a drop, where it has changed enough.
    fn update_weights(&mut self) {
        let Some(predictor) = &self.predictor else { return };
        for (weight, unmodified) in self.weights.0.iter_mut().zip(predictor.unmodified()) {
            let copies = unmodified * self.rewrite_copies;
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

impl CooperationScheme for Cdm {
    fn requirements(config: &CdmConfig) -> Requirements {
        let is_whole = matches!(config.removable_weight, RemovableWeight::Fixed(_))
            && [Weight::NONE, Weight::FULL].contains(&first_weight(config.removable_weight));
        Requirements {
            fractional_costs: !is_whole,
            age_classes: config.removable_weight == RemovableWeight::ByAge,
            ..Requirements::NONE
        }
    }

    fn new(config: &CdmConfig, setting: &Setting) -> Result<Self, Misfit> {
        if setting.is_volatile {
            return Err(super::needs_durable("cdm"));
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
            sole_copies: bound(config, setting)?,
        })
    }
}

impl Scheme for Cdm {
    /// S1 → S2 without a copy; S0 is copied.
    #[inline(always)]
    fn decide<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, _: &mut M) -> Decision {
        if !marks.device {
            return Decision::COPY;
        }
        let slot = cache.lookup(lpn).expect("a removable page is cached");
        if self.sole_copies.are_at_bound(cache) || !self.pays(slot) {
            return Decision::COPY;
        }
        cache.orphan(slot);
        self.sole_copies.added(slot, cache);
        Decision::Drop
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

    /// S0 → S1.
    #[inline(always)]
    fn cached_clean<B: Cooperates>(&mut self, page: Cached, below: &mut B) {
        below.mark(page);
        if let Some(predictor) = &mut self.predictor {
            predictor.entered(page.slot);
        }
    }

    #[inline(always)]
    fn used<B: Cooperates>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        if let Some(predictor) = &mut self.predictor
            && cache.is_unmodified(page.slot)
            && predictor.used(page.slot)
            && !cache.is_dirty(page.slot)
        {
            below.age(page.lpn, AgeClass::FIRST);
        }
    }

    #[inline(always)]
    fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        if let Some(predictor) = &mut self.predictor
            && cache.is_unmodified(slot)
        {
            predictor.overwritten(slot);
        }
    }

    /// S0, S1 → S2: the flash page is invalid at once. In S2 there is none.
    #[inline(always)]
    fn written<B: Cooperates>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        below.invalidate(page);
        self.sole_copies.added(page.slot, cache);
    }

    fn trimmed(&mut self, slot: SlotId, cache: &Cache) {
        self.overwritten(slot, cache);
        self.sole_copies.removed(slot);
    }

    /// S1 → S0, S2 → S0.
    #[inline(always)]
    fn evicted<B: Cooperates>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        if let Some(predictor) = &mut self.predictor {
            predictor.evicted(page.slot, cache, below);
        }
        if !cache.is_dirty(page.slot) {
            below.unmark(page);
        }
        self.sole_copies.removed(page.slot);
    }

    fn became_sole(&mut self, slot: SlotId, cache: &Cache) {
        self.sole_copies.added(slot, cache);
    }

    #[inline(always)]
    fn is_at_bound(&self, cache: &Cache) -> bool {
        self.sole_copies.are_at_bound(cache)
    }

    fn next_to_clean(&self) -> SlotId {
        self.sole_copies.oldest()
    }

    /// S2 → S1.
    fn cleaned<B: Cooperates>(&mut self, page: Cached, below: &mut B) {
        self.sole_copies.cleaned(page.slot);
        self.cached_clean(page, below);
    }

    fn rewrite_stream(&self) -> WriteStream {
        self.rewrite_stream
    }

    fn report(&self, report: &mut Report) {
        report.add(self.sole_copies.counters());
    }

    fn heap_bytes(&self) -> usize {
        self.predictor.as_ref().map_or(0, RewritePredictor::heap_bytes) + self.sole_copies.heap_bytes()
    }

    /// Every page is in S0, S1 or S2, or was never written.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            if cache.is_dirty(slot) {
                assert_eq!(ftl.lookup(lpn), None, "{lpn:?} is cached dirty, so flash has no copy (S2)");
            } else {
                assert!(ftl.is_marked(lpn), "{lpn:?} is cached clean, so its flash copy is removable (S1)");
            }
        }
        for lpn in ftl.mapped().filter(|&lpn| ftl.is_marked(lpn)) {
            assert!(cache.lookup(lpn).is_some(), "{lpn:?} is removable, so it is cached (S1)");
        }
        let orphans = cache.occupied().filter(|&slot| cache.is_orphan(slot)).count() as u64;
        assert!(orphans <= ftl.counters().gc_drops_pages, "an orphan was dropped by GC");
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
            Cdm::requirements(&CdmConfig { removable_weight, ..CdmConfig::default() }).fractional_costs
        };
        assert!(!fractional(RemovableWeight::Fixed(0.0)) && !fractional(RemovableWeight::Fixed(1.0)));
        assert!(
            [RemovableWeight::Fixed(0.5), RemovableWeight::Adaptive, RemovableWeight::ByAge]
                .into_iter()
                .all(fractional)
        );
    }
}
