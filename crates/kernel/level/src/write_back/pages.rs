//! The path of a page through the cache.

use super::commit::Rest;
use super::{AtWork, WriteBack};
use crate::config::Eviction;
use crate::cooperates::{Cached, Cooperates};
use crate::cooperation::{Event, Scheme};
use crate::level::Level;
use coflash_cache::SlotId;
use coflash_ftl::{Coverage, PageRead, PageWrite};
use coflash_media::{Access, Media, Place};

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// Whether a page that is written may enter the cache. A volatile cache has promised nothing, and takes all.
    #[inline(always)]
    fn may_take_in(&self, page: &PageWrite) -> bool {
        self.is_volatile() || self.below.admits(page.lpn, page.coverage == Coverage::Partial)
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
        self.own.counters.nvm_writes_pages += 1;
        self.own.cache.set_placement(slot, page.placement);
        let done = media.access(self.place(slot), access, after);
        let page = Cached { lpn: page.lpn, slot };
        self.own.metadata.written(page, is_labelled, media);
        self.happened(Event::Written, page);
        done
    }
}

impl<M: Media, L: Level<M> + Cooperates, S: Scheme> AtWork<'_, M, L, S> {
    #[inline]
    pub(super) fn read_page(&mut self, page: PageRead, after: M::When) -> Result<Option<M::When>, M::Error> {
        if let Some(slot) = self.level.own.cache.lookup(page.lpn) {
            self.level.own.counters.read_hits += 1;
            self.level.own.counters.nvm_reads_pages += 1;
            self.level.touch(slot);
            self.level.happened(Event::Used, Cached { lpn: page.lpn, slot });
            return Ok(Some(self.media.access(self.level.place(slot), Access::Read { to: page.to }, after)));
        }
        self.level.own.counters.read_misses += 1;
        if self.level.is_deleted(page.lpn) {
            return Ok(None);
        }
        let (below, mut io) = self.level.descend(self.media, self.start);
        let Some(done) = below.read(page, after, &mut io)? else { return Ok(None) };
        if self.level.own.options.read_allocate
            && self.level.own.cache.capacity() > 0
            && self.level.below.admits(page.lpn, true)
        {
            // The answer does not wait for the eviction and the fill, but both occupy the device. The read succeeds even if no
            // page can be evicted.
            let room = match self.level.own.consistency {
                Some(_) => self.free_slot().map(|()| None),
                None => self.make_room(page.lpn, after),
            };
            if room.is_err() {
                return Ok(Some(done));
            }
            let slot = self.level.own.cache.insert(page.lpn, false);
            let cached = Cached { lpn: page.lpn, slot };
            self.level.own.counters.nvm_writes_pages += 1;
            self.level.own.metadata.filling(cached, self.media);
            self.media.access(self.level.place(slot), Access::Fill { from: page.to }, after);
            self.level.own.metadata.filled(cached, self.media);
            self.level.happened(Event::Filled, cached);
            if self.level.own.cache.is_dirty(slot) {
                self.level.own.metadata.written(cached, false, self.media);
            }
        }
        Ok(Some(done))
    }

    /// Write a page into the cache. Returns `None` if it must be written past it.
    #[inline(always)]
    pub(super) fn write(&mut self, page: PageWrite, after: M::When) -> Result<Option<M::When>, M::Error> {
        let older = match self.level.own.consistency {
            Some(_) => self.writable(page.lpn)?,
            None => self.level.own.cache.lookup(page.lpn),
        };
        match older {
            Some(slot) if !self.level.is_protected(slot) => {
                self.level.own.counters.write_hits += 1;
                let cached = Cached { lpn: page.lpn, slot };
                if self.level.own.consistency.is_none() {
                    self.level.own.cache.touch(slot);
                }
                self.level.happened(Event::Overwritten, cached);
                let mut ready = after;
                let is_labelled = self.level.own.cache.is_dirty(slot);
                if is_labelled {
                    self.level.own.counters.absorbed_pages += 1;
                } else {
                    ready = self.clean_for_another(after)?.unwrap_or(after);
                }
                self.level.own.cache.set_dirty(slot, true);
                if !is_labelled {
                    self.level.became_dirty(cached, false, self.media);
                }
                let access = Access::Write { from: page.from };
                return Ok(Some(self.level.write_slot(page, slot, access, is_labelled, ready, self.media)));
            }
            Some(_) => self.level.own.counters.write_hits += 1,
            None => self.level.own.counters.write_misses += 1,
        }
        if self.level.own.options.setting.write_allocate
            && self.level.own.cache.capacity() > 0
            && self.level.may_take_in(&page)
        {
            return self.write_allocating(page, older, after);
        }
        Ok(None)
    }

    /// Write a page into a slot of its own. `older` is that of its committed version, if that is cached and must stay. Returns
    /// `None` if the page must be written past the cache.
    #[inline]
    fn write_allocating(
        &mut self,
        page: PageWrite,
        older: Option<SlotId>,
        after: M::When,
    ) -> Result<Option<M::When>, M::Error> {
        // A sole copy evicted in the background counts against the bound until it is in flash.
        let waits = self.level.own.options.eviction == Eviction::Foreground
            || self.level.own.scheme.next_to_clean(&self.level.own.cache).is_some();
        let written = match self.make_room(page.lpn, after)? {
            // The evicted page was a sole copy, so another one is allowed.
            Some(evicted) => waits.then_some(evicted),
            None => self.clean_for_another(after)?,
        };
        let is_partial = page.coverage == Coverage::Partial;
        if is_partial && !self.level.may_take_in(&page) {
            // What left the cache has driven the rest of the page out of the level below.
            return Ok(None);
        }
        if let Some(older) = older {
            self.level.own.cache.detach(older);
        }
        let slot = self.level.own.cache.insert(page.lpn, true);
        let cached = Cached { lpn: page.lpn, slot };
        self.level.became_dirty(cached, true, self.media);
        let (mut ready, mut access) = (written.unwrap_or(after), Access::WriteNew { from: page.from });
        let rest = match self.level.own.consistency {
            Some(_) => self.level.keep_older(cached, older, self.media),
            None => Rest::Below,
        };
        if let Rest::Cached(older) = rest {
            access = Access::Write { from: page.from };
            if is_partial {
                self.level.own.counters.nvm_reads_pages += 1;
                self.level.own.counters.nvm_writes_pages += 1;
                let whole = Access::WriteNew { from: Place::Slot(self.level.place(older)) };
                ready = self.media.access(self.level.place(slot), whole, ready);
            }
        } else if is_partial && !matches!(rest, Rest::Deleted) {
            // The read overlaps the write of the evicted page: waiting would leave the die idle. The slot waits
            // for both.
            let rest = PageRead { lpn: page.lpn, to: Place::Slot(self.level.place(slot)), cause: page.cause };
            let (below, mut io) = self.level.descend(self.media, self.start);
            let filled = below.read(rest, after, &mut io);
            if filled.is_err() {
                self.level.became_clean(slot);
                self.level.vacate(slot, self.media);
            }
            if let Some(filled) = filled? {
                ready = written.map_or(filled, |written| self.media.both(written, filled));
                access = Access::Write { from: page.from };
                self.level.own.counters.nvm_writes_pages += 1;
                self.level.own.counters.merged_pages += 1;
            }
        }
        Ok(Some(self.level.write_slot(page, slot, access, false, ready, self.media)))
    }
}
