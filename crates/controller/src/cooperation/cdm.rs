//! Cooperative data management, basic states (Lee, Kim, Bahn & Noh, MSST 2016, section 3).
//!
//! A page is in one of three states, none of which is stored: they follow from the map, the mark and the cache.
//!
//! ```text
//! S0  flash valid, not cached        mapped, unmarked, no slot
//! S1  flash removable, cached clean  mapped, marked, clean slot
//! S2  no flash copy, cached dirty    unmapped, dirty slot (an orphan if GC dropped the flash copy)
//!
//! S0 ─read→ S1 ─eviction→ S0         S0, S1 ─write→ S2 ─eviction→ S0         S1 ─GC erases the block→ S2, no copy
//! ```
//!
//! A dropped page comes back as a write when it is evicted unmodified. The paper leaves two things about that open, and they
//! decide whether small caches gain at all: what a removable page counts in a victim's cost (`removable_weight`), and with
//! what that write shares a block (`rewrite_stream`). Nobody wrote such a page while it was cached, so it is cold; among what
//! the host writes it will be copied once more, while the pages around it die. That is what a drop costs that does not pay.
//!
//! Pages cached in memory as a term of the victim's score: Pan, Lin, Wu, Zhang & Xu, "Caching-aware garbage collection to
//! improve performance and lifetime for NAND flash SSDs", IEEE Transactions on Consumer Electronics 67(2), 2021; Lee, Shin &
//! Kim, "Buffer-aware garbage collection for NAND flash memory-based storage systems", IWSSPS 2008. What a page counts is
//! here what dropping it is expected to cost, and GC copies it where that is no less than a copy.

use super::outlook::Outlook;
use super::sole_copies::SoleCopies;
use super::{CooperationScheme, GcAnswers};
use crate::config::CacheSize;
use crate::write_back::{Below, Cached};
use coflash_base::{Lpn, Policy};
use coflash_cache::{Cache, SlotId};
use coflash_flash::Media;
use coflash_ftl::{Demands, Fate, Ftl, Grade, Marks, Stream, Weight, Weights};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// What a removable page counts in a victim's cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RemovableWeight {
    /// This much: 0 is free, 1 counts as any valid page. Kept to the nearest sixteenth.
    Fixed(f64),
    /// What a drop is expected to cost, from the share of removable pages that lately left the cache unmodified. A page is
    /// copied where a drop costs no less than a copy.
    Adaptive,
    /// As `Adaptive`, for each page by its own age: how long it has not been used, in thirds of the cache.
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
    /// What a removable page counts in a victim's cost: 0 (free) to 1 (as any valid page); or what dropping it is expected
    /// to cost, for all alike ("adaptive") or for each by how long it has not been used ("by-age"), and then GC copies it
    /// where that is no less than a copy.
    pub removable_weight: RemovableWeight,
    /// With what a dropped page that leaves unmodified shares a block: "evict" (as any page that leaves), or "gc" (with what
    /// GC copies, since it is as cold).
    #[serde(skip_serializing_if = "is_evict")]
    #[schemars(extend("default" = "evict"))]
    pub rewrite_stream: Stream,
    /// Sole copies in the cache, dirty or dropped, that there may be at any time: bytes or a share of the cache. At the bound
    /// GC copies, and a write waits until an older one is in flash. Unless given, all of the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sole_copies_max: Option<CacheSize>,
}

// Options at their defaults are left out, so that scenarios older than these options keep their hashes.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_evict(stream: &Stream) -> bool {
    *stream == Stream::Evict
}

impl Default for CdmConfig {
    fn default() -> Self {
        Self {
            removable_weight: RemovableWeight::Fixed(1.0),
            rewrite_stream: Stream::Evict,
            sole_copies_max: None,
        }
    }
}

/// See the top of the file.
#[derive(Clone)]
pub struct Cdm {
    config: CdmConfig,
    weights: Weights,
    outlook: Option<Outlook>,
    /// A page that is dropped and leaves unmodified costs so many copies.
    rewrite_copies: f64,
    sole_copies: SoleCopies,
}

