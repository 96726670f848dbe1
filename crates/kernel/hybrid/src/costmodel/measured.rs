//! A cost model from measurements of the running hybrid instead of constants.
//!
//! It is ours, not the paper's. It differs from equations 3 to 6 in three ways, each measured during a
//! period:
//!
//! - **Disk time.** The paper assumes a page at a random address. Pages fetched in one transfer, and adjacent
//!   pages of a group, take less.
//! - **Cleaning.** Equation 3 assumes random invalidations. A cache that evicts pages in LRU order
//!   invalidates them in order, so a victim holds fewer valid pages: [`Cleaning`].
//! - **Waiting.** The paper adds up service times. Here disk and flash are queues, and the cost is the
//!   response time. Work without a waiting request (a page put into the read cache) costs the delay of other
//!   requests.

use super::{Demand, FlashCosts, Partition, least, least_within, victim_utilisation};
use crate::write_policy::WritePolicy;
use coflash_base::Save;

/// The highest utilisation of a queue in the model, since waiting times grow without bound towards 1.
const BUSY_MAX: f64 = 0.95;

/// The effective utilisation: the utilisation at which random updates would cost GC as much as measured. The
/// inverse of equation 3.
///
/// If u′ of a victim is copied, each page put into flash costs c = u′ / (1 − u′) copies; so u′ = c / (1 + c).
#[must_use]
pub fn effective_utilisation(copies_a_page: f64) -> f64 {
    let victim = copies_a_page / (1.0 + copies_a_page);
    if victim > 0.0 { ((victim - 1.0) / libm::log(victim)).min(1.0) } else { 0.0 }
}

/// A measurement of GC in a period.
#[derive(Clone, Copy, Debug, PartialEq, Save)]
struct Point {
    /// The share of valid pages in flash.
    u: f64,
    /// See [`effective_utilisation`].
    effective: f64,
    /// The number of further measurements until it is discarded.
    kept: u32,
}

/// The effective utilisation as a function of u, linear between measurements.
///
/// Outside of the measured range, the effective utilisation is the same share of u as at the nearest
/// measurement. It is not less than measured at a smaller u. Beyond the last measurement it is at most u
/// (equation 3), unless a higher value was measured. This is optimistic about untried sizes; the next
/// measurement corrects it. Without measurements the curve is u.
#[derive(Clone, Debug, Default, PartialEq, Save)]
pub struct Cleaning {
    /// Measurements, increasing in u and in the effective utilisation.
    measured: Vec<Point>,
}

impl Cleaning {
    /// The number of further measurements until one is discarded, since demand changes.
    const KEPT: u32 = 8;

    /// Whether nothing was measured yet.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.measured.is_empty()
    }

    /// Add a measurement at u. It replaces earlier ones within `step` of u, and contradictory ones.
    pub fn measure(&mut self, u: f64, copies_a_page: f64, step: f64) {
        let effective = effective_utilisation(copies_a_page);
        self.measured.retain_mut(|was| {
            was.kept -= 1;
            let in_order = if was.u < u { was.effective <= effective } else { was.effective >= effective };
            was.kept > 0 && in_order && (was.u - u).abs() >= step
        });
        let place = self.measured.partition_point(|was| was.u < u);
        self.measured.insert(place, Point { u, effective, kept: Self::KEPT });
    }

    /// The effective utilisation at u.
    #[must_use]
    pub fn at(&self, u: f64) -> f64 {
        let next = self.measured.partition_point(|point| point.u < u);
        let before = next.checked_sub(1).map(|before| self.measured[before]);
        match (before, self.measured.get(next)) {
            (None, None) => u,
            (None, Some(first)) => first.effective * u / first.u,
            (Some(last), None) => last.effective.max(u * (last.effective / last.u).min(1.0)),
            (Some(one), Some(other)) => {
                one.effective + (other.effective - one.effective) * (u - one.u) / (other.u - one.u)
            }
        }
    }
}

