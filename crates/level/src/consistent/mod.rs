//! The cache of `cdm-consistent` over an FTL: writes are durable from their commit on.
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
//! | S3 | checkpoint | S1 → S0 | programmed and evicted at once, since it was chosen for eviction |
//! | S4 + S5 | commit | S3 | S5's slot is free |
//! | S4 + S5 | checkpoint | S2 | S5's data is programmed and its slot is free |
//! | any | trim | deleted | an uncommitted deletion; the committed version goes at the commit |
//!
//! **Order.** Before its data is touched, a slot gets a durable label with its new page and the uncommitted epoch: a
//! crash in between leaves a void label. (The label of a clean page is void already.) A commit makes everything
//! durable, then stores one word, the committed epoch: this is the atomic switch for all pages. A slot is freed only
//! after its replacement is durable.

pub mod nvm;
mod recovery;

use crate::config::CacheConfig;
use crate::cooperates::{Cached, Cooperates};
use crate::cooperation::{
    CacheHook, CdmConsistent, CdmConsistentConfig, CooperationScheme, Deletion, Scheme,
};
use crate::level::{Command, Level};
use crate::write_back::{CacheCounters, DropCounters};
use coflash_base::measure::Report;
use coflash_base::{Duration, Lpn, Misfit, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Coverage, Ftl, GcHook, Io, PageRead, PageWrite, WriteStream};
use coflash_media::{Access, Cause, DieId, Media, Memory, Place, Slot};
use nvm::{Epoch, Label, Layout};

/// The crash-consistent cache and its FTL.
#[derive(Clone)]
pub struct Consistent {
    flash: Ftl,
    cache: Cache,
    scheme: CdmConsistent,
    read_allocate: bool,
    counters: CacheCounters,
    drops: DropCounters,
}

impl Consistent {
    /// Create an empty cache over an FTL.
    ///
    /// # Errors
    /// The first part that does not fit the others.
    pub fn new(
        flash: Ftl,
        page_bytes: u64,
        config: &CacheConfig,
        consistency: &CdmConsistentConfig,
    ) -> Result<Self, Misfit> {
        let setting = config.setting(Memory::Device, page_bytes, flash.logical_pages(), false)?;
        Ok(Self {
            scheme: CdmConsistent::new(consistency, &setting)?,
            cache: Cache::new(&config.policy, setting.slots, setting.logical_pages as usize),
            read_allocate: config.read_allocate,
            counters: CacheCounters { capacity_pages: setting.slots, ..CacheCounters::default() },
            drops: DropCounters::default(),
            flash,
        })
    }

    /// The FTL below.
    #[must_use]
    pub fn flash(&self) -> &Ftl {
        &self.flash
    }

    /// Convert into the FTL below, without the cache.
    #[must_use]
    pub fn into_flash(self) -> Ftl {
        self.flash
    }

    /// Mutable access to the FTL below, past the cache. For warming up.
    pub fn flash_mut(&mut self) -> &mut Ftl {
        &mut self.flash
    }

