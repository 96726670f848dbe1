//! The cache of `cdm-consistent`, in the device or in the host: writes are durable from their commit on.
//!
//! | state | event | → | what happens |
//! |---|---|---|---|
//! | S0 | read, write | S1, S2 | cached; on a write the flash page stays valid as the committed version |
//! | S1 | write | S2 | in place; the flash page is valid again |
//! | S1 | GC erases its block | S3 | protect first, then erase |
//! | S1 | eviction | S0 | discard |
//! | S2, S4 | write | same | in place |
//! | S2 | GC | S2 | the flash page is copied |
//! | S2 | commit | S3 | protect, then the flash page is invalid; no I/O |
//! | S3 | write | S4 + S5 | copy on write into a new slot |
//! | S3 | checkpoint | S1 | programmed; the copy stays cached as a clean one |
//! | S4 + S5 | commit | S3 | S5's slot is free |
//! | S4 + S5 | checkpoint | S2 | S5's data is programmed and its slot is free |
//! | any | trim | deleted | an uncommitted deletion; the committed version goes at the commit |
//!
//! **Room.** The pages next in the order of eviction are checkpointed in advance, between the watermarks, and
//! stand by: they are clean, and leave at no cost when a slot is needed. A page used in the meantime leaves
//! the standby list.
//!
//! **Order.** Before its data is touched, a slot gets a durable label with its new page and the uncommitted
//! epoch: a crash in between leaves a void label. (The label of a clean page is void already; that of a
//! checkpointed page is made void, durably.) A commit makes everything durable, then stores one word, the
//! committed epoch: this is the atomic switch for all pages. A slot is freed only after its replacement is
//! durable.
//!
//! **Across a link** the slots, their labels and the committed epoch are in the host's memory, flash is in
//! the device, and either may lose power alone. The host first changes its memory, durably, and then sends
//! the message. So every message but two may be late or lost:
//!
//! | event | what crosses | who waits | late or lost |
//! |---|---|---|---|
//! | → S1 | *cached* | nobody; under grants the copy is protected before | GC copies the page |
//! | S1 → S2, S0 | *evicted*; under grants a revocation before | the slot, for the revocation | GC asks and is refused |
//! | GC meets S1, by request | question; protect; answer | the erase, for the answer | without an answer GC copies |
//! | GC meets S1, by grant | *used* | nobody | the revocation says it again |
//! | S2 → S3 | *dirtied* | the next checkpoint of the page | GC copies the page |
//! | S3, S4 + S5, checkpoint | the write; its completion | the slot, for the completion | the page stays in S3 |
//! | a deletion is committed | the trim | nobody | `connect` repeats it |
//!
//! The two are answers that change a side's state: to GC's question and to the revocation. *Dirtied* must not
//! be overtaken by the next write of its page, or it would invalidate the new data: [`crate::Linked`]
//! withdraws it or waits.
//!
//! | loses power | gone | done by [`Consistent::connect`] |
//! |---|---|---|
//! | the host | S1, S2, S4; messages not yet sent | marks are cleared; pages in S3 are invalidated, absent ones trimmed |
//! | the device | marks, invalidations and trims; older versions may be mapped again | the same; pages in S1 are marked again; a granted one is in S3, since its page may be erased |
//! | both | both | both |

mod commit;
mod recovery;
mod room;

use crate::config::CacheConfig;
use crate::cooperates::{Cached, Cooperates, Message};
use crate::cooperation::{CacheHook, CdmConsistent, Deletion, Scheme, Setting};
use crate::level::{Command, Level};
use crate::nvm::{Label, Layout, Metadata};
use crate::over::below_dispatch;
use crate::write_back::{CacheCounters, DropCounters};
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Coverage, Ftl, GcHook, Io, Marks, PageRead, PageWrite};
use coflash_media::{Access, DieId, Media, Memory, Place, Slot};

/// The crash-consistent cache and the level below: the FTL, or a link to it.
#[derive(Clone)]
pub struct Consistent<L> {
    below: L,
    memory: Memory,
    cache: Cache,
    scheme: CdmConsistent,
    metadata: Metadata,
    read_allocate: bool,
    counters: CacheCounters,
    drops: DropCounters,
}

impl<L: Cooperates> Consistent<L> {
    crate::over::cache_over_level!(CdmConsistent, memory);

    /// Create an empty cache with its scheme over a level.
    #[must_use]
    pub fn over(below: L, config: &CacheConfig, setting: &Setting, scheme: CdmConsistent) -> Self {
        let Setting { slots, logical_pages, .. } = *setting;
        let layout = Layout { slots, deletions: scheme.deletions_max(), logical_pages };
        let mut cache = Cache::new(&config.policy, setting.slots, setting.logical_pages as usize);
        if below.with_flash(Ftl::takes_hints) {
            cache.keep_placements();
        }
        Self {
            below,
            memory: setting.memory,
            metadata: Metadata::new(layout, config.fence),
            cache,
            scheme,
            read_allocate: config.read_allocate,
            counters: CacheCounters { capacity_pages: setting.slots, ..CacheCounters::default() },
            drops: DropCounters::default(),
        }
    }

