//! A mechanical disk: a seek time by distance, rotational latency, zones with more sectors on outer tracks, and a
//! buffer that reads ahead and answers writes before they are on the platter.
//!
//! C. Ruemmler & J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.

use super::buffer::Buffer;
use super::layout::{Layout, SectorAddress};
use super::{Direction, DiskCosts, DiskModel, DiskTransfer, SECTOR_BYTES, atlas10k};
use coflash_base::{Duration, Policy, Save, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Save)]
#[serde(rename_all = "kebab-case")]
pub enum Drive {
    /// Quantum Atlas 10K of 9.1 GB.
    #[default]
    Atlas10k,
}

coflash_base::config! {
    /// A drive and its options.
    #[derive(Eq, Save)]
    pub struct MechanicalConfig {
        /// The drive.
        pub drive: Drive,
        /// Whether a write is answered as soon as it is in the buffer.
        pub write_cache: bool = true,
        /// Whether the buffer keeps the sectors that pass the head.
        pub read_ahead: bool = true,
    }
}

/// The mechanical disk.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Mechanical {
    config: MechanicalConfig,
    layout: Layout,
    buffer: Buffer,
    cylinder: u32,
    head: u32,
    /// The time until which the arm is writing.
    arm_free: Time,
}

impl Policy for Mechanical {
    type Config = MechanicalConfig;
    const SUMMARY: &'static str =
        "Seek curve, rotation, zones, track buffer and write cache of a real drive.";
    const SOURCE: &'static str =
        "C. Ruemmler & J. Wilkes, IEEE Computer 27(3), 1994; parameters of the DiskSim project";
}

/// The pass of a head over the sectors of a transfer.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// The time at which the head is on the track.
    on_track: Time,
    /// The time at which the first sector comes.
    begin: Time,
    /// The time at which the last sector has passed.
    end: Time,
}

impl Mechanical {
    fn sector_ns(address: &SectorAddress) -> u64 {
        atlas10k::ROTATION_NS / u64::from(address.track_sectors)
    }

    /// The time at which a sector next comes under a head that is on its track at `at`.
    fn arrival(address: &SectorAddress, at: Time) -> Time {
        let angle = u64::from(address.angle) * atlas10k::ROTATION_NS / u64::from(address.track_sectors);
        let wait = (angle + atlas10k::ROTATION_NS - at.ns % atlas10k::ROTATION_NS) % atlas10k::ROTATION_NS;
        at + Duration { ns: wait }
    }

    /// Move the arm to a sector. A write waits until the head has settled.
    fn move_to(&mut self, address: &SectorAddress, direction: Direction, at: Time) -> Time {
        let seek = atlas10k::SEEKS.ns(address.cylinder.abs_diff(self.cylinder));
        let switch = if address.head == self.head { 0 } else { atlas10k::HEAD_SWITCH_NS };
        let settle = if direction == Direction::Write { atlas10k::WRITE_SETTLE_NS } else { 0 };
        (self.cylinder, self.head) = (address.cylinder, address.head);
        at + Duration { ns: seek.max(switch) + settle }
    }

    /// Move the head over all sectors of a transfer, track after track.
    fn pass(&mut self, transfer: &DiskTransfer, at: Time) -> Pass {
        let mut address = self.layout.address(transfer.first);
        let on_track = self.move_to(&address, transfer.direction, at);
        let begin = Self::arrival(&address, on_track);
        let (mut next, mut end) = (transfer.first, begin);
        loop {
            let on_this_track = u64::from(address.track_sectors - address.index).min(transfer.end() - next);
            end += Duration { ns: on_this_track * Self::sector_ns(&address) };
            next += on_this_track;
            if next == transfer.end() {
                return Pass { on_track, begin, end };
            }
            address = self.layout.address(next);
            // A write that goes on to the next track has settled by the time its first sector comes.
            let switched = self.move_to(&address, Direction::Read, end);
            end = Self::arrival(&address, switched);
        }
    }

