//! Spare space at the end of a run: the part that GC can still recover.

use coflash_base::measure::Report;
use coflash_ftl::Programs;

coflash_base::measures! {
    /// Invalid pages in full blocks, at the end.
    pub struct SpareSpace in "spare", "Spare space" {
        /// Invalid pages in full blocks, at the end.
        invalid_pages: u64, "invalid pages at the end", pages, untabled;
        /// Invalid pages in full blocks that were not erased in the measured part.
        frozen_pages: u64, "invalid pages at the end in blocks never erased", pages, untabled;
    }
}

/// The mean number of erases of cleaned blocks from which GC can be said to pass other blocks over.
const ROUNDS_MIN: f64 = 4.0;

impl SpareSpace {
    /// Count from the invalid pages and the erases of each block.
    pub(crate) fn count(invalid: impl Iterator<Item = u32>, erases: &[u32]) -> Self {
        let mut spare = Self::default();
        for (pages, &erases) in std::iter::zip(invalid, erases) {
            spare.invalid_pages += u64::from(pages);
            spare.frozen_pages += u64::from(if erases == 0 { pages } else { 0 });
        }
        spare
    }

    /// Whether GC copies much because it passes over blocks that hold most of the spare space.
    ///
    /// `report` has the counters of the run, `erases` the erases of each block.
    pub(crate) fn is_frozen(&self, report: &Report, erases: &[u32]) -> bool {
        let programs = report.get::<Programs>();
        let cleaned = erases.iter().filter(|&&erases| erases > 0).count();
        let rounds = f64::from(erases.iter().sum::<u32>()) / cleaned.max(1) as f64;
        programs.gc > programs.of_the_host()
            && 2 * self.frozen_pages > self.invalid_pages
            && rounds >= ROUNDS_MIN
    }
}