    /// Handle messages from flash after an operation below. The answer waits for the messages it depends on.
    fn settle<M: Media>(&mut self, done: M::When, media: &mut M) -> M::When {
        if !L::LAGS {
            return done;
        }
        self.hear();
        media.later(done, self.below.take_pending_wait())
    }

    /// S1 → S3, for pages that flash has dropped under grants.
    fn hear(&mut self) {
        while let Some(slot) = self.below.next_dropped(&self.cache) {
            self.scheme.orphan(slot, &mut self.cache);
        }
    }

    /// Unmark a clean page before it is overwritten, deleted or evicted. Returns false if flash has dropped
    /// it under a grant: it is in S3.
    fn release(&mut self, slot: SlotId) -> bool {
        let page = self.cached(slot);
        let kept = self.below.keeps(page);
        if kept {
            self.below.send(Message::Unmark(page));
        } else {
            self.scheme.orphan(slot, &mut self.cache);
        }
        kept
    }

    /// Note a hit.
    fn touch(&mut self, slot: SlotId) {
        if self.scheme.uncommitted.contains(slot) {
            self.scheme.uncommitted.move_to_front(slot);
        } else if !self.scheme.leave_standby(slot, &mut self.cache) {
            self.cache.touch(slot);
        }
    }

    fn free<M: Media>(&mut self, slot: SlotId, media: &mut M) {
        self.scheme.standby.remove(slot);
        self.metadata.label(slot, Label::Free, media);
        self.cache.remove(slot);
    }
}

/// The path of a page.
impl<L: Cooperates> Consistent<L> {
    fn read_page<M: Media>(
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
            return Ok(Some(media.access(self.place(slot), Access::Read { to: page.to }, after)));
        }
        self.counters.read_misses += 1;
        if self.scheme.deletions.contains_key(&page.lpn) {
            return Ok(None);
        }
        let (below, mut io) = self.descend(media, start);
        let Some(done) = below.read(page, after, &mut io)? else { return Ok(None) };
        // The read succeeds even if no page can be evicted.
        if self.read_allocate && self.free_slot(start, media).is_ok() {
            let slot = self.cache.insert(page.lpn, false);
            self.counters.nvm_writes_pages += 1;
            self.metadata.label(slot, Label::Clean(page.lpn), media);
            self.metadata.fence(media);
            media.access(self.place(slot), Access::Fill { from: page.to }, after);
            if self.scheme.protects_ahead {
                self.metadata.protect(Cached { lpn: page.lpn, slot }, media);
                self.metadata.fence(media);
            }
            self.below.send(Message::Mark(Cached { lpn: page.lpn, slot }));
        }
        Ok(Some(done))
    }

    fn write_page<M: Media>(
        &mut self,
        page: PageWrite,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        self.make_room(start, media)?;
        let older = loop {
            match self.cache.lookup(page.lpn) {
                // S2, S4
                Some(slot) if self.scheme.uncommitted.contains(slot) => {
                    self.counters.write_hits += 1;
                    self.counters.nvm_writes_pages += 1;
                    self.counters.absorbed_pages += 1;
                    self.touch(slot);
                    self.cache.set_placement(slot, page.placement);
                    return Ok(media.access(self.place(slot), Access::Write { from: page.from }, after));
                }
                Some(slot) if !self.cache.is_dirty(slot) && self.release(slot) => {
                    self.counters.write_hits += 1;
                    return Ok(self.overwrite_clean(page, slot, after, media));
                }
                // In S0 or S3: another slot is needed. The page itself may be checkpointed for it, or
                // evicted.
                older if !self.cache.is_full() => break older,
                _ => self.free_slot(start, media)?,
            }
        };
        match older {
            Some(older) => {
                self.counters.write_hits += 1;
                self.counters.nvm_writes_pages += 1;
                Ok(self.copy_on_write(page, older, after, media))
            }
            None => {
                self.counters.write_misses += 1;
                self.write_new(page, after, start, media)
            }
        }
    }

    /// S1 → S2.
    fn overwrite_clean<M: Media>(
        &mut self,
        page: PageWrite,
        slot: SlotId,
        after: M::When,
        media: &mut M,
    ) -> M::When {
        self.counters.nvm_writes_pages += 1;
        self.scheme.leave_standby(slot, &mut self.cache);
        self.metadata.label(slot, Label::Data(page.lpn, self.metadata.epoch()), media);
        // Otherwise both labels that the slot may have after a crash are void.
        if self.scheme.protects_ahead {
            self.metadata.fence(media);
        }
        self.cache.set_dirty(slot, true);
        self.cache.set_placement(slot, page.placement);
        self.cache.pin(slot);
        self.scheme.uncommitted.push_front(slot);
        media.access(self.place(slot), Access::Write { from: page.from }, after)
    }

    /// Write a page that is not cached: S0 → S2, or to S4 if the page was never committed.
    fn write_new<M: Media>(
        &mut self,
        page: PageWrite,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        let deleted = self.scheme.deletions.remove(&page.lpn);
        let slot = self.new_version(page, media);
        if let Some(Deletion { entry, condemned }) = deleted {
            self.forget_deletion(entry, media);
            self.scheme.older[slot] = condemned;
            if let Some(older) = condemned {
                self.cache.unpin(older);
            }
        }
        let (mut ready, mut access) = (after, Access::WriteNew { from: page.from });
        if page.coverage == Coverage::Partial && deleted.is_none() {
            let rest = PageRead { lpn: page.lpn, to: Place::Slot(self.place(slot)), cause: page.cause };
            let (below, mut io) = self.descend(media, start);
            let filled = below.read(rest, after, &mut io);
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
        Ok(media.access(self.place(slot), access, ready))
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
        let slot = self.new_version(page, media);
        self.scheme.older[slot] = Some(older);
        let mut ready = after;
        if page.coverage == Coverage::Partial {
            self.counters.nvm_reads_pages += 1;
            self.counters.nvm_writes_pages += 1;
            let whole = Access::WriteNew { from: Place::Slot(self.place(older)) };
            ready = media.access(self.place(slot), whole, after);
        }
        media.access(self.place(slot), Access::Write { from: page.from }, ready)
    }

    /// Take and label a slot for an uncommitted version, before its first byte is written.
    fn new_version<M: Media>(
        &mut self,
        PageWrite { lpn, placement, .. }: PageWrite,
        media: &mut M,
    ) -> SlotId {
        let slot = self.cache.insert(lpn, true);
        self.cache.set_placement(slot, placement);
        self.metadata.label(slot, Label::Data(lpn, self.metadata.epoch()), media);
        self.metadata.fence(media);
        self.cache.pin(slot);
        self.scheme.uncommitted.push_front(slot);
        slot
    }
}

