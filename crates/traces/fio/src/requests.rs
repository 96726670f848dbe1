//! The requests of a job, in fio's order.
//!
//! A *pass* ends where no place is left: at the end of the range, or when its map of visited blocks is full. `loops`,
//! `io_size` beyond `size` and `time_based` add passes. With `randrepeat` each pass repeats the first.
//!
//! Cost: one or two draws a request; with a map of visited blocks a few words of it.

use super::job::{Job, OPS, READ, Seeding, Select, Settings, TRIM, WRITE};
use super::layout::{Layout, Places};
use super::random::{Foreseen, Rand, Use};
use crate::Result;
use coflash_base::{PlacementId, Seed, Time};
use coflash_workload::jobs::JobSource;
use coflash_workload::skewed::Rand32;
use coflash_workload::{Op, Request};

/// The requests of a [`Job`]; all arrive at time 0, since its pace depends on answers.
#[derive(Clone, Debug)]
pub struct JobRequests {
    job: Job,
    layout: Layout,
    draws: Draws,
    places: Places,
    /// By direction: where the latest request ended and began, relative to the device.
    last_end: [u64; 3],
    last_begin: [Option<u64>; 3],
    /// Requests by direction.
    issued: [u64; 3],
    /// The current direction of a mixed job, and its requests after which the next is drawn.
    direction: usize,
    direction_until: u64,
    until_draw: u32,
    after_flush: bool,
    /// Bytes by direction.
    bytes: [u64; 3],
    /// Bytes of this pass.
    in_pass: u64,
    passes_left: u64,
    /// Whether all requests are issued, a flush at the end included.
    has_ended: bool,
}

/// The random numbers of a job, by use.
#[derive(Clone, Debug)]
struct Draws {
    sizes: [Rand; 3],
    mix: Rand32,
    zone: Rand32,
    placement: Rand32,
    place: Foreseen,
    /// Whether a request is random or sequential.
    order: [Rand32; 3],
}

impl Draws {
    fn new(job: &Job, Layout { seeds, is_long, .. }: &Layout) -> Self {
        let size = |purpose| Rand::new(seeds.for_purpose(purpose), *is_long);
        let trims = if job.settings.kind.is_trim_write() { Use::WriteSize } else { Use::TrimSize };
        let order = Rand32::new(seeds.for_purpose(Use::Sequential));
        Self {
            sizes: [size(Use::ReadSize), size(Use::WriteSize), size(trims)],
            mix: Rand32::new(seeds.for_purpose(Use::Mix)),
            zone: Rand32::new(seeds.for_purpose(Use::Zone)),
            placement: Rand32::new(seeds.for_purpose(Use::Placement)),
            place: Foreseen::new(size(Use::Place)),
            order: [order.clone(), order.clone(), order],
        }
    }
}

impl JobRequests {
    /// Lay out a job on a device; `seed` is the seed of the scenario, for `randrepeat=0`.
    ///
    /// # Errors
    /// A range beyond the device, or too small for the job's requests; a zone beyond the range; more blocks than the
    /// generator reaches, or a map of visited blocks may have.
    pub fn new(job: &Job, device_bytes: u64, seed: Seed) -> Result<Self> {
        let layout = Layout::new(job, device_bytes, seed)?;
        Ok(Self {
            draws: Draws::new(job, &layout),
            places: layout.places(job)?,
            last_end: [layout.offset; 3],
            layout,
            last_begin: [None; 3],
            issued: [0; 3],
            direction: READ,
            direction_until: 0,
            until_draw: 1,
            after_flush: false,
            bytes: [0; 3],
            in_pass: 0,
            passes_left: job.settings.loops,
            has_ended: false,
            job: job.clone(),
        })
    }

    /// Bytes towards the end of the job.
    fn counted(&self) -> u64 {
        let Self { bytes, job, .. } = self;
        match job.settings.kind.ops {
            [true, true, _] => bytes[READ] + bytes[WRITE],
            [_, true, _] => bytes[WRITE],
            [true, ..] => bytes[READ],
            _ => bytes[TRIM],
        }
    }

