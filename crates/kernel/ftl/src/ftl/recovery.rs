//! Recovery of the map after a crash, from out-of-band data alone.

use super::allocator::{Active, Taken};
use super::{Ftl, Io};
use crate::block::State;
use crate::hook::GcHook;
use crate::ids::PoolId;
use crate::marks::Marks;
use crate::stream::WriteStream;
use coflash_base::{IdVec, Lpn, Misfit};
use coflash_media::{BlockId, Contents, FoundPage, Media, Mode, Oob};

/// The contents of a block as found after a crash.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    /// The number of pages up to the last programmed one, readable or not.
    pages: u32,
    /// The sequence number of the newest readable page.
    newest: u64,
    /// The sequence number of the oldest readable page.
    oldest: Option<u64>,
    /// Whether a page in it was programmed fast.
    fast: bool,
    /// Whether it holds one bit a cell.
    slc: bool,
}

impl Ftl {
    /// Rebuild the map of an erased FTL from the contents after a power cut. Each logical page that
    /// `in_flash` accepts is mapped to the copy programmed last. Filling of the active blocks and wear
    /// levelling go on.
    ///
    /// A power cut during GC may leave a pool without a free block, so [`Ftl::finish_gc`] must be called before any
    /// write. Copies that GC made into the last free block are not mapped; their sources are, since the victim was not
    /// erased yet. Continuing to fill that block would fail in the end: each power cut may leave a torn page in it,
    /// until the remaining copies do not fit.
    ///
    /// # Errors
    /// Blocks or pages that do not exist on this device.
    pub fn recover(&mut self, contents: &Contents, in_flash: impl Fn(Lpn) -> bool) -> Result<(), Misfit> {
        assert_eq!(self.sequence, 0, "the device has been written");
        let Contents { pages, erases, .. } = contents;
        self.check(contents).map_err(|problem| Misfit::new("flash", problem))?;
        for (history, &erases) in self.histories.iter_mut().zip(erases) {
            history.erases = erases;
        }
        let mut filled: IdVec<BlockId, Filled> = IdVec::filled(Filled::default(), self.blocks.len());
        for found in pages {
            let page = found.page();
            let block = self.dims.block_of(page);
            let index = page.get() - self.geometry.page(block, 0).get();
            filled[block].pages = filled[block].pages.max(index + 1);
            let Some(oob) = found.oob() else { continue };
            let block = &mut filled[block];
            block.oldest = Some(block.oldest.map_or(oob.sequence, |oldest| oldest.min(oob.sequence)));
            block.newest = block.newest.max(oob.sequence);
            block.fast |= oob.mode == Mode::Fast;
            block.slc |= oob.mode == Mode::Slc;
            self.sequence = self.sequence.max(oob.sequence + 1);
        }
        self.map_newest(pages, &in_flash, &[]);
        let begun: Vec<_> = self.pools().filter_map(|pool| self.last_reserve(pool, &filled)).collect();
        if !begun.is_empty() {
            self.map_newest(pages, &in_flash, &begun);
        }
        for pool in self.pools() {
            self.recover_pool(pool, &filled);
        }
        for lpn in self.pages.map.ids() {
            if let Some(page) = self.pages.map.get(lpn) {
                let block = self.dims.block_of(page);
                let index = page.get() - self.geometry.page(block, 0).get();
                let pool = self.dims.pool_of(block);
                self.put(lpn, Taken { block, index, page }, pool, Marks::NONE);
                self.recount(pool, block);
            }
        }
        Ok(())
    }

