//! The tier: the path of one page through flash cache and disk, and the five components at work.
//!
//! It has no clock and serves no disk: what it wants of the disk it tells its driver, who reports when that is done. A read
//! that misses is a *fetch*; dirty pages go to the disk as a *group*; what passes the cache is an *overwrite*. Between the
//! beginning and the end of each, anything may happen to its pages, and what was overwritten meanwhile is left alone.
//!
//! What makes it safe to lose power at any moment is the order in which things are done:
//!
//! - A group is on the disk before the journal says that its pages are gone, and that before flash gives them up.
//! - A page that is overwritten past the cache is gone from flash, by the journal, before the disk is written if it was
//!   clean, for then flash would be out of date; and after it if it was dirty, for until then flash has the only copy. A
//!   part of a page is not written over that copy meanwhile, but follows to the disk.

mod recovery;
mod resizing;

use crate::config::{HybridConfig, PartialWrites};
use crate::costmodel::Costs;
use crate::mapping_manager::{Layout, MappingManager, MappingTally};
use crate::media::TierMedia;
use crate::meter::Meter;
use crate::page_replacer::{Leave, LeaveId, PageReplacer};
use crate::partition_resizer::{Limits, PartitionResizer};
use crate::scheme::Scheme;
use crate::sequential_detector::SequentialDetector;
use crate::store::Store;
use crate::workload_tracker::WorkloadTracker;
use coflash_base::{Lpn, Share};
use coflash_cache::{SlotId, SplitCache};
use coflash_flash::{Cause, Geometry, Media, Place};
use coflash_ftl::{Fate, Ftl, Summary};

/// Pages of a fetch, at most.
pub const FETCH_PAGES: u32 = 64;
/// Segments of a ghost list, at most.
const SEGMENTS_MAX: u64 = 255;

/// What serves a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served<W> {
    /// Flash, at this time.
    Flash(W),
    /// The disk: the driver fetches it, or overwrites it there.
    Disk,
}

/// What the tier has done, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierTally {
    /// Reads that found a clean page.
    pub read_hits: u64,
    /// Reads that found a dirty page.
    pub read_hits_dirty: u64,
    /// Reads that found none.
    pub read_misses: u64,
    /// Writes that found a dirty page.
    pub write_hits: u64,
    /// Writes that found a clean page or none.
    pub write_misses: u64,
    /// Reads that went straight to the disk.
    pub bypassed_reads: u64,
    /// Writes that went straight to the disk.
    pub bypassed_writes: u64,
    /// Of those, writes because no page was free.
    pub overflowed_writes: u64,
    /// Pages put into the read cache.
    pub fills: u64,
    /// Clean pages that gave way.
    pub clean_evictions: u64,
    /// Dirty pages on their way to the disk.
    pub destages: u64,
    /// Groups of them.
    pub destage_groups: u64,
    /// Dirty pages that went only because the write cache was to be smaller.
    pub given_up: u64,
    /// Ends of periods at which flash was divided anew.
    pub divisions: u64,
}

/// A read of the disk that is under way.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    first: Lpn,
    /// The pages that are to be cached, by their place in it.
    wanted: u64,
}

/// See the module.
#[derive(Clone)]
pub struct Tier {
    ftl: Ftl,
    replacer: PageReplacer,
    detector: SequentialDetector,
    tracker: Option<WorkloadTracker>,
    meter: Meter,
    resizer: PartitionResizer,
    mapping: MappingManager,
    scheme: Scheme,
    /// What becomes of the clean pages of GC's victims.
    clean: Fate,
    costs: Costs,
    partial_writes: PartialWrites,
    flash_pages: u32,
    slots: u32,
    step: f64,
    fetches: Vec<Option<Fetch>>,
    fetches_free: Vec<u32>,
    /// The request being served goes past the cache.
    bypass: bool,
    /// The period ended with this request.
    period_ends: bool,
    trimmed: Vec<Lpn>,
    /// The group that the write cache gives up because it is to be smaller.
    given_up: Option<LeaveId>,
    started: Vec<LeaveId>,
    tally: TierTally,
}

