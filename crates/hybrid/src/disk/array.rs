//! Several disks as one space of pages: one after the other, or striped.

use super::{Answered, Direction, Disk, DiskConfig, SECTOR_BYTES, Scheduler, Transfer};
use crate::costmodel::DiskCosts;
use coflash_base::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How pages are spread over disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each disk holds a volume of its own: the first disk the first pages, and so on.
    #[default]
    Volumes,
    /// Stripes of `stripe` go round the disks.
    Striped,
}

/// The disks behind a cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DisksConfig {
    /// How many there are.
    pub count: u32,
    /// How long each takes.
    pub model: DiskConfig,
    /// In which order each serves its transfers.
    pub scheduler: Scheduler,
    /// How pages are spread over them.
    pub placement: Placement,
    /// `striped`: the size of a stripe on one disk; a whole number of pages.
    pub stripe: Bytes,
}

impl Default for DisksConfig {
    fn default() -> Self {
        Self {
            count: 1,
            model: DiskConfig::default(),
            scheduler: Scheduler::default(),
            placement: Placement::default(),
            stripe: Bytes { count: 64 << 10 },
        }
    }
}

impl DisksConfig {
    /// Sectors of all of them.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        self.model.build().sectors().saturating_mul(u64::from(self.count))
    }
}

/// What has been asked of all disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskTally {
    /// Transfers from a disk.
    pub reads: u64,
    /// Transfers to a disk.
    pub writes: u64,
    /// Pages from a disk.
    pub reads_pages: u64,
    /// Pages to a disk.
    pub writes_pages: u64,
}

/// A request that lies on more than one disk, or in more than one stripe, and how many of its parts are under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    tag: u32,
    parts: u32,
    done: Time,
    /// Of the parts that are done.
    service: Duration,
}

/// Several disks. Pages are numbered through all of them.
#[derive(Clone)]
pub struct Disks {
    disks: Vec<Disk>,
    placement: Placement,
    pages_per_stripe: u64,
    pages_per_disk: u64,
    sectors_per_page: u64,
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
    tally: DiskTally,
}

