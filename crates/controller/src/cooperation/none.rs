//! No cooperation (the baseline *NVM-basic* of the CDM paper): flash knows nothing of the cache.
//!
//! The old flash page of a dirty cached page stays valid until that copy is evicted and written, and GC copies it.

use super::CooperationScheme;
use coflash_base::Lpn;
use coflash_base::policy::{NoParameters, Policy};
use coflash_cache::Cache;
use coflash_ftl::{Fate, Ftl};

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct None;

impl Policy for None {
    type Config = NoParameters;
    const SUMMARY: &'static str = "flash knows nothing of the cache (NVM-basic)";
    const SOURCE: &'static str = "Lee et al., MSST 2016, section 5 (baseline)";
}

impl CooperationScheme for None {
    fn new(_: &NoParameters) -> Self {
        Self
    }

    fn fractional(_: &NoParameters) -> bool {
        false
    }

    #[inline(always)]
    fn cached_clean(&mut self, _: Lpn, _: &mut Ftl) {}

    #[inline(always)]
    fn written(&mut self, _: Lpn, _: &mut Ftl) {}

    #[inline(always)]
    fn evicted_clean(&mut self, _: Lpn, _: &mut Ftl) {}

    #[inline(always)]
    fn fate(&mut self, _: Lpn, _: bool, _: &mut Cache) -> Fate {
        Fate::Copy
    }
}
