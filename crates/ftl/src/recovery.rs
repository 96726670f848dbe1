//! After a crash: the map from out-of-band data alone.

use crate::advisor::Advisor;
use crate::block::State;
use crate::ftl::Ftl;
use crate::ftl::Io;
use crate::pool::{Active, FreeList, Stream};
use coflash_base::{IdVec, Index, Lpn};
use coflash_flash::{BlockId, DieId, Media, Oob, Ppn};

/// How far a block was filled.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    /// Pages up to the last that was programmed, readable or not.
    pages: u32,
    /// The sequence number of the newest readable one.
    newest: u64,
}

impl Ftl {
    /// Builds the map of an erased FTL from what flash holds: `pages` is every programmed page, in any order, with its
    /// out-of-band data, none where it cannot be read. Of each logical page that `in_flash` accepts, the copy programmed
    /// last is mapped. Blocks that were being filled are filled on; how often blocks were erased is not known any more.
    ///
    /// A cut in the middle of GC may have left a pool without a free block: [`Ftl::finish_gc`] is to be called before
    /// anything is written.
    pub fn recover(
        &mut self,
        pages: impl Iterator<Item = (Ppn, Option<Oob>)>,
        in_flash: impl Fn(Lpn) -> bool,
    ) {
        assert_eq!(self.sequence, 0, "the device has been written");
        let mut newest: IdVec<Lpn, u64> = IdVec::filled(0, self.map.len());
        let mut filled: IdVec<BlockId, Filled> = IdVec::filled(Filled::default(), self.blocks.state.len());
        for (page, oob) in pages {
            let block = self.geometry.block_of(page);
            let index = page.get() - self.geometry.page(block, 0).get();
            filled[block].pages = filled[block].pages.max(index + 1);
            let Some(oob) = oob else { continue };
            filled[block].newest = filled[block].newest.max(oob.sequence);
            self.sequence = self.sequence.max(oob.sequence + 1);
            let Some(lpn) = oob.lpn.filter(|&lpn| in_flash(lpn)) else { continue };
            self.owner[page] = Some(lpn);
            if newest[lpn] <= oob.sequence {
                newest[lpn] = oob.sequence + 1;
                self.map[lpn] = Some(page);
            }
        }
        for pool in 0..self.pools.len() {
            self.recover_pool(pool, &filled);
        }
        for lpn in self.map.ids() {
            if let Some(page) = self.map[lpn] {
                let pool = self.pool_of(self.geometry.block_of(page));
                self.put(lpn, page, pool, false);
            }
        }
    }

    /// Cleans until every pool has its free blocks again.
    pub fn finish_gc<M: Media, A: Advisor>(&mut self, io: &mut Io<'_, M, A>) {
        for die in self.dies.ids() {
            self.collect(die, io);
        }
    }

    /// Sorts the blocks of a pool into free, open and sealed ones.
    fn recover_pool(&mut self, pool: usize, filled: &IdVec<BlockId, Filled>) {
        let first = self.pools[pool].first_block;
        let blocks = (first..first + self.dims.blocks_per_pool).map(BlockId::new);
        let (free, mut used): (Vec<_>, Vec<_>) = blocks.partition(|&block| filled[block].pages == 0);
        self.pools[pool].free = FreeList::new(free.into_iter(), self.wear_levelling);
        let free = self.pools[pool].free.len();
        let die = &mut self.dies[DieId::from_index(pool / self.dims.pools_per_die as usize)];
        die.low_pools += u32::from(free <= self.dims.low_mark_blocks);
        die.due_pools += u32::from(free <= self.dims.step_mark_blocks);
        // The block programmed last is GC's, which may need all of it: it may have been cut short with no other to go on in.
        used.sort_by_key(|&block| std::cmp::Reverse(filled[block].newest));
        let gc = self.dims.group_of[Stream::Gc as usize] as usize;
        let mut groups =
            (0..self.dims.groups as usize).filter(|&group| group != gc).chain([gc]).collect::<Vec<_>>();
        for block in used {
            // A block that lacks only its summary takes no data any more.
            let open = filled[block].pages < self.dims.data_pages_per_block;
            match groups.pop_if(|_| open) {
                Some(group) => {
                    self.blocks.state[block] = State::Open;
                    self.pools[pool].actives[group] =
                        Active { block: Some(block), next: filled[block].pages };
                }
                None => self.seal(pool, block),
            }
        }
    }
}