impl Tier {
    /// An empty cache over an erased FTL, for disks of so many pages.
    ///
    /// # Errors
    /// What does not fit together, as (key of the table, problem).
    pub fn new(
        ftl: Ftl,
        geometry: &Geometry,
        summary: Summary,
        config: &HybridConfig,
        costs: Costs,
        disk_pages: u32,
    ) -> Result<Self, (&'static str, String)> {
        config.check()?;
        let page_bytes = geometry.page_size.count;
        let layout = Layout::new(ftl.logical_pages(), page_bytes).ok_or_else(|| {
            let pages = ftl.logical_pages();
            ("segment", format!("flash of {pages} pages is too small to keep its own mapping"))
        })?;
        let summary_pages = u32::from(summary != Summary::Off);
        let flash_pages = geometry.blocks() * (geometry.pages_per_block - summary_pages);
        let segment_pages = config.segment.count / page_bytes;
        let segments = u64::from(flash_pages).div_ceil(segment_pages.max(1));
        if segment_pages == 0 || !(2..=SEGMENTS_MAX).contains(&segments) {
            let problem = format!(
                "{} divides flash of {flash_pages} pages into {segments} segments; 2 to {SEGMENTS_MAX} are allowed",
                config.segment
            );
            return Err(("segment", problem));
        }
        if config.destage_pages > layout.slots / 4 {
            let problem = format!(
                "{} is more than a quarter of the {} pages of cache",
                config.destage_pages, layout.slots
            );
            return Err(("destage_pages", problem));
        }
        let scheme = config.scheme.build();
        let clean = if scheme.drops_clean() { Fate::Drop } else { config.active_blocks.fate_of_clean() };
        let step = segment_pages as f64 / f64::from(flash_pages);
        let kept = 1.0 - config.decay.as_f64().min(Share::ONE.as_f64());
        let tracks = scheme.divides();
        let unit_pages = config.sequential_unit.count.div_ceil(page_bytes);
        Ok(Self {
            replacer: PageReplacer::new(
                &config.policy,
                scheme.orders(),
                layout.slots,
                disk_pages as usize,
                config.destage_pages,
            ),
            detector: SequentialDetector::new(
                config.sequential_streams,
                (unit_pages > 0).then_some(unit_pages),
            ),
            tracker: tracks.then(|| {
                let (segments, segment_pages) = (segments as u32, segment_pages as u32);
                WorkloadTracker::new(&config.policy, segments, segment_pages, step, disk_pages as usize, kept)
            }),
            resizer: PartitionResizer::new(
                Limits::of(scheme.first(), flash_pages, layout.slots),
                config.period_requests,
                config.resize_pages,
                config.resizing,
                config.destage_pages,
            ),
            meter: Meter::new(&costs, geometry.dies(), config.destaging),
            mapping: MappingManager::new(layout, disk_pages as usize),
            scheme,
            clean,
            costs,
            partial_writes: config.partial_writes,
            flash_pages,
            slots: layout.slots,
            step,
            fetches: Vec::new(),
            fetches_free: Vec::new(),
            bypass: false,
            period_ends: false,
            trimmed: Vec::new(),
            given_up: None,
            started: Vec::new(),
            tally: TierTally::default(),
            ftl,
        })
    }

    /// The FTL, to look at.
    #[must_use]
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The cache, to look at.
    #[must_use]
    pub fn cache(&self) -> &SplitCache {
        &self.replacer.cache
    }

    /// What the tier has done so far.
    #[must_use]
    pub fn tally(&self) -> TierTally {
        self.tally
    }

    /// What its own mapping took.
    #[must_use]
    pub fn mapping_tally(&self) -> MappingTally {
        self.mapping.tally()
    }

    /// Pages of flash that may hold data: S_F.
    #[must_use]
    pub fn flash_pages(&self) -> u32 {
        self.flash_pages
    }

    /// The bytes of state on the heap, and of those what the tracker takes.
    #[must_use]
    pub fn heap_bytes(&self) -> (usize, usize) {
        let tracker = self.tracker.as_ref().map_or(0, WorkloadTracker::heap_bytes);
        let all = self.ftl.heap_bytes()
            + self.replacer.heap_bytes()
            + self.detector.heap_bytes()
            + self.mapping.heap_bytes()
            + tracker;
        (all, tracker)
    }

