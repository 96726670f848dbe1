//! The map from the workload's addresses to the device's logical pages.

use coflash_base::prefetch::prefetch;
use coflash_base::{Index, Lpn, Save};
use coflash_scenario::{Remap, Scenario};
use coflash_workload::{Op, Request};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Pages that one chunk of the dense table covers.
const CHUNK_PAGES: u64 = 1024;

/// Pages of a request that are looked at ahead: more would push each other out of the processor's nearest cache.
const LOOK_PAGES: u64 = 8;

/// The addresses of requests.
#[derive(Clone, Debug, Save)]
pub(crate) struct AddressMap {
    pub(crate) page_bytes: u64,
    /// The binary logarithm of `page_bytes`, where that is a power of two: a division takes as long as ten shifts.
    page_shift: Option<u32>,
    logical_pages: u64,
    places: Places,
}

/// The place of each page of the workload.
#[derive(Clone, Debug, Save)]
enum Places {
    /// The identity; pages beyond the device are unmapped.
    Direct,
    /// The page number modulo the pages of the device.
    Modulo,
    /// Numbered in the order of the first access. Memory: at most a chunk of four bytes a page per accessed region.
    Dense {
        /// Looked up, never listed, so that no result depends on the order of the table.
        chunks: FxHashMap<u64, Chunk>,
        touched: u64,
        /// The pages that are numbered together: a part of a chunk.
        unit: usize,
    },
}

/// The logical pages of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lpns {
    /// All of them, if they may lie apart.
    apart: Vec<Lpn>,
    /// The first page, if they are adjacent.
    first: usize,
    count: usize,
}

impl Lpns {
    /// The number of pages.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Page `index` of the request.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Lpn {
        match self.apart.get(index) {
            Some(&lpn) => lpn,
            None => Lpn::from_index(self.first + index),
        }
    }

    /// The first page, if there is any.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<Lpn> {
        (self.count > 0).then(|| self.get(0))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Lpn> + '_ {
        (0..self.count).map(|index| self.get(index))
    }
}

type Chunk = Box<[Option<Lpn>; CHUNK_PAGES as usize]>;

/// The chunk of the first of some pages, the pages of the range in it, and the first page beyond it.
#[inline(always)]
fn first_chunk(pages: &Range<u64>) -> (u64, Range<usize>, u64) {
    let chunk = pages.start / CHUNK_PAGES;
    let end = pages.end.min((chunk + 1) * CHUNK_PAGES);
    let index = |page: u64| (page - chunk * CHUNK_PAGES) as usize;
    (chunk, index(pages.start)..index(end), end)
}

impl AddressMap {
    pub(crate) fn new(scenario: &Scenario, logical_pages: u32) -> Self {
        let page_bytes = scenario.flash.page_size.count;
        Self {
            page_bytes,
            page_shift: page_bytes.is_power_of_two().then(|| page_bytes.trailing_zeros()),
            logical_pages: logical_pages.into(),
            places: match scenario.workload.remap {
                Remap::None => Places::Direct,
                Remap::Modulo => Places::Modulo,
                Remap::Dense => Places::Dense {
                    chunks: FxHashMap::default(),
                    touched: 0,
                    unit: scenario.pages_per_unit() as usize,
                },
            },
        }
    }

    pub(crate) fn logical_bytes(&self) -> u64 {
        self.logical_pages * self.page_bytes
    }

    /// The pages of a request, as the workload numbers them: all that it touches, or the whole pages of a trim.
    #[inline(always)]
    pub(crate) fn pages(&self, request: &Request) -> Range<u64> {
        let page_of = |byte| self.page_shift.map_or_else(|| byte / self.page_bytes, |shift| byte >> shift);
        let end = request.offset + request.length;
        match request.op {
            Op::Read | Op::Write => page_of(request.offset)..page_of(end - 1) + 1,
            // A trim of less than a page may end before the first page that begins in it.
            Op::Trim => page_of(request.offset + (self.page_bytes - 1)).min(page_of(end))..page_of(end),
            Op::Flush => 0..0,
        }
    }

