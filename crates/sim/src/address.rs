//! The map from the workload's addresses to the device's logical pages.

use coflash_base::prefetch::prefetch;
use coflash_base::{Index, Lpn};
use coflash_scenario::Remap;
use coflash_workload::{Op, Request};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Pages that one chunk of the dense table covers.
const CHUNK_PAGES: u64 = 1024;

/// The workload pages of a request: all pages that it touches, or the whole pages of a trim. `page_of`
/// returns the page of a byte.
#[inline(always)]
pub(crate) fn pages_of(request: &Request, page_bytes: u64, page_of: impl Fn(u64) -> u64) -> Range<u64> {
    let end = request.offset + request.length;
    match request.op {
        Op::Read | Op::Write => page_of(request.offset)..page_of(end - 1) + 1,
        Op::Trim => page_of(request.offset + (page_bytes - 1))..page_of(end),
        Op::Flush => 0..0,
    }
}

/// The map of the workload's pages to the device.
#[derive(Clone, Debug)]
pub(crate) enum AddressMap {
    /// The identity; pages beyond the device are unmapped.
    Direct { logical_pages: u64 },
    /// The page number modulo the pages of the device.
    Modulo { logical_pages: u64 },
    /// Numbered in the order of the first access. Memory: at most a chunk of four bytes a page per accessed region.
    Dense {
        logical_pages: u64,
        /// Looked up, never listed, so that no result depends on the order of the table.
        chunks: FxHashMap<u64, Chunk>,
        touched: u64,
    },
}

type Chunk = Box<[Option<Lpn>; CHUNK_PAGES as usize]>;

impl AddressMap {
    pub(crate) fn new(remap: Remap, logical_pages: u32) -> Self {
        let logical_pages = u64::from(logical_pages);
        match remap {
            Remap::None => Self::Direct { logical_pages },
            Remap::Modulo => Self::Modulo { logical_pages },
            Remap::Dense => Self::Dense { logical_pages, chunks: FxHashMap::default(), touched: 0 },
        }
    }

    /// The logical page; `None` if the device is too small. Reads and trims access a page like writes.
    #[inline(always)]
    pub(crate) fn page(&mut self, page: u64) -> Option<Lpn> {
        match self {
            Self::Direct { logical_pages } => (page < *logical_pages).then(|| Lpn::from_index(page as usize)),
            Self::Modulo { logical_pages } => Some(Lpn::from_index((page % *logical_pages) as usize)),
            Self::Dense { logical_pages, chunks, touched } => {
                let chunk = chunks
                    .entry(page / CHUNK_PAGES)
                    .or_insert_with(|| Box::new([None; CHUNK_PAGES as usize]));
                let entry = &mut chunk[(page % CHUNK_PAGES) as usize];
                let lpn = *entry.get_or_insert_with(|| {
                    let next = Lpn::from_index((*touched).min(*logical_pages) as usize);
                    *touched += 1;
                    next
                });
                // Pages beyond the device all get the number of the first such page.
                (lpn.index() < *logical_pages as usize).then_some(lpn)
            }
        }
    }

    /// Ask for the memory of a dense map's entry.
    #[inline(always)]
    pub(crate) fn prefetch(&self, page: u64) {
        if let Self::Dense { chunks, .. } = self
            && let Some(chunk) = chunks.get(&(page / CHUNK_PAGES))
        {
            prefetch(&chunk[..], (page % CHUNK_PAGES) as usize);
        }
    }

    /// Pages accessed so far, for a dense map.
    pub(crate) fn touched(&self) -> Option<u64> {
        match self {
            Self::Dense { touched, .. } => Some(*touched),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_places_pages() {
        let mut direct = AddressMap::new(Remap::None, 10);
        assert_eq!((direct.page(9), direct.page(10)), (Some(Lpn::new(9)), None));
        let mut modulo = AddressMap::new(Remap::Modulo, 10);
        assert_eq!(modulo.page(u64::MAX), Some(Lpn::new(5)));
        let mut dense = AddressMap::new(Remap::Dense, 2);
        dense.prefetch(7);
        assert_eq!(dense.touched(), Some(0), "a look is no access");
        assert_eq!(dense.page(1 << 50), Some(Lpn::new(0)));
        assert_eq!(dense.page(7), Some(Lpn::new(1)));
        assert_eq!(dense.page(1 << 50), Some(Lpn::new(0)));
        assert_eq!((dense.page(8), dense.touched()), (None, Some(3)));
        assert_eq!((dense.page(8), dense.touched()), (None, Some(3)), "each page is counted once");
    }
}
