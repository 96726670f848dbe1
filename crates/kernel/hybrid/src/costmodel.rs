//! The cost of a page request to a hybrid of flash and disk as a function of the partition of flash: equations 3 to 6
//! and Algorithm 1 of the paper.
//!
//! The legend:
//!
//! - `u`: caching space / flash. The rest, 1 − u, is over-provisioned space.
//! - `r`: read cache / caching space. The rest, 1 − r, is write cache.
//! - `u′`: valid pages / pages of the block that GC cleans: at worst u, on average [`victim_utilisation`].
//!
//! Results are fractional nanoseconds, since they are means.

mod measured;

pub use measured::{Cleaning, Measured, effective_utilisation};

use crate::write_policy::WritePolicy;
use coflash_base::{Duration, Save};
use coflash_media::disk::DiskCosts;
use coflash_media::{Geometry, Timing};

/// The costs of flash operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct FlashCosts {
    /// N_P, pages of a block.
    pub pages_per_block: u32,
    /// C_PROG, a page program.
    pub page_program: Duration,
    /// C_PR, a page read.
    pub page_read: Duration,
    /// C_CP, a page copy by GC.
    pub page_copy: Duration,
    /// C_E, a block erase.
    pub block_erase: Duration,
}

impl FlashCosts {
    /// Create the costs for a geometry and timing.
    #[must_use]
    pub fn new(geometry: &Geometry, timing: &Timing) -> Self {
        let &Timing { page_read, page_program, block_erase, sector_transfer, ecc_decode, copy_back, .. } =
            timing;
        let transfer = sector_transfer * (geometry.page_size.count / geometry.sector_size.count);
        let copy = page_read + page_program;
        Self {
            pages_per_block: geometry.pages_per_block,
            page_program: page_program + transfer,
            page_read: page_read + transfer + ecc_decode,
            page_copy: if copy_back { copy } else { copy + transfer * 2 + ecc_decode },
            block_erase,
        }
    }

    /// Equation 3 over the pages that it frees: the GC time per page put into flash, where GC copies this share of its victims.
    #[must_use]
    pub fn gc_a_page_ns(&self, copied: f64) -> f64 {
        let pages = f64::from(self.pages_per_block);
        let gc_ns = copied * pages * self.page_copy.ns as f64 + self.block_erase.ns as f64;
        gc_ns / ((1.0 - copied) * pages)
    }

    /// Equation 4: C_PW, programming a page with its share of GC under uniform updates, the mean case. Of its victims' valid pages
    /// GC is spared those that other memories have: `spared` is their share of flash. Infinite at u = 1 where that is 0.
    #[must_use]
    pub fn write_ns(&self, u: f64, spared: f64) -> f64 {
        let copied = victim_utilisation(u) * (1.0 - (spared / u).min(1.0));
        self.gc_a_page_ns(copied) + self.page_program.ns as f64
    }
}

/// U(u), the table of equation 3: the u′ that solves u = (u′ − 1) / ln u′, from 0 at u = 0 to 1 at u = 1.
///
/// J. Menon, "A performance comparison of RAID-5 and log-structured arrays", HPDC 1995. The paper uses a table;
/// bisection is fast enough for the few values needed.
///
/// # Panics
/// If u is outside 0 to 1.
#[must_use]
pub fn victim_utilisation(u: f64) -> f64 {
    assert!((0.0..=1.0).contains(&u), "u is {u}; 0 to 1 is allowed");
    if u == 0.0 || u == 1.0 {
        return u;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        // (x − 1) / ln x grows with x; log1p keeps its accuracy near 1, and at 0 it is 0.
        let value = if middle == 0.0 { 0.0 } else { (middle - 1.0) / libm::log1p(middle - 1.0) };
        if value < u { low = middle } else { high = middle }
    }
}

/// A hit-rate curve: the share of requests that hit a cache, by its size. It is linear between points one segment
/// apart, never falls, and is constant after the last point.
#[derive(Clone, Debug, PartialEq)]
pub struct HitCurve {
    /// The hit rates of no cache (0), one segment, two …
    hit_rates: Vec<f64>,
    /// The size of a segment as a share of flash.
    segment: f64,
}

impl HitCurve {
    /// Create a curve from the hit rates of caches of one, two … segments; `segment` is a share of flash.
    ///
    /// # Panics
    /// If rates fall or are outside 0 to 1, or if the segment is empty.
    #[must_use]
    pub fn new(hit_rates: impl IntoIterator<Item = f64>, segment: f64) -> Self {
        let hit_rates: Vec<_> = std::iter::once(0.0).chain(hit_rates).collect();
        assert!(hit_rates.is_sorted(), "hit rates fall: {hit_rates:?}");
        assert!(
            hit_rates.iter().all(|rate| (0.0..=1.0).contains(rate)),
            "hit rates outside 0 to 1: {hit_rates:?}"
        );
        assert!(segment > 0.0, "a segment is {segment} of flash; more than 0 is allowed");
        Self { hit_rates, segment }
    }

    /// The hit rate of a cache of this share of flash.
    #[must_use]
    pub fn at(&self, share: f64) -> f64 {
        let place = (share / self.segment).max(0.0);
        let last = self.hit_rates.len() - 1;
        let before = (place as usize).min(last);
        let after = (before + 1).min(last);
        let fraction = (place - before as f64).min(1.0);
        self.hit_rates[before] + (self.hit_rates[after] - self.hit_rates[before]) * fraction
    }
}

