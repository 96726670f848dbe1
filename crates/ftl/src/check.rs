//! The recount: everything the FTL keeps incrementally, counted again from its tables. For tests.

use crate::advisor::Grade;
use crate::block::State;
use crate::ftl::Ftl;
use crate::pool::{Active, Cleaning, Stream};
use coflash_base::{Index, Lpn};
use coflash_flash::{BlockId, Cause, DieId, Ppn};

impl Ftl {
    /// Panics, naming what is wrong, unless map, bitmaps, counts, pools and marks agree with each other.
    pub fn assert_invariants(&self) {
        let mut mapped = 0;
        for lpn in self.map.ids() {
            if let Some(page) = self.map[lpn] {
                mapped += 1;
                let block = self.geometry.block_of(page);
                assert_eq!(self.owner[page], Some(lpn), "{page:?} belongs to the page mapped to it");
                assert!(self.valid.get(block, page), "{page:?} is mapped and so valid");
                assert_ne!(self.blocks.state[block], State::Free, "{page:?} is mapped in an erased block");
            }
        }
        let valid: u32 = self.blocks.valid.iter().sum();
        assert_eq!(mapped, valid, "valid pages are the mapped ones");
        for block in self.blocks.state.ids() {
            self.assert_block(block);
        }
        for pool in 0..self.pools.len() {
            self.assert_pool(pool);
        }
        for die in self.dies.ids() {
            self.assert_die(die);
        }
    }

    fn assert_block(&self, block: BlockId) {
        let (valid, marked) = (self.blocks.valid[block], self.blocks.marked[block]);
        assert_eq!(valid, self.valid.count(block), "{block:?}: valid pages");
        let mut found = 0;
        for word in 0..self.valid.words_per_block() {
            let either = self.marked_word(block, word);
            assert_eq!(either & !self.valid.word(block, word), 0, "{block:?}: a marked page is valid");
            found += either.count_ones();
        }
        assert_eq!(marked, found, "{block:?}: marked pages");
        let graded = self.grades.count(block);
        assert_eq!(self.grades.of(block), graded, "{block:?}: marked pages by grade");
        let first = self.geometry.page(block, 0).get();
        for page in (first..first + self.geometry.pages_per_block).map(Ppn::new) {
            let is_first = self.grades.get(block, page) == Grade::FIRST;
            assert!(is_first || self.marked.get(block, page), "{page:?}: what has a grade is marked");
        }
        if self.blocks.state[block] == State::Sealed {
            let cost = self.scale.cost(valid, marked, || graded);
            assert_eq!(self.blocks.cost[block], cost, "{block:?}: cost");
        }
        assert!(self.blocks.state[block] != State::Free || valid == 0, "{block:?}: free and not empty");
    }

    fn assert_pool(&self, index: usize) {
        let pool = &self.pools[index];
        let blocks = (pool.first_block..pool.first_block + self.dims.blocks_per_pool).map(BlockId::new);
        let (mut free, mut open, mut valid) = (0, 0, 0);
        let mut victim = None;
        for block in blocks {
            free += u32::from(self.blocks.state[block] == State::Free);
            open += usize::from(self.blocks.state[block] == State::Open);
            valid += self.blocks.valid[block];
            if self.blocks.state[block] == State::Victim {
                assert_eq!(victim.replace(block), None, "pool {index}: one victim at a time");
            }
        }
        assert_eq!(victim, pool.cleaning.map(|cleaning| cleaning.block), "pool {index}: victim");
        assert_eq!(free, pool.free.len(), "pool {index}: free blocks");
        assert!(
            pool.free.iter().all(|block| self.blocks.state[block] == State::Free),
            "pool {index}: free list"
        );
        let active = pool.actives.iter().chain([&pool.cold]).filter(|active| active.block.is_some()).count();
        assert_eq!(open, active, "pool {index}: open blocks are the active ones");
        assert_eq!(valid, pool.valid_pages, "pool {index}: valid pages");
        // One free block is enough to copy any victim into; where there is none, a victim has been copied into it in part.
        let room = |active: &Active| self.dims.data_pages_per_block - active.next;
        let gc = pool.actives[self.dims.group_of[Stream::Gc as usize] as usize];
        // With a second one for shadows nobody can tell which of them what is left will go to.
        if self.dims.group_of[Stream::Shadow as usize] != self.dims.group_of[Stream::Gc as usize] {
            assert!(free >= 1 || pool.cleaning.is_some(), "pool {index}: GC has its reserve block");
            return;
        }
        let yet = pool.cleaning.map(|Cleaning { block, cause, .. }| match cause {
            Cause::WearLevelling => self.blocks.valid[block].saturating_sub(room(&pool.cold)),
            _ => self.blocks.valid[block].saturating_sub(gc.block.map_or(0, |_| room(&gc))),
        });
        assert!(free >= 1 || yet == Some(0), "pool {index}: GC has its reserve block");
    }

    fn assert_die(&self, die: DieId) {
        let pools = self.dims.pools_per_die as usize;
        let pools = &self.pools[die.index() * pools..(die.index() + 1) * pools];
        let at_most = |mark| pools.iter().filter(|pool| pool.free.len() <= mark).count() as u32;
        assert_eq!(at_most(self.dims.low_mark_blocks), self.dies[die].low_pools, "{die:?}: low pools");
        assert_eq!(at_most(self.dims.step_mark_blocks), self.dies[die].due_pools, "{die:?}: due pools");
    }

    /// The logical pages that are mapped.
    pub fn mapped(&self) -> impl Iterator<Item = Lpn> + '_ {
        self.map.ids().filter(|&lpn| self.map[lpn].is_some())
    }
}
