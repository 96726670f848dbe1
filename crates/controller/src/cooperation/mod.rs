//! Cooperation schemes: what cache and flash tell each other. One file each, one line in the list below.

use crate::write_back::{Below, Cached};
use coflash_base::Lpn;
use coflash_cache::{Cache, SlotId};
use coflash_flash::Media;
use coflash_ftl::{Advisor, Demands, Fate, Ftl, Marks, Stream, Weight, Weights};

mod cdm;
mod cdm_consistent;
mod none;
mod outlook;
mod shadow;
mod sole_copies;

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

/// What GC asks of a scheme.
pub trait GcAnswers {
    /// GC's one question, for each valid page of its victim. To drop a page that the cache holds clean, the scheme
    /// makes the cached copy an orphan first: it must be written when it is evicted.
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, media: &mut M) -> Fate;

    /// GC copies the pages of a victim that no tier has marked, so many of them, and asks nothing: of those every scheme
    /// says [`Fate::COPY`].
    fn copies_unmarked(&mut self, pages: u32) {
        let _ = pages;
    }

    /// What was dropped must be durable elsewhere when this returns: the block is about to be erased.
    fn before_erase<M: Media>(&mut self, media: &mut M) {
        let _ = media;
    }

    /// What marked pages count in a victim's cost from now on.
    fn weights(&mut self, cache: &Cache) -> Weights {
        let _ = cache;
        Weights::all(Weight::FULL)
    }
}

/// The contract. The controller calls these hooks in the order in which the device's state changes; each is called once
/// per page and event, and finds cache and FTL as they are after the event, unless it says otherwise.
///
/// A page's life in the cache: it enters by [`cached_clean`](Self::cached_clean) or [`written`](Self::written); while it
/// is there it may be [`used`](Self::used) and `written` any number of times, [`cleaned`](Self::cleaned) where the scheme
/// asks for that, and GC may ask its [`fate`](GcAnswers::fate); it leaves by [`evicted`](Self::evicted), unless the scheme
/// [`discards`](Self::discards) it, or by [`trimmed`](Self::trimmed).
pub trait CooperationScheme: GcAnswers + coflash_base::Policy {
    /// The scheme with its parameters, for a cache of `slots` pages.
    fn new(config: &Self::Config, slots: u32) -> Self;

    /// What it asks of the FTL.
    fn demands(&self) -> Demands;

    /// A read miss was cached: cache and flash hold the same.
    fn cached_clean<B: Below>(&mut self, page: Cached, below: &mut B) {
        let _ = (page, below);
    }

    /// A cached page was read.
    fn used<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        let _ = (page, cache, below);
    }

    /// The host is about to overwrite a cached page; `written` follows.
    fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        let _ = (slot, cache);
    }

    /// The host wrote to the cached copy of a page: the flash copy, if any, is out of date.
    fn written<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        let _ = (page, cache, below);
    }

    /// A cached page is about to be trimmed.
    fn trimmed(&mut self, slot: SlotId, cache: &Cache) {
        let _ = (slot, cache);
    }

    /// A page is about to be evicted. Where it is dirty, a program that replaces its flash copy follows, unless the scheme
    /// discards it.
    fn evicted<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        let _ = (page, cache, below);
    }

    /// Whether there may be no more sole copies (pages of which flash has no valid copy).
    fn is_at_bound(&self, cache: &Cache) -> bool {
        let _ = cache;
        false
    }

    /// At the bound: the sole copy to be written to flash, so that there may be another.
    fn next_to_clean(&self) -> SlotId {
        unreachable!("this scheme has no bound")
    }

    /// That page was written to flash and stays cached: cache and flash hold the same.
    fn cleaned<B: Below>(&mut self, page: Cached, below: &mut B) {
        let _ = (page, below);
    }

    /// Where an orphan is written.
    fn rewrite_stream(&self) -> Stream {
        Stream::Evict
    }

    /// The dirty copy of a page is about to be written to flash, by an eviction or a flush. Whether it need not be, since
    /// newer data is held elsewhere and nobody has been promised this: it is lost then.
    fn discards<B: Below>(&mut self, page: Cached, in_flush: bool, below: &mut B) -> bool {
        let _ = (page, in_flush, below);
        false
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
    pub(crate) fn used<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.used(page, cache, below));
    }

    #[inline(always)]
    pub(crate) fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        cooperation_dispatch!(self, scheme => scheme.overwritten(slot, cache));
    }

    #[inline(always)]
    pub(crate) fn written<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.written(page, cache, below));
    }

    #[inline(always)]
    pub(crate) fn trimmed(&mut self, slot: SlotId, cache: &Cache) {
        cooperation_dispatch!(self, scheme => scheme.trimmed(slot, cache));
    }

    #[inline(always)]
    pub(crate) fn is_at_bound(&self, cache: &Cache) -> bool {
        cooperation_dispatch!(self, scheme => scheme.is_at_bound(cache))
    }

    pub(crate) fn next_to_clean(&self) -> SlotId {
        cooperation_dispatch!(self, scheme => scheme.next_to_clean())
    }

    pub(crate) fn cleaned<B: Below>(&mut self, page: Cached, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.cleaned(page, below));
    }

    pub(crate) fn rewrite_stream(&self) -> Stream {
        cooperation_dispatch!(self, scheme => scheme.rewrite_stream())
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
    pub(crate) fn evicted<B: Below>(&mut self, page: Cached, cache: &Cache, below: &mut B) {
        cooperation_dispatch!(self, scheme => scheme.evicted(page, cache, below));
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        cooperation_dispatch!(self, scheme => scheme.heap_bytes())
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        cooperation_dispatch!(self, scheme => scheme.assert_invariants(cache, ftl));
    }
}

impl GcAnswers for Cooperation {
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, cache: &mut Cache, media: &mut M) -> Fate {
        cooperation_dispatch!(self, scheme => scheme.fate(lpn, marks, cache, media))
    }

    fn copies_unmarked(&mut self, pages: u32) {
        cooperation_dispatch!(self, scheme => scheme.copies_unmarked(pages));
    }

    fn before_erase<M: Media>(&mut self, media: &mut M) {
        cooperation_dispatch!(self, scheme => scheme.before_erase(media));
    }

    #[inline(always)]
    fn weights(&mut self, cache: &Cache) -> Weights {
        cooperation_dispatch!(self, scheme => scheme.weights(cache))
    }
}

/// A scheme with the cache at hand, as GC asks it.
pub struct Answers<'a, S = Cooperation> {
    pub(crate) scheme: &'a mut S,
    pub(crate) cache: &'a mut Cache,
}

impl<S> Answers<'_, S> {
    /// Where a page is cached.
    #[inline]
    #[must_use]
    pub fn cached_at(&self, lpn: Lpn) -> Option<SlotId> {
        self.cache.lookup(lpn)
    }
}

impl<S: GcAnswers> Advisor for Answers<'_, S> {
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marks: Marks, media: &mut M) -> Fate {
        self.scheme.fate(lpn, marks, self.cache, media)
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        self.scheme.copies_unmarked(pages);
        true
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        self.scheme.before_erase(media);
        after
    }

    #[inline(always)]
    fn weights(&mut self) -> Weights {
        self.scheme.weights(self.cache)
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