    fn read(&mut self, transfer: &DiskTransfer, start: Time) -> Time {
        let bus = Duration { ns: atlas10k::BUS_SECTOR_NS } * transfer.sectors;
        let ready = start + Duration { ns: atlas10k::READ_OVERHEAD_NS };
        if let Some(buffered) = self.buffer.hit(transfer.first, transfer.end(), ready) {
            return (ready + bus).max(buffered + Duration { ns: atlas10k::BUS_SECTOR_NS });
        }
        // The seek overlaps the overhead of the command.
        let at = start.max(self.arm_free);
        self.buffer.stop(at);
        let first = self.layout.address(transfer.first);
        let pass = self.pass(transfer, at);
        let sector_ns = Self::sector_ns(&first);
        if self.config.read_ahead {
            // Sectors that pass before the first are buffered, too, and the head stays on the track after the last.
            let before = (pass.begin.since(pass.on_track).ns / sector_ns).min(u64::from(first.index));
            let kept = atlas10k::SEGMENT_SECTORS - transfer.sectors.min(atlas10k::SEGMENT_SECTORS);
            let before = before.min(kept);
            let end_max = (transfer.end() + kept - before).min(self.layout.sectors());
            let from = Time { ns: pass.begin.ns - before * sector_ns };
            self.buffer.read(transfer.first - before, end_max.max(transfer.end()), from, sector_ns);
        }
        // Sectors cross the bus as they come.
        let first_is_in = pass.begin + Duration { ns: sector_ns };
        (first_is_in + bus).max(pass.end + Duration { ns: atlas10k::BUS_SECTOR_NS }).max(ready + bus)
    }

    fn write(&mut self, transfer: &DiskTransfer, start: Time) -> Time {
        let bus = Duration { ns: atlas10k::BUS_SECTOR_NS } * transfer.sectors;
        // The buffer has room for one write.
        let start = start.max(self.arm_free);
        let received = start + Duration { ns: atlas10k::WRITE_OVERHEAD_NS } + bus;
        self.buffer.stop(start);
        let pass = self.pass(transfer, start);
        // If the bus has not delivered a sector in time, the platter makes another turn.
        let mut written = pass.end;
        while written < received {
            written += Duration { ns: atlas10k::ROTATION_NS };
        }
        self.arm_free = written;
        self.buffer.write(transfer.first, transfer.end(), received);
        if self.config.write_cache { received } else { written }
    }
}

impl DiskModel for Mechanical {
    fn new(config: &MechanicalConfig) -> Self {
        let Drive::Atlas10k = config.drive;
        Self {
            config: config.clone(),
            layout: Layout::new(atlas10k::ZONES, atlas10k::HEADS, atlas10k::CYLINDERS),
            buffer: Buffer::new(atlas10k::SEGMENTS),
            cylinder: 0,
            head: 0,
            arm_free: Time::ZERO,
        }
    }

    fn serve(&mut self, transfer: &DiskTransfer, start: Time) -> Time {
        match transfer.direction {
            Direction::Read => self.read(transfer, start),
            Direction::Write => self.write(transfer, start),
        }
    }

    fn sectors(&self) -> u64 {
        self.layout.sectors()
    }

    /// A seek over a third of the stroke and half a turn; a write also settles, since it reaches the platter in the
    /// end.
    fn costs(&self, page_bytes: u64) -> DiskCosts {
        let ns = atlas10k::SEEKS.ns(atlas10k::CYLINDERS / 3) + atlas10k::ROTATION_NS / 2;
        DiskCosts {
            read_positioning: Duration { ns: ns + atlas10k::READ_OVERHEAD_NS },
            write_positioning: Duration { ns: ns + atlas10k::WRITE_OVERHEAD_NS + atlas10k::WRITE_SETTLE_NS },
            bandwidth_bytes_per_s: SECTOR_BYTES * 1_000_000_000 / atlas10k::BUS_SECTOR_NS,
            page_bytes,
        }
    }

    fn position(&self, sector: u64) -> u64 {
        u64::from(self.layout.address(sector).cylinder)
    }
}
