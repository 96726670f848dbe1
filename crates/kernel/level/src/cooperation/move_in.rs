//! Moving in: GC reads a valid page into the cache instead of copying it in flash, if the host is likely to write it before the
//! cache would evict it (CachedGC, MASCOTS 2018, has the idea; the rule is ours).
//!
//! A page that is moved in takes the slot of a clean page, so it needs no program now. It needs one at its eviction if it
//! is not written before. So it is moved in only if its next write is expected sooner than its eviction: as long after its last
//! write as that was after the one before; where that moment is past, as far ahead as the last write is back. Without two writes
//! nothing is expected.

use super::Setting;
use super::cdm::CdmConfig;
use super::moving::MoveRule;
use super::write_history::{Past, WriteHistory};
use coflash_base::{Lpn, Save};

/// See the top of the file.
#[derive(Clone, Debug, Save)]
pub struct MoveIn;

impl MoveRule for MoveIn {
    type Config = CdmConfig;
    const NAME: &'static str = "move-in";
    const SUMMARY: &'static str = "As cdm, and GC moves a page into the cache that is likely to be written before the cache would evict it.";
    const SOURCE: &'static str = "after CachedGC, MASCOTS 2018";

    fn cdm(config: &CdmConfig) -> CdmConfig {
        config.clone()
    }

    fn page_bytes(_: &CdmConfig) -> Option<u64> {
        Some(0)
    }

    fn new(_: &CdmConfig, _: &Setting) -> Option<Self> {
        Some(Self)
    }

    fn pays(&mut self, lpn: Lpn, history: &WriteHistory) -> bool {
        let Some(Past { age, interval: Some(interval) }) = history.past(lpn) else { return false };
        let ahead = if interval > age { interval - age } else { age };
        f64::from(ahead) < history.kept
    }
}
