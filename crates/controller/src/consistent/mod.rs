//! The page path of `cdm-consistent`: writes that are not durable before they are committed, commits, checkpoints.
//!
//! | state | event | → | what happens |
//! |---|---|---|---|
//! | S0 | read, write | S1, S2 | cached; on a write the flash page stays valid as the committed version |
//! | S1 | write | S2 | in place; the flash page is valid again |
//! | S1 | GC erases its block | S3 | protect first, then erase |
//! | S1 | eviction | S0 | discard |
//! | S2, S4 | write | same | in place |
//! | S2 | GC | S2 | the flash page is copied |
//! | S2 | commit | S3 | protect, the flash page is invalid; no I/O |
//! | S3 | write | S4 + S5 | copy on write into a new slot |
//! | S3 | checkpoint | S1 → S0 | programmed; it leaves at once, since its turn to leave is why |
//! | S4 + S5 | commit | S3 | S5's slot is free |
//! | S4 + S5 | checkpoint | S2 | S5's data is programmed and its slot is free |
//! | any | trim | deleted | an uncommitted deletion; the committed version goes at the commit |
//!
//! **Order.** A slot is labelled with its new page and the uncommitted epoch, and that is made durable, before its data is
//! touched: a crash in between leaves a label that is void. (The label of a clean page is void already.) A commit makes
//! everything durable, then stores one word, the committed epoch: the atomic switch for all pages at once. A slot is freed
//! only after what replaces it is durable.

pub mod nvm;
mod recovery;

use crate::config::CacheConfig;
use crate::cooperation::{Answers, CdmConsistent, Deletion};
use crate::write_back::{CacheTally, Extent};
use coflash_base::{Lpn, Time};
use coflash_cache::{Cache, SlotId};
use coflash_flash::{Access, Cause, DieId, Media, Place};
use coflash_ftl::{Ftl, Io};
use nvm::{Epoch, Label, Layout};

/// The rest of the device, as the scheme acts on it.
pub(crate) struct Device<'a> {
    pub(crate) cache: &'a mut Cache,
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) tally: &'a mut CacheTally,
    pub(crate) config: &'a CacheConfig,
}

impl CdmConsistent {
    pub(crate) fn read<M: Media>(
        &mut self,
        lpn: Lpn,
        start: M::When,
        device: &mut Device<'_>,
        media: &mut M,
    ) -> M::When {
        if let Some(slot) = device.cache.lookup(lpn) {
            device.tally.read_hits += 1;
            device.tally.nvm_reads_pages += 1;
            self.used(slot, device.cache);
            return media.access(slot.get(), Access::Read, start);
        }
        device.tally.read_misses += 1;
        if self.deletions.contains_key(&lpn) {
            return start;
        }
        let Some(done) = self.read_flash(lpn, Place::Host, start, start, device, media) else {
            return start;
        };
        if device.config.read_allocate {
            self.make_room(start, device, media);
            let slot = device.cache.insert(lpn, false);
            device.tally.nvm_writes_pages += 1;
            self.label(slot, Label::Clean(lpn), media);
            media.fence();
            media.access(slot.get(), Access::Fill, start);
            device.ftl.mark(lpn);
        }
        done
    }

    pub(crate) fn write<M: Media>(
        &mut self,
        lpn: Lpn,
        extent: Extent,
        start: M::When,
        device: &mut Device<'_>,
        media: &mut M,
    ) -> M::When {
        self.make_room(start, device, media);
        match device.cache.lookup(lpn) {
            None => {
                device.tally.write_misses += 1;
                self.write_new(lpn, extent, start, device, media)
            }
            Some(slot) => {
                device.tally.write_hits += 1;
                device.tally.nvm_writes_pages += 1;
                if device.cache.is_pinned(slot) {
                    // S2, S4
                    self.used(slot, device.cache);
                    media.access(slot.get(), Access::Write, start)
                } else if device.cache.is_dirty(slot) {
                    self.copy_on_write(lpn, slot, extent, start, device, media)
                } else {
                    // S1 → S2: of the two labels that the slot may have after a crash both are void.
                    device.ftl.unmark(lpn);
                    self.label(slot, Label::Data(lpn, self.epoch()), media);
                    device.cache.set_dirty(slot, true);
                    device.cache.pin(slot);
                    self.uncommitted.push_front(slot);
                    media.access(slot.get(), Access::Write, start)
                }
            }
        }
    }

    pub(crate) fn work_idle<M: Media>(
        &mut self,
        die: DieId,
        start: M::When,
        device: &mut Device<'_>,
        media: &mut M,
    ) -> bool {
        let advisor = &mut Answers { scheme: self, cache: device.cache };
        device.ftl.work_idle(die, &mut Io { media, advisor, start })
    }

