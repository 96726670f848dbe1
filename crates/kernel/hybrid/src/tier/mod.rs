//! The tier: the path of one page through flash cache and disk, and the five components at work.
//!
//! It makes no transfers: [`Hybrid`](crate::Hybrid) submits them and reports their ends. A read miss is a
//! *fetch*, dirty pages are destaged as a *group*, and a write that bypasses the cache is an *overwrite*. Its
//! pages may change between its beginning and its end; pages overwritten in the meantime are not touched.
//!
//! The order of operations makes the tier safe from power failures at any moment:
//!
//! - A group is on the disk before the journal records the removal of its pages, and the journal is written
//!   before flash may erase them.
//! - A page that is written through is in flash, as a dirty page, before it is on the disk. At its eviction
//!   the journal records it like a destaged page. After a power failure it is destaged once more.
//! - A page that is overwritten past the cache is removed from flash, by the journal. A clean copy is removed
//!   before the disk is written, since it would then be out of date; a dirty copy after it, since it is the
//!   only copy until then. In the meantime a partial write goes to the disk after the first write, not to
//!   that copy.

mod eviction;
mod fetching;
mod hearing;
mod recovery;
mod resizing;

pub(crate) use fetching::FETCH_PAGES;

use crate::above::Above;
use crate::config::{HybridConfig, PartialWrites};
use crate::costmodel::Costs;
use crate::counters::TierCounters;
use crate::jobs::Jobs;
use crate::mapping_manager::{JournalLayout, MappingManager};
use crate::media::TierMedia;
use crate::meter::Meter;
use crate::page_replacer::{EvictionId, PageReplacer};
use crate::partition_resizer::{Limits, PartitionResizer};
use crate::recency::Recency;
use crate::scheme::Scheme;
use crate::sequential_detector::SequentialDetector;
use crate::store::{CleanPages, Store, Tiers};
use crate::workload_tracker::WorkloadTracker;
use crate::write_policy::WritePolicy;
use coflash_base::{Ahead, Bytes, Index, Lpn, Misfit, Save, Time};
use coflash_cache::{Cache, PolicyPair, SlotId};
use coflash_ftl::{Coverage, Ftl, GcHook, Io, PageRead, PageWrite, WriteStream};
use coflash_media::disk::DiskConfig;
use coflash_media::{Cause, DieId, Geometry, Media, Place};
use fetching::Fetches;

/// The maximal number of segments of a ghost list.
const SEGMENTS_MAX: u64 = 255;

/// The tier at work on a request.
pub(crate) struct TierAtWork<'a, M: Media, H> {
    pub(crate) tier: &'a mut Tier,
    /// The media: it executes operations.
    pub(crate) media: &'a mut M,
    /// The levels above, which GC asks.
    pub(crate) hook: &'a mut H,
    /// The disk jobs, where groups begin.
    pub(crate) jobs: &'a mut Jobs<M::When>,
    /// The beginning of the current request: no operation begins earlier.
    pub(crate) start: M::When,
}

/// The server of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedBy<W> {
    /// Flash, done at this moment.
    Flash(W),
    /// The disk, in a transfer of its own.
    Disk,
    /// A pending fetch that includes the page, or a write past flash that a memory above has answered: the read ends with this
    /// job.
    Joined(u32),
}

/// The tier.
#[derive(Clone, Save)]
#[save(in_place)]
pub(crate) struct Tier {
    pub(crate) ftl: Ftl,
    pub(crate) replacer: PageReplacer,
    detector: SequentialDetector,
    #[save(each)]
    tracker: Option<WorkloadTracker>,
    pub(crate) meter: Meter,
    pub(crate) resizer: PartitionResizer,
    pub(crate) mapping: MappingManager,
    scheme: Scheme,
    /// The decision about clean pages of GC's victims.
    clean: CleanPages,
    /// The costs with the disk of the paper's table 2, and with the disk behind this cache.
    costs: Costs,
    costs_of_disk: Costs,
    partial_writes: PartialWrites,
    writes_through: bool,
    /// The number of flash pages that may hold data: S_F.
    pub(crate) flash_pages: u32,
    slots: u32,
    step: f64,
    pub(crate) fetches: Fetches,
    /// Whether the current request bypasses the cache: what it reads is not fetched.
    pub(crate) bypass: bool,
    /// Whether the period ended with this request.
    pub(crate) period_ends: bool,
    trimmed: Vec<Lpn>,
    /// What the levels above hold.
    pub(crate) above: Above,
    /// The group being destaged only to shrink the write cache: it yields to other transfers.
    pub(crate) shrinking_group: Option<EvictionId>,
    pub(crate) counters: TierCounters,
}

