//! No cooperation (the baseline *NVM-basic* of the CDM paper): flash gets no information about the cache.
//!
//! The old flash page of a dirty cached page stays valid until the cached copy is evicted and written. Meanwhile GC
//! copies it.

use super::{CooperationScheme, Event, Needs, Scheme, Setting};
use crate::cooperates::{Cached, Cooperates};
use coflash_base::measure::Report;
use coflash_base::policy::{NoParameters, Policy};
use coflash_base::{Lpn, Misfit, Save};
use coflash_cache::Cache;
use coflash_ftl::{Decision, Ftl, Marks, Requirements};

/// No cooperation.
#[derive(Clone, Debug, Save)]
pub struct None;

impl Policy for None {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Flash knows nothing of the cache (NVM-basic).";
    const SOURCE: &'static str = "Lee et al., MSST 2016, section 5 (baseline)";
}

impl CooperationScheme for None {
    fn requirements(_: &NoParameters) -> Requirements {
        Requirements::NONE
    }

    fn memory(_: &NoParameters) -> Needs {
        Needs::NOTHING
    }

    fn new(_: &NoParameters, _: &Setting) -> Result<Self, Misfit> {
        Ok(Self)
    }
}

impl Scheme for None {
    #[inline(always)]
    fn decide(&mut self, _: Lpn, _: Marks, _: &Cache) -> Decision {
        Decision::COPY
    }

    #[inline(always)]
    fn happened<B: Cooperates>(&mut self, _: Event, _: Cached, _: &mut Cache, _: &mut B) {}

    fn report(&self, _: &mut Report) {}

    /// No page is marked or dropped, and every clean cached page is mapped.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            assert!(!cache.is_orphan(slot), "{lpn:?} is an orphan, but GC drops nothing");
            assert!(cache.is_dirty(slot) || ftl.lookup(lpn).is_some(), "{lpn:?} is cached clean, so mapped");
        }
        assert!(!ftl.mapped().any(|lpn| ftl.is_marked(lpn)), "flash knows nothing of the cache");
        assert_eq!(ftl.counters().gc_drops_pages, 0, "GC drops nothing");
    }
}