    pub(crate) fn trim<M: Media>(&mut self, lpn: Lpn, device: &mut Device<'_>, media: &mut M) {
        if self.free_entries.is_empty() {
            self.commit_early(device, media);
        }
        let mut condemned = None;
        match device.cache.lookup(lpn) {
            None if self.deletions.contains_key(&lpn) => return,
            None => {}
            Some(slot) if device.cache.is_pinned(slot) => {
                // S2, S4: the uncommitted version goes at once, the committed one stays.
                self.uncommitted.remove(slot);
                condemned = self.older[slot].take();
                self.free(slot, device.cache, media);
                if let Some(older) = condemned {
                    device.cache.pin(older);
                }
            }
            Some(slot) if device.cache.is_dirty(slot) => {
                // S3
                device.cache.detach(slot);
                device.cache.pin(slot);
                condemned = Some(slot);
            }
            Some(slot) => {
                // S1
                device.ftl.unmark(lpn);
                self.free(slot, device.cache, media);
            }
        }
        if condemned.is_some() || device.ftl.lookup(lpn).is_some() {
            let entry = self.free_entries.pop().expect("there is one, or a commit has freed them all");
            media.store(self.layout.deletion(entry), Label::Deleted(lpn, self.epoch()).encode());
            self.deletions.insert(lpn, Deletion { entry, condemned });
        }
    }

