//! Garbage collection: whole victims in the foreground, until every pool of the die is above its low mark; and in steps,
//! each a page copy or an erase, while a die is idle or between operations.
//!
//! A victim that is partly cleaned is part of its pool's state. Its pages that are still valid are those yet to be copied,
//! whatever has happened to the others in between. One free block is enough to clean any victim to its end, so a pool that
//! keeps one may put that off.
//!
//! Preemptive GC: Lee, Kim, Oryol, Shipman & Wang, "A semi-preemptive garbage collector for solid state drives", ISPASS
//! 2011. There GC goes on for as long as no request comes; here a request is always there, so the steps are counted.

use crate::advisor::{Advisor, Fate, Grade, Source, Weights};
use crate::block::{Scale, State};
use crate::config::{GcMode, Summary};
use crate::ftl::{Ftl, Io};
use crate::marks::Marks;
use crate::pool::{Active, Cleaning, Pool, Stream, Taken};
use crate::victim;
use coflash_base::Index;
use coflash_flash::{BlockId, Cause, DieId, Media, Mode, Oob, Place, Ppn};

impl Ftl {
    /// Cleans while a pool of the die has too few free blocks, pools in turn.
    #[inline(always)]
    pub(crate) fn collect<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) {
        if self.dies[die].due_pools > 0 {
            self.collect_due(die, io);
        }
    }

    fn collect_due<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) {
        if self.mode == GcMode::Preemptive {
            let mut steps_left = self.steps_max;
            while steps_left > 0 && self.dies[die].due_pools > 0 && self.step(die, io) {
                steps_left -= 1;
            }
        }
        while self.dies[die].low_pools > 0 && self.clean_next_pool(die, io) {}
    }

    /// Whether an idle die has something to do.
    #[must_use]
    pub fn has_idle_work(&self, die: DieId) -> bool {
        self.mode == GcMode::Background
            && self.dies[die].due_pools > 0
            && self.pools_of(die).any(|pool| self.is_due(&self.pools[pool]))
    }

    /// On a die that is idle at `io.start`: copies one page, or erases one block. False where nothing is to be done.
    pub fn work_idle<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) -> bool {
        self.mode == GcMode::Background && self.dies[die].due_pools > 0 && self.step(die, io)
    }

    /// Cleans every victim that is partly cleaned to its end.
    pub fn finish_victims<M: Media, A: Advisor>(&mut self, io: &mut Io<'_, M, A>) {
        for pool in 0..self.pools.len() {
            if self.pools[pool].cleaning.is_some() {
                self.clean_one(pool, io);
            }
        }
    }

    fn is_due(&self, pool: &Pool) -> bool {
        pool.cleaning.is_some() || pool.free.len() <= self.dims.step_mark_blocks && self.can_gain(pool)
    }

    /// Copies one page, or erases one block, in the next due pool in turn, which keeps its turn until the erase; false
    /// where no due pool has anything to gain.
    fn step<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) -> bool {
        let pools = self.dims.pools_per_die;
        let begin = self.dies[die].next_clean;
        for turn in 0..pools {
            let local = (begin + turn) % pools;
            let pool = (die.get() * pools + local) as usize;
            if self.is_due(&self.pools[pool]) && self.step_in(pool, io) {
                let erased = self.pools[pool].cleaning.is_none();
                self.dies[die].next_clean = (local + u32::from(erased)) % pools;
                self.tally.gc_steps += 1;
                return true;
            }
        }
        false
    }

    fn step_in<M: Media, A: Advisor>(&mut self, pool: usize, io: &mut Io<'_, M, A>) -> bool {
        let Some(mut cleaning) = self.pools[pool].cleaning.take().or_else(|| self.begin(pool, io)) else {
            return false;
        };
        // A page that is dropped takes no time, so it is no step.
        while let Some(index) = self.valid.first(cleaning.block) {
            let page = self.geometry.page(cleaning.block, index);
            let fate = self.relocate(cleaning.cause, pool, cleaning.block, page, io);
            self.invalidate_page(page);
            if fate != Fate::Drop {
                self.pools[pool].cleaning = Some(cleaning);
                return true;
            }
            cleaning.dropped = true;
        }
        self.end(pool, cleaning, io);
        true
    }

    /// Cleans one block of the next low pool in turn; false where no low pool has anything to gain.
    fn clean_next_pool<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) -> bool {
        let pools = self.dims.pools_per_die;
        let begin = self.dies[die].next_clean;
        for step in 0..pools {
            let local = (begin + step) % pools;
            let pool = (die.get() * pools + local) as usize;
            if self.pools[pool].free.len() <= self.dims.low_mark_blocks && self.clean_one(pool, io) {
                self.dies[die].next_clean = (local + 1) % pools;
                return true;
            }
        }
        false
    }

    /// Cleans one block of a pool; false where no block has anything to gain.
    pub(crate) fn clean_one<M: Media, A: Advisor>(&mut self, pool: usize, io: &mut Io<'_, M, A>) -> bool {
        let Some(cleaning) = self.pools[pool].cleaning.take().or_else(|| self.begin(pool, io)) else {
            return false;
        };
        self.clean(pool, cleaning, io);
        // The block may have been given cold data to take over.
        if let Some(cleaning) = self.pools[pool].cleaning.take() {
            self.clean(pool, cleaning, io);
        }
        true
    }

    /// Begins to clean the policy's victim.
    fn begin<M: Media, A: Advisor>(&mut self, pool: usize, io: &mut Io<'_, M, A>) -> Option<Cleaning> {
        let weights = io.advisor.weights();
        if weights != self.weights {
            self.reweigh(weights);
        }
        let block = self.pick_victim(pool)?;
        Some(Cleaning { block, cause: Cause::Gc, dropped: false })
    }

    /// Cleans a block to its end. Pages of which no other tier has a copy are copied in runs, if the advisor lets them.
    pub(crate) fn clean<M: Media, A: Advisor>(
        &mut self,
        pool: usize,
        mut cleaning: Cleaning,
        io: &mut Io<'_, M, A>,
    ) {
        let Cleaning { block, cause, .. } = cleaning;
        let marked = self.blocks.marked[block];
        let in_runs =
            cause != Cause::WearLevelling && io.advisor.copies_unmarked(self.blocks.valid[block] - marked);
        let drops_before = self.tally.gc_drops_pages;
        for word in 0..self.valid.words_per_block() {
            let first = self.geometry.page(block, word as u32 * 64);
            let mut rest = self.valid.word(block, word);
            let mut asked = match (in_runs, marked) {
                (false, _) => rest,
                (true, 0) => 0,
                (true, _) => self.marked_word(block, word),
            };
            while rest != 0 {
                // Up to the first page that is asked about.
                let run = rest & !asked & asked.wrapping_sub(1);
                let done = if run == 0 {
                    let page = Ppn::new(first.get() + rest.trailing_zeros());
                    self.relocate(cause, pool, block, page, io);
                    rest & rest.wrapping_neg()
                } else {
                    self.copy_run(cause, pool, first, run, io)
                };
                rest &= !done;
                asked &= !done;
            }
        }
        cleaning.dropped |= self.tally.gc_drops_pages > drops_before;
        self.end(pool, cleaning, io);
    }

    /// Copies pages to where GC's copies go, until the block there is full; `run` says which of the 64 from `first` on.
    /// Tells which were copied.
    #[inline(always)]
    fn copy_run<M: Media, A>(
        &mut self,
        cause: Cause,
        pool: usize,
        first: Ppn,
        run: u64,
        io: &mut Io<'_, M, A>,
    ) -> u64 {
        let group = self.dims.group_of[Stream::Gc as usize] as usize;
        let (block, begin) = self.active(pool, group);
        let mut to = Taken { block, index: begin, page: self.geometry.page(block, begin) };
        let mut rest = run;
        loop {
            let from = Ppn::new(first.get() + rest.trailing_zeros());
            let lpn = self.owner[from].expect("a valid page has an owner");
            let oob = Oob { lpn: Some(lpn), sequence: self.sequence, mode: Mode::Normal };
            self.sequence += 1;
            io.media.copy(from, to.page, oob, cause, io.start);
            self.map[lpn] = Some(to.page);
            self.owner[to.page] = Some(lpn);
            self.valid.set_at(block, to.index);
            rest &= rest - 1;
            if rest == 0 || to.index + 1 == self.dims.data_pages_per_block {
                break;
            }
            to = Taken { block, index: to.index + 1, page: Ppn::new(to.page.get() + 1) };
        }
        let copied = to.index + 1 - begin;
        self.tally.programs_pages[cause as usize] += u64::from(copied);
        self.blocks.valid[block] += copied;
        self.pools[pool].valid_pages += copied;
        self.pools[pool].actives[group] = Active { block: Some(block), next: to.index + 1 };
        if self.seal_if_full(pool, group, to) && self.summary == Summary::On {
            self.write_summary(to.page, io.start, io.media);
        }
        run & !rest
    }

    /// Erases a block whose pages are copied or dropped.
    fn end<M: Media, A: Advisor>(&mut self, pool: usize, cleaning: Cleaning, io: &mut Io<'_, M, A>) {
        let Cleaning { block, cause, dropped } = cleaning;
        let after = if dropped { io.advisor.before_erase(io.start, io.media) } else { io.start };
        self.erase_for(cause, pool, block, after, io);
        if cause == Cause::WearLevelling {
            self.close_cold(pool);
            self.hand_back(pool, block);
        } else if !self.take_over_cold(pool, block) {
            self.hand_back(pool, block);
        }
    }

    /// Erases a block that holds nothing and returns it to its pool.
    pub(crate) fn erase<M: Media, A>(&mut self, pool: usize, block: BlockId, io: &mut Io<'_, M, A>) {
        self.erase_for(Cause::Gc, pool, block, io.start, io);
        self.hand_back(pool, block);
    }

    fn erase_for<M: Media, A>(
        &mut self,
        cause: Cause,
        pool: usize,
        block: BlockId,
        after: M::When,
        io: &mut Io<'_, M, A>,
    ) {
        io.media.erase(block, cause, after);
        self.tally.erases_blocks += 1;
        self.release(pool, block);
    }

    /// Takes the policy's victim out of the candidates.
    fn pick_victim(&mut self, pool: usize) -> Option<BlockId> {
        if !self.can_gain(&self.pools[pool]) {
            return None;
        }
        let pool = &mut self.pools[pool];
        let range = pool.first_block as usize..(pool.first_block + self.dims.blocks_per_pool) as usize;
        let view = victim::Blocks {
            cost: &(*self.blocks.cost)[range.clone()],
            full_cost: self.scale.full_cost,
            sealed_at: &(*self.blocks.sealed_at)[range.clone()],
            erases: &(*self.blocks.erases)[range],
            now: self.sequence,
        };
        let local = pool.victim.pick(view)?;
        let block = BlockId::new(pool.first_block + local);
        pool.victim.removed(local, self.blocks.cost[block]);
        self.blocks.state[block] = State::Victim;
        Some(block)
    }

    /// Whether any candidate has a page that need not be copied: with none, copying would go round in circles. That marked
    /// pages are dropped is not counted upon: the advisor may have them copied.
    fn can_gain(&self, pool: &Pool) -> bool {
        let open = || pool.actives.iter().filter_map(|active| active.block);
        let open_valid: u32 = open().map(|block| self.blocks.valid[block]).sum();
        let candidates = self.dims.blocks_per_pool - pool.free.len() - open().count() as u32;
        pool.valid_pages - open_valid < candidates * self.dims.data_pages_per_block
    }

    /// Asks what becomes of a valid page of a victim, and does it.
    #[inline]
    fn relocate<M: Media, A: Advisor>(
        &mut self,
        cause: Cause,
        pool: usize,
        victim: BlockId,
        from: Ppn,
        io: &mut Io<'_, M, A>,
    ) -> Fate {
        let lpn = self.owner[from].expect("a valid page has an owner");
        let marks = self.marks_of(victim, from);
        let fate = io.advisor.fate(lpn, marks, io.media);
        match fate {
            Fate::Copy { .. } | Fate::CopyUnmarked => {
                let (source, stream, mode) = match fate {
                    Fate::Copy { source, stream, mode } => (source, stream, mode),
                    _ => (Source::Flash, Stream::Gc, Mode::Normal),
                };
                let group = self.dims.group_of[stream as usize] as usize;
                let moves_cold = cause == Cause::WearLevelling;
                let to = if moves_cold { self.take_cold_page(pool) } else { self.take_page(pool, group) };
                // A block that takes over cold data is to keep it.
                let mode = if moves_cold { Mode::Normal } else { mode };
                let oob = self.stamp(Some(lpn), cause, mode);
                match source {
                    Source::Flash => io.media.copy(from, to.page, oob, cause, io.start),
                    Source::Slot(slot) => {
                        io.media.program(to.page, oob, Place::Cache { slot }, cause, io.start)
                    }
                };
                let device = marks.device && source == Source::Flash;
                let left = if fate == Fate::CopyUnmarked { Marks::NONE } else { Marks { device, ..marks } };
                let grade = self.grades.get(victim, from);
                self.put(lpn, to, pool, left);
                if left.device && grade != Grade::FIRST {
                    self.set_grade(to.page, grade);
                }
                if mode == Mode::Fast {
                    self.programmed_fast(to.page);
                }
                let sealed = if moves_cold {
                    self.seal_cold_if_full(pool)
                } else {
                    self.seal_if_full(pool, group, to)
                };
                if sealed && self.summary == Summary::On {
                    self.write_summary(to.page, io.start, io.media);
                }
            }
            Fate::Drop => {
                self.map[lpn] = None;
                self.tally.gc_drops_pages += 1;
            }
        }
        fate
    }

    /// Takes note that a block was erased.
    fn release(&mut self, pool: usize, block: BlockId) {
        self.valid.clear_block(block);
        if self.blocks.marked[block] > 0 {
            self.clear_marks(block);
        }
        self.refresh.erased(block);
        self.pools[pool].valid_pages -= self.blocks.valid[block];
        self.recount(block, 0, 0);
        self.blocks.erases[block] += 1;
    }

    /// Returns an erased block to its pool.
    pub(crate) fn hand_back(&mut self, pool: usize, block: BlockId) {
        self.blocks.state[block] = State::Free;
        let erases = self.blocks.erases[block];
        let free = &mut self.pools[pool].free;
        free.push(block, erases);
        let free = free.len();
        let die = &mut self.dies[DieId::from_index(pool / self.dims.pools_per_die as usize)];
        die.low_pools -= u32::from(free == self.dims.low_mark_blocks + 1);
        die.due_pools -= u32::from(free == self.dims.step_mark_blocks + 1);
    }

    /// Lets marked pages count so much from now on.
    fn reweigh(&mut self, weights: Weights) {
        self.weights = weights;
        let most = self.weight_max;
        assert!(weights.0.iter().all(|&weight| weight <= most), "{weights:?} is more than was demanded");
        self.scale = Scale::new(self.scale.valid, weights, self.dims.data_pages_per_block);
        for block in self.blocks.cost.ids() {
            self.recount(block, self.blocks.valid[block], self.blocks.marked[block]);
        }
    }
}
