//! The page accesses of a trace, kept for the fit.
//!
//! All are kept, 8 bytes each, up to 2^23. Beyond, only those to half of the address regions of 1 MiB are kept, then to a
//! quarter, and so on, and counts are multiplied.

use crate::info::mix;
use crate::numbers::SECTOR_BYTES;
use coflash_workload::Request;

/// The most accesses that are kept.
const ACCESSES_MAX: usize = 1 << 23;
const REGION_BYTES: u64 = 1 << 20;
/// The sum of the weights in a configuration.
const WEIGHTS_SUM: f64 = 1e5;

/// A page access: the page, the operation, and whether a request begins with it.
#[derive(Clone, Copy)]
pub(super) struct Access(u64);

impl Access {
    pub(super) fn page(self) -> u64 {
        self.0 >> 3
    }

    pub(super) fn op(self) -> usize {
        (self.0 >> 1 & 3) as usize
    }

    pub(super) fn is_first(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The accesses of a trace.
pub(super) struct Accesses {
    pub(super) page_bytes: u64,
    pub(super) kept: Vec<Access>,
    /// One region in 2^this is kept.
    pub(super) sampled_log2: u32,
    /// Requests by the sector of their page in which they begin.
    sectors: Vec<u64>,
}

impl Accesses {
    pub(super) fn new(page_bytes: u64) -> Self {
        let sectors = vec![0; (page_bytes / SECTOR_BYTES) as usize];
        Self { page_bytes, kept: Vec::new(), sampled_log2: 0, sectors }
    }

    /// Add a read, a write or a trim of the pages from `first` to `last`.
    pub(super) fn add(&mut self, request: &Request, first: u64, last: u64) {
        self.sectors[(request.offset % self.page_bytes / SECTOR_BYTES) as usize] += 1;
        let op = request.op as u64;
        for page in first..=last {
            if self.is_kept(page) {
                if self.kept.len() == ACCESSES_MAX {
                    self.sampled_log2 += 1;
                    let kept = std::mem::take(&mut self.kept);
                    self.kept = kept.into_iter().filter(|access| self.is_kept(access.page())).collect();
                }
                self.kept.push(Access(page << 3 | op << 1 | u64::from(page == first)));
            }
        }
    }

    fn is_kept(&self, page: u64) -> bool {
        mix(page * self.page_bytes / REGION_BYTES).leading_zeros() >= self.sampled_log2
    }

    /// The previous and the next access of the same page, for each.
    pub(super) fn neighbours(&self) -> (Vec<Option<u32>>, Vec<Option<u32>>) {
        let mut by_page: Vec<u32> = (0..self.kept.len() as u32).collect();
        by_page.sort_unstable_by_key(|&at| (self.kept[at as usize].page(), at));
        let (mut previous, mut next) = (vec![None; by_page.len()], vec![None; by_page.len()]);
        for pair in by_page.windows(2).map(|pair| [pair[0] as usize, pair[1] as usize]) {
            if self.kept[pair[0]].page() == self.kept[pair[1]].page() {
                previous[pair[1]] = Some(pair[0] as u32);
                next[pair[0]] = Some(pair[1] as u32);
            }
        }
        (previous, next)
    }

    /// The page accesses of the trace; an estimate if not all are kept.
    pub(super) fn count(&self) -> u64 {
        (self.kept.len() as u64) << self.sampled_log2
    }

    /// Weights of the alignment units in which requests begin.
    pub(super) fn offsets(&self, align: u64) -> Vec<u32> {
        let units = self.page_bytes / align;
        let at_least = u64::div_ceil(SECTOR_BYTES, align);
        let mut offsets = vec![0; units as usize];
        for (sector, &count) in self.sectors.iter().enumerate() {
            // A start between two units counts as one at the first.
            offsets[(sector as u64 * SECTOR_BYTES / align).min(units - at_least) as usize] += count;
        }
        let offsets = weights(&offsets);
        if offsets.len() == 1 { Vec::new() } else { offsets }
    }
}

/// Weights in proportion to counts, up to the last one above 0; a count above 0 has a weight above 0.
pub(super) fn weights(counts: &[u64]) -> Vec<u32> {
    let all = counts.iter().sum::<u64>() as f64;
    let end = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let weight = |&count: &u64| (count as f64 / all * WEIGHTS_SUM + 0.999) as u32;
    counts[..end].iter().map(weight).collect()
}
