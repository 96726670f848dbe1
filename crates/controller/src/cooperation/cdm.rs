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
//! A dropped page comes back as a write when it is evicted unmodified. `removable_weight` says what a removable page
//! counts in a victim's cost: the paper leaves it open, and it decides whether small caches gain at all.

use super::{CooperationScheme, DropOutcome};
use crate::write_back::{Below, Cached};
use coflash_base::{Lpn, Policy};
use coflash_cache::Cache;
use coflash_flash::Media;
use coflash_ftl::{Demands, Fate, Ftl, Marks, Weight};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// What a removable page counts in a victim's cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RemovableWeight {
    /// This much: 0 is free, 1 counts as any valid page. Kept to the nearest sixteenth.
    Fixed(f64),
    /// The share of recent drops that were written back unmodified, as estimated from what happened to them.
    Adaptive,
}

impl Serialize for RemovableWeight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(weight) => serializer.serialize_f64(*weight),
            Self::Adaptive => serializer.serialize_str("adaptive"),
        }
    }
}

impl<'de> Deserialize<'de> for RemovableWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = RemovableWeight;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 1, or \"adaptive\"")
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
                match text {
                    "adaptive" => Ok(RemovableWeight::Adaptive),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
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
        json_schema!({ "oneOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "enum": ["adaptive"] }] })
    }
}

/// Parameters of `cdm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CdmConfig {
    /// What a removable page counts in a victim's cost: 0 (free) to 1 (as any valid page), or "adaptive".
    pub removable_weight: RemovableWeight,
}

impl Default for CdmConfig {
    fn default() -> Self {
        Self { removable_weight: RemovableWeight::Fixed(1.0) }
    }
}

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Cdm {
    weight: Weight,
    estimate: Option<Estimate>,
}

impl Policy for Cdm {
    type Config = CdmConfig;
    const SUMMARY: &'static str = "a page with a cached copy is removable: GC drops it instead of copying it";
    const SOURCE: &'static str = "Lee, Kim, Bahn & Noh, MSST 2016, section 3";
}

impl CooperationScheme for Cdm {
    fn new(config: &CdmConfig, _: u32) -> Self {
        match config.removable_weight {
            RemovableWeight::Fixed(weight) => Self { weight: Weight::nearest(weight), estimate: None },
            RemovableWeight::Adaptive => Self { weight: Weight::FULL, estimate: Some(Estimate::default()) },
        }
    }

    fn demands(&self) -> Demands {
        let whole = [Weight::NONE, Weight::FULL].contains(&self.weight);
        Demands { fractional: self.estimate.is_some() || !whole, ..Demands::NONE }
    }

    /// S0 → S1.
    #[inline(always)]
    fn cached_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        below.mark(page);
    }

    /// S0, S1 → S2: the flash page is invalid at once. In S2 there is none.
    #[inline(always)]
    fn written<B: Below>(&mut self, page: Cached, below: &mut B) {
        below.invalidate(page);
    }

    /// S1 → S0.
    #[inline(always)]
    fn evicted_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        below.unmark(page);
    }

    /// S1 → S2 without a copy; S0 is copied.
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, _: &mut M) -> Fate {
        if !marks.device {
            return Fate::COPY;
        }
        let slot = cache.lookup(lpn).expect("a removable page is cached");
        cache.orphan(slot);
        Fate::Drop
    }

    #[inline(always)]
    fn marked_weight(&self) -> Weight {
        self.weight
    }

    #[inline(always)]
    fn resolved(&mut self, outcome: DropOutcome) {
        if let Some(estimate) = &mut self.estimate {
            self.weight = estimate.after(outcome, self.weight);
        }
    }

    fn refuses(&self, volatile: bool) -> Option<(&'static str, String)> {
        volatile.then(|| super::needs_durable("cdm"))
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
    }
}

/// The share of drops that come back as writes: an exponential average over the last thousand or so whose end is known.
///
/// It begins at 1, so that nothing is dropped for its own sake before there is evidence that drops pay. Overwrites come
/// to be known sooner than evictions, so it may be low while the cache turns over for the first time.
#[derive(Clone, Debug)]
struct Estimate {
    rewritten_share: f64,
}

impl Default for Estimate {
    fn default() -> Self {
        Self { rewritten_share: 1.0 }
    }
}

impl Estimate {
    const MEMORY_DROPS: f64 = 1024.0;
    /// A new weight reorders every block, so it must differ by more than rounding.
    const STEP_SIXTEENTHS: f64 = 0.75;

    fn after(&mut self, outcome: DropOutcome, weight: Weight) -> Weight {
        let rewritten = f64::from(u8::from(outcome == DropOutcome::Rewritten));
        self.rewritten_share += (rewritten - self.rewritten_share) / Self::MEMORY_DROPS;
        let sixteenths = self.rewritten_share * f64::from(Weight::SIXTEENTHS);
        if (sixteenths - f64::from(weight.0)).abs() > Self::STEP_SIXTEENTHS {
            Weight::nearest(self.rewritten_share)
        } else {
            weight
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_what_happens() {
        let mut cdm = Cdm::new(&CdmConfig { removable_weight: RemovableWeight::Adaptive }, 0);
        assert_eq!(cdm.marked_weight(), Weight::FULL);
        for _ in 0..10_000 {
            cdm.resolved(DropOutcome::Saved);
        }
        assert!(cdm.marked_weight() <= Weight(1), "{:?}", cdm.marked_weight());
        for drop in 0..10_000 {
            cdm.resolved(if drop % 2 == 0 { DropOutcome::Saved } else { DropOutcome::Rewritten });
        }
        assert!((7..=9).contains(&cdm.marked_weight().0), "{:?}", cdm.marked_weight());
    }

    #[test]
    fn only_fractions_need_fine_costs() {
        let fractional = |weight| Cdm::new(&CdmConfig { removable_weight: weight }, 0).demands().fractional;
        assert!(!fractional(RemovableWeight::Fixed(0.0)) && !fractional(RemovableWeight::Fixed(1.0)));
        assert!(fractional(RemovableWeight::Fixed(0.5)) && fractional(RemovableWeight::Adaptive));
    }
}