    /// Look up the logical pages of a request, the pages `pages` of the workload. Returns whether the device has all of them;
    /// otherwise some are missing. Reads and trims access a page like writes.
    #[inline(always)]
    pub(crate) fn look_up(&mut self, request: &Request, pages: Range<u64>, lpns: &mut Lpns) -> bool {
        // Also with remapped addresses: a longer request would overlap itself.
        let fits = request.length <= self.logical_bytes();
        match &self.places {
            Places::Direct => {
                let fits = fits && pages.end <= self.logical_pages;
                lpns.first = pages.start as usize;
                lpns.count = if fits { (pages.end - pages.start) as usize } else { 0 };
                fits
            }
            Places::Modulo | Places::Dense { .. } => self.look_up_apart(fits, pages, lpns),
        }
    }

    fn look_up_apart(&mut self, mut fits: bool, mut pages: Range<u64>, lpns: &mut Lpns) -> bool {
        let logical_pages = self.logical_pages;
        let apart = &mut lpns.apart;
        apart.clear();
        match &mut self.places {
            _ if !fits => {}
            Places::Direct | Places::Modulo => {
                apart.extend(pages.map(|page| Lpn::from_index((page % logical_pages) as usize)));
            }
            Places::Dense { chunks, touched, unit } => {
                while !pages.is_empty() {
                    let (chunk, indices, end) = first_chunk(&pages);
                    let chunk = chunks.entry(chunk).or_insert_with(|| Box::new([None; CHUNK_PAGES as usize]));
                    for index in indices {
                        let lpn = chunk[index].unwrap_or_else(|| {
                            let first = index / *unit * *unit;
                            for entry in &mut chunk[first..first + *unit] {
                                *entry = Some(Lpn::from_index((*touched).min(logical_pages) as usize));
                                *touched += 1;
                            }
                            chunk[index].expect("it was numbered with its unit")
                        });
                        // Pages beyond the device all get the number of the first such page.
                        if (lpn.index() as u64) < logical_pages {
                            apart.push(lpn);
                        } else {
                            fits = false;
                        }
                    }
                    pages.start = end;
                }
            }
        }
        lpns.count = apart.len();
        fits
    }

