//! Removal of pages from flash: evictions of clean pages, destages, overwrites past the cache, and trims.

use super::{Tier, TierAtWork};
use crate::media::TierMedia;
use crate::page_replacer::{Eviction, EvictionId};
use crate::store::Store;
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_ftl::{GcHook, PageRead};
use coflash_media::{Cause, Place};

impl Tier {
    /// Trim a page of the request: reads now return the possibly stale version of the disk. The journal
    /// records the trim at the [end](TierAtWork::end) of the request. The answer does not wait for that: if power
    /// fails before, the page may come back.
    pub(crate) fn trim(&mut self, page: Lpn) {
        self.comes_down(page, true);
        self.fetches.cancel(page, 1);
        if let Some(tracker) = &mut self.tracker {
            tracker.forget(page);
        }
        if self.mapping.is_recorded(page) {
            self.trimmed.push(page);
        }
    }

    fn release(&mut self, slot: SlotId) {
        self.replacer.remove(slot);
        self.ftl.invalidate(Lpn::new(slot.get()));
    }

    pub(super) fn drop_clean(&mut self, slot: SlotId) {
        debug_assert!(!self.replacer.cache.is_dirty(slot), "{slot:?} is dirty");
        self.counters.clean_evictions_pages += 1;
        self.replacer.evicts(slot);
        self.release(slot);
    }

    /// Begin to write pages from `first` on through to the disk, after their write to flash.
    pub(crate) fn write_through(&mut self, first: Lpn, pages: u32) -> EvictionId {
        self.counters.written_through_pages += u64::from(pages);
        let range = (first.get()..first.get() + pages).map(Lpn::new);
        // A cache above may have got newer data meanwhile.
        let slots = range.filter_map(|page| self.replacer.cache.lookup(page));
        let slots = slots.filter(|&slot| self.replacer.cache.is_pinned(slot)).collect();
        self.replacer.begin(Eviction { slots, overwritten: Some((first, pages)), stays: true })
    }
}

impl<M: TierMedia, H: GcHook> TierAtWork<'_, M, H> {
    pub(super) fn forget_trimmed(&mut self) -> Result<(), M::Error> {
        let trimmed = std::mem::take(&mut self.tier.trimmed);
        self.forget(&trimmed)?;
        for page in trimmed {
            // After the journal: if GC erased this copy earlier, an older one would become the newest copy in flash.
            if let Some(slot) = self.tier.replacer.cache.lookup(page) {
                self.tier.release(slot);
            }
        }
        Ok(())
    }

    /// Begin to destage the next group: read it into the buffer, as a disk job. Returns `None` if the disk
    /// has all of its pages: then they are removed.
    pub(super) fn destage(&mut self) -> Result<Option<EvictionId>, M::Error> {
        let Tier { ftl, replacer, counters, .. } = &mut *self.tier;
        let (group, mut slots) = replacer.take_group(|slot| {
            counters.clean_evictions_pages += 1;
            ftl.invalidate(Lpn::new(slot.get()));
        });
        let pages = slots.len();
        slots.retain(|&slot| !replacer.is_on_disk(slot));
        counters.clean_evictions_pages += (pages - slots.len()) as u64;
        if slots.is_empty() {
            self.evict(group)?;
            return Ok(None);
        }
        counters.destage_groups += 1;
        counters.destages_pages += slots.len() as u64;
        let job = self.jobs.begin_group(group);
        for slot in slots {
            let page = self.tier.replacer.cache.page_of(slot);
            let start = self.start;
            let (_, Store { ftl, mut io }) = self.store();
            let flash = PageRead { lpn: Lpn::new(slot.get()), to: Place::Merged, cause: Cause::Destage };
            let mut read = ftl.read(flash, start, &mut io)?.expect("a dirty page is in flash");
            self.media.to_disk(job, page, Place::Merged);
            if let Some(&(older, _)) = self.tier.above.leaving.get(&page) {
                read = self.jobs.after(older, read, self.media);
            }
            self.jobs.add_page(job, page, read, self.media);
        }
        Ok(Some(group))
    }

    /// End the destage of a group that is on the disk: removes its pages from flash. Returns the moment at which the
    /// journal records it.
    pub(crate) fn destaged(&mut self, id: EvictionId) -> Result<M::When, M::Error> {
        self.tier.shrinking_group =
            self.tier.shrinking_group.filter(|&shrinking_group| shrinking_group != id);
        self.evict(id)
    }

    /// Begin writes past the cache to pages from `first` on; the disk [serves](Self::write) them. Returns the
    /// earliest moment at which the disk may be written: before it, recovery could bring back older data from
    /// flash.
    pub(crate) fn overwrite(&mut self, first: Lpn, pages: u32) -> Result<(EvictionId, M::When), M::Error> {
        let (mut slots, mut gone) = (Vec::new(), Vec::new());
        for page in (first.get()..first.get() + pages).map(Lpn::new) {
            match self.tier.replacer.cache.lookup(page) {
                // It is evicted by an earlier overwrite.
                Some(slot) if self.tier.replacer.is_outdated(slot) => {}
                // It was pinned when the write was found to bypass the cache.
                Some(slot) if self.tier.replacer.cache.is_dirty(slot) => slots.push(slot),
                Some(slot) => {
                    self.tier.drop_clean(slot);
                    gone.push(page);
                }
                None if self.tier.mapping.is_recorded(page) => gone.push(page),
                None => {}
            }
        }
        let id =
            self.tier.replacer.begin(Eviction { slots, overwritten: Some((first, pages)), stays: false });
        let ready = self.forget(&gone)?;
        Ok((id, ready))
    }

    /// End a write through the cache: its pages are on the disk.
    pub(crate) fn written_through(&mut self, id: EvictionId) -> Result<(), M::Error> {
        if let Some((first, pages)) = self.tier.replacer.end_through(id) {
            // A page that was trimmed meanwhile may be on its way to the read cache, in its older version.
            self.tier.fetches.cancel(first, pages);
        }
        self.keep_limits(0)
    }

    /// End an eviction whose pages the disk has, or newer ones written past the cache: removes its pages from flash. Returns the moment
    /// at which the journal records it.
    pub(crate) fn evict(&mut self, id: EvictionId) -> Result<M::When, M::Error> {
        let Eviction { slots, overwritten, .. } = self.tier.replacer.end(id);
        if let Some((first, pages)) = overwritten {
            // Fetches under way may have read the older data.
            self.tier.fetches.cancel(first, pages);
        }
        // The slots stay pinned until the journal is written: GC must still copy them.
        let pages: Vec<_> = slots.iter().map(|&slot| self.tier.replacer.cache.page_of(slot)).collect();
        let done = self.forget(&pages)?;
        for slot in slots {
            self.tier.release(slot);
        }
        Ok(done)
    }
}
