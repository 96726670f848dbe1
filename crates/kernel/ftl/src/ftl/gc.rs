//! Garbage collection. In the foreground it cleans whole victims until every pool of the die is above its low mark. In
//! idle time or between operations it works in steps: page copies and erases.
//!
//! A partly cleaned victim is part of the state of its pool. Its valid pages are the pages yet to be copied.
//! One free block suffices to clean any victim completely, so a pool with one may suspend the cleaning.
//!
//! Preemptive GC: Lee, Kim, Oryol, Shipman & Wang, "A semi-preemptive garbage collector for solid state drives", ISPASS
//! 2011. There GC works until a request arrives. Here GC runs before a request, so its steps are limited.

use super::allocator::{Active, Taken};
use super::collector::Cleaning;
use super::{Ftl, Io};
use crate::block::State;
use crate::config::Summary;
use crate::hook::{CopySource, Decision, GcHook};
use crate::ids::PoolId;
use crate::marks::Marks;
use crate::stream::WriteStream;
use crate::weight::{AgeClass, Weights};
use coflash_base::{Ahead, Lpn};
use coflash_media::{BlockId, Cause, DieId, Media, Memory, Mode, Oob, Place, Ppn, Run, Slot};

impl Ftl {
    /// Clean blocks of the die's pools in turn while a pool has too few free blocks.
    #[inline(always)]
    pub(super) fn collect<M: Media, H: GcHook>(
        &mut self,
        die: DieId,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        if self.allocator.is_due(die) && !self.has_failed {
            let collected = self.collect_due(die, io);
            self.has_failed = collected.is_err();
            return collected;
        }
        Ok(())
    }

    fn collect_due<M: Media, H: GcHook>(
        &mut self,
        die: DieId,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        let mut steps_left = self.collector.steps_max;
        while steps_left > 0 && self.allocator.is_due(die) && self.step(die, io)? {
            steps_left -= 1;
        }
        if let Some(valid_max) = self.collector.lazy_pages {
            while self.allocator.is_due(die) && self.clean_lazily(die, valid_max, io)? {}
        }
        while self.allocator.is_low(die) && self.clean_next_pool(die, io)? {}
        Ok(())
    }

    /// Whether there is background work for an idle die.
    #[must_use]
    pub fn has_idle_work(&self, die: DieId) -> bool {
        self.collector.in_idle_time
            && !self.has_failed
            && self.begins_on(die).is_some_and(|die| {
                self.allocator.is_due(die) && self.dims.pools_of(die).any(|pool| self.pool_is_due(pool))
            })
    }

    /// The die of the pools with a next step that may begin on an idle die. With superblocks the step belongs
    /// to the whole device, if the next page to copy lies on the idle die; an erase or a new victim begins
    /// with the first die.
    fn begins_on(&self, idle: DieId) -> Option<DieId> {
        if self.dims.dies_per_block == 1 {
            return Some(idle);
        }
        let (die, pool) = (DieId::new(0), PoolId::new(0));
        let victim = self.collector.cleaning(pool).map(|cleaning| cleaning.block);
        let page = victim.and_then(|victim| self.pages.valid.first(victim)).unwrap_or(0);
        (page % self.dims.dies_per_block == idle.get()).then_some(die)
    }

    /// Copy one page or erase one block on a die that is idle at `io.start`. Returns false if there is no work.
    ///
    /// # Errors
    /// A flash operation failed.
    pub fn work_idle<M: Media, H: GcHook>(
        &mut self,
        die: DieId,
        io: &mut Io<'_, M, H>,
    ) -> Result<bool, M::Error> {
        let Some(die) = self.begins_on(die) else { return Ok(false) };
        if !self.collector.in_idle_time || self.has_failed || !self.allocator.is_due(die) {
            return Ok(false);
        }
        let stepped = self.step(die, io);
        self.has_failed = stepped.is_err();
        stepped
    }