    /// Append the first logical pages of requests that were not looked up yet, as far as they are known.
    #[inline(always)]
    pub(crate) fn look_ahead<'a>(&self, requests: impl Iterator<Item = &'a Request>, lpns: &mut Vec<Lpn>) {
        for request in requests {
            let pages = self.pages(request);
            let pages = pages.start..pages.end.min(pages.start + LOOK_PAGES);
            match &self.places {
                Places::Direct => {
                    let pages = pages.start..pages.end.min(self.logical_pages);
                    pages.for_each(|page| lpns.push(Lpn::from_index(page as usize)));
                }
                Places::Modulo => {
                    lpns.extend(pages.map(|page| Lpn::from_index((page % self.logical_pages) as usize)));
                }
                Places::Dense { chunks, .. } => {
                    let (chunk, indices, _) = first_chunk(&pages);
                    if let Some(chunk) = chunks.get(&chunk) {
                        let known = chunk[indices].iter().flatten();
                        lpns.extend(known.filter(|lpn| lpn.index() < self.logical_pages as usize));
                    }
                }
            }
        }
    }

    /// Ask for the memory of a dense map's entries of requests. Those of adjacent pages are adjacent.
    #[inline(always)]
    pub(crate) fn prefetch(&self, requests: &[Request]) {
        if let Places::Dense { chunks, .. } = &self.places {
            for page in requests.iter().map(|request| self.pages(request).start) {
                if let Some(chunk) = chunks.get(&(page / CHUNK_PAGES)) {
                    prefetch(&chunk[..], (page % CHUNK_PAGES) as usize);
                }
            }
        }
    }

    /// Pages accessed so far, for a dense map.
    pub(crate) fn touched(&self) -> Option<u64> {
        match self.places {
            Places::Dense { touched, .. } => Some(touched),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Time;

    fn map(remap: &str) -> AddressMap {
        let scenario = Scenario::default().set(&[("workload.remap", remap)]).unwrap();
        AddressMap::new(&scenario, if remap == "dense" { 2000 } else { 10 })
    }

    fn read(page: u64, pages: u64) -> Request {
        let (offset, length) = (page * 4096, pages * 4096);
        Request { arrival: Time::ZERO, offset, length, op: Op::Read, placement: None }
    }

    /// The logical pages, or `None` where the device is too small; looking ahead finds the same.
    fn look_up(map: &mut AddressMap, request: &Request) -> Option<Vec<u32>> {
        let (mut lpns, mut ahead) = (Lpns::default(), Vec::new());
        let fits = map.look_up(request, map.pages(request), &mut lpns);
        map.look_ahead([request].into_iter(), &mut ahead);
        assert_eq!((lpns.first(), lpns.len()), (lpns.iter().next(), lpns.iter().count()));
        assert!(lpns.iter().zip(&ahead).all(|(lpn, ahead)| lpn == *ahead) || !fits, "{lpns:?} {ahead:?}");
        fits.then(|| lpns.iter().map(Lpn::get).collect())
    }

    #[test]
    fn each_way_places_pages() {
        let mut direct = map("none");
        assert_eq!(look_up(&mut direct, &read(8, 2)), Some(vec![8, 9]));
        assert_eq!(look_up(&mut direct, &read(9, 2)), None);
        let mut modulo = map("modulo");
        assert_eq!(look_up(&mut modulo, &read((1 << 50) + 3, 3)), Some(vec![7, 8, 9]));
        assert_eq!(look_up(&mut modulo, &read(7, 11)), None, "it would overlap itself");
    }

    #[test]
    fn a_trim_has_whole_pages_alone() {
        for remap in ["none", "modulo", "dense"] {
            let mut map = map(remap);
            let trim = |offset, length| Request { offset, length, op: Op::Trim, ..read(0, 1) };
            assert_eq!(look_up(&mut map, &trim(4095, 2 * 4096)).map(|pages| pages.len()), Some(1), "{remap}");
            assert_eq!(look_up(&mut map, &trim(4097, 4094)), Some(vec![]), "{remap}");
        }
    }

    #[test]
    fn a_dense_map_numbers_units_whole() {
        let units = Scenario::default()
            .set(&[("workload.remap", "dense"), ("ftl.indirection_unit", "16KiB")])
            .unwrap();
        let mut dense = AddressMap::new(&units, 12);
        assert_eq!(
            look_up(&mut dense, &read(1023, 3)),
            Some(vec![3, 4, 5]),
            "its units begin with pages 1020 and 1024"
        );
        assert_eq!(look_up(&mut dense, &read(1020, 1)), Some(vec![0]));
        assert_eq!(dense.touched(), Some(8), "in whole units");
        assert_eq!(look_up(&mut dense, &read(9, 1)), Some(vec![9]));
        assert_eq!(look_up(&mut dense, &read(0, 1)), None);
    }

    #[test]
    fn a_dense_map_numbers_pages_in_order_also_over_the_end_of_a_chunk() {
        let mut dense = map("dense");
        dense.prefetch(&[read(7, 1)]);
        let mut ahead = Vec::new();
        dense.look_ahead([&read(7, 1)].into_iter(), &mut ahead);
        assert_eq!(ahead, [], "the map is empty");
        assert_eq!(dense.touched(), Some(0), "a look is no access");
        assert_eq!(look_up(&mut dense, &read((1 << 50) - 1, 3)), Some(vec![0, 1, 2]));
        assert_eq!(look_up(&mut dense, &read(1 << 50, 2)), Some(vec![1, 2]));
        assert_eq!(look_up(&mut dense, &read(10, 1997)), Some((3..2000).collect()));
        assert_eq!(look_up(&mut dense, &read(0, 2)), None);
        assert_eq!(dense.touched(), Some(2002));
        assert_eq!(look_up(&mut dense, &read(0, 2)), None);
        assert_eq!(dense.touched(), Some(2002), "each page is counted once");
    }
}
