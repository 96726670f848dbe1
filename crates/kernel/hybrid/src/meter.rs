//! Meter: the measured costs of disks and garbage collection in each period, for the measured cost model.

use crate::config::Destaging;
use crate::costmodel::{Cleaning, Costs, Measured};
use crate::counters::TierCounters;
use coflash_base::{Save, Time};
use coflash_ftl::{FtlCounters, Programs};

/// The fewest blocks cleaned, or pages moved, for a valid mean.
const ENOUGH: u64 = 16;

/// The use of the disks since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub(crate) struct DiskUse {
    /// The time of the report.
    pub at: Time,
    /// Disk time of fetches for the read cache, summed over disks.
    pub fetched_ns: u64,
    /// Disk time of groups, and of pages written through.
    pub destaged_ns: u64,
    /// Disk time of transfers past the caches.
    pub past_ns: u64,
    /// The number of disks.
    pub disks: u32,
}

/// The counts at the end of the last period.
#[derive(Clone, Copy, Debug, Default, Save)]
struct Counted {
    disks: DiskUse,
    page_requests: u64,
    fetched: u64,
    destaged: u64,
    puts: u64,
    copies: u64,
    drops: u64,
    erases: u64,
}

/// The meter.
#[derive(Clone, Debug, Save)]
pub(crate) struct Meter {
    /// The use of the disks until now, updated before the end of the last request of a period.
    pub(crate) disks: DiskUse,
    before: Counted,
    /// The number of cached pages, summed over the requests of this period, and the number of these requests.
    cached_pages: u64,
    requests: u64,
    measured: Measured,
}

impl Meter {
    /// Create a meter that reports the constants until there are measurements.
    pub(crate) fn new(costs: &Costs, dies: u32, destaging: Destaging) -> Self {
        let measured = Measured {
            pages_per_s: 0.0,
            fetched_page_ns: costs.disk.read_ns(),
            destaged_page_ns: costs.disk.write_ns(),
            past_the_cache: 0.0,
            cleaning: Cleaning::default(),
            spared: 0.0,
            writes_wait: destaging == Destaging::Foreground,
            write_policy: costs.write_policy,
            disks: 1.0,
            dies: f64::from(dies),
        };
        Self { disks: DiskUse::default(), before: Counted::default(), cached_pages: 0, requests: 0, measured }
    }

    /// Count a request, given the number of cached pages.
    #[inline]
    pub(crate) fn tick(&mut self, cached_pages: u32) {
        self.cached_pages += u64::from(cached_pages);
        self.requests += 1;
    }

