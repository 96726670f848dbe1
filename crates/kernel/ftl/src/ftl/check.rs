//! The recount for tests: everything that the FTL updates incrementally, recomputed from its tables.

use super::Ftl;
use super::collector::Cleaning;
use crate::block::State;
use crate::ids::PoolId;
use crate::stream::WriteStream;
use crate::weight::AgeClass;
use coflash_media::{BlockId, Cause, Ppn};

impl Ftl {
    /// Panic with a description of the problem unless map, bitmaps, count, pools and marks are consistent.
    pub fn assert_invariants(&self) {
        let mut mapped = 0;
        for (lpn, page) in self.pages.map.mapped() {
            mapped += 1;
            let block = self.dims.block_of(page);
            assert_eq!(self.pages.owner[page], Some(lpn), "{page:?} belongs to the page mapped to it");
            assert!(self.pages.valid.get(block, page), "{page:?} is mapped and so valid");
            assert_ne!(self.blocks[block].state, State::Free, "{page:?} is mapped in an erased block");
            let newer = self.pages.newer_in_host.contains(lpn);
            assert_eq!(self.pages.marks(block, page).host, newer, "{lpn:?}: newer in the host");
        }
        self.assert_superseded();
        let valid: u32 = self.blocks.iter().map(|block| block.valid).sum();
        assert_eq!(mapped, valid, "valid pages are the mapped ones");
        for block in self.blocks.ids() {
            self.assert_block(block);
        }
        for pool in self.pools() {
            self.assert_pool(pool);
        }
        self.allocator.assert_invariants(&self.dims);
    }

    fn assert_block(&self, block: BlockId) {
        let known = &self.blocks[block];
        assert_eq!(known.valid, self.pages.valid.count(block), "{block:?}: valid pages");
        let mut found = 0;
        for word in 0..self.pages.valid.words_per_block {
            let either = self.pages.marked_word(block, word);
            let valid = self.pages.valid.word(block, word);
            assert_eq!(either & !valid, 0, "{block:?}: a marked page is valid");
            found += either.count_ones();
        }
        assert_eq!(known.marked, found, "{block:?}: marked pages");
        let aged = self.pages.ages.count(block);
        assert_eq!(self.pages.ages.by_class(block), aged, "{block:?}: marked pages by age class");
        let first = self.geometry.page(block, 0).get();
        for page in (first..first + self.geometry.pages_per_block).map(Ppn::new) {
            let is_first = self.pages.ages.get(block, page) == AgeClass::FIRST;
            let is_marked = self.pages.marks(block, page).device;
            assert!(is_first || is_marked, "{page:?}: a page with an age class is marked");
        }
        if known.state == State::Sealed {
            assert_eq!(known.cost, known.cost_on(&self.collector.scale, || aged), "{block:?}: cost");
        }
        let is_queued = known.is_full() && self.placer.is_queued(block);
        assert_eq!(known.state == State::Queued, is_queued, "{block:?}: in a queue of the placement policy");
        assert!(known.state != State::Free || known.valid == 0, "{block:?}: free and not empty");
        let is_kept = known.state == State::Free || self.has_failed;
        assert!(
            is_kept || self.refresh.is_queued(block, self.histories[block].erases),
            "{block:?}: never refreshed"
        );
    }

    fn assert_pool(&self, pool: PoolId) {
        let (mut free, mut open, mut valid) = (0, 0, 0);
        let mut victim = None;
        for block in self.dims.blocks_of(pool) {
            let known = &self.blocks[block];
            free += u32::from(known.state == State::Free);
            open += usize::from(known.state == State::Open);
            valid += known.valid;
            if known.state == State::Victim {
                assert_eq!(victim.replace(block), None, "{pool:?}: one victim at a time");
            }
        }
        let cleaning = self.collector.cleaning(pool);
        assert_eq!(victim, cleaning.map(|cleaning| cleaning.block), "{pool:?}: victim");
        assert_eq!(free, self.allocator.free_blocks(pool), "{pool:?}: free blocks");
        let mut listed = self.allocator.free_list(pool);
        assert!(listed.all(|block| self.blocks[block].state == State::Free), "{pool:?}: free list");
        let actives = self.allocator.actives(pool).iter().copied().chain([self.wear.cold(pool)]);
        let active = actives.filter(|active| active.block.is_some()).count();
        assert_eq!(open, active, "{pool:?}: open blocks are the active ones");
        assert_eq!(valid, self.allocator.valid_pages(pool), "{pool:?}: valid pages");
        // One free block suffices to clean any victim. If there is none, a victim has been partly copied into
        // it.
        let [gc, shadow] = [WriteStream::Gc, WriteStream::Shadow].map(|to| self.dims.groups.group(to));
        // With separate shadows or several classes the target of the remaining pages is unknown.
        if shadow != gc || self.dims.classes > 0 {
            assert!(free >= 1 || cleaning.is_some(), "{pool:?}: GC has its reserve block");
            return;
        }
        let yet = cleaning.map(|Cleaning { block, cause, .. }| {
            let room = match cause {
                Cause::WearLevelling => self.dims.data_pages_per_block - self.wear.cold(pool).next,
                _ => self.allocator.active(pool, gc).room(&self.dims),
            };
            self.blocks[block].valid.saturating_sub(room)
        });
        assert!(free >= 1 || yet == Some(0), "{pool:?}: GC has its reserve block");
    }
}