impl Tier {
    /// Create an empty cache over an erased FTL, for disks of `disk_pages` pages.
    ///
    /// # Errors
    /// The first part that does not fit, with its key in the table.
    pub(crate) fn new(
        ftl: Ftl,
        geometry: &Geometry,
        config: &HybridConfig,
        costs: Costs,
        disk_pages: u32,
    ) -> Result<Self, Misfit> {
        config.check()?;
        let page_bytes = geometry.page_size.count;
        let (layout, segment_pages) = Self::layout(&ftl, config, page_bytes)?;
        let flash_pages = ftl.data_pages();
        let segments = u64::from(flash_pages).div_ceil(segment_pages);
        let scheme = config.scheme.build();
        let (partition, orders) = scheme.first();
        let clean =
            CleanPages { copy: config.active_blocks.copies_clean(), dropped_from: scheme.drops_clean_from() };
        let step = segment_pages as f64 / f64::from(flash_pages);
        let kept = 1.0 - config.decay.as_f64();
        let tracks = scheme.divides();
        let unit_pages = config.sequential_unit.count.div_ceil(page_bytes);
        let mut replacer = PageReplacer::new(config, orders, layout.slots, disk_pages as usize);
        let asks = clean.dropped_from.is_some_and(|share| share > 0.0);
        replacer.recency = asks.then(|| Recency::new(layout.slots));
        Ok(Self {
            replacer,
            detector: SequentialDetector::new(
                config.sequential_streams,
                (unit_pages > 0).then_some(unit_pages),
            ),
            tracker: tracks.then(|| {
                let (segments, segment_pages) = (segments as u32, segment_pages as u32);
                WorkloadTracker::new(&config.policy, segments, segment_pages, step, disk_pages as usize, kept)
            }),
            resizer: PartitionResizer::new(Limits::new(partition, flash_pages, layout.slots), config),
            meter: Meter::new(&costs, geometry.dies(), config.destaging),
            writes_through: config.write_policy == WritePolicy::WriteThrough,
            mapping: MappingManager::new(layout, disk_pages as usize),
            scheme,
            clean,
            costs: Costs { disk: DiskConfig::default().build().costs(page_bytes), ..costs },
            costs_of_disk: costs,
            partial_writes: config.partial_writes,
            flash_pages,
            slots: layout.slots,
            step,
            fetches: Fetches::default(),
            bypass: false,
            period_ends: false,
            trimmed: Vec::new(),
            above: Above::new(disk_pages as usize),
            shrinking_group: None,
            counters: TierCounters::default(),
            ftl,
        })
    }

    /// The layout of the mapping in flash, and the pages of a segment.
    fn layout(ftl: &Ftl, config: &HybridConfig, page_bytes: u64) -> Result<(JournalLayout, u64), Misfit> {
        let layout = JournalLayout::new(ftl.logical_pages(), page_bytes).ok_or_else(|| {
            let pages = ftl.logical_pages();
            Misfit::new("segment", format!("flash of {pages} pages is too small to keep its own mapping"))
        })?;
        let segment_pages = config.segment.count / page_bytes;
        // With a larger one there would be no partition to choose; a smaller one would have too many.
        let (least, most) = (u64::from(ftl.data_pages()).div_ceil(SEGMENTS_MAX), u64::from(layout.slots));
        if !(least..=most).contains(&segment_pages) {
            let [least, most] = [least, most].map(|pages| Bytes { count: pages * page_bytes });
            let allowed = format!("from {least} (flash / {SEGMENTS_MAX}) to {most} (all that may be cached)");
            return Err(Misfit::out_of_range("segment", config.segment, &allowed));
        }
        if config.destage_pages > layout.slots / 4 {
            let problem = format!(
                "{} is more than a quarter of the {} pages of cache",
                config.destage_pages, layout.slots
            );
            return Err(Misfit::new("destage_pages", problem));
        }
        Ok((layout, segment_pages))
    }