    /// Finish all partly cleaned victims, and fold the pSLC cache.
    ///
    /// # Errors
    /// A flash operation failed.
    pub fn finish_victims<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        for pool in self.pools() {
            if self.collector.cleaning(pool).is_some() {
                self.clean_one(pool, io)?;
            }
        }
        self.fold_all(io)
    }

    fn pool_is_due(&self, pool: PoolId) -> bool {
        self.collector.cleaning(pool).is_some()
            || self.allocator.free_blocks(pool) <= self.dims.step_mark_blocks && self.can_gain(pool)
    }

    /// Copy one page or erase one block in the next due pool in turn. A pool keeps its turn until the erase.
    /// Returns false if no due pool can free a page.
    fn step<M: Media, H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        for pool in self.collector.in_turn(die, &self.dims) {
            if self.pool_is_due(pool) && self.step_in(pool, io)? {
                let erased = self.collector.cleaning(pool).is_none();
                self.collector.turn_to(pool, erased, &self.dims);
                self.counters.gc_steps += 1;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn step_in<M: Media, H: GcHook>(
        &mut self,
        pool: PoolId,
        io: &mut Io<'_, M, H>,
    ) -> Result<bool, M::Error> {
        let Some(mut cleaning) = self.collector.take_cleaning(pool).or_else(|| self.begin(pool, io)) else {
            return Ok(false);
        };
        // Dropping a page takes no time, so it is not a step.
        while let Some(index) = self.pages.valid.first(cleaning.block) {
            let page = self.geometry.page(cleaning.block, index);
            let decision = self.relocate(cleaning.cause, pool, cleaning.block, page, io)?;
            self.invalidate_page(page);
            cleaning.dropped |= decision.frees();
            if !decision.takes_no_time() {
                self.collector.set_cleaning(pool, cleaning);
                io.hook.moved(io.media);
                return Ok(true);
            }
        }
        self.end(pool, cleaning, io)?;
        Ok(true)
    }

    /// Clean one block of the next low pool in turn. Returns false if no low pool can free a page.
    fn clean_next_pool<M: Media, H: GcHook>(
        &mut self,
        die: DieId,
        io: &mut Io<'_, M, H>,
    ) -> Result<bool, M::Error> {
        for pool in self.collector.in_turn(die, &self.dims) {
            if self.allocator.free_blocks(pool) <= self.dims.low_mark_blocks && self.clean_one(pool, io)? {
                self.collector.turn_to(pool, true, &self.dims);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Clean the victim of a due pool if few of its pages are valid. Returns false if there is none.
    fn clean_lazily<M: Media, H: GcHook>(
        &mut self,
        die: DieId,
        valid_max: u32,
        io: &mut Io<'_, M, H>,
    ) -> Result<bool, M::Error> {
        for pool in self.collector.in_turn(die, &self.dims) {
            if self.pool_is_due(pool)
                && let Some(block) = self.pick(pool, valid_max)
            {
                let cleaning = self.begin_with(pool, block, true, io);
                self.clean_through(pool, cleaning, io)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Clean one block of a pool. Returns false if no block can free a page.
    pub(super) fn clean_one<M: Media, H: GcHook>(
        &mut self,
        pool: PoolId,
        io: &mut Io<'_, M, H>,
    ) -> Result<bool, M::Error> {
        let Some(cleaning) = self.collector.take_cleaning(pool).or_else(|| self.begin(pool, io)) else {
            return Ok(false);
        };
        self.clean_through(pool, cleaning, io)?;
        Ok(true)
    }

    fn clean_through<M: Media, H: GcHook>(
        &mut self,
        pool: PoolId,
        cleaning: Cleaning,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        self.clean(pool, cleaning, io)?;
        // The erased block may take over cold data.
        if let Some(cleaning) = self.collector.take_cleaning(pool) {
            self.clean(pool, cleaning, io)?;
        }
        Ok(())
    }

    /// Begin the cleaning of the next victim: the oldest block of a due queue of the placement policy, or the choice of the victim
    /// policy.
    fn begin<M: Media, H: GcHook>(&mut self, pool: PoolId, io: &mut Io<'_, M, H>) -> Option<Cleaning> {
        self.reweigh(io.hook.weights());
        if !self.can_gain(pool) {
            return None;
        }
        self.rearrange_queues();
        let block = self
            .oldest_queued(pool, true)
            .or_else(|| self.pick(pool, u32::MAX))
            .or_else(|| self.oldest_queued(pool, false))?;
        if self.blocks[block].state != State::Victim {
            self.seize(pool, block);
        }
        Some(self.begin_with(pool, block, false, io))
    }

    fn begin_with<M: Media, H>(
        &mut self,
        pool: PoolId,
        block: BlockId,
        lazily: bool,
        io: &Io<'_, M, H>,
    ) -> Cleaning {
        self.record_pick(pool, block, io.media.known(io.start));
        self.placer.cleaned(block, self.blocks[block].valid, lazily);
        self.refresh.chosen(block, self.blocks[block].valid);
        Cleaning { block, cause: Cause::Gc, dropped: false }
    }

    /// Prefetch the state of the blocks of a pool that are opened and cleaned next: one was just filled.
    pub(super) fn look_ahead_to_blocks(&self, pool: PoolId) {
        let blocks = [self.allocator.next_free(pool), self.collector.next(pool, &self.dims)];
        for block in blocks.into_iter().flatten() {
            self.blocks.prefetch(block);
            self.histories.prefetch(block);
            self.pages.prefetch(block, self.geometry.page(block, 0));
            self.collector.look_ahead(block, Ahead::Near, &self.dims);
        }
    }

    /// Prefetch the map entries of the next victim of a pool with too few free blocks: one was just opened, and the state of the
    /// victim has come.
    pub(super) fn look_ahead_to_copies(&self, pool: PoolId) {
        if self.allocator.is_due(self.dims.die_of(pool))
            && let Some(block) = self.collector.next(pool, &self.dims)
        {
            self.pages.prefetch_entries(self.geometry.page(block, 0), self.pages.valid.word(block, 0));
        }
    }

    fn pick(&mut self, pool: PoolId, most_valid: u32) -> Option<BlockId> {
        self.collector.pick(pool, most_valid, &mut self.blocks, &self.histories, &self.dims, self.sequence)
    }

    /// Clean a block completely. Unmarked pages are copied in runs, if the hook allows it.
    pub(super) fn clean<M: Media, H: GcHook>(
        &mut self,
        pool: PoolId,
        mut cleaning: Cleaning,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        let Cleaning { block, cause, .. } = cleaning;
        let marked = self.blocks[block].marked;
        // A placement policy is asked about each page.
        let in_runs = cause != Cause::WearLevelling
            && !self.placer.has_policy()
            && io.hook.copies_unmarked(self.blocks[block].valid - marked);
        let drops_before = self.counters.gc_drops_pages;
        for word in 0..self.pages.valid.words_per_block {
            let first = self.geometry.page(block, word as u32 * 64);
            let mut rest = self.pages.valid.word(block, word);
            let mut asked = match (in_runs, marked) {
                (false, _) => rest,
                (true, 0) => 0,
                (true, _) => self.pages.marked_word(block, word),
            };
            // Those of a run in the first word were asked for when the last block was opened.
            self.pages.prefetch_entries(first, if word == 0 { rest & asked } else { rest });
            while rest != 0 {
                // The run ends before the next page that needs a decision.
                let run = rest & !asked & asked.wrapping_sub(1);
                let done = if run == 0 {
                    let page = Ppn::new(first.get() + rest.trailing_zeros());
                    self.relocate(cause, pool, block, page, io)?;
                    rest & rest.wrapping_neg()
                } else {
                    self.copy_run(cause, pool, first, run, io)?
                };
                rest &= !done;
                asked &= !done;
            }
        }
        cleaning.dropped |= self.counters.gc_drops_pages > drops_before;
        self.end(pool, cleaning, io)
    }

    /// Copy pages to GC's active block until it is full. `run` is a bitmap of pages from `first` on. Returns
    /// a bitmap of the copied pages.
    fn copy_run<M: Media, H>(
        &mut self,
        cause: Cause,
        pool: PoolId,
        first: Ppn,
        run: u64,
        io: &mut Io<'_, M, H>,
    ) -> Result<u64, M::Error> {
        let group = self.dims.groups.group(WriteStream::Gc);
        let (block, begin) = self.active(pool, group);
        let room = self.dims.data_pages_per_block - begin;
        let mut run = Run { first, pages: run, to: self.geometry.page(block, begin) };
        while run.pages.count_ones() > room {
            run.pages &= !(1 << run.pages.ilog2());
        }
        let (owner, sequence) = (&self.pages.owner, self.sequence);
        let oob = |number: u32, from| {
            let sequence = sequence + u64::from(number);
            Oob { lpn: owner[from], sequence, mode: Mode::Normal }
        };
        if self.recorder.is_some() {
            for (from, _) in run.copies() {
                let lpn = owner[from].expect("a valid page has an owner");
                self.record_answer(self.dims.block_of(first), from, lpn, Decision::COPY);
            }
        }
        let (copied, ended) = io.media.copy_run(run, oob, cause, io.start);
        self.pages.move_run(run, copied);
        self.sequence += u64::from(copied);
        // Counts are added once for all pages.
        self.pages.valid.set_run(block, begin, copied);
        *self.programs.by_cause_mut(cause) += u64::from(copied);
        self.counters.gc_copies_pages += u64::from(if cause == Cause::Gc { copied } else { 0 });
        self.slc_cache.copied(self.dims.block_of(first), copied);
        self.blocks[block].valid += copied;
        self.allocator.add_valid(pool, copied);
        ended?;
        self.allocator.set_active(pool, group, Active { block: Some(block), next: begin + copied });
        let last = begin + copied - 1;
        let to = Taken { block, index: last, page: self.geometry.page(block, last) };
        if self.seal_if_full(pool, group, to) && self.summary == Summary::On {
            self.write_summary(to.page, io.start, io.media)?;
        }
        Ok(run.pages)
    }

    /// Erase a block after its pages were copied or dropped.
    fn end<M: Media, H: GcHook>(
        &mut self,
        pool: PoolId,
        cleaning: Cleaning,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        let Cleaning { block, cause, dropped } = cleaning;
        let after = if dropped { io.hook.before_erase(io.start, io.media) } else { io.start };
        if cause == Cause::Gc {
            self.count_spared(block);
        }
        self.erase_for(cause, pool, block, after, io)?;
        io.hook.moved(io.media);
        if cause == Cause::WearLevelling {
            self.close_cold(pool);
            self.hand_back(pool, block);
        } else if !self.take_over_cold(pool, block) {
            self.hand_back(pool, block);
        }
        Ok(())
    }

    /// Erase an empty block and return it to its pool.
    pub(super) fn erase<M: Media, H>(
        &mut self,
        pool: PoolId,
        block: BlockId,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        self.erase_for(Cause::Gc, pool, block, io.start, io)?;
        self.hand_back(pool, block);
        Ok(())
    }

    fn erase_for<M: Media, H>(
        &mut self,
        cause: Cause,
        pool: PoolId,
        block: BlockId,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        io.media.erase(block, cause, after)?;
        self.counters.erases_blocks += u64::from(self.dims.blocks_per_erase);
        self.release(pool, block);
        Ok(())
    }

    /// Whether any candidate has an invalid page: otherwise copying would free nothing. Marked pages do not
    /// count, since the hook may decide to copy them.
    fn can_gain(&self, pool: PoolId) -> bool {
        let open = || self.allocator.actives(pool).iter().filter_map(|active| active.block);
        let open_valid: u32 = open().map(|block| self.blocks[block].valid).sum();
        let candidates = self.dims.blocks_per_pool - self.allocator.free_blocks(pool) - open().count() as u32;
        self.allocator.valid_pages(pool) - open_valid < candidates * self.dims.data_pages_per_block
    }

    /// Ask the hook about a valid page of a victim, and carry out its decision.
    #[inline]
    fn relocate<M: Media, H: GcHook>(
        &mut self,
        cause: Cause,
        pool: PoolId,
        victim: BlockId,
        from: Ppn,
        io: &mut Io<'_, M, H>,
    ) -> Result<Decision, M::Error> {
        let lpn = self.pages.owner[from].expect("a valid page has an owner");
        let marks = self.marks_of(victim, from);
        let mut decision = io.hook.decide(lpn, marks, io.media);
        if let Decision::MoveIn(slot) = decision {
            match io.media.read(from, Place::Slot(slot), cause, io.start) {
                Ok(_) => self.moved_in(lpn, slot, io),
                Err(_) => decision = Decision::COPY,
            }
        }
        self.record_answer(victim, from, lpn, decision);
        let (source, stream, mode) = match decision {
            Decision::Copy { source, stream, mode } => (source, stream, mode),
            Decision::CopyUnmarked => (CopySource::Flash, WriteStream::Gc, Mode::Normal),
            Decision::Drop | Decision::MoveIn(_) | Decision::Evict => {
                self.pages.map.clear(lpn);
                if decision != Decision::Evict {
                    self.placer.taken_over(lpn, victim);
                }
                self.counters.gc_drops_pages += 1;
                return Ok(decision);
            }
        };
        let moves_cold = cause == Cause::WearLevelling;
        let group =
            if moves_cold { self.dims.groups.group(stream) } else { self.group_of_copy(lpn, stream, victim) };
        let to = if moves_cold { self.take_cold_page(pool) } else { self.take_page(pool, group) };
        // Cold data needs a long retention time.
        let mode = if moves_cold { Mode::Normal } else { mode };
        let oob = self.stamp(Some(lpn), cause, mode);
        match source {
            CopySource::Flash => io.media.copy(from, to.page, oob, cause, io.start)?,
            CopySource::Slot(slot) => {
                let programmed = io.media.program(to.page, oob, Place::Slot(slot), cause, io.start)?;
                io.hook.programmed_from(slot);
                programmed
            }
        };
        self.counters.gc_copies_pages += u64::from(cause == Cause::Gc);
        self.slc_cache.copied(victim, 1);
        let device = marks.device && source == CopySource::Flash;
        let left = if decision == Decision::CopyUnmarked { Marks::NONE } else { Marks { device, ..marks } };
        let age = self.pages.ages.get(victim, from);
        self.put(lpn, to, pool, Marks { host: self.pages.newer_in_host.contains(lpn), ..left });
        if left.device && age != AgeClass::FIRST {
            self.set_age(to.page, age);
        }
        if mode == Mode::Fast {
            self.programmed_fast(to.page);
        }
        let sealed =
            if moves_cold { self.seal_cold_if_full(pool) } else { self.seal_if_full(pool, group, to) };
        if sealed && self.summary == Summary::On {
            self.write_summary(to.page, io.start, io.media)?;
        }
        Ok(decision)
    }

    /// Hand a page that was read into a slot to the cache. The page that leaves the slot is not removable any more.
    fn moved_in<M: Media, H: GcHook>(&mut self, lpn: Lpn, slot: Slot, io: &mut Io<'_, M, H>) {
        let left = io.hook.moved_in(lpn, slot, io.media);
        self.set_mark(left, Memory::Device, false);
    }

    /// Update the state of an erased block.
    fn release(&mut self, pool: PoolId, block: BlockId) {
        self.forget_superseded(block);
        self.pages.valid.clear_block(block);
        let known = &mut self.blocks[block];
        if known.marked > 0 {
            self.pages.clear_marks(block);
        }
        self.refresh.erased(block);
        self.placer.erased(block);
        self.slc_cache.erased(pool, block);
        self.allocator.remove_valid(pool, known.valid);
        (known.valid, known.marked) = (0, 0);
        self.histories[block].erases += 1;
    }

    /// Return an erased block to its pool.
    pub(super) fn hand_back(&mut self, pool: PoolId, block: BlockId) {
        self.blocks[block].state = State::Free;
        self.allocator.hand_back(pool, block, self.histories[block].erases, &self.dims);
    }

    /// Set the cost weights of marked pages and re-bucket all blocks.
    pub fn reweigh(&mut self, weights: Weights) {
        if weights == self.collector.weights {
            return;
        }
        self.collector.set_weights(weights, &self.dims);
        for block in self.blocks.ids() {
            self.recount(self.dims.pool_of(block), block);
        }
    }

    /// Take a full block as the victim, without the choice of the victim policy.
    pub(super) fn seize(&mut self, pool: PoolId, block: BlockId) {
        if self.blocks[block].state == State::Sealed {
            self.collector.remove(pool, block, self.blocks[block].cost, &self.dims);
        }
        self.blocks[block].state = State::Victim;
    }
}
