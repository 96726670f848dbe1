//! Flash copies that were invalidated early: before the cache that holds newer data has written it.
//!
//! Without cooperation such a page stays valid until the write, and GC copies it. How many it meets in its victims is how
//! many copies early invalidation spares: exactly, for these victims.

use super::Ftl;
use super::bits::PageBits;
use coflash_base::{IdVec, Lpn};
use coflash_media::{BlockId, Geometry, Ppn};

/// The pages that were superseded, until the cache writes them. Empty until the first one.
#[derive(Clone)]
pub(super) struct Superseded {
    /// Where the flash copy of each unmapped logical page lay.
    at: IdVec<Lpn, Option<Ppn>>,
    /// These flash pages, until they are erased: GC counts bits and looks at no page.
    early: PageBits,
}

impl Superseded {
    pub(super) fn none() -> Self {
        Self { at: IdVec::filled(None, 0), early: PageBits::none() }
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, lpn: Lpn, page: Ppn, geometry: &Geometry, logical_pages: u32) {
        if self.early.is_none() {
            *self = Self { at: IdVec::filled(None, logical_pages as usize), early: PageBits::new(geometry) };
        }
        self.at[lpn] = Some(page);
        self.early.set(geometry.block_of(page), page);
    }

    #[inline(always)]
    pub(super) fn erased(&mut self, block: BlockId) {
        if !self.early.is_none() {
            self.early.clear_block(block);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.at.heap_bytes() + self.early.heap_bytes()
    }
}

impl Ftl {
    /// Note that a page without a flash copy is written or trimmed: where it lay is invalid like any other page.
    #[inline(always)]
    pub(super) fn settle_superseded(&mut self, lpn: Lpn) {
        if self.superseded.early.is_none() {
            return;
        }
        let Some(page) = self.superseded.at[lpn].take() else { return };
        let block = self.geometry.block_of(page);
        // The block may have been erased since, and hold another page there that was superseded.
        if self.superseded.early.get(block, page) && self.pages.owner[page] == Some(lpn) {
            self.superseded.early.clear(block, page);
        }
    }

    /// Count the pages of GC's victim that are invalid only because they were superseded.
    pub(super) fn count_spared(&mut self, victim: BlockId) {
        self.counters.gc_spared_pages += u64::from(self.superseded.early.count(victim));
    }
}