impl Policy for Cdm {
    type Config = CdmConfig;
    const SUMMARY: &'static str = "a page with a cached copy is removable: GC drops it instead of copying it";
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 3";
}

impl Cdm {
    /// Enters what depends on the cache.
    pub(crate) fn bound(&mut self, slots: u32, page_bytes: u64) -> Result<(), (&'static str, String)> {
        let Some(size) = self.config.sole_copies_max else { return Ok(()) };
        let max = size.pages(page_bytes, slots.into());
        if max == 0 {
            let problem = format!("{size} is less than a page: there must be room for one sole copy");
            return Err(("cooperation.sole_copies_max", problem));
        }
        if max <= slots.into() {
            self.sole_copies = SoleCopies::bounded(max as u32, slots);
        }
        Ok(())
    }

    /// Enters what depends on the FTL: a rewrite takes the place of the copy, and elsewhere than with GC's copies it is copied
    /// there sooner or later.
    pub(crate) fn fit(&mut self, ftl: &Ftl) {
        let apart = !ftl.share_blocks(self.config.rewrite_stream, Stream::Gc);
        self.rewrite_copies = if apart { 2.0 } else { 1.0 };
    }

    /// What is not told across a link, as (key in the scenario, problem).
    pub(crate) fn refuses_link(&self) -> Option<(&'static str, String)> {
        let only = "works only where cache and flash share a controller: cache.placement \"in-storage\"";
        if self.config.sole_copies_max.is_some() {
            return Some(("cooperation.sole_copies_max", format!("a bound {only}")));
        }
        (self.config.removable_weight == RemovableWeight::ByAge).then(|| {
            (
                "cooperation.removable_weight",
                format!("\"by-age\" {only}; \"adaptive\" and numbers are allowed"),
            )
        })
    }

    /// A copy has become the only one, which GC did not ask about.
    pub(crate) fn is_sole(&mut self, slot: SlotId, cache: &Cache) {
        self.sole_copies.added(slot, cache);
    }

    /// The most sole copies that there have been.
    pub(crate) fn sole_copies_peak(&self) -> u32 {
        self.sole_copies.peak()
    }

    /// Lets removable pages count what dropping them is expected to cost, as far as that has changed.
    fn expect(&mut self) {
        let Some(outlook) = &self.outlook else { return };
        for (weight, unmodified) in self.weights.0.iter_mut().zip(outlook.unmodified()) {
            let copies = unmodified * self.rewrite_copies;
            let changed = (copies * f64::from(Weight::SIXTEENTHS) - f64::from(weight.0)).abs();
            if copies > 1.0 || changed > STEP_SIXTEENTHS {
                *weight = Weight::nearest(copies.min(1.0));
            }
        }
    }

    /// Whether dropping a page costs less than a copy. At the same price it is copied: there is one sole copy fewer.
    fn pays(&self, slot: SlotId) -> bool {
        self.outlook.as_ref().is_none_or(|outlook| self.weights.0[outlook.grade(slot).index()] < Weight::FULL)
    }
}

/// A new weight reorders every block, so it must differ by more than rounding.
const STEP_SIXTEENTHS: f64 = 0.75;

impl GcAnswers for Cdm {
    /// S1 → S2 without a copy; S0 is copied.
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, _: &mut M) -> Fate {
        if !marks.device {
            return Fate::COPY;
        }
        let slot = cache.lookup(lpn).expect("a removable page is cached");
        if self.sole_copies.are_at_bound(cache) || !self.pays(slot) {
            return Fate::COPY;
        }
        cache.orphan(slot);
        self.sole_copies.added(slot, cache);
        Fate::Drop
    }

    fn weights(&mut self, cache: &Cache) -> Weights {
        self.expect();
        self.sole_copies.promised(self.weights, cache)
    }
}

