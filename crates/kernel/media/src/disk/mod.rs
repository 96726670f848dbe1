//! Disks: service times, scheduling, and arrays of disks.
//!
//! A disk serves one transfer at a time and chooses the next one when that is done, so a disk has events:
//! [`Disk::submit`] adds transfers, and [`Disk::step`] advances time to the next.

mod array;
mod atlas10k;
mod buffer;
mod constant;
mod drive;
mod layout;
mod mechanical;
mod scheduler;
mod seek;
mod turns;

pub use array::{ArrayLayout, DiskCounters, Disks, DisksConfig};
pub use constant::{Constant, ConstantConfig};
pub use drive::{DataSheet, Drive};
pub use mechanical::{Mechanical, MechanicalConfig};
pub use scheduler::Scheduler;

use coflash_base::{Duration, Save, Time};
use scheduler::{Queue, Waiting};

/// The size of a sector in bytes.
pub const SECTOR_BYTES: u64 = 512;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// A transfer of neighbouring sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct DiskTransfer {
    /// The direction.
    pub direction: Direction,
    /// The first sector.
    pub first: u64,
    /// The number of sectors, at least one.
    pub sectors: u64,
}

impl DiskTransfer {
    /// The sector after the last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.sectors
    }
}

/// The service times of transfers. Transfers do not overlap: each begins at or after the end of the one before.
pub trait DiskModel: coflash_base::Policy {
    /// Create an idle disk.
    fn new(config: &Self::Config) -> Self;

    /// Serve a transfer that begins at `start`. Returns the time of its answer, when the next may begin.
    fn serve(&mut self, transfer: &DiskTransfer, start: Time) -> Time;

    /// The number of sectors.
    fn sectors(&self) -> u64;

    /// The mean time of a page at a random address, for a cost model.
    fn costs(&self, page_bytes: u64) -> DiskCosts;

    /// The position of a sector for a scheduler: the distance of the arm is proportional to the difference of two
    /// positions.
    fn position(&self, sector: u64) -> u64;
}

coflash_base::policy_family! { ($)
    /// The model of a disk.
    pub family Mechanics: Save, config DiskConfig, dispatch disk_dispatch, build disk_build {
        "constant" => Constant(constant::Constant),
        "mechanical" => Mechanical(mechanical::Mechanical),
    }
}

impl DiskConfig {
    /// Create an idle disk.
    #[must_use]
    pub fn build(&self) -> Mechanics {
        disk_build!(self, config => DiskModel::new(config))
    }
}

impl Mechanics {
    coflash_base::forward_to_variant! { disk_dispatch;
        /// Serve a transfer that begins at `start`. Returns the time of its answer, when the next may begin.
        pub fn serve(&mut self, transfer: &DiskTransfer, start: Time) -> Time;
        /// The number of sectors.
        pub fn sectors(&self) -> u64;
        /// The mean time of a page at a random address, for a cost model.
        pub fn costs(&self, page_bytes: u64) -> DiskCosts;
        fn position(&self, sector: u64) -> u64;
    }
}

/// The mean times of a page at a random address of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct DiskCosts {
    /// C_RPOS, seek and rotation before a read.
    pub read_positioning: Duration,
    /// C_WPOS, seek and rotation before a write.
    pub write_positioning: Duration,
    /// B, in bytes per second.
    pub bandwidth_bytes_per_s: u64,
    /// P, the size of a page.
    pub page_bytes: u64,
}

impl DiskCosts {
    /// C_DR = C_RPOS + P/B.
    #[must_use]
    pub fn read_ns(&self) -> f64 {
        self.read_positioning.ns as f64 + self.transfer_ns()
    }

    /// C_DW = C_WPOS + P/B.
    #[must_use]
    pub fn write_ns(&self) -> f64 {
        self.write_positioning.ns as f64 + self.transfer_ns()
    }

    fn transfer_ns(&self) -> f64 {
        self.page_bytes as f64 / self.bandwidth_bytes_per_s as f64 * 1e9
    }
}

/// An answered transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Answered {
    /// The tag given to [`Disk::submit`].
    pub tag: u32,
    /// The time of the answer.
    pub at: Time,
    /// The service time, summed over the parts of the transfer.
    pub service: Duration,
}

/// A disk and its waiting transfers.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Disk {
    mechanics: Mechanics,
    waiting: Queue,
    serving: Option<Answered>,
    /// The position of the arm, after the last transfer.
    position: u64,
    busy_ns: u64,
}

impl Disk {
    /// Create an idle disk.
    #[must_use]
    pub fn new(config: &DiskConfig, scheduler: Scheduler) -> Self {
        Self {
            mechanics: config.build(),
            waiting: Queue::new(scheduler),
            serving: None,
            position: 0,
            busy_ns: 0,
        }
    }

    /// Submit a transfer at `now`, the current time. [`step`](Self::step) reports its tag.
    pub fn submit(&mut self, transfer: DiskTransfer, tag: u32, now: Time) {
        assert!(transfer.sectors > 0, "a transfer of nothing");
        assert!(transfer.end() <= self.mechanics.sectors(), "{transfer:?} is past the end of the disk");
        let position = self.mechanics.position(transfer.first);
        self.waiting.push(Waiting { transfer, tag, position });
        if self.serving.is_none() {
            self.begin_next(now);
        }
    }

    /// The time of the current transfer's answer; `None` if the disk is idle.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.serving.map(|serving| serving.at)
    }

    /// Advance time to the next event and return it; `None` if the disk is idle.
    pub fn step(&mut self) -> Option<Answered> {
        let answered = self.serving.take()?;
        self.begin_next(answered.at);
        Some(answered)
    }

    /// The total service time.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// The number of transfers waiting or being served.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.waiting.len() + usize::from(self.serving.is_some())
    }

    fn begin_next(&mut self, now: Time) {
        let Some(Waiting { transfer, tag, .. }) = self.waiting.pop(self.position) else { return };
        let at = self.mechanics.serve(&transfer, now);
        let service = at.since(now);
        self.busy_ns += service;
        self.position = self.mechanics.position(transfer.end() - 1);
        self.serving = Some(Answered { tag, at, service });
    }
}

#[cfg(test)]
mod tests;