    /// Ask for the memory that the service of a page will need: its slot, the map entry of its flash copy, its ghosts.
    #[inline(always)]
    pub(crate) fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        self.cache().look_ahead(lpn, ahead);
        if ahead == Ahead::Near
            && let Some(slot) = self.cache().lookup(lpn)
        {
            self.ftl.look_ahead(Lpn::new(slot.get()), Ahead::Far);
        }
        if let Some(tracker) = &self.tracker {
            tracker.look_ahead(lpn, ahead);
        }
    }

    /// Whether the disk holds the data of a page of flash: a clean page.
    pub(crate) fn is_on_disk(&self, page: Lpn) -> bool {
        let (cache, slot) = (&self.replacer.cache, SlotId::from_index(page.index()));
        page.get() < cache.capacity() && cache.is_occupied(slot) && !cache.is_dirty(slot)
    }

    /// The cached pages.
    pub(crate) fn cache(&self) -> &Cache<PolicyPair> {
        &self.replacer.cache
    }

    /// The heap memory of the workload tracker in bytes.
    pub(crate) fn tracker_bytes(&self) -> usize {
        self.tracker.as_ref().map_or(0, Save::heap_bytes)
    }

    /// Begin a request: a read or write of `pages` pages from `first` on.
    #[inline]
    pub(crate) fn begin(&mut self, write: bool, first: Lpn, pages: u32) {
        self.above.brought = None;
        self.bypass = self.detector.is_sequential(write, u64::from(first.get()), pages);
        self.meter.tick(self.replacer.cache.len());
        self.period_ends |= self.resizer.tick(self.replacer.dirty_pages());
    }

    /// Whether a write goes past the cache. What leaves a cache above does so only where there is no room: from there on only the
    /// disk would have it, and not before its transfer ends.
    fn passes(&mut self, found: Option<SlotId>, whole: bool, bypass: bool) -> bool {
        match found {
            // It is being destaged, and the new version must not overtake it to the disk. But if it is
            // overwritten past the cache, it is the wrong base for a partial write.
            Some(slot) if self.replacer.cache.is_pinned(slot) => !whole && self.replacer.is_outdated(slot),
            Some(_) => bypass && whole,
            None if bypass || (!whole && self.partial_writes == PartialWrites::Disk) => true,
            None => {
                let overflows = self.replacer.cache.is_full() && self.replacer.clean_victim().is_none();
                self.counters.overflowed_writes_pages += u64::from(overflows);
                overflows
            }
        }
    }
}

