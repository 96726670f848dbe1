//! The recount: everything the FTL keeps incrementally, counted again from its tables. For tests.

use crate::block::State;
use crate::ftl::Ftl;
use coflash_base::{Index, Lpn};
use coflash_flash::{BlockId, DieId};

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
        assert_eq!(marked, self.marked.count(block), "{block:?}: marked pages");
        for word in 0..self.valid.words_per_block() {
            let stray = self.marked.word(block, word) & !self.valid.word(block, word);
            assert_eq!(stray, 0, "{block:?}: a marked page is valid");
        }
        assert_eq!(self.blocks.cost[block], self.scale.cost(valid, marked), "{block:?}: cost");
        assert_ne!(self.blocks.state[block], State::Victim, "{block:?}: cleaning ends with the erase");
        assert!(self.blocks.state[block] != State::Free || valid == 0, "{block:?}: free and not empty");
    }

    fn assert_pool(&self, index: usize) {
        let pool = &self.pools[index];
        let blocks = (pool.first_block..pool.first_block + self.dims.blocks_per_pool).map(BlockId::new);
        let (mut free, mut open, mut valid) = (0, 0, 0);
        for block in blocks {
            free += u32::from(self.blocks.state[block] == State::Free);
            open += usize::from(self.blocks.state[block] == State::Open);
            valid += self.blocks.valid[block];
        }
        assert_eq!(free, pool.free.len(), "pool {index}: free blocks");
        assert!(
            pool.free.iter().all(|block| self.blocks.state[block] == State::Free),
            "pool {index}: free list"
        );
        let active = pool.actives.iter().filter(|active| active.block.is_some()).count();
        assert_eq!(open, active, "pool {index}: open blocks are the active ones");
        assert_eq!(valid, pool.valid_pages, "pool {index}: valid pages");
        assert!(free >= 1, "pool {index}: GC has its reserve block");
    }

    fn assert_die(&self, die: DieId) {
        let pools = self.dims.pools_per_die as usize;
        let pools = &self.pools[die.index() * pools..(die.index() + 1) * pools];
        let low = pools.iter().filter(|pool| pool.free.len() <= self.dims.low_mark_blocks).count();
        assert_eq!(low as u32, self.dies[die].low_pools, "{die:?}: low pools");
    }

    /// The logical pages that are mapped.
    pub fn mapped(&self) -> impl Iterator<Item = Lpn> + '_ {
        self.map.ids().filter(|&lpn| self.map[lpn].is_some())
    }
}