    /// The cached pages.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> &CdmConsistent {
        &self.scheme
    }

    /// Borrow the FTL, and the media with this cache as GC's hook.
    #[inline(always)]
    fn descend<'s, M: Media>(
        &'s mut self,
        media: &'s mut M,
        start: M::When,
    ) -> (&'s mut Ftl, Io<'s, M, CacheHook<'s, CdmConsistent>>) {
        let Self { flash, cache, scheme, .. } = self;
        let hook = CacheHook { scheme, cache, memory: Memory::Device };
        (flash, Io { media, hook, start })
    }

    fn trim_page<M: Media>(&mut self, lpn: Lpn, media: &mut M) {
        if self.scheme.free_entries.is_empty() {
            self.commit_early(media);
        }
        let mut condemned = None;
        match self.cache.lookup(lpn) {
            None if self.scheme.deletions.contains_key(&lpn) => return,
            None => {}
            Some(slot) if self.cache.is_pinned(slot) => {
                // S2, S4: the uncommitted version is freed at once, the committed one stays.
                self.counters.dropped_pages += 1;
                self.scheme.uncommitted.remove(slot);
                condemned = self.scheme.older[slot].take();
                self.free(slot, media);
                if let Some(older) = condemned {
                    self.cache.pin(older);
                }
            }
            Some(slot) if self.cache.is_dirty(slot) => {
                // S3
                self.cache.detach(slot);
                self.cache.pin(slot);
                condemned = Some(slot);
            }
            Some(slot) => {
                // S1
                Cooperates::unmark(&mut self.flash, Cached { lpn, slot });
                self.free(slot, media);
            }
        }
        if condemned.is_some() || self.flash.lookup(lpn).is_some() {
            let entry = self.scheme.free_entries.pop().expect("there is one, or a commit has freed them all");
            let deleted = Label::Deleted(lpn, self.scheme.epoch());
            media.store(self.scheme.layout.deletion(entry), deleted.encode());
            self.scheme.deletions.insert(lpn, Deletion { entry, condemned });
        }
    }

    /// Commit: makes all writes and trims so far durable at one moment.
    fn commit<M: Media>(&mut self, media: &mut M) {
        if self.scheme.uncommitted.front().is_none() && self.scheme.deletions.is_empty() {
            return;
        }
        self.scheme.counters.commits += 1;
        let epoch = self.scheme.epoch();
        media.fence();
        media.store(Layout::COMMITTED, u64::from(epoch.0));
        media.fence();
        self.scheme.committed = epoch;
        while let Some(slot) = self.scheme.uncommitted.back() {
            // S2, S4 → S3
            self.scheme.uncommitted.remove(slot);
            self.flash.invalidate(self.cache.page_of(slot));
            if let Some(older) = self.scheme.older[slot].take() {
                self.counters.absorbed_pages += 1;
                self.free(older, media);
            }
            self.cache.unpin(slot);
        }
        self.carry_out_deletions(media);
        self.renumber_if_last(media);
    }

    fn carry_out_deletions<M: Media>(&mut self, media: &mut M) {
        let deletions = std::mem::take(&mut self.scheme.deletions);
        for (&lpn, deletion) in &deletions {
            self.set_absent(lpn, true, media);
            self.flash.invalidate(lpn);
            if let Some(slot) = deletion.condemned {
                self.counters.dropped_pages += 1;
                self.free(slot, media);
            }
        }
        // Absence must be durable before the deletion is erased.
        media.fence();
        for deletion in deletions.into_values() {
            self.forget_deletion(deletion.entry, media);
        }
    }

    fn forget_deletion<M: Media>(&mut self, entry: u32, media: &mut M) {
        media.store(self.scheme.layout.deletion(entry), Label::Free.encode());
        self.scheme.free_entries.push(entry);
    }

    /// Reset all committed slots to the first epoch when epochs have run out. Nothing is uncommitted at that moment.
    fn renumber_if_last<M: Media>(&mut self, media: &mut M) {
        if self.scheme.committed < Epoch::MAX {
            return;
        }
        // The commit has erased all older versions, so that no label of an earlier epoch can be mistaken.
        for slot in self.cache.occupied().filter(|&slot| self.cache.is_dirty(slot)) {
            self.scheme.label(slot, Label::Data(self.cache.page_of(slot), Epoch(0)), media);
        }
        media.fence();
        self.scheme.committed = Epoch(0);
        media.store(Layout::COMMITTED, 0);
        media.fence();
    }

    /// Write a page that is not cached: S0 → S2, or to S4 if the page was never committed.
    fn write_new<M: Media>(
        &mut self,
        page: PageWrite,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error> {
        let deleted = self.scheme.deletions.remove(&page.lpn);
        let slot = self.new_version(page.lpn, media);
        if let Some(Deletion { entry, condemned }) = deleted {
            self.forget_deletion(entry, media);
            self.scheme.older[slot] = condemned;
            if let Some(older) = condemned {
                self.cache.unpin(older);
            }
        }
        let (mut ready, mut access) = (after, Access::WriteNew { from: page.from });
        if page.coverage == Coverage::Partial && deleted.is_none() {
            let rest = PageRead { lpn: page.lpn, to: Place::Slot(place(slot)), cause: page.cause };
            let (flash, mut io) = self.descend(media, start);
            let filled = flash.read(rest, after, &mut io);
            if filled.is_err() {
                self.scheme.uncommitted.remove(slot);
                self.free(slot, media);
            }
            if let Some(filled) = filled? {
                (ready, access) = (filled, Access::Write { from: page.from });
                self.counters.merged_pages += 1;
                self.counters.nvm_writes_pages += 1;
            }
        }
        self.counters.nvm_writes_pages += 1;
        Ok(media.access(place(slot), access, ready))
    }

    /// S3 → S4 + S5.
    fn copy_on_write<M: Media>(
        &mut self,
        page: PageWrite,
        older: SlotId,
        after: M::When,
        media: &mut M,
    ) -> M::When {
        self.scheme.counters.copies_on_write_pages += 1;
        self.cache.detach(older);
        let slot = self.new_version(page.lpn, media);
        self.scheme.older[slot] = Some(older);
        let mut ready = after;
        if page.coverage == Coverage::Partial {
            self.counters.nvm_reads_pages += 1;
            self.counters.nvm_writes_pages += 1;
            let whole = Access::WriteNew { from: Place::Slot(place(older)) };
            ready = media.access(place(slot), whole, after);
        }
        media.access(place(slot), Access::Write { from: page.from }, ready)
    }

    /// Take and label a slot for an uncommitted version, before its first byte is written.
    fn new_version<M: Media>(&mut self, lpn: Lpn, media: &mut M) -> SlotId {
        let slot = self.cache.insert(lpn, true);
        self.scheme.label(slot, Label::Data(lpn, self.scheme.epoch()), media);
        media.fence();
        self.cache.pin(slot);
        self.scheme.uncommitted.push_front(slot);
        slot
    }

    /// Note a hit.
    fn touch(&mut self, slot: SlotId) {
        if self.cache.is_pinned(slot) {
            self.scheme.uncommitted.move_to_front(slot);
        } else {
            self.cache.touch(slot);
        }
    }

    fn free<M: Media>(&mut self, slot: SlotId, media: &mut M) {
        self.scheme.label(slot, Label::Free, media);
        self.cache.remove(slot);
    }

    fn commit_early<M: Media>(&mut self, media: &mut M) {
        self.scheme.counters.early_commits += 1;
        self.commit(media);
    }

    /// Free slots up to the high watermark if fewer than the low watermark are free, in the order of eviction: clean
    /// pages are discarded, committed ones checkpointed. The host does not wait, since some slots are still free.
    fn make_room<M: Media>(&mut self, start: M::When, media: &mut M) -> Result<(), M::Error> {
        let (low, high) = self.scheme.watermarks();
        let free = |cache: &Cache| cache.capacity() - cache.len();
        if free(&self.cache) >= low {
            return Ok(());
        }
        while free(&self.cache) < high {
            match self.cache.victim() {
                Some(slot) if self.cache.is_dirty(slot) => self.checkpoint(slot, start, media)?,
                Some(slot) => {
                    self.counters.clean_evictions_pages += 1;
                    let lpn = self.cache.page_of(slot);
                    Cooperates::unmark(&mut self.flash, Cached { lpn, slot });
                    self.free(slot, media);
                }
                // All remaining pages are uncommitted.
                None if self.cache.is_empty() => break,
                None => self.commit_early(media),
            }
        }
        Ok(())
    }

    /// Write a committed version to flash: S3 → S0 (through S1), or S4 + S5 → S2.
    fn checkpoint<M: Media>(&mut self, slot: SlotId, start: M::When, media: &mut M) -> Result<(), M::Error> {
        let lpn = self.cache.page_of(slot);
        self.scheme.counters.checkpoints_pages += 1;
        self.counters.dirty_evictions_pages += 1;
        self.counters.nvm_reads_pages += 1;
        if self.cache.is_orphan(slot) {
            self.drops.drop_rewrites_pages += 1;
        }
        let write = PageWrite {
            lpn,
            coverage: Coverage::Full,
            from: Place::Slot(place(slot)),
            cause: Cause::Evict,
            stream: WriteStream::Evict,
        };
        let (flash, mut io) = self.descend(media, start);
        flash.write(write, start, &mut io)?;
        // The page is in flash: now recovery may find it there, and after that the slot may be freed.
        self.set_absent(lpn, false, media);
        media.fence();
        if self.cache.is_detached(slot) {
            let current = self.cache.lookup(lpn).expect("an S5 has its S4");
            self.scheme.older[current] = None;
        }
        self.free(slot, media);
        Ok(())
    }

    fn set_absent<M: Media>(&mut self, lpn: Lpn, absent: bool, media: &mut M) {
        let (word, bit) = self.scheme.layout.absence(lpn);
        let entry = &mut self.scheme.absent[(lpn.get() / 64) as usize];
        let changed = if absent { *entry | bit } else { *entry & !bit };
        if changed != *entry {
            *entry = changed;
            media.store(word, changed);
        }
    }
}