impl<M: TierMedia, H: GcHook> TierAtWork<'_, M, H> {
    /// The map of what is cached, and the access to its pages in flash.
    #[inline(always)]
    fn store(&mut self) -> (&mut MappingManager, Store<'_, M, H>) {
        let Tier { ftl, replacer, above, clean, mapping, .. } = &mut *self.tier;
        let hook = Tiers { replacer, above, clean: *clean, hook: &mut *self.hook };
        (mapping, Store { ftl, io: Io { media: &mut *self.media, hook, start: self.start } })
    }

    /// Do one step of background work on a die that is idle at `io.start`. Returns false if there is none.
    pub(crate) fn work_idle(&mut self, die: DieId) -> Result<bool, M::Error> {
        let (_, Store { ftl, mut io }) = self.store();
        ftl.work_idle(die, &mut io)
    }

    /// Let time pass for flash: data of fast programs is refreshed.
    pub(crate) fn pass_time(&mut self, now: Time) -> Result<(), M::Error> {
        let (_, Store { ftl, mut io }) = self.store();
        if ftl.refreshes() { ftl.pass_time(now, &mut io) } else { Ok(()) }
    }

    /// End a request: begin the evictions that it and the current limits require.
    pub(crate) fn end(&mut self) -> Result<(), M::Error> {
        if std::mem::take(&mut self.tier.period_ends) {
            self.tier.divide();
        }
        if !self.tier.trimmed.is_empty() {
            self.forget_trimmed()?;
        }
        self.keep_limits(0)?;
        self.tier.bypass = false;
        self.destage_to_shrink()
    }

    /// Read a page of the request. A request that bypasses the cache does not join a fetch, since that would
    /// split its transfer.
    #[inline]
    pub(crate) fn read(&mut self, page: PageRead, after: M::When) -> Result<ServedBy<M::When>, M::Error> {
        let found = self.tier.replacer.cache.lookup(page.lpn);
        let dirty = found.is_some_and(|slot| self.tier.replacer.cache.is_dirty(slot));
        let leaving = self.tier.above.newest_leaving(page.lpn);
        if self.tier.bypass {
            self.tier.counters.bypassed_reads_pages += 1;
            if let Some(job) = leaving {
                return Ok(ServedBy::Joined(job));
            }
            // A part written above needs the rest now.
            let done = match found.filter(|_| dirty || matches!(page.to, Place::Slot(_))) {
                Some(slot) => self.read_slot(slot, page, after)?,
                None => None,
            };
            return Ok(done.map_or(ServedBy::Disk, ServedBy::Flash));
        }
        if let Some(tracker) = &mut self.tier.tracker {
            tracker.read(page.lpn, dirty);
        }
        if let Some(slot) = found.filter(|_| leaving.is_none()) {
            self.tier.replacer.touch(slot);
            if let Some(done) = self.read_slot(slot, page, after)? {
                if dirty {
                    self.tier.counters.read_hits_dirty_pages += 1;
                } else {
                    self.tier.counters.read_hits_clean_pages += 1;
                }
                return Ok(ServedBy::Flash(done));
            }
        }
        self.tier.counters.read_misses_pages += 1;
        Ok(leaving.or_else(|| self.tier.fetches.bringing(page.lpn)).map_or(ServedBy::Disk, |job| {
            self.tier.counters.joined_reads_pages += 1;
            ServedBy::Joined(job)
        }))
    }

    /// `None` if GC drops the page before the read.
    #[inline]
    fn read_slot(
        &mut self,
        slot: SlotId,
        page: PageRead,
        after: M::When,
    ) -> Result<Option<M::When>, M::Error> {
        self.tier.above.wanted = matches!(page.to, Place::Slot(_)).then_some(page.lpn);
        let (_, Store { ftl, mut io }) = self.store();
        let read = ftl.read(PageRead { lpn: Lpn::new(slot.get()), ..page }, after, &mut io);
        self.tier.above.wanted = None;
        read
    }

    /// Write a page of the request. Returns `None` if it goes past the cache to the disk.
    #[inline]
    pub(crate) fn write(&mut self, page: PageWrite, after: M::When) -> Result<Option<M::When>, M::Error> {
        let (lpn, whole) = (page.lpn, page.coverage == Coverage::Full);
        let of_host = page.cause == Cause::Host; // and not what leaves a cache above
        self.tier.comes_down(lpn, of_host);
        let found = self.tier.replacer.cache.lookup(lpn);
        if self.tier.passes(found, whole, self.tier.bypass && of_host) {
            self.tier.counters.bypassed_writes_pages += 1;
            if let Some(tracker) = &mut self.tier.tracker {
                tracker.forget(lpn);
            }
            let cache = &self.tier.replacer.cache;
            if let Some(slot) = found.filter(|&slot| cache.is_dirty(slot) && !cache.is_pinned(slot)) {
                // Pinned, so that no group includes it: that would race with this write.
                self.tier.replacer.pin(slot);
            }
            return Ok(None);
        }
        if let Some(tracker) = &mut self.tier.tracker {
            tracker.write(lpn);
        }
        self.tier.fetches.cancel(lpn, 1);
        let was_dirty = found.is_some_and(|slot| self.tier.replacer.cache.is_dirty(slot));
        if was_dirty {
            self.tier.counters.write_hits_pages += 1;
        } else {
            self.tier.counters.write_misses_pages += 1;
        }
        let (mut from, mut after) = (page.from, after);
        let slot = if let Some(slot) = found {
            if !whole && let Some(read) = self.read_merged(slot, after)? {
                (from, after) = (Place::Merged, read);
            }
            self.tier.replacer.write(slot);
            slot
        } else {
            if self.tier.replacer.cache.is_full() {
                let slot = self.tier.replacer.clean_victim().expect("it was asked whether there is one");
                self.tier.drop_clean(slot);
            }
            let slot = self.tier.replacer.insert(lpn, true);
            self.tier.enters(lpn, slot);
            slot
        };
        let stream = if page.stream == WriteStream::Evict { WriteStream::Host } else { page.stream };
        let done = self.program(slot, from, (page.cause, stream), after)?;
        if self.tier.writes_through {
            // It stays until the disk has it.
            self.tier.replacer.pin(slot);
        }
        // The page is dirty, so GC keeps it.
        self.keep_limits(0)?;
        Ok(Some(done))
    }

    fn read_merged(&mut self, slot: SlotId, after: M::When) -> Result<Option<M::When>, M::Error> {
        // A clean page must not be dropped between this and the write.
        self.tier.replacer.write(slot);
        let (_, Store { ftl, mut io }) = self.store();
        let rest = PageRead { lpn: Lpn::new(slot.get()), to: Place::Merged, cause: Cause::Host };
        ftl.read(rest, after, &mut io)
    }

    #[inline]
    fn program(
        &mut self,
        slot: SlotId,
        from: Place,
        (cause, stream): (Cause, WriteStream),
        after: M::When,
    ) -> Result<M::When, M::Error> {
        let (mapping, mut store) = self.store();
        mapping.program(slot, from, cause, stream, after, &mut store)
    }

    fn forget(&mut self, pages: &[Lpn]) -> Result<M::When, M::Error> {
        let start = self.start;
        let (mapping, mut store) = self.store();
        mapping.forget(pages, start, &mut store)
    }
}
