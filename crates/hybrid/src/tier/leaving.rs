//! What leaves flash: clean pages that give way, groups on their way to the disk, what the disk is written past the cache, and
//! what is trimmed.

use super::Tier;
use crate::media::TierMedia;
use crate::page_replacer::{Leave, LeaveId};
use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_flash::{Cause, Place};

impl Tier {
    /// Forgets a page of the request: from now on it reads as the disk has it, be that older. The journal says so at the
    /// [end](Self::end) of the request, which is answered without waiting for that: if power fails before it is written, the
    /// page may be back as it was, and afterwards not any more.
    pub fn trim(&mut self, page: Lpn) {
        self.fetches.cancel(page, 1);
        if let Some(tracker) = &mut self.tracker {
            tracker.forget(page);
        }
        if self.mapping.is_recorded(page) {
            self.trimmed.push(page);
        }
    }

    pub(super) fn forget_trimmed<M: TierMedia>(&mut self, start: M::When, media: &mut M) {
        let trimmed = std::mem::take(&mut self.trimmed);
        self.forget(&trimmed, start, media);
        for page in trimmed {
            // Only now: if GC erased this copy before the journal is written, an older one would be the last that flash has.
            if let Some(slot) = self.replacer.cache.lookup(page) {
                self.release(slot);
            }
        }
    }

    fn release(&mut self, slot: SlotId) {
        self.replacer.stays(slot);
        self.replacer.cache.remove(slot);
        self.ftl.invalidate(Lpn::new(slot.get()));
    }

    pub(super) fn drop_clean(&mut self, slot: SlotId) {
        debug_assert!(!self.replacer.cache.is_dirty(slot), "{slot:?} is dirty");
        self.tally.clean_evictions += 1;
        self.release(slot);
    }

    /// Reads the next group into the buffer and hands it to the disk.
    pub(super) fn destage<M: TierMedia>(&mut self, start: M::When, media: &mut M) -> LeaveId {
        let Self { ftl, replacer, tally, .. } = self;
        let (id, slots) = replacer.take_group(|slot| {
            tally.clean_evictions += 1;
            ftl.invalidate(Lpn::new(slot.get()));
        });
        self.tally.destage_groups += 1;
        self.tally.destages += slots.len() as u64;
        for slot in slots {
            let page = self.replacer.cache.page_of(slot);
            let mut store = Self::store(&mut self.ftl, &mut self.replacer, self.clean, start, media);
            let read = store.read(Lpn::new(slot.get()), Place::Merged, Cause::Destage);
            media.destage(id.get(), page, read.expect("a dirty page is in flash"));
        }
        self.started.push(id);
        id
    }

    /// The groups that began since this was last asked.
    pub fn started(&mut self) -> impl Iterator<Item = LeaveId> + '_ {
        self.started.drain(..)
    }

    /// Whether the disk still wants a page of a group: not if it was overwritten since, for then an older version of it may
    /// not reach the disk any more.
    #[must_use]
    pub fn leaves(&self, id: LeaveId, page: Lpn) -> bool {
        self.replacer.leaves(id, page)
    }

    /// A group is on the disk: its pages leave flash. The journal says so at the time returned.
    pub fn destaged<M: TierMedia>(&mut self, id: LeaveId, start: M::When, media: &mut M) -> M::When {
        self.given_up = self.given_up.filter(|&given_up| given_up != id);
        self.leave(id, start, media)
    }

    /// Writes past the cache begin, to so many pages from `first` on that the disk [serves](Self::write). The disk may be written at the time returned, and not
    /// before: until then, flash could bring back what is older.
    pub fn overwrite<M: TierMedia>(
        &mut self,
        first: Lpn,
        pages: u32,
        start: M::When,
        media: &mut M,
    ) -> (LeaveId, M::When) {
        let (mut slots, mut gone) = (Vec::new(), Vec::new());
        for page in (first.get()..first.get() + pages).map(Lpn::new) {
            match self.replacer.cache.lookup(page) {
                // It leaves with the overwrite before this one.
                Some(slot) if self.replacer.is_outdated(slot) => {}
                // Pinned when it was decided that it passes.
                Some(slot) if self.replacer.cache.is_dirty(slot) => slots.push(slot),
                Some(slot) => {
                    self.drop_clean(slot);
                    gone.push(page);
                }
                None if self.mapping.is_recorded(page) => gone.push(page),
                None => {}
            }
        }
        let id = self.replacer.begin(Leave { slots, overwritten: Some((first, pages)) });
        let ready = self.forget(&gone, start, media);
        (id, ready)
    }

    /// The disk has what was written past the cache: dirty copies leave flash. It may be answered at the time returned.
    pub fn overwritten<M: TierMedia>(&mut self, id: LeaveId, start: M::When, media: &mut M) -> M::When {
        self.leave(id, start, media)
    }

    fn leave<M: TierMedia>(&mut self, id: LeaveId, start: M::When, media: &mut M) -> M::When {
        let Leave { slots, overwritten } = self.replacer.end(id);
        if let Some((first, pages)) = overwritten {
            // Whenever they began, they may have read what was there before.
            self.fetches.cancel(first, pages);
        }
        // They stay pinned until the journal is written: GC must go on copying them.
        let pages: Vec<_> = slots.iter().map(|&slot| self.replacer.cache.page_of(slot)).collect();
        let done = self.forget(&pages, start, media);
        for slot in slots {
            self.release(slot);
        }
        done
    }
}
