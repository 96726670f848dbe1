//! Cooperation schemes between cache and flash. Each is one file and one line in the list below.

use crate::cooperates::{Cached, Cooperates};
use coflash_base::measure::Report;
use coflash_base::{Lpn, Misfit, PolicyInfo, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Decision, Ftl, Marks, Requirements, Weight, Weights, WriteStream};
use coflash_media::Memory;

mod cdm;
mod cdm_consistent;
mod expected_cost;
mod move_in;
mod moving;
mod none;
mod rewrite_predictor;
mod shadow;
mod sole_copies;
mod write_history;

coflash_base::policy_family! { ($)
    /// How cache and flash cooperate.
    pub family Cooperation: Save, config CooperationConfig, dispatch cooperation_dispatch, build cooperation_build {
        "none" => None(none::None),
        "cdm" => Cdm(cdm::Cdm<cdm::Whole>),
        "cdm-overwrites" => CdmOverwrites(cdm::Cdm<cdm::Overwrites>),
        "cdm-removable" => CdmRemovable(cdm::Cdm<cdm::Removable>),
        "cdm-invalidate-on-cache" => CdmInvalidateOnCache(cdm::Cdm<cdm::InvalidateOnCache>),
        "cdm-hgc" => CdmHgc(cdm::Cdm<cdm::WithHgc>),
        "cdm-consistent" => CdmConsistent(cdm_consistent::CdmConsistent),
        "move-in" => MoveIn(moving::Moving<move_in::MoveIn>),
        "expected-cost" => ExpectedCost(moving::Moving<expected_cost::ExpectedCost>),
        "ggc" => Ggc(shadow::Shadow<shadow::Ggc>),
        "separation" => Separation(shadow::Shadow<shadow::Separation>),
        "delay" => Delay(shadow::Shadow<shadow::Delay>),
        "zgc" => Zgc(shadow::Shadow<shadow::Zgc>),
        "hgc" => Hgc(shadow::Shadow<shadow::Hgc>),
        "dgc" => Dgc(shadow::Shadow<shadow::Dgc>),
        "hgc-dgc" => HgcDgc(shadow::Shadow<shadow::HgcDgc>),
        "twin-discard" => TwinDiscard(shadow::Shadow<shadow::TwinDiscard>),
        "sgc" => Sgc(shadow::Shadow<shadow::Sgc>),
    }
}

pub use cdm_consistent::{CdmConsistent, CdmConsistentConfig, CommitCounters};
pub use moving::MovingCounters;
pub use shadow::{SgcConfig, ShadowCounters, Shadows, Twins};
pub use sole_copies::SoleCopyCounters;

/// The environment of a scheme: its cache, and the path from there to flash.
#[derive(Clone, Copy, Debug, Save)]
pub struct Setting {
    /// The number of slots of the cache.
    pub slots: u32,
    /// The size of a page in bytes.
    pub page_bytes: u64,
    /// The number of logical pages of the device.
    pub logical_pages: u32,
    /// The side of the link on which the cache lies.
    pub memory: Memory,
    /// Whether a restart loses the cache.
    pub is_volatile: bool,
    /// Whether a page written by the host enters the cache.
    pub write_allocate: bool,
    /// Whether flash may drop granted pages without asking.
    pub grants: bool,
}

/// The memory that a scheme takes beside that of the cache and of the marks in the FTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bytes for each logical page: of these, four for the place of an invalid copy that the cache will replace.
    pub page_bytes: u64,
    /// Bytes for each slot of the cache.
    pub slot_bytes: u64,
    /// Bytes for the scheme.
    pub bytes: u64,
}

impl Needs {
    /// Nothing.
    pub const NOTHING: Self = Self { page_bytes: 0, slot_bytes: 0, bytes: 0 };

    /// In words.
    #[must_use]
    pub fn text(self) -> String {
        let parts = [(self.page_bytes, "B a logical page"), (self.slot_bytes, "B a slot"), (self.bytes, "B")];
        let parts = parts.map(|(bytes, of)| (bytes > 0).then(|| format!("{bytes} {of}")));
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
    }
}

/// What happens to a page of a cache. It enters by `Filled` or `Written`. While it is cached it may be `Used` and `Written` any number
/// of times, and `Cleaned` at the scheme's request; GC may ask the scheme to [`decide`](Scheme::decide) about it. It leaves by
/// `Evicted`, with or without [`discards`](Scheme::discards), or by `Trimmed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A read miss was cached: cache and flash hold the same data. The scheme may make the cached copy the only one.
    Filled,
    /// A cached page was read.
    Used,
    /// The host is about to overwrite a cached page; `Written` follows.
    Overwritten,
    /// The host wrote to the cached copy of a page: the flash copy, if any, is out of date.
    Written,
    /// A cached page is about to be trimmed.
    Trimmed,
    /// A page is about to be evicted. If it is dirty, a program that replaces its flash copy follows, unless the scheme
    /// discards it.
    Evicted,
    /// A clean copy became a sole copy: flash has dropped the page under a grant. Or a dirty copy was found after a power cut, or
    /// stays after a failed eviction.
    BecameSole,
    /// The page chosen by [`next_to_clean`](Scheme::next_to_clean) was written to flash and stays cached: cache and flash hold the
    /// same data.
    Cleaned,
}

