//! The accesses of a trace to the pages of a sample, kept for simulations that need them more than once.
//!
//! Units of neighbouring pages are sampled by a hash of their place (SHARDS, as in [`info`](crate::info)): whenever there
//! are too many, half of them go. A trim is no access, and of a request to more than 65,536 pages the first ones count.

#![allow(clippy::disallowed_types, reason = "what is read from the table does not depend on its order")]

use crate::info::{Method, Sampling, TRACKED_PER_REQUEST_MAX, mix};
use coflash_workload::{Op, Source, WorkloadError};
use std::collections::HashMap;

/// The most accesses that are kept, 256 MiB.
const ACCESSES_MAX: usize = 1 << 26;
/// The bit of a write in a kept access; the others are the page.
const WRITE: u32 = 1 << 31;

/// Accesses to the pages of a sample of units. Pages are numbered unit by unit, and units as they are first accessed.
#[derive(Clone, Debug)]
pub struct Accesses {
    unit_pages: u64,
    kept: Vec<u32>,
    units: HashMap<u64, u32>,
    units_max: usize,
    /// Units with a hash above it are not sampled.
    limit: u64,
    /// All accesses to pages, sampled or not.
    total: u64,
}

impl Accesses {
    /// Read all accesses of `source` to pages of `page_bytes`, and keep those to at most `pages_max` pages in units of
    /// `unit_pages`.
    ///
    /// # Errors
    /// An error of the source.
    pub fn read(
        source: &mut dyn Source,
        page_bytes: u64,
        unit_pages: u32,
        pages_max: usize,
    ) -> Result<Self, WorkloadError> {
        let unit_pages = u64::from(unit_pages);
        let units_max = pages_max.min(WRITE as usize).div_ceil(unit_pages as usize);
        let mut accesses = Self {
            unit_pages,
            kept: Vec::new(),
            units: HashMap::new(),
            units_max,
            limit: u64::MAX,
            total: 0,
        };
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(accesses);
            }
            for request in batch.iter().filter(|request| matches!(request.op, Op::Read | Op::Write)) {
                let first = request.offset / page_bytes;
                let last = (request.offset + request.length - 1) / page_bytes;
                for page in first..=last.min(first + TRACKED_PER_REQUEST_MAX - 1) {
                    accesses.add(page, request.op == Op::Write);
                }
            }
        }
    }

    fn add(&mut self, page: u64, is_write: bool) {
        self.total += 1;
        let (unit, offset) = (page / self.unit_pages, page % self.unit_pages);
        if mix(unit) > self.limit {
            return;
        }
        let next = self.units.len() as u32;
        let number = *self.units.entry(unit).or_insert(next);
        let place = u64::from(number) * self.unit_pages + offset;
        self.kept.push(place as u32 | if is_write { WRITE } else { 0 });
        while self.units.len() > self.units_max || self.kept.len() > ACCESSES_MAX {
            self.thin();
        }
    }

    /// Let half of the units go.
    #[cold]
    fn thin(&mut self) {
        self.limit /= 2;
        let mut stays: Vec<(u32, u64)> = self
            .units
            .iter()
            .filter(|(unit, _)| mix(**unit) <= self.limit)
            .map(|(&unit, &number)| (number, unit))
            .collect();
        stays.sort_unstable();
        let mut renumbered = vec![None; self.units.len()];
        self.units.clear();
        for (new, (old, unit)) in (0..).zip(stays) {
            renumbered[old as usize] = Some(new);
            self.units.insert(unit, new);
        }
        let unit_pages = self.unit_pages as u32;
        self.kept = std::mem::take(&mut self.kept)
            .into_iter()
            .filter_map(|access| {
                let page = access & !WRITE;
                let unit: u32 = renumbered[(page / unit_pages) as usize]?;
                Some((unit * unit_pages + page % unit_pages) | (access & WRITE))
            })
            .collect();
    }

    /// The accesses in order: the page, below [`pages`](Self::pages), and whether it was written.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, bool)> + ExactSizeIterator {
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
        let method = if self.limit == u64::MAX { Method::Exact } else { Method::Sampled };
        let share = (self.limit as f64 + 1.0) / 2.0_f64.powi(64);
        Sampling { method, share, pages: distinct.count() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::seed::RngExt;
    use coflash_base::{Seed, Time};
    use coflash_workload::Request;

    struct Requests(Vec<Request>);

    impl Source for Requests {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
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
            let mut numbers = HashMap::new();
            for (page, (number, is_write)) in pairs {
                assert_eq!(*numbers.entry(page).or_insert(number), number, "seed {seed}: {page}");
                assert_eq!(is_write, page % 2 == 1, "seed {seed}: {page}");
            }
        }
    }
}
