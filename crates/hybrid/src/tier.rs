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

mod fetching;
mod leaving;
mod recovery;
mod resizing;

pub use fetching::FETCH_PAGES;

use crate::config::{HybridConfig, PartialWrites};
use crate::costmodel::Costs;
use crate::mapping_manager::{Layout, MappingManager, MappingTally};
use crate::media::TierMedia;
use crate::meter::Meter;
use crate::page_replacer::{LeaveId, PageReplacer};
use crate::partition_resizer::{Limits, PartitionResizer};
use crate::scheme::Scheme;
use crate::sequential_detector::SequentialDetector;
use crate::store::Store;
use crate::tally::TierTally;
use crate::workload_tracker::WorkloadTracker;
use coflash_base::{Lpn, Share};
use coflash_cache::{SlotId, SplitCache};
use coflash_flash::{Cause, Geometry, Media, Place};
use coflash_ftl::{Fate, Ftl, Summary};
use fetching::Fetches;

/// Segments of a ghost list, at most.
const SEGMENTS_MAX: u64 = 255;

/// What serves a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served<W> {
    /// Flash, at this time.
    Flash(W),
    /// The disk: the driver fetches it, or overwrites it there.
    Disk,
    /// The fetch of this number, which is under way and brings the page: it is read when that is.
    Joined(u32),
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
    fetches: Fetches,
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
            fetches: Fetches::default(),
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
            + self.fetches.heap_bytes()
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

    /// Reads a page of the request. One that goes past the cache joins no fetch: that would break its transfer in two.
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
        self.fetches.bringing(page).map_or(Served::Disk, |fetch| {
            self.tally.joined_reads += 1;
            Served::Joined(fetch)
        })
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
        self.fetches.cancel(page, 1);
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
}
