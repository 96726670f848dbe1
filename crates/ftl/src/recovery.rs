//! After a crash: the map from out-of-band data alone.

use crate::advisor::Advisor;
use crate::block::State;
use crate::ftl::Ftl;
use crate::ftl::Io;
use crate::marks::Marks;
use crate::pool::{Active, FreeList, Stream, Taken};
use coflash_base::{IdVec, Lpn};
use coflash_flash::{BlockId, Media, Mode, Oob, Ppn};

/// How far a block was filled.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    /// Pages up to the last that was programmed, readable or not.
    pages: u32,
    /// The sequence number of the newest readable one.
    newest: u64,
    /// The sequence number of the oldest readable one.
    oldest: Option<u64>,
    /// Something in it was programmed fast.
    fast: bool,
}

impl Ftl {
    /// Builds the map of an erased FTL from what flash holds: `pages` is every programmed page, in any order, with its
    /// out-of-band data, none where it cannot be read. Of each logical page that `in_flash` accepts, the copy programmed
    /// last is mapped. Blocks that were being filled are filled on; how often blocks were erased is not known any more.
    ///
    /// A cut in the middle of GC may have left a pool without a free block: [`Ftl::finish_gc`] is to be called before
    /// anything is written. What GC had copied into the last free block is then not mapped, but what it was copied from,
    /// which is there until that victim is erased. Going on in that block would not do: each cut may leave a torn page in
    /// it, until what is left to copy does not fit.
    pub fn recover(
        &mut self,
        pages: impl Iterator<Item = (Ppn, Option<Oob>)>,
        in_flash: impl Fn(Lpn) -> bool,
    ) {
        assert_eq!(self.sequence, 0, "the device has been written");
        let mut filled: IdVec<BlockId, Filled> = IdVec::filled(Filled::default(), self.blocks.state.len());
        let mut copies = Vec::new();
        for (page, oob) in pages {
            let block = self.geometry.block_of(page);
            let index = page.get() - self.geometry.page(block, 0).get();
            filled[block].pages = filled[block].pages.max(index + 1);
            let Some(oob) = oob else { continue };
            let block = &mut filled[block];
            block.oldest = Some(block.oldest.map_or(oob.sequence, |oldest| oldest.min(oob.sequence)));
            block.newest = block.newest.max(oob.sequence);
            block.fast |= oob.mode == Mode::Fast;
            self.sequence = self.sequence.max(oob.sequence + 1);
            copies.extend(oob.lpn.filter(|&lpn| in_flash(lpn)).map(|lpn| (page, lpn, oob.sequence)));
        }
        self.map_newest(&copies);
        let begun: Vec<_> =
            (0..self.pools.len()).filter_map(|pool| self.last_reserve(pool, &filled)).collect();
        if !begun.is_empty() {
            copies.retain(|&(page, ..)| !begun.contains(&self.geometry.block_of(page)));
            self.map_newest(&copies);
        }
        for pool in 0..self.pools.len() {
            self.recover_pool(pool, &filled);
        }
        for lpn in self.map.ids() {
            if let Some(page) = self.map[lpn] {
                let block = self.geometry.block_of(page);
                let index = page.get() - self.geometry.page(block, 0).get();
                self.put(lpn, Taken { block, index, page }, self.pool_of(block), Marks::NONE);
                self.recount(block, self.blocks.valid[block], 0);
            }
        }
    }

    /// Cleans until every pool has its free blocks again.
    pub fn finish_gc<M: Media, A: Advisor>(&mut self, io: &mut Io<'_, M, A>) {
        for pool in 0..self.pools.len() {
            if self.pools[pool].free.len() == 0 {
                self.free_reserve(pool, io);
            }
        }
        for die in self.dies.ids() {
            self.collect(die, io);
        }
    }

    /// Maps each logical page to the copy programmed last.
    fn map_newest(&mut self, copies: &[(Ppn, Lpn, u64)]) {
        let mut newest: IdVec<Lpn, Option<u64>> = IdVec::filled(None, self.map.len());
        for lpn in self.map.ids() {
            self.map[lpn] = None;
        }
        for &(page, lpn, sequence) in copies {
            if newest[lpn] < Some(sequence) {
                newest[lpn] = Some(sequence);
                self.map[lpn] = Some(page);
            }
        }
    }

    fn blocks_of(&self, pool: usize) -> impl Iterator<Item = BlockId> + use<> {
        let first = self.pools[pool].first_block;
        (first..first + self.dims.blocks_per_pool).map(BlockId::new)
    }

    /// The block that GC began last, where it was the pool's last free one and no other can be erased. It holds nothing but
    /// copies of one victim, since the erase of that victim would have freed a block.
    fn last_reserve(&self, pool: usize, filled: &IdVec<BlockId, Filled>) -> Option<BlockId> {
        if self.blocks_of(pool).any(|block| filled[block].pages == 0) {
            return None;
        }
        let mut mapped: IdVec<BlockId, bool> = IdVec::filled(false, filled.len());
        for page in self.map.iter().flatten() {
            mapped[self.geometry.block_of(*page)] = true;
        }
        let needed = self.blocks_of(pool).all(|block| mapped[block]);
        needed.then(|| self.blocks_of(pool).max_by_key(|&block| filled[block].oldest)).flatten()
    }

    /// Erases a block that holds nothing, for a pool that has no free one.
    fn free_reserve<M: Media, A: Advisor>(&mut self, pool: usize, io: &mut Io<'_, M, A>) {
        let empty = self.blocks_of(pool).find(|&block| self.blocks.valid[block] == 0);
        let block = empty.expect("GC's last block is as good as empty");
        if self.blocks.state[block] == State::Open {
            let active = self.pools[pool].actives.iter_mut().find(|active| active.block == Some(block));
            *active.expect("an open block is active") = Active::default();
        } else {
            let cost = self.blocks.cost[block];
            let pool = &mut self.pools[pool];
            pool.victim.removed(block.get() - pool.first_block, cost);
        }
        self.erase(pool, block, io);
    }

    /// Sorts the blocks of a pool into free, open and sealed ones.
    fn recover_pool(&mut self, pool: usize, filled: &IdVec<BlockId, Filled>) {
        let (free, mut used): (Vec<_>, Vec<_>) =
            self.blocks_of(pool).partition(|&block| filled[block].pages == 0);
        self.pools[pool].free = FreeList::new(free.into_iter().map(|block| (block, 0)), self.wear_levelling);
        self.count_low(pool);
        // The block programmed last is GC's, which may have been cut short with pages yet to copy.
        used.sort_by_key(|&block| std::cmp::Reverse(filled[block].newest));
        let gc = self.dims.group_of[Stream::Gc as usize] as usize;
        let mut groups =
            (0..self.dims.groups as usize).filter(|&group| group != gc).chain([gc]).collect::<Vec<_>>();
        used.retain(|&block| {
            // A block that lacks only its summary takes no data any more.
            // Nor does one that is to be refreshed.
            let has_room = filled[block].pages < self.dims.data_pages_per_block && !filled[block].fast;
            let Some(group) = groups.pop_if(|_| has_room) else { return true };
            self.blocks.state[block] = State::Open;
            self.pools[pool].actives[group] = Active { block: Some(block), next: filled[block].pages };
            false
        });
        // Those filled first are sealed first: victim policies go by that order, and by that age.
        for &block in used.iter().rev() {
            self.seal(pool, block);
            self.blocks.sealed_at[block] = filled[block].newest;
            if filled[block].fast {
                self.refresh.found_fast(block);
            }
        }
    }
}