impl CooperationScheme for Cdm {
    fn new(config: &CdmConfig, slots: u32) -> Self {
        let (weight, outlook) = match config.removable_weight {
            RemovableWeight::Fixed(weight) => (Weight::nearest(weight), None),
            RemovableWeight::Adaptive => (Weight::FULL, Some(Outlook::new(slots, false))),
            RemovableWeight::ByAge => (Weight::FULL, Some(Outlook::new(slots, true))),
        };
        Self {
            config: config.clone(),
            weights: Weights::all(weight),
            outlook,
            rewrite_copies: 1.0,
            sole_copies: SoleCopies::unbounded(),
        }
    }

    fn demands(&self) -> Demands {
        let whole = [Weight::NONE, Weight::FULL].contains(&self.weights.0[0]);
        let grades = self.config.removable_weight == RemovableWeight::ByAge;
        Demands { fractional: self.outlook.is_some() || !whole, grades, ..Demands::NONE }
    }

    /// S0 → S1.
    #[inline(always)]
    fn cached_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        below.mark(page);
        if let Some(outlook) = &mut self.outlook {
            outlook.entered(page.slot);
        }
    }

    #[inline(always)]
    fn used<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        if let Some(outlook) = &mut self.outlook
            && cache.is_unmodified(page.slot)
            && outlook.used(page.slot)
            && !cache.is_dirty(page.slot)
        {
            below.grade(page.lpn, Grade::FIRST);
        }
    }

    #[inline(always)]
    fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        if let Some(outlook) = &mut self.outlook
            && cache.is_unmodified(slot)
        {
            outlook.overwritten(slot);
        }
    }

    /// S0, S1 → S2: the flash page is invalid at once. In S2 there is none.
    #[inline(always)]
    fn written<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        below.invalidate(page);
        self.sole_copies.added(page.slot, cache);
    }

    fn trimmed(&mut self, slot: SlotId, cache: &Cache) {
        self.overwritten(slot, cache);
        self.sole_copies.removed(slot);
    }

    /// S1 → S0, S2 → S0.
    #[inline(always)]
    fn evicted<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        if let Some(outlook) = &mut self.outlook {
            outlook.evicted(page.slot, cache, below);
        }
        if !cache.is_dirty(page.slot) {
            below.unmark(page);
        }
        self.sole_copies.removed(page.slot);
    }

    #[inline(always)]
    fn is_at_bound(&self, cache: &Cache) -> bool {
        self.sole_copies.are_at_bound(cache)
    }

    fn next_to_clean(&self) -> SlotId {
        self.sole_copies.oldest()
    }

    /// S2 → S1.
    fn cleaned<B: Below>(&mut self, page: Cached, below: &mut B) {
        self.sole_copies.removed(page.slot);
        self.cached_clean(page, below);
    }

    fn rewrite_stream(&self) -> Stream {
        self.config.rewrite_stream
    }

    fn refuses(&self, volatile: bool) -> Option<(&'static str, String)> {
        volatile.then(|| super::needs_durable("cdm"))
    }

    fn heap_bytes(&self) -> usize {
        self.outlook.as_ref().map_or(0, Outlook::heap_bytes) + self.sole_copies.heap_bytes()
    }

    /// Every page is in S0, S1 or S2, or nowhere.
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
        assert!(orphans <= ftl.tally().gc_drops_pages, "an orphan was dropped by GC");
        self.sole_copies.assert_invariants(cache);
        if let Some(outlook) = &self.outlook {
            outlook.assert_invariants(cache, ftl);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fractions_need_fine_costs() {
        let fractional = |weight| {
            Cdm::new(&CdmConfig { removable_weight: weight, ..CdmConfig::default() }, 0).demands().fractional
        };
        assert!(!fractional(RemovableWeight::Fixed(0.0)) && !fractional(RemovableWeight::Fixed(1.0)));
        assert!(
            [RemovableWeight::Fixed(0.5), RemovableWeight::Adaptive, RemovableWeight::ByAge]
                .into_iter()
                .all(fractional)
        );
    }
}
