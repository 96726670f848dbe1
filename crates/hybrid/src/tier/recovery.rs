//! After a power failure: what is cached, from what flash says of itself.

use super::Tier;
use crate::mapping_manager::Found;
use crate::media::TierMedia;
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_flash::Ppn;

impl Tier {
    /// What the tier knows again after a power failure: an empty tier over an erased FTL takes in all that flash holds, of
    /// torn pages only where they are. Nothing may be served before this, and what it writes, is done.
    pub fn recover<M: TierMedia>(
        &mut self,
        pages: &[(Ppn, Option<Found>)],
        start: M::When,
        media: &mut M,
    ) -> M::When {
        let found: Vec<_> = pages.iter().filter_map(|(_, found)| found.clone()).collect();
        let live = self.mapping.recover(&found);
        let slots = self.slots;
        self.ftl.recover(
            pages.iter().map(|(page, found)| (*page, found.as_ref().map(|found| found.oob))),
            |lpn| lpn.get() >= slots || live[SlotId::new(lpn.get())].is_some(),
        );
        // In the order in which they were written: that of their use is lost.
        let mut cached: Vec<_> = live.ids().filter_map(|slot| Some((live[slot]?.version, slot))).collect();
        cached.sort_unstable();
        for (_, slot) in cached {
            let label = live[slot].expect("only live ones were kept");
            self.replacer.cache.insert_at(slot, label.page, label.dirty);
        }
        let mut store = Self::store(&mut self.ftl, &mut self.replacer, self.clean, start, media);
        store.finish_gc();
        self.mapping.checkpoint(start, &mut store)
    }

    /// Panics unless cache, FTL and mapping agree. For tests.
    pub fn assert_invariants(&self) {
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
