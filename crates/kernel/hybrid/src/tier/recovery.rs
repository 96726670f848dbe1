//! Recovery of the cached pages after a power failure, from labels, journal and checkpoints.

use super::{Tier, TierAtWork};
use crate::mapping_manager::Found;
use crate::media::TierMedia;
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_ftl::GcHook;
use coflash_level::RecoveryError;
use coflash_media::{Contents, FoundPage, Ppn};

impl Tier {
    /// Panic unless cache, FTL and mapping are consistent. For tests.
    pub(crate) fn assert_invariants(&self) {
        self.ftl.assert_invariants();
        self.replacer.assert_invariants();
        self.mapping.assert_invariants(&self.replacer.cache);
        let mapped = self.ftl.mapped().filter(|lpn| lpn.get() < self.slots).count();
        assert_eq!(
            mapped,
            self.replacer.cache.len() as usize,
            "every cached page is in flash, and nothing else"
        );
        for slot in self.replacer.cache.occupied() {
            assert!(self.ftl.lookup(Lpn::new(slot.get())).is_some(), "{slot:?} is cached and not in flash");
        }
    }
}

impl<M: TierMedia, H: GcHook> TierAtWork<'_, M, H> {
    /// Recover an empty tier over an erased FTL from all pages in flash (torn ones have no content) and the
    /// erase count of each block, but for pages that `is_above` says a cache above has. No request may be served before this and its writes are done.
    pub(crate) fn recover(
        &mut self,
        pages: &[(Ppn, Option<Found>)],
        erases: &[u32],
        is_above: impl Fn(Lpn) -> bool,
    ) -> Result<M::When, RecoveryError<M::Error>> {
        let found: Vec<_> = pages.iter().filter_map(|(_, found)| found.clone()).collect();
        let live = self.tier.mapping.recover(&found, is_above);
        let slots = self.tier.slots;
        let contents = Contents {
            words: Vec::new(),
            pages: pages
                .iter()
                .map(|(page, found)| FoundPage::new(*page, found.as_ref().map(|found| found.oob)))
                .collect(),
            erases: erases.to_vec(),
        };
        let is_live = |lpn: Lpn| lpn.get() >= slots || live[SlotId::new(lpn.get())].is_some();
        self.tier.ftl.recover(&contents, is_live)?;
        // In the order of their writes, since the order of use is lost.
        let mut cached: Vec<_> = live.ids().filter_map(|slot| Some((live[slot]?.version, slot))).collect();
        cached.sort_unstable();
        for (_, slot) in cached {
            let label = live[slot].expect("only live ones were kept");
            self.tier.replacer.recover(slot, label.page, label.dirty);
        }
        let start = self.start;
        let (mapping, mut store) = self.store();
        store.ftl.finish_gc(&mut store.io).map_err(RecoveryError::Flash)?;
        mapping.checkpoint(start, &mut store).map_err(RecoveryError::Flash)
    }
}
