//! The path of a page through the cache.

use super::WriteBack;
use super::commit::Rest;
use crate::config::Eviction;
use crate::cooperates::{Cached, Cooperates};
use crate::cooperation::{Event, Scheme};
use crate::level::Level;
use coflash_cache::SlotId;
use coflash_ftl::{Coverage, PageRead, PageWrite};
use coflash_media::{Access, Media, Place};

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    #[inline]
    pub(super) fn read_page<M: Media>(
        &mut self,
        page: PageRead,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<Option<M::When>, M::Error>
    where
        L: Level<M>,
    {
        if let Some(slot) = self.cache.lookup(page.lpn) {
            self.counters.read_hits += 1;
            self.counters.nvm_reads_pages += 1;
            self.touch(slot);
            self.happened(Event::Used, Cached { lpn: page.lpn, slot });
            return Ok(Some(media.access(self.place(slot), Access::Read { to: page.to }, after)));
        }
        self.counters.read_misses += 1;
        if self.is_deleted(page.lpn) {
            return Ok(None);
        }
        let (below, mut io) = self.descend(media, start);
        let Some(done) = below.read(page, after, &mut io)? else { return Ok(None) };
        if self.options.read_allocate && self.cache.capacity() > 0 && self.below.admits(page.lpn, true) {
            // The answer does not wait for the eviction and the fill, but both occupy the device. The read succeeds even if no
            // page can be evicted.
            let room = match self.consistency {
                Some(_) => self.free_slot(start, media).map(|()| None),
                None => self.make_room(page.lpn, after, start, media),
            };
            if room.is_err() {
                return Ok(Some(done));
            }
            let slot = self.cache.insert(page.lpn, false);
            let cached = Cached { lpn: page.lpn, slot };
            self.counters.nvm_writes_pages += 1;
            self.metadata.filling(cached, media);
            media.access(self.place(slot), Access::Fill { from: page.to }, after);
            self.metadata.filled(cached, media);
            self.happened(Event::Filled, cached);
            if self.cache.is_dirty(slot) {
                self.metadata.written(cached, false, media);
            }
        }
        Ok(Some(done))
    }

    #[inline(always)]
    pub(super) fn write_page<M: Media>(
        &mut self,
        page: PageWrite,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        let older = match self.consistency {
            Some(_) => self.writable(page.lpn, start, media)?,
            None => self.cache.lookup(page.lpn),
        };
        match older {
            Some(slot) if !self.is_protected(slot) => {
                self.counters.write_hits += 1;
                let cached = Cached { lpn: page.lpn, slot };
                if self.consistency.is_none() {
                    self.cache.touch(slot);
                }
                self.happened(Event::Overwritten, cached);
                let mut ready = after;
                let is_labelled = self.cache.is_dirty(slot);
                if is_labelled {
                    self.counters.absorbed_pages += 1;
                } else {
                    ready = self.clean_for_another(after, start, media)?.unwrap_or(after);
                }
                self.cache.set_dirty(slot, true);
                if !is_labelled {
                    self.became_dirty(cached, false, media);
                }
                let access = Access::Write { from: page.from };
                return Ok(self.write_slot(page, slot, access, is_labelled, ready, media));
            }
            Some(_) => self.counters.write_hits += 1,
            None => self.counters.write_misses += 1,
        }
        if self.options.setting.write_allocate && self.cache.capacity() > 0 && self.may_take_in(&page) {
            self.write_allocating(page, older, after, start, media)
        } else {
            self.write_past(page, after, start, media)
        }
    }

    fn write_past<M: Media>(
        &mut self,
        page: PageWrite,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        self.passed |= matches!(page.from, Place::Slot(_));
        let (below, mut io) = self.descend(media, start);
        let done = below.write(page, after, &mut io)?;
        self.metadata.programmed(page.lpn, media);
        Ok(done)
    }

    /// Whether a page that is written may enter the cache. A volatile cache has promised nothing, and takes all.
    #[inline(always)]
    fn may_take_in(&self, page: &PageWrite) -> bool {
        self.options.setting.is_volatile || self.below.admits(page.lpn, page.coverage == Coverage::Partial)
    }

    /// Write a page into a slot of its own. `older` is that of its committed version, if that is cached and must stay.
    #[inline]
    fn write_allocating<M: Media>(
        &mut self,
        page: PageWrite,
        older: Option<SlotId>,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        // A sole copy evicted in the background counts against the bound until it is in flash.
        let waits =
            self.options.eviction == Eviction::Foreground || self.scheme.next_to_clean(&self.cache).is_some();
        let written = match self.make_room(page.lpn, after, start, media)? {
            // The evicted page was a sole copy, so another one is allowed.
            Some(evicted) => waits.then_some(evicted),
            None => self.clean_for_another(after, start, media)?,
        };
        let is_partial = page.coverage == Coverage::Partial;
        if is_partial && !self.may_take_in(&page) {
            // What left the cache has driven the rest of the page out of the level below.
            return self.write_past(page, after, start, media);
        }
        if let Some(older) = older {
            self.cache.detach(older);
        }
        let slot = self.cache.insert(page.lpn, true);
        let cached = Cached { lpn: page.lpn, slot };
        self.became_dirty(cached, true, media);
        let (mut ready, mut access) = (written.unwrap_or(after), Access::WriteNew { from: page.from });
        let rest = match self.consistency {
            Some(_) => self.keep_older(cached, older, media),
            None => Rest::Below,
        };
        if let Rest::Cached(older) = rest {
            access = Access::Write { from: page.from };
            if is_partial {
                self.counters.nvm_reads_pages += 1;
                self.counters.nvm_writes_pages += 1;
                let whole = Access::WriteNew { from: Place::Slot(self.place(older)) };
                ready = media.access(self.place(slot), whole, ready);
            }
        } else if is_partial && !matches!(rest, Rest::Deleted) {
            // The read overlaps the write of the evicted page: waiting would leave the die idle. The slot waits
            // for both.
            let rest = PageRead { lpn: page.lpn, to: Place::Slot(self.place(slot)), cause: page.cause };
            let (below, mut io) = self.descend(media, start);
            let filled = below.read(rest, after, &mut io);
            if filled.is_err() {
                self.became_clean(slot);
                self.vacate(slot, media);
            }
            if let Some(filled) = filled? {
                ready = written.map_or(filled, |written| media.both(written, filled));
                access = Access::Write { from: page.from };
                self.counters.nvm_writes_pages += 1;
                self.counters.merged_pages += 1;
            }
        }
        Ok(self.write_slot(page, slot, access, false, ready, media))
    }

    #[inline]
    fn write_slot<M: Media>(
        &mut self,
        page: PageWrite,
        slot: SlotId,
        access: Access,
        is_labelled: bool,
        after: M::When,
        media: &mut M,
    ) -> M::When {
        self.counters.nvm_writes_pages += 1;
        self.cache.set_placement(slot, page.placement);
        let done = media.access(self.place(slot), access, after);
        let page = Cached { lpn: page.lpn, slot };
        self.metadata.written(page, is_labelled, media);
        self.happened(Event::Written, page);
        done
    }
}
