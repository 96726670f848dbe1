//! The FTL: reading, writing and trimming logical pages.

mod ages;
mod allocator;
mod bits;
mod check;
mod collector;
mod gc;
mod map;
mod marking;
mod pages;
mod placer;
mod recording;
mod recovery;
mod refresh;
mod slc_cache;
mod superseded;
mod view;
mod wear;

use crate::block::{self, Blocks, Histories, History, State};
use crate::config::{FreeMark, FtlConfig, GcConfig, Summary, Trigger};
use crate::counters::{FtlCounters, PlacementClass, Programs, UsedSpace};
use crate::dimensions::Dimensions;
use crate::hook::GcHook;
use crate::ids::{GroupId, PoolId};
use crate::marks::Marks;
use crate::page::{Coverage, PageRead, PageWrite};
use crate::recorder::DecisionRecorder;
use crate::requirements::Requirements;
use crate::stream::WriteStream;
use allocator::{Active, Allocator, Taken};
use bits::PageBits;
use coflash_base::{Ahead, IdVec, Lpn, Misfit, Save, Seed};
use coflash_media::{BlockId, Cause, DieId, Geometry, Media, Mode, Oob, Place, Ppn};
use collector::Collector;
use pages::Pages;
use placer::Placer;
pub use refresh::FastBlockCounters;
use refresh::Refresh;
use slc_cache::SlcCache;
pub use slc_cache::SlcCounters;
pub use view::PageView;
use wear::Wear;

/// The context of a call: media, GC's hook, and the start of the request.
pub struct Io<'a, M: Media, H> {
    /// The media: it executes operations.
    pub media: &'a mut M,
    /// The level above: it knows of other copies.
    pub hook: H,
    /// The beginning of the current request: no operation begins earlier.
    pub start: M::When,
}

/// The flash translation layer.
///
/// Memory: 4 bytes per logical page (4 more if a cache announces newer data, 0.125 more if the host's memory
/// is tracked), 4.25 per physical page (0.125 more for each of these, 0.25 and 8 per block more with age
/// classes), and about 40 per block. A placement policy takes 16 more per block, and its own state per
/// logical page.
#[derive(Clone, Save)]
pub struct Ftl {
    geometry: Geometry,
    dims: Dimensions,
    summary: Summary,
    pages: Pages,
    /// The superseded flash pages, until their data is written or they are erased: GC counts bits, and needs
    /// no access to pages. Empty until the first one.
    early: PageBits,
    blocks: Blocks,
    histories: Histories,
    allocator: Allocator,
    collector: Collector,
    placer: Placer,
    wear: Wear,
    refresh: Refresh,
    slc_cache: SlcCache,
    /// The number of programs so far.
    sequence: u64,
    /// Whether a program, copy or erase has failed: then the device is read-only, and every page keeps its
    /// data.
    has_failed: bool,
    counters: FtlCounters,
    programs: Programs,
    #[save(skip)]
    recorder: Option<DecisionRecorder>,
}

