//! The map of logical pages.

use coflash_base::{IdVec, Lpn, Save, prefetch::prefetch};
use coflash_media::Ppn;

/// The place of each logical page in flash, or the former place if its copy was superseded.
#[derive(Clone, Save)]
pub(super) struct Map {
    /// 0, or the number of the page plus one. [`SUPERSEDED`] is set if the copy there is invalid already.
    entries: IdVec<Lpn, u32>,
}

/// The bit of a superseded page.
const SUPERSEDED: u32 = 1 << 31;

impl Map {
    pub(super) fn new(logical_pages: u32) -> Self {
        Self { entries: IdVec::zeros(logical_pages as usize) }
    }

    /// The flash page of a logical page, if it has one.
    #[inline(always)]
    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.entries[lpn];
        (entry.wrapping_sub(1) < SUPERSEDED - 1).then(|| Ppn::new(entry - 1))
    }

    /// Prefetch the memory of an entry, without effect for no page.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Option<Lpn>) {
        prefetch(&self.entries, lpn.map_or(u32::MAX, Lpn::get) as usize);
    }

    #[inline(always)]
    pub(super) fn set(&mut self, lpn: Lpn, page: Ppn) {
        self.entries[lpn] = page.get() + 1;
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, lpn: Lpn) {
        self.entries[lpn] = 0;
    }

    /// Unmap a page with a superseded copy, and remember the place of the copy.
    #[inline(always)]
    pub(super) fn supersede(&mut self, lpn: Lpn) {
        self.entries[lpn] |= SUPERSEDED;
    }

    /// The place of the superseded copy of a logical page.
    #[inline(always)]
    pub(super) fn superseded(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.entries[lpn];
        (entry > SUPERSEDED).then(|| Ppn::new(entry - SUPERSEDED - 1))
    }

    /// The logical pages, mapped or not.
    pub(super) fn ids(&self) -> impl Iterator<Item = Lpn> + use<> {
        self.entries.ids()
    }

    /// The mapped logical pages with their flash pages.
    pub(super) fn mapped(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.ids().filter_map(|lpn| Some((lpn, self.get(lpn)?)))
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
