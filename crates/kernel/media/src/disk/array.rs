//! An array of disks as one space of pages: concatenated or striped.

use super::{Answered, Direction, Disk, DiskConfig, DiskCosts, DiskTransfer, SECTOR_BYTES, Scheduler};
use coflash_base::tournament::{NONE, Tournament};
use coflash_base::{Bytes, Duration, Misfit, Save, Slab, Time};

coflash_base::choice! {
    /// The placement of pages on disks.
    #[derive(Copy, Eq)]
    pub enum ArrayLayout, default Volumes {
        /// Each disk holds a volume of its own: the first disk has the first pages, and so on.
        Volumes,
        /// Stripes of size `stripe` are distributed over the disks in turn.
        Striped {
            /// The size of a stripe on one disk, a whole number of pages.
            #[serde(default = "stripe")]
            stripe: Bytes,
        },
    }
}

fn stripe() -> Bytes {
    Bytes { count: 64 << 10 }
}

coflash_base::config! {
    /// The disks behind a cache.
    pub struct DisksConfig {
        /// Number of disks, at most 65536.
        pub count: u32 = 1,
        /// The model of each disk.
        pub model: DiskConfig,
        /// The order in which each disk serves its transfers.
        pub scheduler: Scheduler,
        /// The placement of pages on the disks.
        pub placement: ArrayLayout,
    }
}

impl DisksConfig {
    /// The number of sectors of all disks.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        self.model.build().sectors().saturating_mul(u64::from(self.count))
    }
}

coflash_base::measures! {
    /// Transfers of the disks.
    pub struct DiskCounters in "hybrid", "Disks" {
        /// Transfers from the disks.
        disk_read_transfers: u64, "disk reads";
        /// Transfers to the disks.
        disk_write_transfers: u64, "disk writes";
        /// Pages read from the disks.
        disk_reads_pages: u64, "pages read from disk", pages;
        /// Pages written to the disks.
        disk_writes_pages: u64, "pages written to disk", pages;
    }
}

/// The most disks: more than any array has.
const COUNT_MAX: u32 = 1 << 16;

/// A request split over disks or stripes, and the number of its pending parts.
#[derive(Clone, Copy, Debug, Save)]
struct Request {
    tag: u32,
    parts: u32,
    done: Time,
    /// The service time of the finished parts.
    service: Duration,
}

/// An array of disks. Pages are numbered across all disks.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Disks {
    disks: Box<[Disk]>,
    /// The next event of each disk, with the number of the disk.
    events: Tournament,
    /// The pages of a stripe, if there are any.
    pages_per_stripe: Option<u64>,
    pages_per_disk: u64,
    sectors_per_page: u64,
    requests: Slab<Request>,
    counters: DiskCounters,
}

