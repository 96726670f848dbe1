//! Flash copies invalidated early: before the cache with the newer data writes it.
//!
//! Without cooperation such a page stays valid until the write, and GC copies it. The number of such pages in
//! GC's victims is the number of copies that early invalidation saves: exact for these victims.

use super::Ftl;
use super::bits::PageBits;
use coflash_base::Lpn;
use coflash_media::{BlockId, Ppn};

impl Ftl {
    /// Invalidate the flash copy of a page, if any, before a cache writes the page anew: the cache holds
    /// newer data, or will hold the only copy.
    #[inline]
    pub fn supersede(&mut self, lpn: Lpn) {
        let Some(page) = self.pages.map.get(lpn) else { return };
        self.pages.map.supersede(lpn);
        if self.early.is_none() {
            self.early = PageBits::new(&self.geometry);
        }
        self.early.set(self.dims.block_of(page), page);
        self.placer.taken_over(lpn, self.dims.block_of(page));
        self.invalidate_page(page);
    }

    /// Note that a page without a flash copy is written or trimmed: its former place is invalid like any
    /// other page.
    #[inline(always)]
    pub(super) fn settle_superseded(&mut self, lpn: Lpn) {
        if let Some(page) = self.pages.map.superseded(lpn) {
            self.early.clear(self.dims.block_of(page), page);
        }
    }

    /// Forget the superseded pages of an erased block.
    pub(super) fn forget_superseded(&mut self, block: BlockId) {
        for word in 0..self.early.words_per_block {
            let mut rest = self.early.word(block, word);
            while rest != 0 {
                let page = self.geometry.page(block, word as u32 * 64 + rest.trailing_zeros());
                let lpn = self.pages.owner[page].expect("a superseded page has an owner");
                self.pages.map.clear(lpn);
                rest &= rest - 1;
            }
        }
        self.early.clear_block(block);
    }

    /// Count the pages of GC's victim that are invalid only because they were superseded.
    pub(super) fn count_spared(&mut self, victim: BlockId) {
        self.counters.gc_spared_pages += u64::from(self.early.count(victim));
    }

    /// Panic unless the bits of superseded pages match the map.
    pub(super) fn assert_superseded(&self) {
        let superseded: Vec<(Lpn, Ppn)> =
            self.pages.map.ids().filter_map(|lpn| Some((lpn, self.pages.map.superseded(lpn)?))).collect();
        for &(lpn, page) in &superseded {
            let block = self.dims.block_of(page);
            assert!(self.early.get(block, page), "{lpn:?}: its superseded copy {page:?} has its bit");
            assert_eq!(self.pages.owner[page], Some(lpn), "{page:?} belongs to the page superseded there");
        }
        let bits: u32 = self.blocks.ids().map(|block| self.early.count(block)).sum();
        assert_eq!(bits as usize, superseded.len(), "superseded pages");
    }
}