impl<M: Media, L: Level<M> + Cooperates> Level<M> for Consistent<L> {
    crate::over::cache_passes_on!();

    fn is_timed(&self) -> bool {
        true
    }

    /// Commit if a commit is due.
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        below.pass_time(now, &mut inner)?;
        self.hear();
        if now >= self.scheme.next_commit {
            self.commit(io.start, io.media);
            let interval = self.scheme.config.commit_interval.ns.max(1);
            self.scheme.next_commit =
                Time { ns: (now.ns / interval).saturating_add(1).saturating_mul(interval) };
        }
        Ok(())
    }

    /// The due time of the level below: a commit may wait for the next request.
    fn next_due(&self) -> Option<Time> {
        self.below.next_due()
    }

    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        let done = self.read_page(page, after, io.start, io.media)?;
        Ok(done.map(|done| self.settle(done, io.media)))
    }

    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let done = self.write_page(page, after, io.start, io.media)?;
        Ok(self.settle(done, io.media))
    }

    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.trim_page(lpn, io.start, io.media);
        Ok(self.settle(after, io.media))
    }

    /// Commit: a few stores and no flash operation.
    fn flush<H: GcHook>(
        &mut self,
        after: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        self.commit(io.start, io.media);
        if L::LAGS {
            parts.push(self.settle(after, io.media));
        }
        Ok(())
    }

    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let tail = below.end(&mut inner)?;
        Ok(tail + self.below.take_pending_wait() + self.metadata.fenced())
    }

    fn report(&self, report: &mut Report) {
        self.below.report(report);
        report.add(&CacheCounters { dirty_pages: self.cache.dirty_len(), ..self.counters });
        report.add(&self.drops);
        report.add(self.metadata.counters());
        self.scheme.report(report);
    }

    fn heap_bytes(&self) -> usize {
        self.below.heap_bytes()
            + self.cache.heap_bytes()
            + self.scheme.heap_bytes()
            + self.metadata.heap_bytes()
    }

    fn assert_invariants(&self) {
        self.below.assert_invariants();
        self.cache.assert_invariants();
        self.scheme.assert_cache(&self.cache);
        self.below.assert_agrees(&self.cache, |cache, flash| {
            self.scheme.assert_invariants(cache, flash);
            self.metadata.assert_agrees(flash);
        });
    }
}

/// The scheme uses no messages of a buffer in the host.
impl<L: Cooperates> Cooperates for Consistent<L> {
    crate::takes_no_marks!();

    fn send(&mut self, _: Message) {}

    fn shadows(&self, _: Lpn) -> Marks {
        Marks::NONE
    }

    fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T {
        self.below.with_flash(look)
    }
}