impl Ftl {
    /// Create an erased device that meets the requirements of the level above.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn new(
        geometry: &Geometry,
        config: &FtlConfig,
        gc: &GcConfig,
        requirements: Requirements,
        seed: Seed,
    ) -> Result<Self, Misfit> {
        gc.victim.check().map_err(|misfit| misfit.within("gc.victim"))?;
        let flash = geometry;
        config.check_reclaim_unit(flash)?;
        let geometry = &config.erase_units(flash);
        let dims = Dimensions::new(flash, geometry, config, gc, requirements)?;
        let mut ftl = Self {
            pages: Pages::new(geometry, dims.logical_pages, requirements.age_classes),
            early: PageBits::none(),
            blocks: block::erased(geometry.blocks()),
            histories: IdVec::filled(History::default(), geometry.blocks() as usize),
            allocator: Allocator::new(geometry, &dims, config.chips, config.wear_levelling),
            collector: Collector::new(geometry, &dims, gc, requirements, seed),
            placer: Placer::new(&config.placement, &dims, geometry),
            wear: Wear::new(config, dims.pools(geometry)),
            refresh: Refresh::new(&config.refresh, geometry.blocks()),
            slc_cache: SlcCache::new(geometry, config, &dims)?,
            sequence: 0,
            has_failed: false,
            counters: FtlCounters::default(),
            programs: Programs::default(),
            recorder: None,
            geometry: geometry.clone(),
            summary: config.summary,
            dims,
        };
        for pool in ftl.pools() {
            for group in (0..config.placement.opened()).map(GroupId::new) {
                let block = ftl.open_block_for(pool, group);
                ftl.allocator.set_active(pool, group, Active { block: Some(block), next: 0 });
            }
        }
        Ok(ftl)
    }

    /// The number of logical pages exported to the host (U).
    #[must_use]
    pub fn logical_pages(&self) -> u32 {
        self.dims.logical_pages
    }

    /// The number of flash pages that may hold data.
    #[must_use]
    pub fn data_pages(&self) -> u32 {
        self.geometry.blocks() * self.dims.data_pages_per_block
    }

    /// The pages of a block that may hold data.
    #[must_use]
    pub fn data_pages_per_block(&self) -> u32 {
        self.dims.data_pages_per_block
    }

    /// The exported capacity in bytes.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.dims.logical_pages) * self.geometry.page_size.count
    }

    /// The counters.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> &FtlCounters {
        &self.counters
    }

    /// The programs by cause.
    #[inline]
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The counters of each class of the placement policy; none without one.
    pub fn placement_classes(&self) -> impl Iterator<Item = PlacementClass> + '_ {
        self.placer.counts()
    }

    /// The class of a block by the placement policy; without a policy, the group of streams of an open block.
    #[must_use]
    pub fn class_of(&self, block: BlockId) -> Option<u32> {
        let actives = self.allocator.actives(self.dims.pool_of(block));
        let group = || actives.iter().position(|active| active.block == Some(block));
        self.placer.class_of(block).or_else(|| group().map(|group| group as u32))
    }

    /// Whether the placement policy takes the hints of writes.
    #[must_use]
    pub fn takes_hints(&self) -> bool {
        self.placer.takes_hints
    }

    /// Set all counters to zero, but not the erase counts.
    pub fn reset_counters(&mut self) {
        (self.counters, self.programs) = (FtlCounters::default(), Programs::default());
        self.placer.reset_counts();
        self.slc_cache.counters = SlcCounters::default();
        self.refresh.counters = FastBlockCounters::default();
    }

    /// Continue the counters of this device before a restart.
    pub fn continue_counters(&mut self, before: &Self) {
        (self.counters, self.programs) = (before.counters, before.programs);
        self.placer.continue_counts(&before.placer);
        self.slc_cache.counters = before.slc_cache.counters;
        self.refresh.counters = before.refresh.counters;
    }

    /// The erase count of each block.
    pub fn erase_counts(&self) -> impl Iterator<Item = u32> + '_ {
        let planes = 0..self.dims.blocks_per_erase;
        planes.flat_map(|_| self.histories.iter().map(|block| block.erases))
    }

    /// The number of invalid pages of each full block; 0 for others. Those of a superblock are divided among
    /// its blocks.
    pub fn invalid_pages(&self) -> impl Iterator<Item = u32> + '_ {
        let (full, planes) = (self.dims.data_pages_per_block, self.dims.blocks_per_erase);
        let invalid = move |id: BlockId| match &self.blocks[id] {
            block if block.is_full() => self.slc_cache.pages_of(id).unwrap_or(full) - block.valid,
            _ => 0,
        };
        let part = move |pages: u32, plane| pages / planes + u32::from(plane < pages % planes);
        (0..planes).flat_map(move |plane| self.blocks.ids().map(move |id| part(invalid(id), plane)))
    }

    /// Whether some pool has at most `mark` free blocks.
    #[must_use]
    pub fn pools_have_at_most(&self, mark: FreeMark) -> bool {
        let blocks = mark.blocks(self.dims.blocks_per_pool);
        self.pools().any(|pool| self.allocator.free_blocks(pool) <= blocks)
    }

    fn pools(&self) -> impl Iterator<Item = PoolId> + use<> {
        (0..self.dims.pools(&self.geometry)).map(PoolId::new)
    }

    /// The physical page of a logical page, if it is mapped.
    #[inline(always)]
    #[must_use]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.pages.map.get(lpn)
    }

    /// The space in use.
    #[must_use]
    pub fn used_space(&self) -> UsedSpace {
        UsedSpace { mapped_pages: self.pools().map(|pool| u64::from(self.allocator.valid_pages(pool))).sum() }
    }

    /// The mapped logical pages.
    pub fn mapped(&self) -> impl Iterator<Item = Lpn> + '_ {
        self.pages.map.mapped().map(|(lpn, _)| lpn)
    }

    /// Prefetch the memory for the service of a page: its map entry, then the state of its flash copy, and at last what the victim
    /// policy changes with it.
    #[inline(always)]
    pub fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        match ahead {
            Ahead::Far => self.pages.map.prefetch(Some(lpn)),
            Ahead::Near | Ahead::Last => {
                if let Some(page) = self.pages.map.get(lpn) {
                    let block = self.dims.block_of(page);
                    if ahead == Ahead::Near {
                        self.pages.valid.prefetch(block, page);
                        self.blocks.prefetch(block);
                    }
                    self.collector.look_ahead(block, ahead, &self.dims);
                }
            }
        }
    }

    /// Read a page. Returns `None` if it is not mapped.
    ///
    /// # Errors
    /// The page cannot be read.
    #[inline]
    pub fn read<M: Media, H: GcHook>(
        &mut self,
        PageRead { lpn, to, cause }: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        let Some(mut page) = self.pages.map.get(lpn) else { return Ok(None) };
        if self.collector.trigger == Trigger::Operation {
            // A failure of GC does not fail the read.
            let _ = self.collect(self.geometry.die_of(self.dims.block_of(page)), io);
            // GC may have moved it.
            let Some(moved) = self.pages.map.get(lpn) else { return Ok(None) };
            page = moved;
        }
        self.counters.flash_reads_pages += 1;
        io.media.read(page, to, cause, after).map(Some)
    }

    /// Write a page out of place, into the active block of its stream, and invalidate its old copy. For a partial
    /// write of a mapped page the rest is read first.
    ///
    /// # Errors
    /// The page is not written; it keeps its old data.
    #[inline(always)]
    pub fn write<M: Media, H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let PageWrite { lpn, coverage, mut from, cause, stream, placement } = page;
        let mut after = after;
        if coverage == Coverage::Partial {
            let rest = PageRead { lpn, to: Place::Merged, cause };
            if let Some(read) = self.read(rest, after, io)? {
                self.counters.flash_merges_pages += 1;
                (from, after) = (Place::Merged, read);
            }
        }
        if self.has_failed {
            return Self::refusal(io.media, after);
        }
        let die = match self.allocator.die_of(lpn) {
            Some(die) => die,
            None => self.choose_die(lpn, io),
        };
        self.collect(die, io)?;
        let old = self.pages.map.get(lpn);
        if let Some(old) = old {
            self.invalidate_page(old);
        }
        let group = self.group_of_write(lpn, stream, placement, old);
        let pool = self.allocator.choose_pool(die, group, &self.dims);
        let to = self.take_page(pool, group);
        let mode = self.slc_cache.mode_for(to.block);
        let oob = self.stamp(Some(lpn), cause, mode);
        let programmed = io.media.program(to.page, oob, from, cause, after);
        if programmed.is_err() {
            self.has_failed = true;
            old.into_iter().for_each(|old| self.validate_page(old));
        }
        let done = programmed?;
        let host = cause != Cause::Host && self.pages.newer_in_host.contains(lpn);
        if cause == Cause::Host {
            self.pages.newer_in_host.set(lpn, false);
        }
        if old.is_none() {
            self.settle_superseded(lpn);
        }
        self.put(lpn, to, pool, Marks { host, ..Marks::NONE });
        if self.seal_if_full(pool, group, to) && self.summary != Summary::Off {
            // A failure of the summary does not fail the write.
            let summary = self.write_summary(to.page, done, io.media);
            self.has_failed |= summary.is_err();
            return Ok(summary.unwrap_or(done));
        }
        Ok(done)
    }

    /// Choose the die of a page that has none of its own.
    #[inline(never)]
    fn choose_die<M: Media, H>(&mut self, lpn: Lpn, io: &Io<'_, M, H>) -> DieId {
        let overwritten_in = self.pages.map.get(lpn).map(|page| self.dims.pool_of(self.dims.block_of(page)));
        self.allocator.choose_die(&self.dims, overwritten_in, |die| io.media.backlog(die, io.start))
    }

    /// Return the error of a read-only device: after a failure flash refuses any program.
    #[cold]
    fn refusal<M: Media>(media: &mut M, after: M::When) -> Result<M::When, M::Error> {
        let oob = Oob { lpn: None, sequence: 0, mode: Mode::Normal };
        let refused = media.program(Ppn::new(0), oob, Place::Host, Cause::Host, after);
        assert!(refused.is_err(), "flash that has failed fails");
        refused
    }

    /// Make an invalidated page valid again, without its marks.
    #[cold]
    fn validate_page(&mut self, page: Ppn) {
        let block = self.dims.block_of(page);
        let pool = self.dims.pool_of(block);
        self.pages.valid.set_at(block, page.get() - self.geometry.page(block, 0).get());
        self.blocks[block].valid += 1;
        self.allocator.add_valid(pool, 1);
        self.recount(pool, block);
    }

    /// Trim a page: invalidate its flash copy, if any.
    #[inline]
    pub fn invalidate(&mut self, lpn: Lpn) {
        self.settle_superseded(lpn);
        self.placer.trimmed(lpn);
        self.pages.newer_in_host.set(lpn, false);
        let page = self.pages.map.get(lpn);
        self.pages.map.clear(lpn);
        if let Some(page) = page {
            self.invalidate_page(page);
        }
    }

    /// Whether two streams write to the same blocks.
    #[must_use]
    pub fn share_blocks(&self, one: WriteStream, other: WriteStream) -> bool {
        self.dims.groups.group(one) == self.dims.groups.group(other)
    }

    /// Map all logical pages block by block; the blocks of a die are dealt to its pools in turn. This is the initial
    /// state of the reference simulator. Nothing is counted. The device must be erased.
    pub fn map_all(&mut self) {
        assert_eq!(self.sequence, 0, "the device has been written");
        let dies = self.geometry.dies();
        let group = self.dims.groups.group(WriteStream::Host);
        for die in self.allocator.dies() {
            let pages = (self.dims.logical_pages - die.get()).div_ceil(dies);
            let mut active = Active::default();
            let mut pool = self.dims.pool(die, 0);
            for local in 0..pages {
                if local % self.dims.data_pages_per_block == 0 {
                    let block_of_die = local / self.dims.data_pages_per_block;
                    pool = self.dims.pool(die, block_of_die % self.dims.pools_per_die);
                    active = Active { block: Some(self.open_block(pool, group)), next: 0 };
                }
                let block = active.block.expect("opened at its first page");
                let to = Taken { block, index: active.next, page: self.geometry.page(block, active.next) };
                active.next += 1;
                self.sequence += 1;
                self.put(Lpn::new(local * dies + die.get()), to, pool, Marks::NONE);
                if active.next == self.dims.data_pages_per_block || local + 1 == pages {
                    self.seal(pool, block);
                }
            }
        }
    }

    #[inline(always)]
    fn stamp(&mut self, lpn: Option<Lpn>, cause: Cause, mode: Mode) -> Oob {
        let oob = Oob { lpn, sequence: self.sequence, mode };
        self.sequence += 1;
        *self.programs.by_cause_mut(cause) += 1;
        oob
    }

    fn write_summary<M: Media>(
        &mut self,
        last: Ppn,
        after: M::When,
        media: &mut M,
    ) -> Result<M::When, M::Error> {
        let oob = self.stamp(None, Cause::Metadata, Mode::Normal);
        media.program(Ppn::new(last.get() + 1), oob, Place::Host, Cause::Metadata, after)
    }

    /// Take the next erased page of a group's active block.
    #[inline(always)]
    fn take_page(&mut self, pool: PoolId, group: GroupId) -> Taken {
        let active = self.allocator.active_mut(pool, group);
        let (block, index) = match active.block {
            Some(block) => {
                active.next += 1;
                (block, active.next - 1)
            }
            None => {
                let block = self.open_block_for(pool, group);
                self.allocator.set_active(pool, group, Active { block: Some(block), next: 1 });
                (block, 0)
            }
        };
        Taken { block, index, page: self.geometry.page(block, index) }
    }

    /// Take the next page of a group's active block, after beginning one if necessary.
    #[inline(always)]
    fn active(&mut self, pool: PoolId, group: GroupId) -> (BlockId, u32) {
        let Active { block, next } = self.allocator.active(pool, group);
        match block {
            Some(block) => (block, next),
            None => (self.open_block_for(pool, group), 0),
        }
    }

    #[inline(never)]
    fn open_block(&mut self, pool: PoolId, group: GroupId) -> BlockId {
        let block = self.allocator.take_free(pool, &self.dims);
        self.blocks[block].state = State::Open;
        self.refresh.opened(block, self.histories[block].erases);
        self.placer.opened(block, group);
        self.record_opened(block, group);
        self.look_ahead_to_copies(pool);
        block
    }

    /// Enter a programmed page into the map with its marks. The cost of its block is computed when the block is sealed.
    #[inline(always)]
    fn put(&mut self, lpn: Lpn, Taken { block, index, page }: Taken, pool: PoolId, marks: Marks) {
        self.pages.map.set(lpn, page);
        self.pages.owner[page] = Some(lpn);
        self.pages.valid.set_at(block, index);
        self.blocks[block].valid += 1;
        self.allocator.add_valid(pool, 1);
        if marks.any() {
            self.enter_marks(block, page, marks);
        }
    }

    #[inline(always)]
    fn invalidate_page(&mut self, page: Ppn) {
        let block = self.dims.block_of(page);
        debug_assert!(self.pages.valid.get(block, page), "{page:?} is invalidated twice");
        self.pages.valid.clear(block, page);
        let known = &mut self.blocks[block];
        known.valid -= 1;
        if known.marked > 0 && self.pages.take_marks(block, page).any() {
            known.marked -= 1;
        }
        let change = known.recount(&self.collector.scale, || self.pages.ages.by_class(block));
        let pool = self.dims.pool_of(block);
        self.allocator.remove_valid(pool, 1);
        if let Some((old, new)) = change {
            self.collector.cost_changed(pool, block, old, new, &self.dims);
        }
    }

    /// Update the cost of a candidate after its counts have changed.
    #[inline(always)]
    fn recount(&mut self, pool: PoolId, block: BlockId) {
        let change = self.blocks[block].recount(&self.collector.scale, || self.pages.ages.by_class(block));
        if let Some((old, new)) = change {
            self.collector.cost_changed(pool, block, old, new, &self.dims);
        }
    }

    /// Seal the active block of a group if the page just taken from it was its last.
    #[inline(always)]
    fn seal_if_full(&mut self, pool: PoolId, group: GroupId, taken: Taken) -> bool {
        let full = taken.index + 1 == self.dims.data_pages_per_block || self.slc_cache.is_last(taken);
        if full {
            self.allocator.set_active(pool, group, Active::default());
            self.seal(pool, taken.block);
        }
        full
    }

    #[inline(never)]
    fn seal(&mut self, pool: PoolId, block: BlockId) {
        self.histories[block].sealed_at = self.sequence;
        self.offer(pool, block);
        self.look_ahead_to_blocks(pool);
    }

    /// Add a full block to the candidates, unless its class is a queue.
    fn offer(&mut self, pool: PoolId, block: BlockId) {
        let known = &mut self.blocks[block];
        if self.placer.is_queued(block) {
            known.state = State::Queued;
            return;
        }
        known.state = State::Sealed;
        known.cost = known.cost_on(&self.collector.scale, || self.pages.ages.by_class(block));
        self.collector.add(pool, block, known.cost, &self.dims);
    }
}