    fn has_all_requests(&self) -> bool {
        let most = self.job.settings.requests_max.map(|most| most.saturating_mul(self.job.settings.loops));
        let doubled = if self.job.settings.kind.is_trim_write() { 2 } else { 1 };
        most.is_some_and(|most| self.issued.iter().sum::<u64>() >= most.saturating_mul(doubled))
    }

    /// Whether the pass has a next request.
    #[inline]
    fn goes_on(&self) -> bool {
        self.job.settings.time_based
            || (self.counted() < self.layout.job_bytes.saturating_mul(self.job.settings.loops)
                && !self.has_all_requests())
    }

    /// End a pass; begin the next one if there is one.
    fn turn(&mut self) -> bool {
        if self.in_pass == 0 {
            return false;
        }
        self.passes_left = self.passes_left.saturating_sub(1);
        let goes_on = self.job.settings.time_based
            || self.passes_left > 0
            || (!self.has_all_requests()
                && self.job.settings.io_size.is_some()
                && self.layout.job_bytes.saturating_sub(self.bytes.iter().sum()) >= self.job.most_size());
        if goes_on {
            self.in_pass = 0;
            self.direction_until = 0;
            // As in fio: a pass that ends with a flush has another one at the head of the next.
            self.after_flush = false;
            self.rewind();
            if matches!(self.job.seeding, Seeding::Repeat { .. }) {
                self.draws = Draws::new(&self.job, &self.layout);
            }
        }
        goes_on
    }

    /// Forget where the job has been.
    fn rewind(&mut self) {
        self.last_end = [self.layout.offset; 3];
        self.last_begin = [None; 3];
        match &mut self.places {
            Places::Uniform(Some(map)) => map.clear(),
            Places::Lfsr(lfsr) => lfsr.reset(),
            Places::Uniform(None) | Places::Skewed(_) => {}
        }
    }

    #[inline]
    fn draw_in_pass(&mut self) -> Option<Request> {
        let flush_every = self.job.flush_every;
        if flush_every > 0
            && !self.after_flush
            && self.issued[WRITE] > 0
            && self.issued[WRITE].is_multiple_of(flush_every)
            && self.job.settings.kind.ops[WRITE]
            && !self.job.settings.kind.is_trim_write()
        {
            self.after_flush = true;
            return Some(FLUSH);
        }
        let ddir = self.draw_direction();
        let (offset, is_random, may_overlap) = self.draw_place(ddir)?;
        if offset >= self.layout.room || offset + self.layout.offset >= self.layout.device_bytes {
            return None;
        }
        if self.job.settings.kind.is_trim_write()
            && self.job.settings.kind.random
            && ddir == TRIM
            && self.last_begin[TRIM] == Some(offset + self.layout.offset)
        {
            // The same place twice: the write after this trim must not look as if it were done.
            self.last_begin[WRITE] = None;
        }
        let offset = offset + self.layout.offset;
        let mut length = self.draw_size(ddir, offset, is_random)?;
        if offset + length > self.layout.device_bytes {
            return None;
        }
        if let (Places::Uniform(Some(map)), false) = (&mut self.places, may_overlap) {
            let unit = self.job.sizes[ddir].least;
            let free =
                map.visit_run(quotient(offset - self.layout.offset, unit), quotient(length + unit - 1, unit));
            length = length.min(free * unit);
        }
        self.last_begin[ddir] = Some(offset);
        self.last_end[ddir] = offset + length;
        self.issued[ddir] += 1;
        self.bytes[ddir] += length;
        self.in_pass += length;
        self.after_flush = false;
        let placement = if ddir == WRITE { self.placement(offset) } else { None };
        Some(Request { arrival: Time::ZERO, offset, length, op: OPS[ddir], placement })
    }

