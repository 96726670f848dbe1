//! A mechanical disk: a seek time by distance, rotational latency, zones with more sectors on outer tracks, and a
//! buffer that reads ahead and answers writes before they are on the platter.
//!
//! C. Ruemmler & J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.

use super::buffer::Buffer;
use super::drive::Drive;
use super::layout::{Parameters, SectorAddress};
use super::{Direction, DiskCosts, DiskModel, DiskTransfer, SECTOR_BYTES};
use coflash_base::{Duration, Policy, Save, Time};

coflash_base::config! {
    /// A drive and its options.
    #[derive(Eq)]
    pub struct MechanicalConfig {
        /// The drive.
        pub drive: Drive,
        /// Whether a write is answered as soon as it is in the buffer.
        pub write_cache: bool = true,
        /// Whether the buffer keeps the sectors that pass the head.
        pub read_ahead: bool = true,
    }
}

/// The segments of the track buffer.
const SEGMENTS: usize = 10;

/// The mechanical disk.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Mechanical {
    #[save(skip)]
    config: MechanicalConfig,
    #[save(skip)]
    drive: Parameters,
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
    fn sector_ns(&self, address: &SectorAddress) -> u64 {
        self.drive.rotation_ns / u64::from(address.track_sectors)
    }

    /// The time at which a sector next comes under a head that is on its track at `at`.
    fn arrival(&self, address: &SectorAddress, at: Time) -> Time {
        let rotation_ns = self.drive.rotation_ns;
        let angle = u64::from(address.angle) * rotation_ns / u64::from(address.track_sectors);
        let wait = (angle + rotation_ns - at.ns % rotation_ns) % rotation_ns;
        at + Duration { ns: wait }
    }

    /// Move the arm to a sector. A write waits until the head has settled.
    fn move_to(&mut self, address: &SectorAddress, direction: Direction, at: Time) -> Time {
        let seek = self.drive.seeks.ns(address.cylinder.abs_diff(self.cylinder));
        let switch = if address.head == self.head { 0 } else { self.drive.head_switch_ns };
        let settle = if direction == Direction::Write { self.drive.write_settle_ns } else { 0 };
        (self.cylinder, self.head) = (address.cylinder, address.head);
        at + Duration { ns: seek.max(switch) + settle }
    }

    /// Move the head over all sectors of a transfer, track after track.
    fn pass(&mut self, transfer: &DiskTransfer, at: Time) -> Pass {
        let mut address = self.drive.layout.address(transfer.first);
        let on_track = self.move_to(&address, transfer.direction, at);
        let begin = self.arrival(&address, on_track);
        let (mut next, mut end) = (transfer.first, begin);
        loop {
            let on_this_track = u64::from(address.track_sectors - address.index).min(transfer.end() - next);
            end += Duration { ns: on_this_track * self.sector_ns(&address) };
            next += on_this_track;
            if next == transfer.end() {
                return Pass { on_track, begin, end };
            }
            address = self.drive.layout.address(next);
            // A write that goes on to the next track has settled by the time its first sector comes.
            let switched = self.move_to(&address, Direction::Read, end);
            end = self.arrival(&address, switched);
        }
    }

    fn read(&mut self, transfer: &DiskTransfer, start: Time) -> Time {
        let bus = Duration { ns: self.drive.bus_sector_ns } * transfer.sectors;
        let ready = start + Duration { ns: self.drive.read_overhead_ns };
        if let Some(buffered) = self.buffer.hit(transfer.first, transfer.end(), ready) {
            return (ready + bus).max(buffered + Duration { ns: self.drive.bus_sector_ns });
        }
        // The seek overlaps the overhead of the command.
        let at = start.max(self.arm_free);
        self.buffer.stop(at);
        let first = self.drive.layout.address(transfer.first);
        let pass = self.pass(transfer, at);
        let sector_ns = self.sector_ns(&first);
        if self.config.read_ahead {
            // Sectors that pass before the first are buffered, too, and the head stays on the track after the last.
            let before = (pass.begin.since(pass.on_track).ns / sector_ns).min(u64::from(first.index));
            let kept = self.drive.segment_sectors - transfer.sectors.min(self.drive.segment_sectors);
            let before = before.min(kept);
            let end_max = (transfer.end() + kept - before).min(self.drive.layout.sectors);
            let from = Time { ns: pass.begin.ns - before * sector_ns };
            self.buffer.read(transfer.first - before, end_max.max(transfer.end()), from, sector_ns);
        }
        // Sectors cross the bus as they come.
        let first_is_in = pass.begin + Duration { ns: sector_ns };
        (first_is_in + bus).max(pass.end + Duration { ns: self.drive.bus_sector_ns }).max(ready + bus)
    }

    fn write(&mut self, transfer: &DiskTransfer, start: Time) -> Time {
        let bus = Duration { ns: self.drive.bus_sector_ns } * transfer.sectors;
        // The buffer has room for one write.
        let start = start.max(self.arm_free);
        let received = start + Duration { ns: self.drive.write_overhead_ns } + bus;
        self.buffer.stop(start);
        let pass = self.pass(transfer, start);
        // If the bus has not delivered a sector in time, the platter makes another turn.
        let mut written = pass.end;
        while written < received {
            written += Duration { ns: self.drive.rotation_ns };
        }
        self.arm_free = written;
        self.buffer.write(transfer.first, transfer.end(), received);
        if self.config.write_cache { received } else { written }
    }
}

impl DiskModel for Mechanical {
    fn new(config: &MechanicalConfig) -> Self {
        Self {
            config: config.clone(),
            drive: config.drive.parameters(),
            buffer: Buffer::new(SEGMENTS),
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
        self.drive.layout.sectors
    }

    /// A seek of mean length and half a turn; a write also settles, since it reaches the platter in the end.
    fn costs(&self, page_bytes: u64) -> DiskCosts {
        let ns = self.drive.mean_seek_ns + self.drive.rotation_ns / 2;
        DiskCosts {
            read_positioning: Duration { ns: ns + self.drive.read_overhead_ns },
            write_positioning: Duration {
                ns: ns + self.drive.write_overhead_ns + self.drive.write_settle_ns,
            },
            bandwidth_bytes_per_s: SECTOR_BYTES * 1_000_000_000 / self.drive.bus_sector_ns,
            page_bytes,
        }
    }

    fn position(&self, sector: u64) -> u64 {
        u64::from(self.drive.layout.address(sector).cylinder)
    }
}