    /// Refuse contents of another device.
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let (blocks, given) = (self.blocks.len(), contents.erases.len());
        if given != blocks {
            return Err(format!("{given} erase counts were given; {blocks} are expected"));
        }
        let (pages, logical_pages) = (self.geometry.pages(), self.dims.logical_pages);
        for found in &contents.pages {
            let (page, oob) = (found.page(), found.oob());
            if page.get() >= pages {
                return Err(format!("page {} was given; there are {pages}", page.get()));
            }
            if let Some(lpn) = oob.and_then(|oob| oob.lpn).filter(|lpn| lpn.get() >= logical_pages) {
                let (page, lpn) = (page.get(), lpn.get());
                return Err(format!("page {page} holds logical page {lpn}; there are {logical_pages}"));
            }
            let index = page.get() % self.geometry.pages_per_block;
            let slc_pages = self.slc_cache.pages_per_block;
            if oob.is_some_and(|oob| oob.mode == Mode::Slc) && index >= slc_pages {
                let page = page.get();
                return Err(format!(
                    "page {page} has one bit a cell; with so few, blocks have {slc_pages} pages"
                ));
            }
        }
        Ok(())
    }

    /// Clean until every pool has enough free blocks again.
    ///
    /// # Errors
    /// A flash operation failed.
    pub fn finish_gc<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        for pool in self.pools() {
            if self.allocator.free_blocks(pool) == 0 {
                self.free_reserve(pool, io)?;
            }
        }
        for die in self.allocator.dies() {
            self.collect(die, io)?;
        }
        Ok(())
    }

    /// Map each logical page that `in_flash` accepts to the copy programmed last outside of the blocks `begun`.
    fn map_newest(&mut self, pages: &[FoundPage], in_flash: &impl Fn(Lpn) -> bool, begun: &[BlockId]) {
        // The position of the newest copy among the pages, from 1: four bytes a page are little even on a large device.
        let mut newest: IdVec<Lpn, u32> = IdVec::filled(0, self.pages.map.len());
        for lpn in self.pages.map.ids() {
            self.pages.map.clear(lpn);
        }
        for (position, found) in (1..).zip(pages) {
            let Some(Oob { lpn: Some(lpn), sequence, .. }) = found.oob() else { continue };
            if !in_flash(lpn) || begun.contains(&self.dims.block_of(found.page())) {
                continue;
            }
            let older = newest[lpn].checked_sub(1).and_then(|older| pages[older as usize].oob());
            if older.is_none_or(|older| older.sequence < sequence) {
                newest[lpn] = position;
                self.pages.map.set(lpn, found.page());
            }
        }
    }

    /// The block that GC began last, if it was the pool's last free block and no other can be erased. It holds only
    /// copies from one victim, since the erase of that victim would have freed a block.
    fn last_reserve(&self, pool: PoolId, filled: &IdVec<BlockId, Filled>) -> Option<BlockId> {
        if self.dims.blocks_of(pool).any(|block| filled[block].pages == 0) {
            return None;
        }
        let mut mapped: IdVec<BlockId, bool> = IdVec::filled(false, filled.len());
        for (_, page) in self.pages.map.mapped() {
            mapped[self.dims.block_of(page)] = true;
        }
        let needed = self.dims.blocks_of(pool).all(|block| mapped[block]);
        needed.then(|| self.dims.blocks_of(pool).max_by_key(|&block| filled[block].oldest)).flatten()
    }

    /// Erase an empty block for a pool without a free block.
    fn free_reserve<M: Media, H: GcHook>(
        &mut self,
        pool: PoolId,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        let empty = self.dims.blocks_of(pool).find(|&block| self.blocks[block].valid == 0);
        let block = empty.expect("GC's last block is as good as empty");
        if self.blocks[block].state == State::Open {
            self.allocator.close(pool, block);
        } else {
            self.seize(pool, block);
        }
        self.erase(pool, block, io)
    }

    /// Sort the blocks of a pool into free, open and sealed ones.
    fn recover_pool(&mut self, pool: PoolId, filled: &IdVec<BlockId, Filled>) {
        let (free, mut used): (Vec<_>, Vec<_>) =
            self.dims.blocks_of(pool).partition(|&block| filled[block].pages == 0);
        let free = free.into_iter().map(|block| (block, self.histories[block].erases));
        self.allocator.set_free(pool, free, &self.dims);
        for &block in used.iter().filter(|&&block| filled[block].slc) {
            self.slc_cache.recover(pool, block);
        }
        // The block programmed last may be GC's, with pages yet to copy.
        used.sort_by_key(|&block| std::cmp::Reverse(filled[block].newest));
        let gc = self.dims.groups.group(WriteStream::Gc);
        let mut groups = self.dims.groups.ids().filter(|&group| group != gc).chain([gc]).collect::<Vec<_>>();
        used.retain(|&block| {
            // A block that lacks only its summary takes no more data, nor does a block that must be
            // refreshed.
            let pages = self.slc_cache.pages_of(block).unwrap_or(self.dims.data_pages_per_block);
            let has_room = filled[block].pages < pages && !filled[block].fast;
            // GC copies to blocks with all bits.
            let fits = |group| !filled[block].slc || !self.is_for_copies(group);
            let place = groups.iter().rposition(|&group| fits(group)).filter(|_| has_room);
            let Some(group) = place.map(|place| groups.remove(place)) else { return true };
            self.blocks[block].state = State::Open;
            let active = Active { block: Some(block), next: filled[block].pages };
            self.allocator.set_active(pool, group, active);
            self.placer.opened(block, group);
            false
        });
        // Seal the blocks in the order of their filling: victim policies use this order and the ages.
        for &block in used.iter().rev() {
            self.seal(pool, block);
            self.histories[block].sealed_at = filled[block].newest;
            if filled[block].fast {
                self.refresh.found_fast(block, self.histories[block].erases);
            }
        }
    }
}
