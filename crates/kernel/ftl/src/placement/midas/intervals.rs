//! The distribution of the intervals between two writes of a page.

use super::model::Ages;
use coflash_base::{Index, Lpn, Save};

/// The bits of a page for the check that saw it last; 0 for none.
const CHECK: u8 = 0b1111_1000;
const CHECK_ONE: u8 = 0b0000_1000;
/// The number of checks after which the bits are cleared.
const CHECKS_TOLD_APART: u8 = 16;
/// The number of checks in an epoch.
const CHECKS: u64 = 10;
/// Units in a block.
const UNITS: u64 = 4;

/// The intervals of the pages of a sample, in units of a quarter block, over an epoch. Few pages have most of the writes, and a
/// sample may miss them: intervals shorter than a unit are counted for all pages, in ten units of the epoch.
#[derive(Clone, Default, Save)]
pub(super) struct Intervals {
    /// The number of pages written in a unit, and the number of units in an epoch.
    unit: u64,
    units: u64,
    sampling: u32,
    /// The time at which the epoch begins.
    begin: u64,
    /// For each page of the sample, the time of its last write in the epoch from 1 on; 0 without one.
    times: Vec<u64>,
    /// The numbers of intervals by their whole units.
    counts: Vec<u64>,
    /// The number of writes of the sample.
    writes: u64,
    /// The number of writes of all pages that were the second or later ones within a checked unit.
    repeats: u64,
    /// The number of checks, and the unit of the last one from 1 on.
    checks: u64,
    checked: u64,
}

impl Intervals {
    /// The first passes over the pages are no steady workload: the first epoch begins after two of them.
    pub(super) fn new(pages: u32, row: u64, sampling: u32, epoch: u32) -> Self {
        let unit = (row / UNITS).max(1);
        let units = (u64::from(pages) * u64::from(epoch) / unit).max(CHECKS + 1);
        Self {
            unit,
            units,
            sampling,
            begin: 2 * u64::from(pages),
            times: vec![0; pages.div_ceil(sampling) as usize],
            counts: vec![0; units as usize],
            ..Self::default()
        }
    }

    pub(super) fn has_begun(&self, now: u64) -> bool {
        now >= self.begin
    }

    /// The length of an epoch, in pages written.
    pub(super) fn epoch(&self) -> u64 {
        self.unit * self.units
    }

    /// The time since the epoch began.
    pub(super) fn elapsed(&self, now: u64) -> u64 {
        now.saturating_sub(self.begin)
    }

    /// Learn of a write. Returns whether the epoch is over.
    pub(super) fn write(&mut self, lpn: Lpn, now: u64, pages: &mut [u8]) -> bool {
        let elapsed = self.elapsed(now);
        if lpn.get().is_multiple_of(self.sampling) {
            let last = std::mem::replace(
                &mut self.times[(lpn.get() / self.sampling) as usize],
                elapsed.saturating_add(1),
            );
            if last > 0 {
                let interval = (elapsed.saturating_add(1).saturating_sub(last)) / self.unit;
                let count = &mut self.counts[interval.min(self.units - 1) as usize];
                *count = count.saturating_add(1);
            }
            self.writes = self.writes.saturating_add(1);
        }
        if self.sampling > 1 {
            self.check(lpn, elapsed / self.unit, pages);
        }
        elapsed >= self.epoch()
    }

    fn check(&mut self, lpn: Lpn, unit: u64, pages: &mut [u8]) {
        let every = self.units / (CHECKS + 1);
        if unit == 0 || !unit.is_multiple_of(every) || unit > CHECKS * every {
            return;
        }
        if self.checked != unit {
            self.checked = unit;
            self.checks = self.checks.wrapping_add(1);
            if self.checks.is_multiple_of(u64::from(CHECKS_TOLD_APART)) {
                pages.iter_mut().for_each(|page| *page &= !CHECK);
            }
        }
        let (page, check) =
            (&mut pages[lpn.index()], self.checks as u8 % CHECKS_TOLD_APART * CHECK_ONE + CHECK_ONE);
        self.repeats = self.repeats.saturating_add(u64::from(*page & CHECK == check));
        *page = *page & !CHECK | check;
    }

    /// Begin an epoch.
    pub(super) fn begin(&mut self, now: u64) {
        self.begin = now;
        self.times.fill(0);
        self.counts.fill(0);
        (self.writes, self.repeats, self.checked) = (0, 0, 0);
    }

    /// The distribution, as shares of all writes. An epoch holds an interval of n of its N units only if it begins in the first N − n
    /// ones: the counts are raised accordingly.
    pub(super) fn ages(&self) -> Ages {
        let (units, mut writes) = (self.units as f64, self.writes as f64);
        let mut counts: Vec<f64> = (0_u32..)
            .zip(&self.counts)
            .map(|(n, &count)| count as f64 * units / (units - f64::from(n)))
            .collect();
        if self.sampling > 1 {
            let sampled = counts[0];
            counts[0] = self.repeats as f64 * units / CHECKS as f64 / f64::from(self.sampling);
            writes += counts[0] - sampled;
        }
        let all = counts.iter().sum::<f64>().max(writes).max(1.0);
        Ages::new(counts.iter().map(|count| count / all), 1.0 / UNITS as f64)
    }
}
