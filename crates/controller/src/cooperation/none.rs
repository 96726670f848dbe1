//! No cooperation (the baseline *NVM-basic* of the CDM paper): flash knows nothing of the cache.
//!
//! The old flash page of a dirty cached page stays valid until that copy is evicted and written, and GC copies it.

use super::{CooperationScheme, GcAnswers};
use coflash_base::Lpn;
use coflash_base::policy::{NoParameters, Policy};
use coflash_cache::Cache;
use coflash_flash::Media;
use coflash_ftl::{Demands, Fate, Ftl, Marks};

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct None;

impl Policy for None {
    type Config = NoParameters;
    const SUMMARY: &'static str = "flash knows nothing of the cache (NVM-basic)";
    const SOURCE: &'static str = "Lee et al., MSST 2016, section 5 (baseline)";
}

impl GcAnswers for None {
    #[inline(always)]
    fn fate<M: Media>(&mut self, _: Lpn, _: Marks, _: &mut Cache, _: &mut M) -> Fate {
        Fate::COPY
    }
}

impl CooperationScheme for None {
    fn new(_: &NoParameters, _: u32) -> Self {
        Self
    }

    fn demands(&self) -> Demands {
        Demands::NONE
    }

    fn refuses(&self, _: bool) -> Option<(&'static str, String)> {
        Option::None
    }

    /// Nothing is marked or dropped, and a clean copy has a flash page behind it.
    fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        for slot in cache.occupied() {
            let lpn = cache.page_of(slot);
            assert!(!cache.is_orphan(slot), "{lpn:?} is an orphan, but GC drops nothing");
            assert!(cache.is_dirty(slot) || ftl.lookup(lpn).is_some(), "{lpn:?} is cached clean, so mapped");
        }
        assert!(!ftl.mapped().any(|lpn| ftl.is_marked(lpn)), "flash knows nothing of the cache");
        assert_eq!(ftl.tally().gc_drops_pages, 0, "GC drops nothing");
    }
}
