//! The map, and how a logical page is read, written and forgotten.

use crate::advisor::{Advisor, Demands, Weight, Weights};
use crate::block::{Blocks, PageBits, Scale, State};
use crate::config::{
    Chips, Dimensions, FreeMark, FtlConfig, GcConfig, GcMode, Summary, Trigger, WearLevelling,
};
use crate::grades::Grades;
use crate::marks::Marks;
use crate::pool::{Active, FreeList, Pool, Stream, Taken};
use crate::refresh::Refresh;
use crate::victim;
use coflash_base::{IdVec, Index, Lpn, Seed};
use coflash_flash::{BlockId, Cause, DieId, Geometry, Media, Mode, Oob, Place, Ppn};

/// What the FTL has done, in pages and blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs by cause, in the order of [`Cause::ALL`].
    pub programs_pages: [u64; Cause::ALL.len()],
    /// Flash reads for requests and cache fills; GC's reads are part of its copies.
    pub reads_pages: u64,
    /// Valid pages of victims that were not copied because another tier holds them.
    pub gc_drops_pages: u64,
    /// Erased blocks.
    pub erases_blocks: u64,
    /// Page copies and erases that were done one by one: in idle time, or between operations.
    pub gc_steps: u64,
}

impl Tally {
    /// All programs.
    #[must_use]
    pub fn programs(&self) -> u64 {
        self.programs_pages.iter().sum()
    }

    /// What has been done since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            programs_pages: std::array::from_fn(|cause| {
                self.programs_pages[cause] - before.programs_pages[cause]
            }),
            reads_pages: self.reads_pages - before.reads_pages,
            gc_drops_pages: self.gc_drops_pages - before.gc_drops_pages,
            erases_blocks: self.erases_blocks - before.erases_blocks,
            gc_steps: self.gc_steps - before.gc_steps,
        }
    }

    /// Programs for one cause.
    #[inline]
    #[must_use]
    pub fn programs_for(&self, cause: Cause) -> u64 {
        self.programs_pages[cause as usize]
    }
}

/// What a call of the FTL acts through.
pub struct Io<'a, M: Media, A> {
    /// Carries out flash operations.
    pub media: &'a mut M,
    /// Knows what becomes of valid pages.
    pub advisor: &'a mut A,
    /// When the request that is being served began: nothing happens earlier.
    pub start: M::When,
}

/// State of a die beyond its pools.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Die {
    /// Pools at or under the low mark.
    pub(crate) low_pools: u32,
    /// Pools at or under the mark for GC in steps, those at or under the low mark included.
    pub(crate) due_pools: u32,
    /// The pool from which the search for the next write begins.
    pub(crate) next_write: u32,
    /// The pool from which the search for the next victim begins.
    pub(crate) next_clean: u32,
}

/// The flash translation layer.
///
/// Memory: 4 bytes a logical page, 4 and a quarter a physical page (an eighth more where the host is tracked, a quarter
/// and 8 a block more where marks have grades), about 40 a block.
#[derive(Clone)]
pub struct Ftl {
    pub(crate) geometry: Geometry,
    pub(crate) dims: Dimensions,
    chips: Chips,
    pub(crate) wear_levelling: WearLevelling,
    pub(crate) summary: Summary,
    trigger: Trigger,
    pub(crate) mode: GcMode,
    pub(crate) steps_max: u32,
    pub(crate) wear_gap: u32,
    pub(crate) map: IdVec<Lpn, Option<Ppn>>,
    /// What the out-of-band area of each page says; kept after the page is invalid.
    pub(crate) owner: IdVec<Ppn, Option<Lpn>>,
    pub(crate) valid: PageBits,
    pub(crate) marked: PageBits,
    pub(crate) marked_host: PageBits,
    pub(crate) grades: Grades,
    pub(crate) blocks: Blocks,
    pub(crate) pools: Vec<Pool>,
    pub(crate) dies: IdVec<DieId, Die>,
    /// The die from which the search for the next write begins.
    pub(crate) next_die: u32,
    pub(crate) weights: Weights,
    pub(crate) weight_max: Weight,
    pub(crate) scale: Scale,
    pub(crate) refresh: Refresh,
    /// Programs of the device so far.
    pub(crate) sequence: u64,
    pub(crate) tally: Tally,
}