impl Disks {
    /// Disks at rest, for pages of `page_bytes`.
    ///
    /// # Errors
    /// What does not fit together, as (key of the table, problem).
    pub fn new(config: &DisksConfig, page_bytes: u64) -> Result<Self, (&'static str, String)> {
        if config.count == 0 {
            return Err(("count", "0 was given; at least 1 is allowed".to_owned()));
        }
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            let problem =
                format!("pages of {page_bytes} B are no whole number of sectors of {SECTOR_BYTES} B");
            return Err(("model", problem));
        }
        let pages_per_stripe = config.stripe.count / page_bytes;
        if config.placement == Placement::Striped
            && (pages_per_stripe == 0 || !config.stripe.count.is_multiple_of(page_bytes))
        {
            return Err((
                "stripe",
                format!("{} is no whole number of pages of {page_bytes} B", config.stripe),
            ));
        }
        let disks: Vec<_> = (0..config.count).map(|_| Disk::new(&config.model, config.scheduler)).collect();
        let sectors_per_page = page_bytes / SECTOR_BYTES;
        let mut pages_per_disk = disks[0].mechanics.sectors() / sectors_per_page;
        if config.placement == Placement::Striped {
            pages_per_disk -= pages_per_disk % pages_per_stripe;
        }
        if pages_per_disk == 0 {
            return Err(("model", "the disk holds no page".to_owned()));
        }
        Ok(Self {
            disks,
            placement: config.placement,
            pages_per_stripe: pages_per_stripe.max(1),
            pages_per_disk,
            sectors_per_page,
            requests: Vec::new(),
            free: Vec::new(),
            tally: DiskTally::default(),
        })
    }

    /// Pages of all disks.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages_per_disk * self.disks.len() as u64
    }

    /// What a page at a random place of one of them takes, as a cost model counts it.
    #[must_use]
    pub fn costs(&self, page_bytes: u64) -> DiskCosts {
        self.disks[0].mechanics.costs(page_bytes)
    }

    /// What has been asked of them so far.
    #[must_use]
    pub fn tally(&self) -> DiskTally {
        self.tally
    }

    /// For how long each has served.
    pub fn busy_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.disks.iter().map(Disk::busy_ns)
    }

    /// Takes a request for `pages` pages from `first` on; [`step`](Self::step) reports its tag when all of it is done.
    ///
    /// # Panics
    /// Where it is past the last page, or of nothing.
    pub fn submit(&mut self, direction: Direction, first: u64, pages: u32, tag: u32, now: Time) {
        assert!(
            pages > 0 && first + u64::from(pages) <= self.pages(),
            "pages {first} + {pages} are past the last"
        );
        match direction {
            Direction::Read => self.tally.reads_pages += u64::from(pages),
            Direction::Write => self.tally.writes_pages += u64::from(pages),
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.requests.push(None);
            self.requests.len() as u32 - 1
        });
        let (mut next, end) = (first, first + u64::from(pages));
        let mut parts = 0;
        // Parts are counted before any can be done: a disk is stepped only after this.
        while next < end {
            let (disk, at, run) = self.locate(next);
            let pages = run.min(end - next);
            let transfer = Transfer {
                direction,
                first: at * self.sectors_per_page,
                sectors: (pages * self.sectors_per_page) as u32,
            };
            self.disks[disk].submit(transfer, id, now);
            match direction {
                Direction::Read => self.tally.reads += 1,
                Direction::Write => self.tally.writes += 1,
            }
            parts += 1;
            next += pages;
        }
        self.requests[id as usize] = Some(Request { tag, parts, done: now, service: Duration::ZERO });
    }

    /// The disk of a page, its number there, and how many pages from it on lie there one after the other.
    pub(super) fn locate(&self, page: u64) -> (usize, u64, u64) {
        match self.placement {
            Placement::Volumes => {
                let (disk, at) = (page / self.pages_per_disk, page % self.pages_per_disk);
                (disk as usize, at, self.pages_per_disk - at)
            }
            Placement::Striped => {
                let (stripe, within) = (page / self.pages_per_stripe, page % self.pages_per_stripe);
                let disks = self.disks.len() as u64;
                let at = stripe / disks * self.pages_per_stripe + within;
                // On one disk, stripes follow one another.
                let run = if disks == 1 { self.pages() - page } else { self.pages_per_stripe - within };
                ((stripe % disks) as usize, at, run)
            }
        }
    }

    /// When the next part of a request will be done; none where all disks are idle.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.disks.iter().filter_map(Disk::next_event).min()
    }

    /// Passes time to the next event. Reports a request where that was its last part; of disks with an event at the same
    /// time, the first goes first.
    pub fn step(&mut self) -> Option<Answered> {
        let disk = self.disks.iter_mut().filter(|disk| disk.next_event().is_some());
        let Answered { tag: id, at, service } = disk.min_by_key(|disk| disk.next_event())?.step()?;
        let entry = &mut self.requests[id as usize];
        let request = entry.as_mut().expect("a part belongs to a request");
        request.parts -= 1;
        request.done = request.done.max(at);
        request.service = request.service + service;
        if request.parts > 0 {
            return None;
        }
        let Request { tag, done, service, .. } = *request;
        *entry = None;
        self.free.push(id);
        Some(Answered { tag, at: done, service })
    }

    /// Whether the disk of a page serves nothing.
    #[must_use]
    pub fn is_idle(&self, page: u64) -> bool {
        self.disks[self.locate(page).0].queued() == 0
    }

    /// Requests that are not done.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.requests.len() - self.free.len()
    }

    /// The bytes they hold on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.disks.iter().map(Disk::heap_bytes).sum::<usize>()
            + self.requests.capacity() * size_of::<Option<Request>>()
            + self.free.capacity() * size_of::<u32>()
    }
}
