//! Extent-based temperature identification: the address space is divided into extents, each with a decaying
//! count of its writes. Writes to hot extents, writes to other extents, and copies of GC go to three classes.
//!
//! Source: Shafaei, Desnoyers & Fitzpatrick, "Write amplification reduction in flash-based SSDs through
//! extent-based temperature identification", HotStorage 2016; written from the comparison by SepBIT's authors
//! (Wang et al., FAST 2022, and its repository). Our choice: pages written one after another at successive
//! addresses are one request.

use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite};
use coflash_base::policy::NoParameters;
use coflash_base::{Misfit, Policy, Save};

/// The maximal number of extents.
const EXTENTS_MAX: usize = 1024;
/// The number of requests after which all counts are halved, and neighbours with equal counts are merged.
const REQUESTS: u64 = 4096;
/// The least count of a hot extent, and the highest count.
const HOT: u32 = 4;
const COUNT_MAX: u32 = 15;
/// No extent.
const NONE: u32 = u32::MAX;

/// Extent-based temperature identification.
#[derive(Clone, Save)]
pub struct Eti {
    pages: u32,
    /// The first page of each extent in ascending order, then [`NONE`]; and the counts.
    firsts: Vec<u32>,
    counts: Vec<u32>,
    /// The current request: its first page, and the page after it. Then the number of requests since the
    /// counts were halved.
    request: [u32; 2],
    requests: u64,
}

impl Eti {
    fn extents(&self) -> usize {
        self.firsts.partition_point(|&first| first != NONE)
    }

    /// The extent of a page, for any state read from a file.
    fn extent(&self, page: u32) -> usize {
        self.firsts[..self.extents()].partition_point(|&first| first <= page).saturating_sub(1)
    }

    /// Begin an extent at a page, unless one begins there already or there is no room. Returns the extent of
    /// the page.
    fn cut(&mut self, page: u32) -> usize {
        let (extent, count) = (self.extent(page), self.extents());
        if self.firsts[extent] == page || count == EXTENTS_MAX || page >= self.pages {
            return extent;
        }
        self.firsts[extent + 1..=count].rotate_right(1);
        self.counts[extent + 1..=count].rotate_right(1);
        (self.firsts[extent + 1], self.counts[extent + 1]) = (page, self.counts[extent]);
        extent + 1
    }

    /// Count a request in the extents that it covers, after splitting the extents that it covers in part.
    fn count(&mut self, [first, end]: [u32; 2]) {
        if self.extents() + 2 <= EXTENTS_MAX {
            self.cut(first);
            self.cut(end);
        }
        for extent in self.extent(first)..self.extents() {
            let next = if extent + 1 < EXTENTS_MAX { self.firsts[extent + 1] } else { NONE };
            if self.firsts[extent] >= end {
                break;
            }
            let is_covered = self.firsts[extent] >= first && next.min(self.pages) <= end;
            let count = &mut self.counts[extent];
            *count = count.saturating_add(u32::from(is_covered)).min(COUNT_MAX);
        }
        self.requests = self.requests.wrapping_add(1);
        if self.requests.is_multiple_of(REQUESTS) {
            self.fade();
        }
    }

    /// Halve all counts, and merge neighbours that are both hot or both cold.
    fn fade(&mut self) {
        let mut kept = 0;
        for extent in 0..self.extents() {
            let count = self.counts[extent] / 2;
            let alike = |before: u32| before == count || before < HOT && count < HOT;
            if extent > 0 && alike(self.counts[kept - 1]) {
                continue;
            }
            (self.firsts[kept], self.counts[kept]) = (self.firsts[extent], count);
            kept += 1;
        }
        self.firsts[kept..].fill(NONE);
    }
}

impl Policy for Eti {
    type Config = NoParameters;
    const SUMMARY: &'static str =
        "Hot and cold extents of the address space by fading counts of writes; copies of GC apart.";
    const SOURCE: &'static str = "Shafaei, Desnoyers & Fitzpatrick 2016 (ETI, HotStorage)";
}

impl PlacementPolicy for Eti {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(_: &NoParameters) -> Result<Classes, Misfit> {
        Ok(Classes::Own { count: 3, gc: 2..3 })
    }

    fn new(_: &NoParameters, shape: Shape) -> Self {
        let mut firsts = vec![NONE; EXTENTS_MAX];
        firsts[0] = 0;
        Self { pages: shape.pages, firsts, counts: vec![0; EXTENTS_MAX], request: [0; 2], requests: 0 }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let lpn = page.lpn.get();
        let [first, end] = self.request;
        if lpn == end && first < end {
            self.request[1] = lpn + 1;
        } else {
            if first < end {
                self.count(self.request);
            }
            self.request = [lpn, lpn + 1];
        }
        Class::new(u32::from(self.counts[self.extent(lpn)] < HOT))
    }

    fn gc_write(&mut self, _: GcWrite) -> Class {
        Class::new(2)
    }
}