impl Ftl {
    /// An erased device, for an advisor with such demands.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem).
    pub fn new(
        geometry: &Geometry,
        config: &FtlConfig,
        gc: &GcConfig,
        demands: Demands,
        seed: Seed,
    ) -> Result<Self, (&'static str, String)> {
        let dims = Dimensions::new(geometry, config, gc, demands)?;
        let unit = if demands.fractional { Weight::SIXTEENTHS } else { 1 };
        let dearest = Scale::new(unit, Weights::all(demands.weight_max), dims.data_pages_per_block);
        let pools = geometry.dies() * dims.pools_per_die;
        let pool = |index: u32| {
            let first_block = index * dims.blocks_per_pool;
            let blocks =
                (first_block..first_block + dims.blocks_per_pool).map(|block| (BlockId::new(block), 0));
            Pool {
                first_block,
                free: FreeList::new(blocks, config.wear_levelling),
                actives: vec![Active::default(); dims.groups as usize],
                victim: gc.victim.build(victim::Pool {
                    blocks: dims.blocks_per_pool,
                    cost_max: dearest.full_cost,
                    seed: seed.child(&format!("pool/{index}")),
                }),
                valid_pages: 0,
                cleaning: None,
                cold: Active::default(),
                erases_min: 0,
            }
        };
        Ok(Self {
            map: IdVec::filled(None, dims.logical_pages as usize),
            owner: IdVec::filled(None, geometry.pages() as usize),
            valid: PageBits::new(geometry),
            marked: PageBits::new(geometry),
            marked_host: PageBits::none(),
            grades: Grades::new(geometry, demands.grades),
            blocks: Blocks::new(geometry.blocks() as usize),
            pools: (0..pools).map(pool).collect(),
            dies: IdVec::filled(Die::default(), geometry.dies() as usize),
            next_die: 0,
            weights: Weights::all(Weight::FULL),
            weight_max: demands.weight_max,
            scale: Scale::new(unit, Weights::all(Weight::FULL), dims.data_pages_per_block),
            refresh: Refresh::new(&config.refresh, geometry.blocks()),
            sequence: 0,
            tally: Tally::default(),
            geometry: geometry.clone(),
            chips: config.chips,
            wear_levelling: config.wear_levelling,
            summary: config.summary,
            trigger: gc.trigger,
            mode: gc.mode,
            steps_max: gc.steps_max,
            wear_gap: config.wear_gap,
            dims,
        })
    }