/// The demand on the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// IO_R, the share of page requests to the read cache: reads that do not hit the write cache.
    pub reads: f64,
    /// IO_W, the share of page requests to the write cache: writes, and reads that hit there.
    pub writes: f64,
    /// H_R, the share of `reads` that hit a read cache.
    pub read_hits: HitCurve,
    /// H_W, the share of `writes` that hit a write cache.
    pub write_hits: HitCurve,
    /// h′, the share of the write cache's hits that are reads.
    pub reads_of_write_hits: f64,
}

/// The costs of a hybrid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Costs {
    /// The costs of flash.
    pub flash: FlashCosts,
    /// The costs of a disk.
    pub disk: DiskCosts,
    /// The time at which the disk gets a written page.
    pub write_policy: WritePolicy,
}

/// One step, two …, up to `most`, with a tolerance for rounding.
fn steps(step: f64, most: f64) -> impl Iterator<Item = f64> {
    (1..).map(move |n| f64::from(n) * step).take_while(move |&at| at <= most + step * 1e-9)
}

/// A partition of flash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partition {
    /// u, caching space / flash.
    pub caching: f64,
    /// r, read cache / caching space.
    pub read: f64,
}

impl Partition {
    /// S_R / S_F, the read cache as a share of flash.
    #[must_use]
    pub fn read_share(self) -> f64 {
        self.caching * self.read
    }

    /// S_W / S_F, the write cache as a share of flash.
    #[must_use]
    pub fn write_share(self) -> f64 {
        self.caching * (1.0 - self.read)
    }
}

impl Costs {
    /// Equation 5: C_HR, a request to the read cache with hit rate `hit_rate`. `write_ns` is C_PW.
    #[must_use]
    pub fn read_ns(&self, hit_rate: f64, write_ns: f64) -> f64 {
        hit_rate * self.flash.page_read.ns as f64 + (1.0 - hit_rate) * (self.disk.read_ns() + write_ns)
    }

    /// C_HW, a request to the write cache: a miss destages a page to make room; a hit overwrites or, with probability
    /// h′, reads. `write_ns` is C_PW.
    ///
    /// Under write-through each write also goes to the disk, and nothing is destaged (section 4.2 mentions
    /// it, without an equation): then only reads gain from the write cache.
    #[must_use]
    pub fn write_ns(&self, hit_rate: f64, reads_of_hits: f64, write_ns: f64) -> f64 {
        let page_read = self.flash.page_read.ns as f64;
        let (destage, write_ns) = match self.write_policy {
            WritePolicy::WriteBack => (page_read + self.disk.write_ns(), write_ns),
            WritePolicy::WriteThrough => (0.0, self.disk.write_ns() + write_ns),
        };
        let hit = (1.0 - reads_of_hits) * write_ns + reads_of_hits * page_read;
        (1.0 - hit_rate) * (destage + write_ns) + hit_rate * hit
    }

    /// Equation 6: C_HY(u, r), the mean cost of a page request where a write of flash has this cost.
    fn divided_ns(&self, demand: &Demand, partition: Partition, write_ns: f64) -> f64 {
        let read = self.read_ns(demand.read_hits.at(partition.read_share()), write_ns);
        let hit_rate = demand.write_hits.at(partition.write_share());
        let write = self.write_ns(hit_rate, demand.reads_of_write_hits, write_ns);
        // A class without requests costs nothing, even if its cost would be infinite.
        let of = |cost: f64, share: f64| if share > 0.0 { cost * share } else { 0.0 };
        of(read, demand.reads) + of(write, demand.writes)
    }

    /// Algorithm 1: the partition of least cost, with u from `step` to below 1 and at most `caching_max`, r
    /// from 0 to 1, where GC is spared this share of flash. Ties go to the smallest cache, then to the smallest read cache.
    ///
    /// The paper uses the size of a segment as a share of flash as the step: this gives 16 × 17 partitions.
    ///
    /// # Panics
    /// If the step is not above 0, or no u is allowed.
    #[must_use]
    pub fn best(&self, demand: &Demand, spared: f64, step: f64, caching_max: f64) -> Partition {
        least(step, caching_max, |caching| self.least_within(demand, spared, caching, step))
    }

    /// The inner loop of Algorithm 1: the least cost for a given caching space, and its partition.
    pub(crate) fn least_within(&self, demand: &Demand, spared: f64, u: f64, step: f64) -> (f64, Partition) {
        let write_ns = self.flash.write_ns(u, spared);
        least_within(u, step, |partition| self.divided_ns(demand, partition, write_ns))
    }
}

/// The outer loop of Algorithm 1. `within` returns the least cost for a caching space, and its partition.
fn least(step: f64, caching_max: f64, within: impl Fn(f64) -> (f64, Partition)) -> Partition {
    assert!(step > 0.0 && step <= caching_max, "step {step}; above 0 and at most {caching_max} is allowed");
    let candidates = steps(step, caching_max).filter(|&u| u < 1.0 - step * 1e-9).map(within);
    candidates.reduce(lesser).expect("some u is allowed").1
}

fn least_within(caching: f64, step: f64, cost_ns: impl Fn(Partition) -> f64) -> (f64, Partition) {
    let candidates = std::iter::once(0.0).chain(steps(step, 1.0)).map(|read| {
        let partition = Partition { caching, read: f64::min(read, 1.0) };
        (cost_ns(partition), partition)
    });
    candidates.reduce(lesser).expect("r may be 0")
}

fn lesser(one: (f64, Partition), other: (f64, Partition)) -> (f64, Partition) {
    if other.0 < one.0 { other } else { one }
}

#[cfg(test)]
mod tests;
