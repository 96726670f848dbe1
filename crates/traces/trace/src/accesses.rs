//! The accesses of a trace to the pages of a sample, kept for simulations that need them more than once.
//!
//! Units of neighbouring pages are sampled by a hash of their place (SHARDS, as in [`info`](crate::info)): whenever there
//! are too many, half of them go. A trim is no access, and of a request to more than 65,536 pages the first ones count.

use crate::Result;
use crate::info::{Sampling, TRACKED_PER_REQUEST_MAX, mix};
use coflash_base::prefetch::prefetch;
use coflash_workload::{Op, Source};
use std::num::NonZeroU32;

/// The most accesses that are kept, 256 MiB.
const ACCESSES_MAX: usize = 1 << 26;
/// The bit of a write in a kept access; the others are the page.
const WRITE: u32 = 1 << 31;

/// The accesses that are kept together.
const TOGETHER: usize = 256;

/// An access to a unit of the sample.
#[derive(Clone, Copy, Debug)]
struct Latest {
    unit: u64,
    hash: u64,
    offset: u32,
    is_write: bool,
}

/// Units, numbered in the order of their first access: a table with open addresses, at most half full, whose memory can be asked
/// for before it is needed. The tables of the standard library and of `hashbrown` wait for each unit of a large trace.
#[derive(Clone, Debug)]
struct Numbers {
    /// A power of two of slots: units and their numbers.
    slots: Vec<(u64, Option<NonZeroU32>)>,
    len: u32,
}

impl Numbers {
    fn with_room_for(units: usize) -> Self {
        Self { slots: vec![(0, None); (2 * units).next_power_of_two().max(TOGETHER)], len: 0 }
    }

    fn len(&self) -> usize {
        self.len as usize
    }

    /// The slot of a unit, or the free one that a new unit takes.
    #[inline(always)]
    fn place(&self, unit: u64, hash: u64) -> usize {
        let mut place = hash as usize & (self.slots.len() - 1);
        while self.slots[place].1.is_some() && self.slots[place].0 != unit {
            place = (place + 1) & (self.slots.len() - 1);
        }
        place
    }

    /// The number of a unit; a new unit has the next one.
    #[inline]
    fn number(&mut self, unit: u64, hash: u64) -> u32 {
        let place = self.place(unit, hash);
        self.slots[place].1.map_or_else(|| self.add(place, unit), |number| number.get() - 1)
    }

    #[inline(never)]
    fn add(&mut self, place: usize, unit: u64) -> u32 {
        self.len += 1;
        self.slots[place] = (unit, NonZeroU32::new(self.len));
        if 2 * self.len() > self.slots.len() {
            let larger = Self { len: self.len, ..Self::with_room_for(self.len()) };
            let smaller = std::mem::replace(self, larger);
            for slot in smaller.slots.into_iter().filter(|slot| slot.1.is_some()) {
                let place = self.place(slot.0, mix(slot.0));
                self.slots[place] = slot;
            }
        }
        self.len - 1
    }

    /// The units in the order of their numbers.
    fn in_order(self) -> Vec<u64> {
        let mut units = vec![0; self.len()];
        for (unit, number) in self.slots {
            number.into_iter().for_each(|number| units[number.get() as usize - 1] = unit);
        }
        units
    }
}

/// Accesses to the pages of a sample of units. Pages are numbered unit by unit, and units as they are first accessed.
#[derive(Clone, Debug)]
pub struct Accesses {
    unit_pages: u64,
    kept: Vec<u32>,
    /// Accesses to units of the sample that are not kept yet: the memory of their numbers is asked for.
    latest: Vec<Latest>,
    units: Numbers,
    units_max: usize,
    /// Units with a hash above it are not sampled.
    limit: u64,
    /// All accesses to pages, sampled or not.
    total: u64,
}

