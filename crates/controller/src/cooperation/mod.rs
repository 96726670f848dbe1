//! Cooperation schemes: what cache and flash tell each other. One file each, one line in the list below.

use crate::write_back::{Below, Cached};
use coflash_base::Lpn;
use coflash_cache::{Cache, SlotId};
use coflash_flash::Media;
use coflash_ftl::{Advisor, Demands, Fate, Ftl, Marks, Weight};

mod cdm;
mod cdm_consistent;
mod none;
mod shadow;

coflash_base::policy_family! { ($)
    /// What cache and flash tell each other.
    pub family Cooperation, config CooperationConfig, dispatch cooperation_dispatch, build cooperation_build {
        "none" => None(none::None),
        "cdm" => Cdm(cdm::Cdm),
        "cdm-consistent" => CdmConsistent(cdm_consistent::CdmConsistent),
        "ggc" => Ggc(shadow::Shadow<shadow::Ggc>),
        "separation" => Separation(shadow::Shadow<shadow::Separation>),
        "delay" => Delay(shadow::Shadow<shadow::Delay>),
        "zgc" => Zgc(shadow::Shadow<shadow::Zgc>),
        "hgc" => Hgc(shadow::Shadow<shadow::Hgc>),
        "dgc" => Dgc(shadow::Shadow<shadow::Dgc>),
        "sgc" => Sgc(shadow::Shadow<shadow::Sgc>),
    }
}

pub(crate) use cdm_consistent::Deletion;
pub use cdm_consistent::{CdmConsistent, CdmConsistentConfig, CommitTally};
pub use shadow::{SgcConfig, ShadowTally, Shadows, Twins};

/// What became of a page that GC dropped because the cache had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropOutcome {
    /// It was written back as it was: the drop only put the copy off.
    Rewritten,
    /// The host overwrote or trimmed it first: the drop saved a copy.
    Saved,
}

/// The contract. The controller calls these hooks in the order in which the device's state changes; each is called once
/// per page and event, and finds cache and FTL as they are after the event.
///
/// A page's life in the cache: it enters by [`cached_clean`](Self::cached_clean) or [`written`](Self::written); while it
/// is there it may be `written` any number of times, and GC may ask its [`fate`](Self::fate); it leaves clean by
/// [`evicted_clean`](Self::evicted_clean), dirty by a program that replaces its flash copy
/// (unless the scheme [`discards`](Self::discards) it), or by a trim (no
/// hook; the flash copy is invalid then).
pub trait CooperationScheme: coflash_base::Policy {
    /// The scheme with its parameters, for a cache of `slots` pages.
    fn new(config: &Self::Config, slots: u32) -> Self;

    /// What it asks of the FTL.
    fn demands(&self) -> Demands;

    /// A read miss was cached: cache and flash hold the same.
    fn cached_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        let _ = (page, below);
    }

    /// The host wrote to the cached copy of a page: the flash copy, if any, is out of date.
    fn written<B: Below>(&mut self, page: Cached, below: &mut B) {
        let _ = (page, below);
    }

    /// A clean copy left the cache: flash holds the only one.
    fn evicted_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        let _ = (page, below);
    }

    /// The dirty copy of a page is about to be written to flash, by an eviction or a flush. Whether it need not be, since
    /// newer data is held elsewhere and nobody has been promised this: it is lost then.
    fn discards<B: Below>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool {
        let _ = (page, in_flush, below);
        false
    }

    /// GC's one question, for each valid page of its victim. To drop a page that the cache holds clean, the scheme
    /// makes the cached copy an orphan first: it must be written when it is evicted.
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, media: &mut M) -> Fate;

    /// What was dropped must be durable elsewhere when this returns: the block is about to be erased.
    fn before_erase<M: Media>(&mut self, media: &mut M) {
        let _ = media;
    }

    /// What a marked page counts in a victim's cost from now on.
    fn marked_weight(&self) -> Weight {
        Weight::FULL
    }

    /// It is known what became of an earlier drop.
    fn resolved(&mut self, outcome: DropOutcome) {
        let _ = outcome;
    }

    /// Which shadows it knows of, and what it made of them; none for a scheme that has no such thing.
    fn shadows(&self) -> Option<(Marks, &ShadowTally)> {
        None
    }

    /// What is wrong with its parameters, or why it does not go with a cache that is volatile, or is not, as (key in the
    /// scenario, problem).
    fn refuses(&self, volatile: bool) -> Option<(&'static str, String)>;

    /// The bytes of its own tables on the heap.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Panics unless cache and flash agree as the scheme promises. Called between requests, by tests only.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl);
}

impl CooperationConfig {
    /// The scheme.
    #[must_use]
    pub fn build(&self, slots: u32) -> Cooperation {
        cooperation_build!(self, config => CooperationScheme::new(config, slots))
    }

    /// What the scheme asks of the FTL. No cache is so large that this changes.
    #[must_use]
    pub fn demands(&self) -> Demands {
        let scheme = self.build(0);
        cooperation_dispatch!(scheme, scheme => scheme.demands())
    }
}

impl Cooperation {
    #[inline(always)]
    pub(crate) fn cached_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.cached_clean(page, below));
    }

    #[inline(always)]
    pub(crate) fn written<B: Below>(&mut self, page: Cached, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.written(page, below));
    }

    #[inline(always)]
    pub(crate) fn discards<B: Below>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool {
        cooperation_dispatch!(self, scheme => scheme.discards(page, in_flush, below))
    }

    pub(crate) fn shadows(&self) -> Option<(Marks, &ShadowTally)> {
        cooperation_dispatch!(self, scheme => scheme.shadows())
    }

    pub(crate) fn refuses(&self, volatile: bool) -> Option<(&'static str, String)> {
        cooperation_dispatch!(self, scheme => scheme.refuses(volatile))
    }

    #[inline(always)]
    pub(crate) fn evicted_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.evicted_clean(page, below));
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        cooperation_dispatch!(self, scheme => scheme.heap_bytes())
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        cooperation_dispatch!(self, scheme => scheme.assert_invariants(cache, ftl));
    }

    #[inline(always)]
    pub(crate) fn resolved(&mut self, outcome: DropOutcome) {
        cooperation_dispatch!(self, scheme => scheme.resolved(outcome));
    }
}

/// The scheme with the cache at hand, as GC asks it.
pub struct Answers<'a> {
    pub(crate) scheme: &'a mut Cooperation,
    pub(crate) cache: &'a mut Cache,
}

impl Answers<'_> {
    /// Where a page is cached.
    #[inline]
    #[must_use]
    pub fn cached_at(&self, lpn: Lpn) -> Option<SlotId> {
        self.cache.lookup(lpn)
    }
}

impl Advisor for Answers<'_> {
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, media: &mut M) -> Fate {
        cooperation_dispatch!(self.scheme, scheme => scheme.fate(lpn, marks, self.cache, media))
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        cooperation_dispatch!(self.scheme, scheme => scheme.before_erase(media));
        after
    }

    #[inline(always)]
    fn marked_weight(&self) -> Weight {
        cooperation_dispatch!(&*self.scheme, scheme => scheme.marked_weight())
    }
}

/// Why a scheme by which the cache holds the only copy of a page refuses a volatile one.
fn needs_durable(scheme: &str) -> (&'static str, String) {
    let problem = format!(
        "true was given; with {scheme} GC drops what the cache holds, which must survive a restart: false is allowed, or \
         cooperation \"none\" or one of ShadowGC's"
    );
    ("cache.volatile", problem)
}
