//! Cooperation schemes: what cache and flash tell each other. One file each, one line in the list below.

use coflash_base::Lpn;
use coflash_cache::{Cache, SlotId};
use coflash_flash::Media;
use coflash_ftl::{Advisor, Fate, Ftl, Stream, Weight, Weights};

mod cdm;
mod cdm_consistent;
mod none;
mod outlook;
mod sole_copies;

coflash_base::policy_family! { ($)
    /// What cache and flash tell each other.
    pub family Cooperation, config CooperationConfig, dispatch cooperation_dispatch, build cooperation_build {
        "none" => None(none::None),
        "cdm" => Cdm(cdm::Cdm),
        "cdm-consistent" => CdmConsistent(cdm_consistent::CdmConsistent),
    }
}

pub(crate) use cdm_consistent::Deletion;
pub use cdm_consistent::{CdmConsistent, CdmConsistentConfig, CommitTally};

/// What GC asks of a scheme.
pub trait GcAnswers {
    /// GC's one question, for each valid page of its victim. To drop a page that the cache holds clean, the scheme
    /// makes the cached copy an orphan first: it must be written when it is evicted.
    fn fate<M: Media>(&mut self, lpn: Lpn, marked: bool, cache: &mut Cache, media: &mut M) -> Fate;

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
/// asks for that, and GC may ask its [`fate`](GcAnswers::fate); it leaves by [`evicted`](Self::evicted) or
/// [`trimmed`](Self::trimmed).
pub trait CooperationScheme: GcAnswers + coflash_base::Policy {
    /// The scheme with its parameters, for a cache of `slots` pages.
    fn new(config: &Self::Config, slots: u32) -> Self;

    /// Whether marked pages may come to count in part in a victim's cost.
    fn fractional(&self) -> bool;

    /// A read miss was cached: cache and flash hold the same.
    fn cached_clean(&mut self, slot: SlotId, lpn: Lpn, ftl: &mut Ftl) {
        let _ = (slot, lpn, ftl);
    }

    /// A cached page was read.
    fn used(&mut self, slot: SlotId, cache: &Cache, ftl: &mut Ftl) {
        let _ = (slot, cache, ftl);
    }

    /// The host is about to overwrite a cached page; `written` follows.
    fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        let _ = (slot, cache);
    }

    /// The host wrote to the cached copy of a page: the flash copy, if any, is out of date.
    fn written(&mut self, slot: SlotId, cache: &Cache, ftl: &mut Ftl) {
        let _ = (slot, cache, ftl);
    }

    /// A cached page is about to be trimmed.
    fn trimmed(&mut self, slot: SlotId, cache: &Cache) {
        let _ = (slot, cache);
    }

    /// A page is about to be evicted. Where it is dirty, a program that replaces its flash copy follows.
    fn evicted(&mut self, slot: SlotId, cache: &Cache, ftl: &mut Ftl) {
        let _ = (slot, cache, ftl);
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
    fn cleaned(&mut self, slot: SlotId, lpn: Lpn, ftl: &mut Ftl) {
        let _ = (slot, lpn, ftl);
    }

    /// Where an orphan is written.
    fn rewrite_stream(&self) -> Stream {
        Stream::Evict
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

    /// Whether marked pages may come to count in part in a victim's cost. No cache is so large that this changes.
    #[must_use]
    pub fn fractional(&self) -> bool {
        let scheme = self.build(0);
        cooperation_dispatch!(scheme, scheme => scheme.fractional())
    }
}

impl Cooperation {
    #[inline(always)]
    pub(crate) fn cached_clean(&mut self, slot: SlotId, lpn: Lpn, ftl: &mut Ftl) {
        cooperation_dispatch!(self, scheme => scheme.cached_clean(slot, lpn, ftl));
    }

    #[inline(always)]
    pub(crate) fn used(&mut self, slot: SlotId, cache: &Cache, ftl: &mut Ftl) {
        cooperation_dispatch!(self, scheme => scheme.used(slot, cache, ftl));
    }

    #[inline(always)]
    pub(crate) fn overwritten(&mut self, slot: SlotId, cache: &Cache) {
        cooperation_dispatch!(self, scheme => scheme.overwritten(slot, cache));
    }

    #[inline(always)]
    pub(crate) fn written(&mut self, slot: SlotId, cache: &Cache, ftl: &mut Ftl) {
        cooperation_dispatch!(self, scheme => scheme.written(slot, cache, ftl));
    }

    #[inline(always)]
    pub(crate) fn trimmed(&mut self, slot: SlotId, cache: &Cache) {
        cooperation_dispatch!(self, scheme => scheme.trimmed(slot, cache));
    }

    #[inline(always)]
    pub(crate) fn evicted(&mut self, slot: SlotId, cache: &Cache, ftl: &mut Ftl) {
        cooperation_dispatch!(self, scheme => scheme.evicted(slot, cache, ftl));
    }

    #[inline(always)]
    pub(crate) fn is_at_bound(&self, cache: &Cache) -> bool {
        cooperation_dispatch!(self, scheme => scheme.is_at_bound(cache))
    }

    pub(crate) fn next_to_clean(&self) -> SlotId {
        cooperation_dispatch!(self, scheme => scheme.next_to_clean())
    }

    pub(crate) fn cleaned(&mut self, slot: SlotId, lpn: Lpn, ftl: &mut Ftl) {
        cooperation_dispatch!(self, scheme => scheme.cleaned(slot, lpn, ftl));
    }

    pub(crate) fn rewrite_stream(&self) -> Stream {
        cooperation_dispatch!(self, scheme => scheme.rewrite_stream())
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        cooperation_dispatch!(self, scheme => scheme.assert_invariants(cache, ftl));
    }
}

impl GcAnswers for Cooperation {
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marked: bool, cache: &mut Cache, media: &mut M) -> Fate {
        cooperation_dispatch!(self, scheme => scheme.fate(lpn, marked, cache, media))
    }

    fn before_erase<M: Media>(&mut self, media: &mut M) {
        cooperation_dispatch!(self, scheme => scheme.before_erase(media));
    }

    fn weights(&mut self, cache: &Cache) -> Weights {
        cooperation_dispatch!(self, scheme => scheme.weights(cache))
    }
}

/// A scheme with the cache at hand, as GC asks it.
pub(crate) struct Answers<'a, S> {
    pub(crate) scheme: &'a mut S,
    pub(crate) cache: &'a mut Cache,
}

impl<S: GcAnswers> Advisor for Answers<'_, S> {
    #[inline(always)]
    fn fate<M: Media>(&mut self, lpn: Lpn, marked: bool, media: &mut M) -> Fate {
        self.scheme.fate(lpn, marked, self.cache, media)
    }

    fn before_erase<M: Media>(&mut self, media: &mut M) {
        self.scheme.before_erase(media);
    }

    fn weights(&mut self) -> Weights {
        self.scheme.weights(self.cache)
    }
}
