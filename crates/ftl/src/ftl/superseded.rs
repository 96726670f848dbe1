//! Flash copies that were invalidated early: before the cache that holds newer data has written it.
//!
//! Without cooperation such a page stays valid until the write, and GC copies it. How many GC meets in its victims is how
//! many copies early invalidation spares with these victims. It says nothing of the victims that GC would pick otherwise.

use super::Ftl;
use coflash_base::{IdVec, Lpn};
use coflash_media::{BlockId, Ppn};

/// Where the flash copy of each logical page lay when it was superseded. It says something only while the page is not
/// mapped. Empty until the first one.
#[derive(Clone)]
pub(super) struct Superseded(IdVec<Lpn, Option<Ppn>>);

impl Superseded {
    pub(super) fn none() -> Self {
        Self(IdVec::filled(None, 0))
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, lpn: Lpn, page: Ppn, logical_pages: u32) {
        if self.0.is_empty() {
            self.0 = IdVec::filled(None, logical_pages as usize);
        }
        self.0[lpn] = Some(page);
    }

    /// Forget a page that is trimmed or dropped: nobody will write it.
    #[inline(always)]
    pub(super) fn forget(&mut self, lpn: Lpn) {
        if !self.0.is_empty() {
            self.0[lpn] = None;
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

impl Ftl {
    /// Count the pages of GC's victim that are invalid only because they were superseded.
    pub(super) fn count_spared(&mut self, victim: BlockId) {
        if self.superseded.0.is_empty() {
            return;
        }
        let first = self.geometry.page(victim, 0).get();
        for page in (first..first + self.dims.data_pages_per_block).map(Ppn::new) {
            let is_spared = |lpn: Lpn| self.superseded.0[lpn] == Some(page) && self.pages.map[lpn].is_none();
            self.counters.gc_spared_pages += u64::from(self.pages.owner[page].is_some_and(is_spared));
        }
    }
}
