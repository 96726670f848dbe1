//! Disks: how long a transfer takes, in which order transfers are served, and several of them side by side.
//!
//! A disk serves one transfer at a time. Which is next is decided when the one before is done, so a disk has events: it is
//! told of transfers by [`Disk::submit`], and time passes by [`Disk::advance`].

mod array;
mod atlas10k;
mod buffer;
mod constant;
mod layout;
mod mechanical;
mod scheduler;
mod seek;

pub use array::{DiskTally, Disks, DisksConfig, Placement};
pub use constant::{Constant, ConstantConfig};
pub use mechanical::{Drive, Mechanical, MechanicalConfig};
pub use scheduler::Scheduler;

use crate::costmodel::DiskCosts;
use coflash_base::{Duration, Time};
use std::collections::VecDeque;

/// Bytes of a disk's sector.
pub const SECTOR_BYTES: u64 = 512;

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// What a disk is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// The first sector.
    pub first: u64,
    /// How many; at least one.
    pub sectors: u32,
}

impl Transfer {
    /// The sector after the last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.sectors)
    }

    /// Whether the order of the two matters: they share a sector, and one writes.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        let writes = self.direction == Direction::Write || other.direction == Direction::Write;
        writes && self.first < other.end() && other.first < self.end()
    }
}

/// How long transfers take. It is asked for one at a time, each at or after the end of the one before.
pub trait DiskModel: coflash_base::Policy {
    /// A disk at rest.
    fn new(config: &Self::Config) -> Self;

    /// Serves a transfer that begins at `start`: when it is answered, and the next may begin.
    fn serve(&mut self, transfer: &Transfer, start: Time) -> Time;

    /// How many sectors it has.
    fn sectors(&self) -> u64;

    /// What a page at a random place takes, as a cost model counts it.
    fn costs(&self, page_bytes: u64) -> DiskCosts;

    /// Where a sector lies as a scheduler sees it: the arm travels in proportion to the difference of two places.
    fn place(&self, sector: u64) -> u64;

    /// The bytes it holds on the heap.
    fn heap_bytes(&self) -> usize {
        0
    }
}

coflash_base::policy_family! { ($)
    /// How long a disk takes.
    pub family Mechanics, config DiskConfig, dispatch disk_dispatch, build disk_build {
        "constant" => Constant(constant::Constant),
        "mechanical" => Mechanical(mechanical::Mechanical),
    }
}

impl DiskConfig {
    /// A disk at rest.
    #[must_use]
    pub fn build(&self) -> Mechanics {
        disk_build!(self, config => DiskModel::new(config))
    }
}

impl Mechanics {
    /// Serves a transfer that begins at `start`: when it is answered, and the next may begin.
    pub fn serve(&mut self, transfer: &Transfer, start: Time) -> Time {
        disk_dispatch!(self, disk => disk.serve(transfer, start))
    }

    /// How many sectors the disk has.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        disk_dispatch!(self, disk => disk.sectors())
    }

    fn costs(&self, page_bytes: u64) -> DiskCosts {
        disk_dispatch!(self, disk => disk.costs(page_bytes))
    }

    fn place(&self, sector: u64) -> u64 {
        disk_dispatch!(self, disk => disk.place(sector))
    }

    fn heap_bytes(&self) -> usize {
        disk_dispatch!(self, disk => disk.heap_bytes())
    }
}

/// A transfer that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What [`Disk::submit`] was given.
    pub tag: u32,
    /// When.
    pub at: Time,
    /// For how long it was served; of several parts, the sum.
    pub service: Duration,
}

/// A transfer that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    transfer: Transfer,
    tag: u32,
}

/// A disk and the transfers that wait for it.
#[derive(Clone)]
pub struct Disk {
    mechanics: Mechanics,
    scheduler: Scheduler,
    /// In the order in which they came.
    waiting: VecDeque<Waiting>,
    serving: Option<Answered>,
    /// Where the arm is: after the transfer served last.
    place: u64,
    /// Which way the elevator goes.
    upward: bool,
    busy_ns: u64,
}

impl Disk {
    /// A disk at rest.
    #[must_use]
    pub fn new(config: &DiskConfig, scheduler: Scheduler) -> Self {
        Self {
            mechanics: config.build(),
            scheduler,
            waiting: VecDeque::new(),
            serving: None,
            place: 0,
            upward: true,
            busy_ns: 0,
        }
    }

    /// Takes a transfer at `now`, up to which time has been passed; [`advance`](Self::advance) reports its tag.
    pub fn submit(&mut self, transfer: Transfer, tag: u32, now: Time) {
        assert!(transfer.sectors > 0, "a transfer of nothing");
        assert!(transfer.end() <= self.mechanics.sectors(), "{transfer:?} is past the end of the disk");
        self.waiting.push_back(Waiting { transfer, tag });
        if self.serving.is_none() {
            self.begin_next(now);
        }
    }

    /// When the transfer that is being served will be answered; none where the disk is idle.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.serving.map(|serving| serving.at)
    }

    /// Passes time to the next event and reports it; none where the disk is idle.
    pub fn step(&mut self) -> Option<Answered> {
        let answered = self.serving.take()?;
        self.begin_next(answered.at);
        Some(answered)
    }

    /// Passes time up to `until`, reporting what is answered on the way.
    pub fn advance(&mut self, until: Time, answered: &mut Vec<Answered>) {
        while self.next_event().is_some_and(|at| at <= until) {
            answered.extend(self.step());
        }
    }

    /// For how long it has served.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// The transfers that wait or are served.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.waiting.len() + usize::from(self.serving.is_some())
    }

    /// The bytes it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<Waiting>() + self.mechanics.heap_bytes()
    }

    fn begin_next(&mut self, now: Time) {
        let Some(next) = scheduler::choose(self) else { return };
        let Waiting { transfer, tag } =
            self.waiting.remove(next).expect("it was chosen among those that wait");
        let at = self.mechanics.serve(&transfer, now);
        let service = at.since(now);
        self.busy_ns += service.ns;
        self.place = self.mechanics.place(transfer.end() - 1);
        self.serving = Some(Answered { tag, at, service });
    }
}

#[cfg(test)]
mod tests;