    /// End a period. Returns the measurements so far. `step` is a segment as a share of flash.
    pub(crate) fn end_period(
        &mut self,
        tier: &TierCounters,
        (flash, programs): (&FtlCounters, &Programs),
        flash_pages: u32,
        step: f64,
    ) -> &Measured {
        let disks = self.disks;
        let now = Counted {
            disks,
            page_requests: tier.page_requests(),
            fetched: tier.read_misses_pages,
            destaged: tier.destages_pages + tier.written_through_pages,
            puts: programs.host + programs.evict,
            copies: programs.gc,
            drops: flash.gc_drops_pages,
            erases: flash.erases_blocks,
        };
        let before = std::mem::replace(&mut self.before, now);
        let mean = |time_ns: u64, pages: u64, was: f64| {
            if pages >= ENOUGH { time_ns as f64 / pages as f64 } else { was }
        };
        let measured = &mut self.measured;
        let (fetched, destaged) = (now.fetched - before.fetched, now.destaged - before.destaged);
        measured.fetched_page_ns =
            mean(disks.fetched_ns - before.disks.fetched_ns, fetched, measured.fetched_page_ns);
        measured.destaged_page_ns =
            mean(disks.destaged_ns - before.disks.destaged_ns, destaged, measured.destaged_page_ns);
        measured.disks = f64::from(disks.disks.max(1));
        let time_ns = disks.at.since(before.disks.at).ns as f64;
        if time_ns > 0.0 {
            measured.pages_per_s = (now.page_requests - before.page_requests) as f64 / time_ns * 1e9;
            measured.past_the_cache =
                (disks.past_ns - before.disks.past_ns) as f64 / time_ns / measured.disks;
        }
        let (puts, erases) = (now.puts - before.puts, now.erases - before.erases);
        let u = self.cached_pages as f64 / self.requests.max(1) as f64 / f64::from(flash_pages);
        let (copies, drops) = (now.copies - before.copies, now.drops - before.drops);
        if erases >= ENOUGH && puts >= ENOUGH && u < 1.0 {
            measured.cleaning.measure(u, copies as f64 / puts as f64, step);
            measured.spared = u * drops as f64 / (copies + drops).max(1) as f64;
        }
        (self.cached_pages, self.requests) = (0, 0);
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costmodel::FlashCosts;
    use crate::write_policy::WritePolicy;
    use coflash_base::Duration;
    use coflash_media::disk::DiskCosts;

    fn costs() -> Costs {
        let some = Duration { ns: 1000 };
        let flash = FlashCosts {
            pages_per_block: 64,
            page_program: some,
            page_read: some,
            page_copy: some,
            block_erase: some,
        };
        let disk = DiskCosts {
            read_positioning: Duration { ns: 4_000_000 },
            write_positioning: Duration { ns: 5_000_000 },
            bandwidth_bytes_per_s: 4_096_000_000,
            page_bytes: 4096,
        };
        Costs { flash, disk, write_policy: WritePolicy::WriteBack }
    }

    fn ftl(puts: u64, copies: u64, erases_blocks: u64) -> (FtlCounters, Programs) {
        let programs = Programs { host: puts / 4, evict: puts - puts / 4, gc: copies, ..Programs::default() };
        (FtlCounters { erases_blocks, ..FtlCounters::default() }, programs)
    }

    fn end_period(
        meter: &mut Meter,
        tier: &TierCounters,
        (flash, programs): (FtlCounters, Programs),
    ) -> Measured {
        meter.end_period(tier, (&flash, &programs), 1000, 0.1).clone()
    }

    #[test]
    fn means_are_those_of_the_period_and_what_was_not_seen_stays() {
        let mut meter = Meter::new(&costs(), 4, Destaging::Background);
        let mut tier =
            TierCounters { read_misses_pages: 100, write_hits_pages: 900, ..TierCounters::default() };
        let at = |seconds: u64| Time { ns: seconds * 1_000_000_000 };
        meter.disks = DiskUse { at: at(10), fetched_ns: 250_000_000, destaged_ns: 0, past_ns: 0, disks: 3 };
        meter.tick(500);
        let first = end_period(&mut meter, &tier, ftl(1000, 0, 0));
        assert_eq!((first.pages_per_s, first.fetched_page_ns), (100.0, 2_500_000.0));
        assert_eq!(first.destaged_page_ns, 5_001_000.0, "nothing was destaged: the constant");
        assert!(first.cleaning.is_unknown(), "no block was cleaned");
        assert_eq!((first.disks, first.dies, first.writes_wait), (3.0, 4.0, false));

        (tier.write_misses_pages, tier.destages_pages) = (50, 200);
        let disks = DiskUse {
            at: at(15),
            fetched_ns: 250_000_000,
            destaged_ns: 300_000_000,
            past_ns: 1_500_000_000,
            disks: 3,
        };
        meter.disks = disks;
        meter.tick(300);
        meter.tick(500);
        let (mut flash, programs) = ftl(1400, 100, 40);
        flash.gc_drops_pages = 25;
        let second = end_period(&mut meter, &tier, (flash, programs));
        assert_eq!(second.pages_per_s, 10.0);
        assert_eq!(second.fetched_page_ns, 2_500_000.0, "nothing was fetched: as before");
        assert_eq!(second.destaged_page_ns, 1_500_000.0);
        assert!((second.past_the_cache - 0.1).abs() < 1e-12);
        let mut cleaning = Cleaning::default();
        cleaning.measure(0.4, 0.25, 0.1);
        assert_eq!(second.cleaning, cleaning, "100 copies for 400 pages, with 400 of 1000 cached");
        assert!(
            (second.spared - 0.08).abs() < 1e-12,
            "25 of 125 valid pages of victims were dropped: of 40 % cached"
        );

        (tier.destages_pages, tier.read_misses_pages) = (220, 150);
        meter.disks = DiskUse { at: at(16), fetched_ns: 300_000_000, destaged_ns: 320_000_000, ..disks };
        let third = end_period(&mut meter, &tier, (flash, programs));
        assert_eq!(
            (third.fetched_page_ns, third.destaged_page_ns),
            (1_000_000.0, 1_000_000.0),
            "of this period only"
        );
        assert_eq!((third.pages_per_s, third.past_the_cache), (50.0, 0.0));
    }
}