    /// The placement hint of the write that has just been counted.
    fn placement(&mut self, offset: u64) -> Option<PlacementId> {
        let hints = self.job.placements.as_ref()?;
        match &self.job.select {
            Select::ByPlace(ranges) => {
                let found = ranges.iter().find(|(range, _)| range.contains(&offset));
                found.map_or(PlacementId::new(0), |(_, hint)| Some(*hint))
            }
            _ if hints.is_empty() => None,
            Select::InTurn => Some(hints[((self.issued[WRITE] - 1) % hints.len() as u64) as usize]),
            Select::AtRandom => Some(hints[self.draws.placement.below(hints.len())]),
        }
    }

    #[inline]
    fn draw_direction(&mut self) -> usize {
        let Settings { kind, read_percent, .. } = self.job.settings;
        if kind.is_mixed() {
            if self.issued[self.direction] >= self.direction_until {
                let next = if self.draws.mix.percent() <= read_percent { READ } else { WRITE };
                if next != self.direction {
                    let percent = if next == WRITE { 100 - read_percent } else { read_percent };
                    self.direction_until = self.issued[self.direction] * u64::from(percent) / 100;
                }
                self.direction = next;
            }
            self.direction
        } else if kind.is_trim_write() {
            if self.last_begin[WRITE] == self.last_begin[TRIM] { TRIM } else { WRITE }
        } else {
            (0..3).find(|&ddir| kind.ops[ddir]).unwrap_or(READ)
        }
    }

    /// Draw the place of a request in the job's range: (place, whether it is random, whether it may overlap others).
    #[inline]
    fn draw_place(&mut self, ddir: usize) -> Option<(u64, bool, bool)> {
        self.until_draw -= 1;
        let due = self.until_draw == 0;
        if due {
            self.until_draw = self.job.settings.sequence.every;
        }
        let kind = self.job.settings.kind;
        if kind.random && kind.is_trim_write() && ddir == WRITE {
            return Some((self.last_begin[TRIM]? - self.layout.offset, true, true));
        }
        if due {
            if !kind.random {
                return self.sequential(ddir).map(|place| (place, false, false));
            }
            let percent = self.job.settings.random_percent[ddir];
            if percent == 100 || self.draws.order[ddir].percent() <= percent {
                return self.random(ddir).map(|place| (place, true, false));
            }
            let place = self.sequential(ddir).or_else(|| self.random(ddir));
            return place.map(|place| (place, false, true));
        }
        let place = if self.job.settings.sequence.identical {
            Some(self.last_begin[ddir].map_or(0, |begin| begin - self.layout.offset))
        } else {
            self.sequential(ddir).or_else(|| self.random(ddir))
        };
        place.map(|place| (place, false, true))
    }

    /// The place behind the latest request of a direction; `None` at the end of the device.
    fn sequential(&mut self, ddir: usize) -> Option<u64> {
        let Layout { offset, room, device_bytes, .. } = self.layout;
        let step = self.job.settings.sequence.step;
        let last = &mut self.last_end[ddir];
        if *last >= offset + room && self.job.settings.time_based {
            *last = offset;
        }
        if *last >= device_bytes {
            return None;
        }
        if *last == offset && offset > 0 && step < 0 {
            *last = room;
        }
        let place = last.wrapping_sub(offset);
        if place == 0 || step == 0 {
            return Some(place);
        }
        let place = place.wrapping_add_signed(step);
        Some(if place < device_bytes {
            place
        } else if step > 0 {
            offset
        } else {
            room.wrapping_add_signed(step)
        })
    }

    /// Draw a random place; a job by time begins anew when its map is full.
    #[inline]
    fn random(&mut self, ddir: usize) -> Option<u64> {
        let block = self.random_block(ddir).or_else(|| {
            if !self.job.settings.time_based {
                return None;
            }
            self.rewind();
            self.random_block(ddir)
        })?;
        Some(block * self.job.align[ddir])
    }