/// The hooks of a scheme. Levels call them in the order of the device's state changes, once per page and
/// event. A hook sees cache and flash after the event, unless it says otherwise. A method has a default only where the default is
/// that of no cooperation: what it leaves out costs neither data nor a number of the result.
pub trait Scheme {
    /// Decide about a valid page of GC's victim. A page that is dropped is cached clean. Its copy becomes an orphan, which is
    /// written at its eviction. If GC programs the cached copy instead of the flash page, the cached copy becomes clean after
    /// the program has succeeded.
    fn decide(&mut self, lpn: Lpn, marks: Marks, cache: &Cache) -> Decision;

    /// Something happened to a page.
    fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, cache: &mut Cache, below: &mut B);

    /// Whether the decision is [`Decision::COPY`] for this many unmarked pages of a victim: then GC copies them without asking.
    fn copies_unmarked(&mut self, pages: u32) -> bool {
        let _ = pages;
        true
    }

    /// A page takes the slot of a clean one, at the scheme's request ([`Decision::MoveIn`]): it is a sole copy, and an orphan. The
    /// cache still shows the page that leaves.
    fn moved_in(&mut self, page: Cached, left: Lpn, cache: &Cache) {
        let _ = (page, left, cache);
    }

    /// The host trims a page, cached or not: what it writes there next is another page.
    fn trims(&mut self, lpn: Lpn) {
        let _ = lpn;
    }

    /// The cost weights of marked pages.
    fn weights(&mut self, cache: &Cache) -> Weights {
        let _ = cache;
        Weights::all(Weight::FULL)
    }

    /// Adapt to the FTL below the scheme's cache.
    fn attach(&mut self, ftl: &Ftl) {
        let _ = ftl;
    }

    /// The sole copy (a cached page without a valid copy in flash) to clean before there may be another one. `None` below
    /// the bound on them.
    fn next_to_clean(&self, cache: &Cache) -> Option<SlotId> {
        let _ = cache;
        None
    }

    /// The write stream of evicted orphans.
    fn rewrite_stream(&self) -> WriteStream {
        WriteStream::Evict
    }

    /// Whether the dirty copy of a page, about to be written to flash by an eviction or a flush, is discarded instead.
    /// That is allowed if another memory holds newer data and this version was not promised to be durable.
    fn discards<B: Cooperates>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool {
        let _ = (page, in_flush, below);
        false
    }

    /// The memories with newer data that the scheme marks in the FTL.
    fn knows(&self) -> Marks {
        Marks::NONE
    }

    /// Add the counters of this scheme.
    fn report(&self, report: &mut Report);

    /// Panic unless cache and flash are consistent under the scheme. For tests, between requests.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl);
}

/// A scheme with a name in scenarios.
pub trait CooperationScheme: Scheme + coflash_base::Policy {
    /// The scheme's requirements on the FTL.
    fn requirements(config: &Self::Config) -> Requirements;

    /// The memory that the scheme takes.
    fn memory(config: &Self::Config) -> Needs;

    /// Create the scheme for its surroundings.
    ///
    /// # Errors
    /// A parameter out of range, or an unsupported environment.
    fn new(config: &Self::Config, setting: &Setting) -> Result<Self, Misfit>;
}

impl CooperationConfig {
    /// The table of the family, with the memory that each scheme takes.
    ///
    /// # Panics
    /// Never: each name is one of the family's.
    #[must_use]
    pub fn table_with_needs() -> Vec<PolicyInfo> {
        let needs = |name| Self::by_name(name).expect("a name of the family").memory().text();
        Self::table().into_iter().map(|info| PolicyInfo { needs: needs(info.name), ..info }).collect()
    }

    /// The scheme's requirements on the FTL.
    #[must_use]
    pub fn requirements(&self) -> Requirements {
        cooperation_build!(self, type Named, config => Named::requirements(config))
    }

    /// The memory that the scheme takes.
    #[must_use]
    pub fn memory(&self) -> Needs {
        cooperation_build!(self, type Named, config => Named::memory(config))
    }

    /// Create the scheme for its surroundings.
    ///
    /// # Errors
    /// A parameter out of range, or an unsupported environment.
    pub fn build(&self, setting: &Setting) -> Result<Cooperation, Misfit> {
        Ok(cooperation_build!(self, config => CooperationScheme::new(config, setting)?))
    }
}

#[deny(clippy::missing_trait_methods, reason = "a hook left out would be that of no cooperation")]
impl Scheme for Cooperation {
    coflash_base::forward_to_variant! { cooperation_dispatch;
        fn decide(&mut self, lpn: Lpn, marks: Marks, cache: &Cache) -> Decision;
        fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, cache: &mut Cache, below: &mut B);
        fn copies_unmarked(&mut self, pages: u32) -> bool;
        fn moved_in(&mut self, page: Cached, left: Lpn, cache: &Cache);
        fn trims(&mut self, lpn: Lpn);
        fn weights(&mut self, cache: &Cache) -> Weights;
        fn attach(&mut self, ftl: &Ftl);
        fn next_to_clean(&self, cache: &Cache) -> Option<SlotId>;
        fn rewrite_stream(&self) -> WriteStream;
        fn discards<B: Cooperates>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool;
        fn knows(&self) -> Marks;
        fn report(&self, report: &mut Report);
        fn assert_invariants(&self, cache: &Cache, ftl: &Ftl);
    }
}

/// Refuse a volatile cache for a scheme that may leave sole copies in it.
fn needs_durable(scheme: &str) -> Misfit {
    let problem = format!(
        "true was given; with {scheme} GC drops what the cache holds, which must survive a restart: false is allowed, or \
         cooperation \"none\" or one of ShadowGC's"
    );
    Misfit::new("cache.volatile", problem)
}