    #[inline(always)]
    fn store<'a, M: Media>(
        ftl: &'a mut Ftl,
        replacer: &'a mut PageReplacer,
        clean: Fate,
        start: M::When,
        media: &'a mut M,
    ) -> Store<'a, M> {
        Store { cache: &mut replacer.cache, ftl, clean, media, start }
    }

    /// A request begins: a read or write of so many pages from `first` on.
    #[inline]
    pub fn begin(&mut self, write: bool, first: Lpn, pages: u32) {
        self.bypass = self.detector.is_sequential(write, u64::from(first.get()), pages);
        self.meter.tick(self.replacer.cache.len());
        self.period_ends |= self.resizer.tick(self.replacer.dirty_pages());
    }

    /// The request has no more pages: what it and the present limits push out begins to go.
    pub fn end<M: TierMedia>(&mut self, start: M::When, media: &mut M) {
        if std::mem::take(&mut self.period_ends) {
            self.divide();
        }
        if !self.trimmed.is_empty() {
            self.forget_trimmed(start, media);
        }
        self.keep_limits(0, start, media);
        self.give_up_group(start, media);
    }

    /// Reads a page of the request.
    #[inline]
    pub fn read<M: TierMedia>(&mut self, page: Lpn, start: M::When, media: &mut M) -> Served<M::When> {
        let found = self.replacer.cache.lookup(page);
        let dirty = found.is_some_and(|slot| self.replacer.cache.is_dirty(slot));
        if self.bypass {
            self.tally.bypassed_reads += 1;
            return match found.filter(|_| dirty) {
                Some(slot) => self.read_slot(slot, start, media).map_or(Served::Disk, Served::Flash),
                None => Served::Disk,
            };
        }
        if let Some(tracker) = &mut self.tracker {
            tracker.read(page, dirty);
        }
        if let Some(slot) = found {
            self.replacer.cache.touch(slot);
            if let Some(done) = self.read_slot(slot, start, media) {
                if dirty {
                    self.tally.read_hits_dirty += 1;
                } else {
                    self.tally.read_hits += 1;
                }
                return Served::Flash(done);
            }
        }
        self.tally.read_misses += 1;
        Served::Disk
    }

    /// None where GC, which may run before the read, drops the page.
    #[inline]
    fn read_slot<M: TierMedia>(&mut self, slot: SlotId, start: M::When, media: &mut M) -> Option<M::When> {
        let mut store = Self::store(&mut self.ftl, &mut self.replacer, self.clean, start, media);
        store.read(Lpn::new(slot.get()), Place::Host, Cause::Host)
    }

    /// Writes a page of the request, all of it or a part.
    #[inline]
    pub fn write<M: TierMedia>(
        &mut self,
        page: Lpn,
        whole: bool,
        start: M::When,
        media: &mut M,
    ) -> Served<M::When> {
        let found = self.replacer.cache.lookup(page);
        if self.passes(found, whole) {
            self.tally.bypassed_writes += 1;
            if let Some(tracker) = &mut self.tracker {
                tracker.forget(page);
            }
            let cache = &mut self.replacer.cache;
            if let Some(slot) = found.filter(|&slot| cache.is_dirty(slot) && !cache.is_pinned(slot)) {
                // From now on no group may take it along: it would race with what the driver writes.
                cache.pin(slot);
            }
            return Served::Disk;
        }
        if let Some(tracker) = &mut self.tracker {
            tracker.write(page);
        }
        self.cancel_fetches(page, 1);
        let was_dirty = found.is_some_and(|slot| self.replacer.cache.is_dirty(slot));
        if was_dirty {
            self.tally.write_hits += 1;
        } else {
            self.tally.write_misses += 1;
        }
        let (mut from, mut after) = (Place::Host, start);
        let slot = if let Some(slot) = found {
            if !whole && let Some(read) = self.read_merged(slot, start, media) {
                (from, after) = (Place::Merged, read);
            }
            self.replacer.stays(slot);
            self.replacer.cache.write(slot);
            slot
        } else {
            if self.replacer.cache.is_full() {
                let slot = self.replacer.clean_victim().expect("it was asked whether there is one");
                self.drop_clean(slot);
            }
            self.replacer.cache.insert(page, true)
        };
        let done = self.program(slot, from, Cause::Host, after, start, media);
        // Not what GC left of it: the page is dirty, and stays.
        self.keep_limits(0, start, media);
        Served::Flash(done)
    }

    /// Whether a write goes past the cache.
    fn passes(&mut self, found: Option<SlotId>, whole: bool) -> bool {
        match found {
            // On its way to the disk: the new version must not overtake it there. But if the disk is being written past it, it
            // is the wrong base for a part.
            Some(slot) if self.replacer.cache.is_pinned(slot) => !whole && self.replacer.is_outdated(slot),
            Some(_) => self.bypass && whole,
            None if self.bypass || (!whole && self.partial_writes == PartialWrites::Disk) => true,
            None => {
                let overflows = self.replacer.cache.is_full() && self.replacer.clean_victim().is_none();
                self.tally.overflowed_writes += u64::from(overflows);
                overflows
            }
        }
    }

    fn read_merged<M: TierMedia>(&mut self, slot: SlotId, start: M::When, media: &mut M) -> Option<M::When> {
        // A clean page may not be dropped between this and the write.
        self.replacer.cache.write(slot);
        self.replacer.stays(slot);
        let mut store = Self::store(&mut self.ftl, &mut self.replacer, self.clean, start, media);
        store.read(Lpn::new(slot.get()), Place::Merged, Cause::Host)
    }

    #[inline]
    fn program<M: TierMedia>(
        &mut self,
        slot: SlotId,
        from: Place,
        cause: Cause,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> M::When {
        let mut store = Self::store(&mut self.ftl, &mut self.replacer, self.clean, start, media);
        self.mapping.program(slot, from, cause, after, &mut store)
    }

    fn forget<M: TierMedia>(&mut self, pages: &[Lpn], start: M::When, media: &mut M) -> M::When {
        let mut store = Self::store(&mut self.ftl, &mut self.replacer, self.clean, start, media);
        self.mapping.forget(pages, start, &mut store)
    }

    /// Forgets a page of the request: from now on it reads as the disk has it, be that older. The journal says so at the
    /// [end](Self::end) of the request, which is answered without waiting for that: if power fails before it is written, the
    /// page may be back as it was, and afterwards not any more.
    pub fn trim(&mut self, page: Lpn) {
        self.cancel_fetches(page, 1);
        if let Some(tracker) = &mut self.tracker {
            tracker.forget(page);
        }
        if self.mapping.is_recorded(page) {
            self.trimmed.push(page);
        }
    }

    fn forget_trimmed<M: TierMedia>(&mut self, start: M::When, media: &mut M) {
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

    fn drop_clean(&mut self, slot: SlotId) {
        debug_assert!(!self.replacer.cache.is_dirty(slot), "{slot:?} is dirty");
        self.tally.clean_evictions += 1;
        self.release(slot);
    }

    /// Reads the next group into the buffer and hands it to the disk.
    fn destage<M: TierMedia>(&mut self, start: M::When, media: &mut M) -> LeaveId {
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
        self.cancel_fetches(first, pages);
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
        let slots = self.replacer.end(id);
        // They stay pinned until the journal is written: GC must go on copying them.
        let pages: Vec<_> = slots.iter().map(|&slot| self.replacer.cache.page_of(slot)).collect();
        let done = self.forget(&pages, start, media);
        for slot in slots {
            self.release(slot);
        }
        done
    }

    /// The disk is asked for so many pages from `first` on, at most [`FETCH_PAGES`], to be read and cached.
    pub fn fetch(&mut self, first: Lpn, pages: u32) -> u32 {
        debug_assert!((1..=FETCH_PAGES).contains(&pages), "a fetch of {pages} pages");
        let wanted = u64::MAX >> (FETCH_PAGES - pages);
        let fetch = Some(Fetch { first, wanted });
        if let Some(free) = self.fetches_free.pop() {
            self.fetches[free as usize] = fetch;
            return free;
        }
        self.fetches.push(fetch);
        self.fetches.len() as u32 - 1
    }

    /// Whether what is read goes into the cache: not so where it goes past it.
    #[must_use]
    pub fn fetches(&self) -> bool {
        !self.bypass
    }

    /// The disk has delivered: what is still wanted is put into the read cache.
    pub fn fetched<M: TierMedia>(&mut self, id: u32, start: M::When, media: &mut M) {
        let Fetch { first, wanted } = self.fetches[id as usize].take().expect("it is under way");
        self.fetches_free.push(id);
        for place in (0..FETCH_PAGES).filter(|place| wanted >> place & 1 == 1) {
            let page = Lpn::new(first.get() + place);
            if self.replacer.cache.lookup(page).is_none() && !self.replacer.is_overwritten(page) {
                self.fill(id, page, start, media);
            }
        }
    }

    fn fill<M: TierMedia>(&mut self, fetch: u32, page: Lpn, start: M::When, media: &mut M) {
        if self.resizer.limits().read_pages == 0 {
            return;
        }
        // Before it comes: some policies have the newest page leave first where all others were used again.
        self.keep_limits(1, start, media);
        if self.replacer.cache.is_full() {
            match self.replacer.clean_victim() {
                Some(slot) => self.drop_clean(slot),
                None => return,
            }
        }
        let slot = self.replacer.cache.insert(page, false);
        self.tally.fills += 1;
        media.fetched(fetch, page);
        self.program(slot, Place::Host, Cause::Evict, start, start, media);
    }

    /// What fetches under way bring of these pages is out of date.
    #[inline]
    fn cancel_fetches(&mut self, first: Lpn, pages: u32) {
        if self.fetches.len() == self.fetches_free.len() {
            return;
        }
        let (first, end) = (u64::from(first.get()), u64::from(first.get()) + u64::from(pages));
        for fetch in self.fetches.iter_mut().flatten() {
            let begin = u64::from(fetch.first.get());
            for place in first.max(begin)..end.min(begin + u64::from(FETCH_PAGES)) {
                fetch.wanted &= !(1 << (place - begin));
            }
        }
    }
}