    #[inline]
    fn random_block(&mut self, ddir: usize) -> Option<u64> {
        let (begin, count) = match &self.layout.zones[ddir][..] {
            [] => (0, self.layout.blocks[ddir]),
            zones => {
                let draw = self.draws.zone.percent();
                let zone = zones.iter().find(|zone| draw <= zone.draws_until).expect("zones cover all draws");
                (zone.begin, zone.end - zone.begin)
            }
        };
        match &mut self.places {
            Places::Skewed(skewed) => Some(skewed.draw()),
            Places::Lfsr(lfsr) => lfsr.draw().map(|block| block + begin),
            Places::Uniform(map) => {
                let [block, ahead] = self.draws.place.below(count);
                match map {
                    Some(map) => {
                        map.look_ahead(ahead);
                        map.free_near(block)
                    }
                    None => Some(block + begin),
                }
            }
        }
    }

    /// Draw the size of a request; `None` if none fits.
    #[inline]
    fn draw_size(&mut self, ddir: usize, offset: u64, is_random: bool) -> Option<u64> {
        let kind = self.job.settings.kind;
        if kind.random && kind.is_trim_write() && ddir == WRITE {
            return Some(self.last_end[TRIM] - self.last_begin[TRIM]?);
        }
        let ddir = match (self.job.settings.sizes_by_order, is_random) {
            (false, _) => ddir,
            (true, true) => WRITE,
            (true, false) => READ,
        };
        let sizes = &self.job.sizes[ddir];
        if sizes.least == sizes.most {
            return Some(sizes.least);
        }
        let left = (self.layout.offset + self.layout.room)
            .checked_sub(offset)
            .filter(|&left| left >= sizes.least)?;
        let rand = &mut self.draws.sizes[ddir];
        for _ in 0..SIZE_DRAWS_MAX {
            let draw = rand.draw();
            let mut size = if sizes.split.is_empty() {
                sizes.least + (sizes.most as f64 * (draw as f64 / (rand.max() as f64 + 1.0))) as u64
            } else {
                let (mut size, mut until) = (sizes.least, 0);
                for &(of_split, percent) in sizes.split.iter().filter(|(_, percent)| *percent > 0) {
                    size = of_split;
                    until += percent;
                    if draw / until <= rand.max() / 100 && size <= left {
                        break;
                    }
                }
                size
            };
            if !self.job.settings.unaligned {
                size -= size % sizes.least;
            }
            size = size.min(sizes.most);
            if size <= left {
                return Some(size);
            }
        }
        Some(sizes.least)
    }
}

/// A quotient; of a power of two, as most sizes are, without a division.
#[inline]
fn quotient(dividend: u64, divisor: u64) -> u64 {
    if divisor.is_power_of_two() { dividend >> divisor.trailing_zeros() } else { dividend / divisor }
}

/// fio draws a size until one fits, for ever if need be; here the least one is taken after as many draws.
const SIZE_DRAWS_MAX: u32 = 100_000;

/// A flush of the device.
const FLUSH: Request = Request { arrival: Time::ZERO, offset: 0, length: 0, op: Op::Flush, placement: None };

impl JobSource for JobRequests {
    fn draw(&mut self) -> Option<Request> {
        while !self.has_ended {
            if self.goes_on()
                && let Some(request) = self.draw_in_pass()
            {
                return Some(request);
            }
            if !self.turn() {
                self.has_ended = true;
                let Settings { flush_at_end, kind, .. } = self.job.settings;
                return (flush_at_end && kind.ops[WRITE]).then_some(FLUSH);
            }
        }
        None
    }

    fn progress(&self) -> Option<f64> {
        let of_job = self.layout.job_bytes.saturating_mul(self.job.settings.loops) as f64;
        (!self.job.settings.time_based).then(|| (self.counted() as f64 / of_job).min(1.0))
    }
}