impl Disks {
    /// Create idle disks for pages of `page_bytes` bytes.
    ///
    /// # Errors
    /// The first value that does not fit, with its key in the table of disks.
    pub fn new(config: &DisksConfig, page_bytes: u64) -> Result<Self, Misfit> {
        if !(1..=COUNT_MAX).contains(&config.count) {
            return Err(Misfit::out_of_range("count", config.count, &format!("from 1 to {COUNT_MAX}")));
        }
        if let DiskConfig::Mechanical(mechanical) = &config.model {
            mechanical.drive.check()?;
        }
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            let problem =
                format!("pages of {page_bytes} B are no whole number of sectors of {SECTOR_BYTES} B");
            return Err(Misfit::new("model", problem));
        }
        let pages_per_stripe = match config.placement {
            ArrayLayout::Volumes => None,
            ArrayLayout::Striped { stripe } => {
                if stripe.count == 0 || !stripe.count.is_multiple_of(page_bytes) {
                    let problem = format!("{stripe} is no whole number of pages of {page_bytes} B");
                    return Err(Misfit::new("placement.stripe", problem));
                }
                Some(stripe.count / page_bytes)
            }
        };
        let disks: Box<[_]> = (0..config.count).map(|_| Disk::new(&config.model, config.scheduler)).collect();
        let sectors_per_page = page_bytes / SECTOR_BYTES;
        let mut pages_per_disk = disks[0].mechanics.sectors() / sectors_per_page;
        pages_per_disk -= pages_per_disk % pages_per_stripe.unwrap_or(1);
        if pages_per_disk == 0 {
            return Err(Misfit::new("model", "the disk holds no page"));
        }
        Ok(Self {
            events: Tournament::new(config.count),
            disks,
            pages_per_stripe,
            pages_per_disk,
            sectors_per_page,
            requests: Slab::default(),
            counters: DiskCounters::default(),
        })
    }

    /// The number of pages of all disks.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages_per_disk.saturating_mul(self.disks.len() as u64)
    }

    /// The mean times of a page at a random address of one disk, for a cost model.
    #[must_use]
    pub fn costs(&self, page_bytes: u64) -> DiskCosts {
        self.disks[0].mechanics.costs(page_bytes)
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &DiskCounters {
        &self.counters
    }

    /// The number of disks.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.disks.len() as u32
    }

    /// The total service time of all disks.
    #[must_use]
    pub fn busy(&self) -> Duration {
        Duration { ns: self.disks.iter().map(Disk::busy_ns).fold(0, u64::saturating_add) }
    }

    /// Submit a request for `pages` pages from `first` on. [`step`](Self::step) reports its tag when all its
    /// parts are done.
    ///
    /// # Panics
    /// If it is empty or ends past the last page.
    pub fn submit(&mut self, direction: Direction, first: u64, pages: u32, tag: u32, now: Time) {
        assert!(
            pages > 0 && first + u64::from(pages) <= self.pages(),
            "pages {first} + {pages} are past the last"
        );
        match direction {
            Direction::Read => self.counters.disk_reads_pages += u64::from(pages),
            Direction::Write => self.counters.disk_writes_pages += u64::from(pages),
        }
        let id = self.requests.put(Request { tag, parts: 0, done: now, service: Duration::ZERO });
        let (mut next, end) = (first, first + u64::from(pages));
        // All parts are counted before any can finish: disks are stepped only after this.
        while next < end {
            let (disk, at, run) = self.locate(next);
            let pages = run.min(end - next);
            let transfer = DiskTransfer {
                direction,
                first: at * self.sectors_per_page,
                sectors: pages * self.sectors_per_page,
            };
            self.disks[disk].submit(transfer, id, now);
            self.note_event(disk);
            match direction {
                Direction::Read => self.counters.disk_read_transfers += 1,
                Direction::Write => self.counters.disk_write_transfers += 1,
            }
            self.requests.get_mut(id).parts += 1;
            next += pages;
        }
    }

    /// The disk of a page, its number there, and the number of contiguous pages there from it on.
    pub(super) fn locate(&self, page: u64) -> (usize, u64, u64) {
        let Some(pages_per_stripe) = self.pages_per_stripe else {
            let (disk, at) = (page / self.pages_per_disk, page % self.pages_per_disk);
            return (disk as usize, at, self.pages_per_disk - at);
        };
        let (stripe, within) = (page / pages_per_stripe, page % pages_per_stripe);
        let disks = self.disks.len() as u64;
        let at = stripe / disks * pages_per_stripe + within;
        // On a single disk stripes are contiguous.
        let run = if disks == 1 { self.pages() - page } else { pages_per_stripe - within };
        ((stripe % disks) as usize, at, run)
    }

    /// Note the next event of a disk. Events at the same time are in the order of disks.
    fn note_event(&mut self, disk: usize) {
        let event = self.disks[disk].next_event();
        self.events.set(disk as u32, event.map_or(NONE, |at| u128::from(at.ns) << 32 | disk as u128));
    }

    /// The time at which the next part of a request is done; `None` if all disks are idle.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let (_, event) = self.events.first();
        (event != NONE).then_some(Time { ns: (event >> 32) as u64 })
    }

    /// Advance time to the next event. Returns the request if this was its last part.
    pub fn step(&mut self) -> Option<Answered> {
        let disk = self.events.first().0 as usize;
        let Answered { tag: id, at, service } = self.disks[disk].step()?;
        self.note_event(disk);
        let request = self.requests.get_mut(id);
        request.parts -= 1;
        request.done = request.done.max(at);
        request.service = request.service + service;
        if request.parts > 0 {
            return None;
        }
        let Request { tag, done, service, .. } = self.requests.take(id);
        Some(Answered { tag, at: done, service })
    }

    /// Whether the disk of a page is idle.
    #[must_use]
    pub fn is_idle(&self, page: u64) -> bool {
        self.disks[self.locate(page).0].queued() == 0
    }
}