    /// Whether a commit is due by time.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.next_commit
    }

    /// Commits by time.
    pub(crate) fn commit_at<M: Media>(&mut self, now: Time, device: &mut Device<'_>, media: &mut M) {
        self.commit(device, media);
        let interval = self.config.commit_interval.ns.max(1);
        self.next_commit = Time { ns: (now.ns / interval + 1).saturating_mul(interval) };
    }

    /// Makes everything written so far durable, all of it at once.
    pub(crate) fn commit<M: Media>(&mut self, device: &mut Device<'_>, media: &mut M) {
        if self.uncommitted.front().is_none() && self.deletions.is_empty() {
            return;
        }
        self.tally.commits += 1;
        let epoch = self.epoch();
        media.fence();
        media.store(Layout::COMMITTED, u64::from(epoch.0));
        media.fence();
        self.committed = epoch;
        while let Some(slot) = self.uncommitted.back() {
            // S2, S4 → S3
            self.uncommitted.remove(slot);
            device.ftl.invalidate(device.cache.page_of(slot));
            if let Some(older) = self.older[slot].take() {
                self.free(older, device.cache, media);
            }
            device.cache.unpin(slot);
        }
        self.carry_out_deletions(device, media);
        self.renumber_if_last(device, media);
    }

    fn carry_out_deletions<M: Media>(&mut self, device: &mut Device<'_>, media: &mut M) {
        let deletions = std::mem::take(&mut self.deletions);
        for (&lpn, deletion) in &deletions {
            self.set_absent(lpn, true, media);
            device.ftl.invalidate(lpn);
            if let Some(slot) = deletion.condemned {
                self.free(slot, device.cache, media);
            }
        }
        // Absence is durable before the deletion is forgotten.
        media.fence();
        for deletion in deletions.into_values() {
            media.store(self.layout.deletion(deletion.entry), Label::Free.encode());
            self.free_entries.push(deletion.entry);
        }
    }

    /// Gives every committed slot the first epoch, which is committed at any time, when epochs have run out. Nothing is
    /// uncommitted then.
    fn renumber_if_last<M: Media>(&mut self, device: &mut Device<'_>, media: &mut M) {
        if self.committed < Epoch::MAX {
            return;
        }
        // The commit has made sure that the older versions are gone for good: their epochs cannot be mistaken.
        for slot in device.cache.occupied().filter(|&slot| device.cache.is_dirty(slot)) {
            self.label(slot, Label::Data(device.cache.page_of(slot), Epoch(0)), media);
        }
        media.fence();
        self.committed = Epoch(0);
        media.store(Layout::COMMITTED, 0);
        media.fence();
    }

    /// A write of a page that is not cached: S0 → S2, or a page that is not committed anywhere → S4.
    fn write_new<M: Media>(
        &mut self,
        lpn: Lpn,
        extent: Extent,
        start: M::When,
        device: &mut Device<'_>,
        media: &mut M,
    ) -> M::When {
        let deleted = self.deletions.remove(&lpn);
        let slot = device.cache.insert(lpn, true);
        self.begin(slot, lpn, device.cache, media);
        if let Some(Deletion { entry, condemned }) = deleted {
            media.store(self.layout.deletion(entry), Label::Free.encode());
            self.free_entries.push(entry);
            self.older[slot] = condemned;
            if let Some(older) = condemned {
                device.cache.unpin(older);
            }
        }
        let (mut ready, mut access) = (start, Access::WriteNew);
        if extent == Extent::Part && deleted.is_none() {
            let to = Place::Cache { slot: slot.get() };
            if let Some(filled) = self.read_flash(lpn, to, start, start, device, media) {
                (ready, access) = (filled, Access::Write);
                device.tally.nvm_writes_pages += 1;
            }
        }
        device.tally.nvm_writes_pages += 1;
        media.access(slot.get(), access, ready)
    }

    /// S3 → S4 + S5.
    fn copy_on_write<M: Media>(
        &mut self,
        lpn: Lpn,
        older: SlotId,
        extent: Extent,
        start: M::When,
        device: &mut Device<'_>,
        media: &mut M,
    ) -> M::When {
        self.tally.copies_on_write_pages += 1;
        device.cache.detach(older);
        let slot = device.cache.insert(lpn, true);
        self.begin(slot, lpn, device.cache, media);
        self.older[slot] = Some(older);
        let mut ready = start;
        if extent == Extent::Part {
            device.tally.nvm_reads_pages += 1;
            device.tally.nvm_writes_pages += 1;
            ready = media.access(slot.get(), Access::CopyOf { slot: older.get() }, start);
        }
        media.access(slot.get(), Access::Write, ready)
    }

    /// A slot of an uncommitted version, before its first byte is written.
    fn begin<M: Media>(&mut self, slot: SlotId, lpn: Lpn, cache: &mut Cache, media: &mut M) {
        self.label(slot, Label::Data(lpn, self.epoch()), media);
        media.fence();
        cache.pin(slot);
        self.uncommitted.push_front(slot);
    }

    /// A hit.
    fn used(&mut self, slot: SlotId, cache: &mut Cache) {
        if cache.is_pinned(slot) {
            self.uncommitted.move_to_front(slot);
        } else {
            cache.touch(slot);
        }
    }

    fn free<M: Media>(&mut self, slot: SlotId, cache: &mut Cache, media: &mut M) {
        self.label(slot, Label::Free, media);
        cache.remove(slot);
    }

    fn commit_early<M: Media>(&mut self, device: &mut Device<'_>, media: &mut M) {
        self.tally.early_commits += 1;
        self.commit(device, media);
    }

    /// Frees slots up to the high watermark if fewer than the low one are free: least recently used first, clean pages
    /// discarded, committed ones checkpointed. The host does not wait: there are free slots left meanwhile.
    fn make_room<M: Media>(&mut self, start: M::When, device: &mut Device<'_>, media: &mut M) {
        let (low, high) = self.watermarks();
        let free = |cache: &Cache| cache.capacity() - cache.len();
        if free(device.cache) >= low {
            return;
        }
        while free(device.cache) < high {
            match device.cache.victim() {
                Some(slot) if device.cache.is_dirty(slot) => self.checkpoint(slot, start, device, media),
                Some(slot) => {
                    device.tally.clean_evictions_pages += 1;
                    device.ftl.unmark(device.cache.page_of(slot));
                    self.free(slot, device.cache, media);
                }
                // All that is left is uncommitted.
                None if device.cache.is_empty() => break,
                None => self.commit_early(device, media),
            }
        }
    }

    /// S3 → S0 (through S1), or S4 + S5 → S2: the committed version goes to flash.
    fn checkpoint<M: Media>(&mut self, slot: SlotId, start: M::When, device: &mut Device<'_>, media: &mut M) {
        let lpn = device.cache.page_of(slot);
        self.tally.checkpoints_pages += 1;
        device.tally.dirty_evictions_pages += 1;
        device.tally.nvm_reads_pages += 1;
        if device.cache.is_orphan(slot) {
            device.tally.drop_rewrites_pages += 1;
        }
        let advisor = &mut Answers { scheme: self, cache: device.cache };
        let mut io = Io { media, advisor, start };
        device.ftl.write(lpn, Place::Cache { slot: slot.get() }, Cause::Evict, start, &mut io);
        // Flash has it: only now may the page be found there, and only then may the slot go.
        self.set_absent(lpn, false, media);
        media.fence();
        if device.cache.is_detached(slot) {
            let current = device.cache.lookup(lpn).expect("an S5 has its S4");
            self.older[current] = None;
        }
        self.free(slot, device.cache, media);
    }

    fn read_flash<M: Media>(
        &mut self,
        lpn: Lpn,
        to: Place,
        after: M::When,
        start: M::When,
        device: &mut Device<'_>,
        media: &mut M,
    ) -> Option<M::When> {
        let advisor = &mut Answers { scheme: self, cache: device.cache };
        device.ftl.read(lpn, to, Cause::Host, after, &mut Io { media, advisor, start })
    }

    fn set_absent<M: Media>(&mut self, lpn: Lpn, absent: bool, media: &mut M) {
        let (word, bit) = self.layout.absence(lpn);
        let entry = &mut self.absent[(lpn.get() / 64) as usize];
        let changed = if absent { *entry | bit } else { *entry & !bit };
        if changed != *entry {
            *entry = changed;
            media.store(word, changed);
        }
    }
}
