//! Removal of pages from flash: evictions of clean pages, destages, overwrites past the cache, and trims.

use super::{Tier, TierIo};
use crate::media::TierMedia;
use crate::page_replacer::{Eviction, EvictionId};
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_ftl::{GcHook, PageRead};
use coflash_media::{Cause, Place};

impl Tier {
    /// Trim a page of the request: reads now return the possibly stale version of the disk. The journal
    /// records the trim at the [end](Self::end) of the request. The answer does not wait for that: if power
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

    pub(super) fn forget_trimmed<M: TierMedia, H: GcHook>(
        &mut self,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<(), M::Error> {
        let trimmed = std::mem::take(&mut self.trimmed);
        self.forget(&trimmed, io)?;
        for page in trimmed {
            // After the journal: if GC erased this copy earlier, an older one would become the newest copy in flash.
            if let Some(slot) = self.replacer.cache.lookup(page) {
                self.release(slot);
            }
        }
        Ok(())
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

    /// Begin to destage the next group: read it into the buffer, as a disk job. Returns `None` if the disk
    /// has all of its pages: then they are removed.
    pub(super) fn destage<M: TierMedia, H: GcHook>(
        &mut self,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<Option<EvictionId>, M::Error> {
        let Self { ftl, replacer, counters, .. } = self;
        let (group, mut slots) = replacer.take_group(|slot| {
            counters.clean_evictions_pages += 1;
            ftl.invalidate(Lpn::new(slot.get()));
        });
        let pages = slots.len();
        slots.retain(|&slot| !replacer.is_on_disk(slot));
        counters.clean_evictions_pages += (pages - slots.len()) as u64;
        if slots.is_empty() {
            self.evict(group, io)?;
            return Ok(None);
        }
        counters.destage_groups += 1;
        counters.destages_pages += slots.len() as u64;
        let job = io.jobs.begin_group(group);
        for slot in slots {
            let page = self.replacer.cache.page_of(slot);
            let (start, mut store) =
                (io.start, Self::store(&mut self.ftl, &mut self.replacer, &mut self.above, self.clean, io));
            let flash = PageRead { lpn: Lpn::new(slot.get()), to: Place::Merged, cause: Cause::Destage };
            let mut read = store.read(flash, start)?.expect("a dirty page is in flash");
            io.media.to_disk(job, page, Place::Merged);
            if let Some(&(older, _)) = self.above.leaving.get(&page) {
                read = io.jobs.after(older, read, io.media);
            }
            io.jobs.add_page(job, page, read, io.media);
        }
        Ok(Some(group))
    }

    /// Whether a page still belongs to an eviction. The older version of a page that was overwritten since
    /// then must not reach the disk.
    pub(crate) fn is_evicted_by(&self, id: EvictionId, page: Lpn) -> bool {
        self.replacer.is_evicted_by(id, page)
    }

    /// End the destage of a group that is on the disk: removes its pages from flash. Returns the moment at which the
    /// journal records it.
    pub(crate) fn destaged<M: TierMedia, H: GcHook>(
        &mut self,
        id: EvictionId,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.shrinking_group = self.shrinking_group.filter(|&shrinking_group| shrinking_group != id);
        self.evict(id, io)
    }

    /// Begin writes past the cache to pages from `first` on; the disk [serves](Self::write) them. Returns the
    /// earliest moment at which the disk may be written: before it, recovery could bring back older data from
    /// flash.
    pub(crate) fn overwrite<M: TierMedia, H: GcHook>(
        &mut self,
        first: Lpn,
        pages: u32,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<(EvictionId, M::When), M::Error> {
        let (mut slots, mut gone) = (Vec::new(), Vec::new());
        for page in (first.get()..first.get() + pages).map(Lpn::new) {
            match self.replacer.cache.lookup(page) {
                // It is evicted by an earlier overwrite.
                Some(slot) if self.replacer.is_outdated(slot) => {}
                // It was pinned when the write was found to bypass the cache.
                Some(slot) if self.replacer.cache.is_dirty(slot) => slots.push(slot),
                Some(slot) => {
                    self.drop_clean(slot);
                    gone.push(page);
                }
                None if self.mapping.is_recorded(page) => gone.push(page),
                None => {}
            }
        }
        let id = self.replacer.begin(Eviction { slots, overwritten: Some((first, pages)), stays: false });
        let ready = self.forget(&gone, io)?;
        Ok((id, ready))
    }

    /// End writes past the cache that are on the disk: removes dirty copies from flash. Returns the moment of the
    /// answer.
    pub(crate) fn overwritten<M: TierMedia, H: GcHook>(
        &mut self,
        id: EvictionId,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.evict(id, io)
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

    /// End a write through the cache: its pages are on the disk.
    pub(crate) fn written_through<M: TierMedia, H: GcHook>(
        &mut self,
        id: EvictionId,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<(), M::Error> {
        if let Some((first, pages)) = self.replacer.end_through(id) {
            // A page that was trimmed meanwhile may be on its way to the read cache, in its older version.
            self.fetches.cancel(first, pages);
        }
        self.keep_limits(0, io)
    }

    fn evict<M: TierMedia, H: GcHook>(
        &mut self,
        id: EvictionId,
        io: &mut TierIo<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let Eviction { slots, overwritten, .. } = self.replacer.end(id);
        if let Some((first, pages)) = overwritten {
            // Fetches under way may have read the older data.
            self.fetches.cancel(first, pages);
        }
        // The slots stay pinned until the journal is written: GC must still copy them.
        let pages: Vec<_> = slots.iter().map(|&slot| self.replacer.cache.page_of(slot)).collect();
        let done = self.forget(&pages, io)?;
        for slot in slots {
            self.release(slot);
        }
        Ok(done)
    }
}