    /// Logical pages that the host sees (U).
    #[must_use]
    pub fn logical_pages(&self) -> u32 {
        self.dims.logical_pages
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.dims.logical_pages) * self.geometry.page_size.count
    }

    /// What has been done so far.
    #[inline]
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How often each block was erased.
    #[must_use]
    pub fn erase_counts(&self) -> &[u32] {
        &self.blocks.erases
    }

    /// Whether some pool has no more free blocks than `mark`.
    #[must_use]
    pub fn pools_have_at_most(&self, mark: FreeMark) -> bool {
        let blocks = mark.of(self.dims.blocks_per_pool);
        self.pools.iter().any(|pool| pool.free.len() <= blocks)
    }

    /// The bytes of state on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.map.heap_bytes()
            + self.owner.heap_bytes()
            + self.valid.heap_bytes()
            + self.marked.heap_bytes()
            + self.marked_host.heap_bytes()
            + self.grades.heap_bytes()
            + self.refresh.heap_bytes()
            + self.blocks.heap_bytes()
            + self.pools.iter().map(Pool::heap_bytes).sum::<usize>()
            + self.pools.capacity() * size_of::<Pool>()
            + self.dies.heap_bytes()
    }

    /// Where a page lies.
    #[inline(always)]
    #[must_use]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.map[lpn]
    }

    /// Reads a page; none where it is not mapped.
    #[inline]
    pub fn read<M: Media, A: Advisor>(
        &mut self,
        lpn: Lpn,
        to: Place,
        cause: Cause,
        after: M::When,
        io: &mut Io<'_, M, A>,
    ) -> Option<M::When> {
        let mut page = self.map[lpn]?;
        if self.trigger == Trigger::Operation {
            self.collect(self.geometry.die_of(self.geometry.block_of(page)), io);
            // GC may have moved it.
            page = self.map[lpn]?;
        }
        self.tally.reads_pages += 1;
        Some(io.media.read(page, to, cause, after))
    }

    /// Writes a page out of place; the copy it had is invalid from then on.
    #[inline]
    pub fn write<M: Media, A: Advisor>(
        &mut self,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        io: &mut Io<'_, M, A>,
    ) -> M::When {
        self.write_among(Stream::of(cause), lpn, from, cause, after, io)
    }

    /// As [`write`](Self::write), into the active block of a stream of the caller's choice.
    #[inline]
    pub fn write_among<M: Media, A: Advisor>(
        &mut self,
        stream: Stream,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        io: &mut Io<'_, M, A>,
    ) -> M::When {
        let die = self.choose_die(lpn, io);
        self.collect(die, io);
        if let Some(old) = self.map[lpn] {
            self.invalidate_page(old);
        }
        let group = self.dims.group_of[stream as usize] as usize;
        let pool = self.choose_pool(die, group);
        let to = self.take_page(pool, group);
        let oob = self.stamp(Some(lpn), cause, Mode::Normal);
        let mut done = io.media.program(to.page, oob, from, cause, after);
        self.put(lpn, to, pool, Marks::NONE);
        if self.seal_if_full(pool, group, to) && self.summary != Summary::Off {
            done = self.write_summary(to.page, done, io.media);
        }
        done
    }

    /// Forgets a page: its flash copy, if any, is invalid.
    #[inline]
    pub fn invalidate(&mut self, lpn: Lpn) {
        if let Some(page) = self.map[lpn].take() {
            self.invalidate_page(page);
        }
    }

    /// Whether what two streams write lies in the same blocks.
    #[must_use]
    pub fn share_blocks(&self, one: Stream, other: Stream) -> bool {
        self.dims.group_of[one as usize] == self.dims.group_of[other as usize]
    }

    /// Maps every logical page at once, block by block, the blocks of a die dealt to its pools in turn: the state in
    /// which the reference simulator starts. Nothing is counted. The device must be erased.
    pub fn map_all(&mut self) {
        assert_eq!(self.sequence, 0, "the device has been written");
        let dies = self.geometry.dies();
        for die in 0..dies {
            let pages = (self.dims.logical_pages - die).div_ceil(dies);
            let mut active = Active::default();
            let mut pool = 0;
            for local in 0..pages {
                if local % self.dims.data_pages_per_block == 0 {
                    let block_of_die = local / self.dims.data_pages_per_block;
                    pool = (die * self.dims.pools_per_die + block_of_die % self.dims.pools_per_die) as usize;
                    active = Active { block: Some(self.open_block(pool)), next: 0 };
                }
                let block = active.block.expect("opened at its first page");
                let to = Taken { block, index: active.next, page: self.geometry.page(block, active.next) };
                active.next += 1;
                self.sequence += 1;
                self.put(Lpn::new(local * dies + die), to, pool, Marks::NONE);
                if active.next == self.dims.data_pages_per_block || local + 1 == pages {
                    self.seal(pool, block);
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn stamp(&mut self, lpn: Option<Lpn>, cause: Cause, mode: Mode) -> Oob {
        let oob = Oob { lpn, sequence: self.sequence, mode };
        self.sequence += 1;
        self.tally.programs_pages[cause as usize] += 1;
        oob
    }

    pub(crate) fn write_summary<M: Media>(&mut self, last: Ppn, after: M::When, media: &mut M) -> M::When {
        let oob = self.stamp(None, Cause::Metadata, Mode::Normal);
        media.program(Ppn::new(last.get() + 1), oob, Place::Host, Cause::Metadata, after)
    }

    /// Whether a write of `lpn` may go to `die`.
    #[inline(always)]
    pub(crate) fn may_lie_on(&self, lpn: Lpn, die: DieId) -> bool {
        self.chips != Chips::Static || lpn.get() % self.dies.len() as u32 == die.get()
    }

    /// The die that a write goes to.
    #[inline(always)]
    fn choose_die<M: Media, A>(&mut self, lpn: Lpn, io: &Io<'_, M, A>) -> DieId {
        let dies = self.dies.len() as u32;
        let in_turn = |next: u32| (0..dies).map(move |step| DieId::new((next + step) % dies));
        // On a full device only the pool that the page leaves has room.
        let leaves = || self.map[lpn].map(|page| self.pool_of(self.geometry.block_of(page)));
        match self.chips {
            Chips::Static => DieId::new(lpn.get() % dies),
            Chips::RoundRobin => {
                let leaves = leaves();
                let mut with_room = in_turn(self.next_die).filter(|&die| self.has_room(die, leaves));
                let die = with_room.next().expect("the device has room");
                self.next_die = (die.get() + 1) % dies;
                die
            }
            Chips::LeastBusy => {
                // Equally busy dies take turns: the search begins after the die used last.
                let leaves = leaves();
                let with_room = in_turn(self.next_die).filter(|&die| self.has_room(die, leaves));
                let die = with_room
                    .min_by_key(|&die| io.media.backlog(die, io.start))
                    .expect("the device has room");
                self.next_die = (die.get() + 1) % dies;
                die
            }
        }
    }

    pub(crate) fn pools_of(&self, die: DieId) -> std::ops::Range<usize> {
        let first = (die.get() * self.dims.pools_per_die) as usize;
        first..first + self.dims.pools_per_die as usize
    }

    /// Whether a die may take another valid page, one being about to leave a pool, and GC still finds something to gain.
    fn has_room(&self, die: DieId, leaves: Option<usize>) -> bool {
        let max = |pool| self.dims.valid_pages_max + u32::from(leaves == Some(pool));
        self.pools_of(die).any(|pool| self.pools[pool].valid_pages < max(pool))
    }

    /// The pool of a die that a write goes to: the one with the most free pages, searched in turn.
    #[inline(always)]
    fn choose_pool(&mut self, die: DieId, group: usize) -> usize {
        let first = (die.get() * self.dims.pools_per_die) as usize;
        if self.dims.pools_per_die == 1 {
            return first;
        }
        let begin = self.dies[die].next_write;
        let mut best = None;
        for step in 0..self.dims.pools_per_die {
            let local = (begin + step) % self.dims.pools_per_die;
            let pool = &self.pools[first + local as usize];
            if pool.valid_pages < self.dims.valid_pages_max {
                let open = pool.actives[group];
                let in_open =
                    if open.block.is_some() { self.dims.data_pages_per_block - open.next } else { 0 };
                let free_pages = pool.free.len() * self.dims.data_pages_per_block + in_open;
                if best.is_none_or(|(most, _)| free_pages > most) {
                    best = Some((free_pages, local));
                }
            }
        }
        let (_, local) = best.expect("a die with room has a pool with room");
        self.dies[die].next_write = (local + 1) % self.dims.pools_per_die;
        first + local as usize
    }

    /// The next erased page of a group's active block.
    #[inline(always)]
    pub(crate) fn take_page(&mut self, pool: usize, group: usize) -> Taken {
        let (block, index) = self.active(pool, group);
        self.pools[pool].actives[group] = Active { block: Some(block), next: index + 1 };
        Taken { block, index, page: self.geometry.page(block, index) }
    }

    /// The active block of a group, begun if there is none, and its next page.
    #[inline(always)]
    pub(crate) fn active(&mut self, pool: usize, group: usize) -> (BlockId, u32) {
        let Active { block, next } = self.pools[pool].actives[group];
        match block {
            Some(block) => (block, next),
            None => (self.open_block(pool), 0),
        }
    }

    #[inline(never)]
    fn open_block(&mut self, pool: usize) -> BlockId {
        let free = &mut self.pools[pool].free;
        let block = free.pop().expect("GC keeps a reserve block");
        let free = free.len();
        let die = &mut self.dies[DieId::from_index(pool / self.dims.pools_per_die as usize)];
        die.low_pools += u32::from(free == self.dims.low_mark_blocks);
        die.due_pools += u32::from(free == self.dims.step_mark_blocks);
        self.blocks.state[block] = State::Open;
        self.refresh.opened(block, self.blocks.erases[block]);
        block
    }

    /// Enters a programmed page into the map. What its block costs is counted when that is sealed.
    #[inline(always)]
    pub(crate) fn put(&mut self, lpn: Lpn, Taken { block, index, page }: Taken, pool: usize, marks: Marks) {
        self.map[lpn] = Some(page);
        self.owner[page] = Some(lpn);
        self.valid.set_at(block, index);
        self.blocks.valid[block] += 1;
        self.pools[pool].valid_pages += 1;
        if marks.any() {
            self.enter_marks(block, page, marks);
            self.blocks.marked[block] += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn invalidate_page(&mut self, page: Ppn) {
        let block = self.geometry.block_of(page);
        debug_assert!(self.valid.get(block, page), "{page:?} is invalidated twice");
        self.valid.clear(block, page);
        let mut marked_count = self.blocks.marked[block];
        if marked_count > 0 && self.take_marks(block, page).any() {
            marked_count -= 1;
        }
        let pool = self.pool_of(block);
        self.pools[pool].valid_pages -= 1;
        self.recount(block, self.blocks.valid[block] - 1, marked_count);
    }

    /// Enters a pool whose free list was made anew into the counts of its die.
    pub(crate) fn count_low(&mut self, pool: usize) {
        let free = self.pools[pool].free.len();
        let die = &mut self.dies[DieId::from_index(pool / self.dims.pools_per_die as usize)];
        die.low_pools += u32::from(free <= self.dims.low_mark_blocks);
        die.due_pools += u32::from(free <= self.dims.step_mark_blocks);
    }

    #[inline(always)]
    pub(crate) fn pool_of(&self, block: BlockId) -> usize {
        (block.get() / self.dims.blocks_per_pool) as usize
    }

    /// Sets a block's counts and, where it is a candidate, moves it to its new cost.
    #[inline(always)]
    pub(crate) fn recount(&mut self, block: BlockId, valid: u32, marked: u32) {
        self.blocks.valid[block] = valid;
        self.blocks.marked[block] = marked;
        if self.blocks.state[block] != State::Sealed {
            return;
        }
        let new = self.scale.cost(valid, marked, || self.grades.of(block));
        let old = std::mem::replace(&mut self.blocks.cost[block], new);
        if old != new {
            let pool = self.pool_of(block);
            let pool = &mut self.pools[pool];
            pool.victim.cost_changed(block.get() - pool.first_block, old, new);
        }
    }

    /// Seals the active block of a group if the page just taken from it was its last.
    #[inline(always)]
    pub(crate) fn seal_if_full(&mut self, pool: usize, group: usize, taken: Taken) -> bool {
        let full = taken.index + 1 == self.dims.data_pages_per_block;
        if full {
            self.pools[pool].actives[group] = Active::default();
            self.seal(pool, taken.block);
        }
        full
    }

    #[inline(never)]
    pub(crate) fn seal(&mut self, pool: usize, block: BlockId) {
        self.blocks.state[block] = State::Sealed;
        self.blocks.sealed_at[block] = self.sequence;
        let (valid, marked) = (self.blocks.valid[block], self.blocks.marked[block]);
        let cost = self.scale.cost(valid, marked, || self.grades.of(block));
        self.blocks.cost[block] = cost;
        let pool = &mut self.pools[pool];
        pool.victim.sealed(block.get() - pool.first_block, cost);
    }
}