impl Accesses {
    /// Read all accesses of `source` to pages of `page_bytes`, a power of two, and keep those to at most `pages_max` pages in units of
    /// `unit_pages`.
    ///
    /// # Errors
    /// An error of the source.
    pub fn read(source: &mut dyn Source, page_bytes: u64, unit_pages: u32, pages_max: usize) -> Result<Self> {
        let unit_pages = u64::from(unit_pages);
        let units_max = pages_max.min(WRITE as usize).div_ceil(unit_pages as usize);
        let mut accesses = Self {
            unit_pages,
            kept: Vec::new(),
            latest: Vec::with_capacity(TOGETHER),
            units: Numbers::with_room_for(0),
            units_max,
            limit: u64::MAX,
            total: 0,
        };
        let (mut batch, page_shift) = (Vec::new(), page_bytes.ilog2());
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                accesses.keep_latest();
                return Ok(accesses);
            }
            for request in batch.iter().filter(|request| matches!(request.op, Op::Read | Op::Write)) {
                let first = request.offset >> page_shift;
                let last = (request.offset + request.length - 1) >> page_shift;
                for page in first..=last.min(first + TRACKED_PER_REQUEST_MAX - 1) {
                    accesses.add(page, request.op == Op::Write);
                }
            }
        }
    }

    #[inline]
    fn add(&mut self, page: u64, is_write: bool) {
        self.total += 1;
        // A division takes as long as the rest of this function.
        let (unit, offset) =
            if self.unit_pages == 1 { (page, 0) } else { (page / self.unit_pages, page % self.unit_pages) };
        let hash = mix(unit);
        if hash > self.limit {
            return;
        }
        prefetch(&self.units.slots, hash as usize & (self.units.slots.len() - 1));
        self.latest.push(Latest { unit, hash, offset: offset as u32, is_write });
        if self.latest.len() == TOGETHER {
            self.keep_latest();
        }
    }

    fn keep_latest(&mut self) {
        let mut latest = std::mem::take(&mut self.latest);
        for Latest { unit, hash, offset, is_write } in latest.drain(..) {
            if hash > self.limit {
                continue;
            }
            let place = self.units.number(unit, hash) * self.unit_pages as u32 + offset;
            self.kept.push(place | if is_write { WRITE } else { 0 });
            while self.units.len() > self.units_max || self.kept.len() > ACCESSES_MAX {
                self.thin();
            }
        }
        self.latest = latest;
    }

    /// Let half of the units go.
    #[cold]
    fn thin(&mut self) {
        self.limit /= 2;
        let units = std::mem::replace(&mut self.units, Numbers::with_room_for(0)).in_order();
        let mut number = |unit, hash| (hash <= self.limit).then(|| self.units.number(unit, hash));
        let renumbered: Vec<Option<u32>> = units.into_iter().map(|unit| number(unit, mix(unit))).collect();
        let unit_pages = self.unit_pages as u32;
        self.kept.retain_mut(|access| {
            let (page, write) = (*access & !WRITE, *access & WRITE);
            let unit = renumbered[(page / unit_pages) as usize];
            unit.map(|unit| *access = (unit * unit_pages + page % unit_pages) | write).is_some()
        });
    }

    /// The accesses in order: the page, below [`pages`](Self::pages), and whether it was written.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, bool)> + ExactSizeIterator + Clone {
        self.kept.iter().map(|access| (access & !WRITE, access & WRITE != 0))
    }

    /// The number of pages of all sampled units.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.units.len() * self.unit_pages as usize
    }

    /// All accesses of the trace, sampled or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The sampled share of units, and the number of accessed pages in them.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        let mut seen = vec![false; self.pages()];
        let distinct = self.iter().filter(|&(page, _)| !std::mem::replace(&mut seen[page as usize], true));
        Sampling::below(self.limit, distinct.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::Method;
    use coflash_base::seed::RngExt;
    use coflash_base::{Seed, Time};
    use coflash_workload::Request;
    use rustc_hash::FxHashMap;

    struct Requests(Vec<Request>);

    impl Source for Requests {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<()> {
            *batch = std::mem::take(&mut self.0);
            Ok(())
        }

        fn progress(&self) -> Option<f64> {
            None
        }
    }

    /// Single pages, written if odd.
    fn requests(pages: impl Iterator<Item = u64>) -> Requests {
        let request = |page: u64| Request {
            arrival: Time::ZERO,
            op: if page % 2 == 1 { Op::Write } else { Op::Read },
            offset: page * 4096,
            length: 4096,
            placement: None,
        };
        Requests(pages.map(request).collect())
    }

    #[test]
    fn all_accesses_are_kept_while_there_is_room() {
        let accesses = Accesses::read(&mut requests([70, 3, 70, 5].into_iter()), 4096, 1, 64).unwrap();
        assert_eq!(accesses.iter().collect::<Vec<_>>(), [(0, false), (1, true), (0, false), (2, true)]);
        assert_eq!(accesses.sampling(), Sampling { method: Method::Exact, share: 1.0, pages: 3 });
        let units = Accesses::read(&mut requests([70, 3, 70, 5].into_iter()), 4096, 4, 64).unwrap();
        assert_eq!(units.iter().map(|access| access.0).collect::<Vec<_>>(), [2, 7, 2, 9]);
    }

    #[test]
    fn units_have_numbers_in_the_order_of_their_first_access() {
        let mut stream = Seed(1).stream("units");
        let (mut numbers, mut expected) = (Numbers::with_room_for(0), FxHashMap::default());
        for _ in 0..10_000 {
            let unit = stream.random_range(0..3000) << stream.random_range(0..50);
            let next = expected.len() as u32;
            assert_eq!(numbers.number(unit, mix(unit)), *expected.entry(unit).or_insert(next), "{unit}");
            assert!(2 * numbers.len() <= numbers.slots.len(), "at most half full");
        }
        assert_eq!(numbers.len(), expected.len());
        assert!((0..).zip(numbers.in_order()).all(|(number, unit)| expected[&unit] == number));
    }

    #[test]
    fn a_sample_has_all_accesses_to_its_units_and_no_others() {
        for (seed, unit_pages) in (0..8).flat_map(|seed| [(seed, 1), (seed, 8)]) {
            let mut stream = Seed(seed).stream("accesses");
            let pages: Vec<u64> = (0..20_000).map(|_| stream.random_range(0..6000)).collect();
            let read =
                |most| Accesses::read(&mut requests(pages.iter().copied()), 4096, unit_pages, most).unwrap();
            let sample = read(1000);
            let share = sample.sampling().share;
            assert!(sample.pages() <= 1000 + unit_pages as usize, "seed {seed}");
            assert!(libm::log2(share).fract() == 0.0 && share < 0.25, "seed {seed}: {share}");
            assert_eq!(sample.total(), 20_000);
            let limit = sample.limit;
            let expected = pages.iter().filter(|&&page| mix(page / u64::from(unit_pages)) <= limit);
            let pairs: Vec<(u64, (u32, bool))> = expected.copied().zip(sample.iter()).collect();
            assert_eq!(pairs.len(), sample.iter().len(), "seed {seed}");
            let mut numbers = FxHashMap::default();
            for (page, (number, is_write)) in pairs {
                assert_eq!(*numbers.entry(page).or_insert(number), number, "seed {seed}: {page}");
                assert_eq!(is_write, page % 2 == 1, "seed {seed}: {page}");
            }
        }
    }
}