/// Measurements of a period.
#[derive(Clone, Debug, PartialEq, Save)]
pub struct Measured {
    /// Page requests to the caches per second.
    pub pages_per_s: f64,
    /// Disk time of a fetched page.
    pub fetched_page_ns: f64,
    /// Disk time of a page that is destaged or written through.
    pub destaged_page_ns: f64,
    /// The share of time that each disk serves transfers past the caches.
    pub past_the_cache: f64,
    /// The effective utilisation for GC.
    pub cleaning: Cleaning,
    /// The pages that GC need not copy since other memories have them, as a share of flash.
    pub spared: f64,
    /// Whether a write to a full write cache waits until a group is on the disk.
    pub writes_wait: bool,
    /// The time at which the disk gets a written page.
    pub write_policy: WritePolicy,
    /// The number of disks that share the load.
    pub disks: f64,
    /// The number of dies that share the load.
    pub dies: f64,
}

/// The response time of a service with processor sharing, on a server busy for this share of time.
fn with_wait(service_ns: f64, busy: f64) -> f64 {
    service_ns / (1.0 - busy.min(BUSY_MAX))
}

impl Measured {
    /// The mean response time of a page request, with a GC time of `gc_ns` per page put into flash.
    ///
    /// With m_R = IO_R (1 − H_R) pages fetched and m_W = IO_W (1 − H_W) destaged, p = m_R + IO_W (1 − h′H_W)
    /// pages are put into flash. The utilisation of the disks is ρ = λ (m_R d_R + m_W d_W), and a disk page
    /// takes d / (1 − ρ). GC frees a block at a time for N_P pages, a burst of N_P g. A request that arrives
    /// during the burst waits for its end, on average λ p g × N_P g / 2 (Pollaczek–Khinchine formula), over 1
    /// − ρ of the flash. With preemptive GC the wait is shorter. Under write-through every write goes to the
    /// disk and waits for it, and m_W is 0.
    #[must_use]
    pub fn response_ns(&self, flash: &FlashCosts, demand: &Demand, partition: Partition, gc_ns: f64) -> f64 {
        let page_read = flash.page_read.ns as f64;
        let page_program = flash.page_program.ns as f64;
        let write_hits = demand.write_hits.at(partition.write_share());
        let fetches = demand.reads * (1.0 - demand.read_hits.at(partition.read_share()));
        let reads = demand.reads - fetches + demand.writes * write_hits * demand.reads_of_write_hits;
        let writes = demand.writes * (1.0 - write_hits * demand.reads_of_write_hits);
        let puts = fetches + writes;
        let (destages, to_disk, writes_wait) = match self.write_policy {
            WritePolicy::WriteBack => {
                let destages = demand.writes * (1.0 - write_hits);
                (destages, destages, self.writes_wait)
            }
            WritePolicy::WriteThrough => (0.0, writes, true),
        };

        let a_disk = self.pages_per_s / 1e9 / self.disks;
        let disk_ns = fetches * self.fetched_page_ns + to_disk * self.destaged_page_ns;
        let disk_busy = self.past_the_cache + a_disk * disk_ns;

        let a_die = self.pages_per_s / 1e9 / self.dies;
        let flash_ns = (reads + destages) * page_read + puts * (page_program + gc_ns);
        let burst_ns = gc_ns * f64::from(flash.pages_per_block);
        let gc_wait_ns = with_wait(a_die * puts * gc_ns * burst_ns / 2.0, a_die * flash_ns);

        let answered_by_flash = reads * page_read + writes * (page_program + gc_ns);
        let waited_for_ns = if writes_wait { disk_ns } else { fetches * self.fetched_page_ns };
        answered_by_flash + (reads + writes) * gc_wait_ns + with_wait(waited_for_ns, disk_busy)
    }

    /// Algorithm 1 with this cost: equation 4's share of GC is that of the effective utilisation.
    ///
    /// # Panics
    /// If the step is not above 0, or no u is allowed.
    #[must_use]
    pub fn best(&self, flash: &FlashCosts, demand: &Demand, step: f64, caching_max: f64) -> Partition {
        least(step, caching_max, |caching| {
            let gc_ns = flash.gc_a_page_ns(victim_utilisation(self.cleaning.at(caching)));
            least_within(caching, step, |partition| self.response_ns(flash, demand, partition, gc_ns))
        })
    }
}

#[cfg(test)]
mod tests;