fn place(slot: SlotId) -> Slot {
    Slot { memory: Memory::Device, number: slot.get() }
}

impl<M: Media> Level<M> for Consistent {
    fn logical_pages(&self) -> u32 {
        self.flash.logical_pages()
    }

    /// Commit if a commit is due.
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        Level::pass_time(flash, now, &mut inner)?;
        if now >= self.scheme.next_commit {
            self.commit(io.media);
            let interval = self.scheme.config.commit_interval.ns.max(1);
            self.scheme.next_commit = Time { ns: (now.ns / interval + 1).saturating_mul(interval) };
        }
        Ok(())
    }

    /// None: a commit may wait for the next request.
    fn next_due(&self) -> Option<Time> {
        None
    }

    fn begin<H: GcHook>(&mut self, _: &Command, io: &mut Io<'_, M, H>) -> M::When {
        io.start
    }

    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        if let Some(slot) = self.cache.lookup(page.lpn) {
            self.counters.read_hits += 1;
            self.counters.nvm_reads_pages += 1;
            self.touch(slot);
            return Ok(Some(io.media.access(place(slot), Access::Read { to: page.to }, after)));
        }
        self.counters.read_misses += 1;
        if self.scheme.deletions.contains_key(&page.lpn) {
            return Ok(None);
        }
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        let Some(done) = flash.read(page, after, &mut inner)? else { return Ok(None) };
        // The read succeeds even if no page can be evicted any more.
        if self.read_allocate && self.make_room(io.start, io.media).is_ok() {
            let slot = self.cache.insert(page.lpn, false);
            self.counters.nvm_writes_pages += 1;
            self.scheme.label(slot, Label::Clean(page.lpn), io.media);
            io.media.fence();
            io.media.access(place(slot), Access::Fill { from: page.to }, after);
            Cooperates::mark(&mut self.flash, Cached { lpn: page.lpn, slot });
        }
        Ok(Some(done))
    }

    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.make_room(io.start, io.media)?;
        let Some(slot) = self.cache.lookup(page.lpn) else {
            self.counters.write_misses += 1;
            return self.write_new(page, after, io.start, io.media);
        };
        self.counters.write_hits += 1;
        self.counters.nvm_writes_pages += 1;
        if self.cache.is_pinned(slot) {
            // S2, S4
            self.counters.absorbed_pages += 1;
            self.touch(slot);
        } else if self.cache.is_dirty(slot) {
            return Ok(self.copy_on_write(page, slot, after, io.media));
        } else {
            // S1 → S2. After a crash the slot has one of two labels, both void.
            Cooperates::unmark(&mut self.flash, Cached { lpn: page.lpn, slot });
            self.scheme.label(slot, Label::Data(page.lpn, self.scheme.epoch()), io.media);
            self.cache.set_dirty(slot, true);
            self.cache.pin(slot);
            self.scheme.uncommitted.push_front(slot);
        }
        Ok(io.media.access(place(slot), Access::Write { from: page.from }, after))
    }

    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.trim_page(lpn, io.media);
        Ok(after)
    }

    /// Commit: a few stores and no flash operation.
    fn flush<H: GcHook>(
        &mut self,
        _: M::When,
        io: &mut Io<'_, M, H>,
        _: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        self.commit(io.media);
        Ok(())
    }

    fn end<H: GcHook>(&mut self, _: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        Ok(Duration::ZERO)
    }

    fn told<H: GcHook>(&mut self, tag: u32, _: Time, _: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        unreachable!("the cache asks for no moment, and {tag} has come")
    }

    fn has_idle_work(&self, die: DieId) -> bool {
        self.flash.has_idle_work(die)
    }

    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        flash.work_idle(die, &mut inner)
    }

    fn report(&self, report: &mut Report) {
        Level::<M>::report(&self.flash, report);
        report.add(&CacheCounters { dirty_pages: self.cache.dirty_len(), ..self.counters });
        report.add(&self.drops);
        self.scheme.report(report);
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.flash.erase_counts().collect()
    }

    fn invalid_pages(&self) -> Vec<u32> {
        self.flash.invalid_pages().collect()
    }

    fn heap_bytes(&self) -> usize {
        self.flash.heap_bytes() + self.cache.heap_bytes() + self.scheme.heap_bytes()
    }

    fn assert_invariants(&self) {
        self.flash.assert_invariants();
        self.cache.assert_invariants();
        self.scheme.assert_invariants(&self.cache, &self.flash);
    }
}

/// The scheme uses no messages of a buffer in the host.
impl Cooperates for Consistent {
    fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T {
        look(&self.flash)
    }
}
