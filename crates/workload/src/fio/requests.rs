//! The requests of a job, in fio's order.
//!
//! A *pass* ends where no place is left: at the end of the range, or when its map of visited blocks is full. `loops`,
//! `io_size` beyond `size` and `time_based` add passes. With `randrepeat` each pass repeats the first.
//!
//! Cost: one or two draws a request; with a map of visited blocks a few words of it.

use super::job::{Distribution, Generator, Job, OPS, READ, Seeding, TRIM, WRITE};
use super::map::VisitedMap;
use super::place::{Skewed, Zone};
use super::random;
use super::random::{Lfsr, Rand, Rand32, Seeds, Use};
use super::value::Amount;
use crate::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use coflash_base::seed::Rng;
use coflash_base::{Bytes, PlacementId, Seed, Time};
use std::array;

/// The requests of a [`Job`]; all arrive at time 0, since its pace depends on answers.
#[derive(Clone, Debug)]
pub struct JobRequests {
    job: Job,
    /// The first byte of the job's range, and its bytes.
    offset: u64,
    room: u64,
    device_bytes: u64,
    /// Bytes of the whole job, without its loops.
    job_bytes: u64,
    seeds: Seeds,
    draws: Draws,
    places: Places,
    /// By direction: the blocks of the range.
    blocks: [u64; 3],
    zones: [Vec<Zone>; 3],
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
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    /// All requests are issued, but for a flush at the end.
    Flush,
    Reached,
}

/// The random numbers of a job, by use.
#[derive(Clone, Debug)]
struct Draws {
    sizes: [Rand; 3],
    mix: Rand32,
    zone: Rand32,
    place: Rand,
    /// The same numbers, [`AHEAD`] draws before.
    place_ahead: Rand,
    /// Whether a request is random or sequential.
    order: [Rand32; 3],
}

impl Draws {
    fn new(seeds: &Seeds, is_long: bool, trims_like_writes: bool) -> Self {
        let size = |purpose| Rand::new(seeds.of(purpose), is_long);
        let trims = if trims_like_writes { Use::WriteSize } else { Use::TrimSize };
        let order = Rand32::new(seeds.of(Use::Sequential));
        let place = Rand::new(seeds.of(Use::Place), is_long);
        let mut place_ahead = place.clone();
        (0..AHEAD).for_each(|_| _ = place_ahead.draw());
        Self {
            sizes: [size(Use::ReadSize), size(Use::WriteSize), size(trims)],
            mix: Rand32::new(seeds.of(Use::Mix)),
            zone: Rand32::new(seeds.of(Use::Zone)),
            place,
            place_ahead,
            order: [order.clone(), order.clone(), order],
        }
    }
}

/// Draws between the look at a block in the map of visited blocks and its visit: main memory takes as long.
const AHEAD: usize = 12;

/// Where random requests go.
#[derive(Clone, Debug)]
enum Places {
    /// Uniformly, with or without a map of visited blocks; by zones.
    Uniform(Option<VisitedMap>),
    Lfsr(Lfsr),
    Skewed(Skewed),
}

/// Bob Jenkins's hash of a name (as in fio): the seed of skewed distributions.
fn hash(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let [mut a, mut b, mut c] = [0x61c8_8647_u32.wrapping_add(bytes.len() as u32); 3];
    let mut rest = bytes;
    while rest.len() > 12 {
        // Of each word only the first byte.
        a = a.wrapping_add(rest[0].into());
        b = b.wrapping_add(rest[4].into());
        c = c.wrapping_add(rest[8].into());
        for (x, y, z, turn) in
            [(0, 1, 2, 4), (1, 2, 0, 6), (2, 0, 1, 8), (0, 1, 2, 16), (1, 2, 0, 19), (2, 0, 1, 4)]
        {
            let mut words = [a, b, c];
            words[x] = words[x].wrapping_sub(words[z]) ^ words[z].rotate_left(turn);
            words[z] = words[z].wrapping_add(words[y]);
            [a, b, c] = words;
        }
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let mut last = [0; 12];
    last[..rest.len()].copy_from_slice(rest);
    let word = |index: usize| u32::from_le_bytes(last[index..index + 4].try_into().expect("four bytes"));
    a = a.wrapping_add(word(0));
    b = b.wrapping_add(word(4));
    c = c.wrapping_add(word(8));
    let mut words = [a, b, c];
    for (x, y, turn) in [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)] {
        words[x] = (words[x] ^ words[y]).wrapping_sub(words[y].rotate_left(turn));
    }
    words[2]
}

/// An amount of a device in bytes.
fn of_device(amount: Amount, device_bytes: u64) -> u64 {
    match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => (u128::from(device_bytes) * u128::from(percent) / 100) as u64,
    }
}

impl JobRequests {
    /// Lay out a job on a device; `seed` is the seed of the scenario, for `randrepeat=0`.
    ///
    /// # Errors
    /// A range beyond the device, or too small for the job's requests.
    pub fn new(job: &Job, device_bytes: u64, seed: Seed) -> Result<Self, WorkloadError> {
        let refuse =
            |problem: String| Err(WorkloadError::trace(&job.place, format!("[{}]: {problem}", job.name)));
        let least = job.least_size();
        let is_share = |amount| matches!(amount, Amount::Percent(_));
        let increment = of_device(job.offset_increment, device_bytes).saturating_mul(job.clone.into());
        let mut offset = of_device(job.offset, device_bytes).saturating_add(increment);
        if offset < device_bytes && (is_share(job.offset) || is_share(job.offset_increment)) {
            offset = offset.next_multiple_of(job.offset_align.unwrap_or(least));
        }
        let device = Bytes { count: device_bytes };
        if offset >= device_bytes {
            let offset = Bytes { count: offset };
            return refuse(format!(
                "offset: it begins at {offset}; less than the device, {device}, is allowed"
            ));
        }
        let left = device_bytes - offset;
        let room = match job.size {
            None | Some(Amount::Percent(100) | Amount::Bytes(0)) => left,
            Some(Amount::Bytes(bytes)) => bytes,
            Some(share) => {
                let bytes = of_device(share, device_bytes).min(left);
                bytes - bytes % least
            }
        };
        if room > left || room < job.most_size() {
            let [room, left, least] = [room, left, job.most_size()].map(|count| Bytes { count });
            return refuse(format!(
                "size: it is {room}; from a request, {least}, to what is left of the device, {left}, is allowed"
            ));
        }
        let job_bytes = match job.io_size {
            None | Some(Amount::Bytes(0)) => room,
            Some(amount) => of_device(amount, room),
        };
        let repeated = matches!(job.seeding, Seeding::Repeat { .. });
        let mut seeds = match job.seeding {
            Seeding::Repeat { all: true } => Seeds::of_number(job.number),
            Seeding::Repeat { all: false } => Seeds::new(random::DEFAULT_SEED, job.number),
            Seeding::Given { seed, .. } => Seeds::new(seed, job.number),
            Seeding::OfScenario => Seeds::new(seed.stream("fio").next_u64(), job.number),
        };
        let repeats_places = repeated || matches!(job.seeding, Seeding::Given { repeat_places: true, .. });
        if repeats_places && job.kind.random {
            seeds.repeat_places(job.number);
        }
        let blocks = room / least;
        let is_long = match job.generator {
            Some(generator) => generator == Generator::Tausworthe64,
            // As fio, where 32 bits do not reach all blocks.
            None => job.kind.random && blocks > u32::MAX.into(),
        };
        let draws = Draws::new(&seeds, is_long, job.kind.is_trim_write());
        let skewed_seed = if repeated {
            hash(&job.file_name).wrapping_mul(job.number)
        } else {
            seeds.of(Use::Place) as u32
        };
        let nearest = room.div_ceil(job.sizes[READ].least.min(job.sizes[WRITE].least));
        let places = match job.distribution {
            Distribution::Zipf { theta, center } => {
                Places::Skewed(Skewed::zipf(theta, nearest, center, skewed_seed))
            }
            Distribution::Pareto { h, center } => {
                Places::Skewed(Skewed::pareto(h, nearest, center, skewed_seed))
            }
            Distribution::Normal { deviation, center } => {
                Places::Skewed(Skewed::normal(deviation, nearest, center, skewed_seed))
            }
            _ if job.generator == Some(Generator::Lfsr) && job.kind.random => {
                match Lfsr::new(blocks, seeds.of(Use::Place)) {
                    Some(lfsr) => Places::Lfsr(lfsr),
                    None => {
                        return refuse(
                            "random_generator=lfsr: it does not reach that many blocks".to_owned(),
                        );
                    }
                }
            }
            _ if job.has_map && job.kind.random && blocks > MAP_BLOCKS_MAX => {
                return refuse(format!(
                    "bs: {blocks} blocks would have a map of visited blocks; at most {MAP_BLOCKS_MAX}, or norandommap is allowed"
                ));
            }
            _ => Places::Uniform((job.has_map && job.kind.random).then(|| VisitedMap::new(blocks))),
        };
        let mut zones = [const { Vec::new() }; 3];
        for (ddir, zones) in zones.iter_mut().enumerate() {
            let unit = job.align[ddir];
            let places = room / unit;
            let (mut draws_until, mut size) = (0, 0);
            let mut zone = |draws: u32, more: u64, end: &dyn Fn(u64) -> (u64, u64)| {
                let (begin, length) = end(size);
                draws_until += draws;
                size += more;
                zones.push(Zone { draws_until, begin, end: begin + length });
            };
            match &job.distribution {
                Distribution::Zoned(given) => given[ddir].iter().for_each(|&(draws, percent)| {
                    let percent = u64::from(percent);
                    zone(draws, percent, &|from| (from * places / 100, places * percent / 100));
                }),
                Distribution::ZonedAbs(given) => given[ddir].iter().for_each(|&(draws, bytes)| {
                    zone(draws, bytes, &|from| (from / unit, (from + bytes) / unit - from / unit));
                }),
                _ => {}
            }
            if let Some(zone) = zones.iter().find(|zone| zone.end > places || zone.end == zone.begin) {
                let problem = format!(
                    "random_distribution: a zone of {} blocks ends at block {}; at least one block, and an end up to {places} \
                     is allowed",
                    zone.end - zone.begin,
                    zone.end
                );
                return refuse(problem);
            }
        }
        let blocks = array::from_fn(|ddir| {
            let unit = job.align[ddir];
            (room - job.sizes[ddir].least.saturating_sub(unit)) / unit
        });
        Ok(Self {
            offset,
            room,
            device_bytes,
            job_bytes,
            seeds,
            draws,
            places,
            blocks,
            zones,
            last_end: [offset; 3],
            last_begin: [None; 3],
            issued: [0; 3],
            direction: READ,
            direction_until: 0,
            until_draw: 1,
            after_flush: false,
            bytes: [0; 3],
            in_pass: 0,
            passes_left: job.loops,
            end: End::NotYet,
            job: job.clone(),
        })
    }

    /// Draw the next request; `None` at the end.
    pub fn draw(&mut self) -> Option<Request> {
        while self.end == End::NotYet {
            if self.goes_on()
                && let Some(request) = self.draw_in_pass()
            {
                return Some(request);
            }
            if !self.turn() {
                self.end =
                    if self.job.flush_at_end && self.job.kind.ops[WRITE] { End::Flush } else { End::Reached };
            }
        }
        if self.end == End::Flush {
            self.end = End::Reached;
            return Some(FLUSH);
        }
        None
    }

    /// Bytes towards the end of the job.
    fn counted(&self) -> u64 {
        let Self { bytes, job, .. } = self;
        match job.kind.ops {
            [true, true, _] => bytes[READ] + bytes[WRITE],
            [_, true, _] => bytes[WRITE],
            [true, ..] => bytes[READ],
            _ => bytes[TRIM],
        }
    }

    fn has_all_requests(&self) -> bool {
        let most = self.job.requests_max.map(|most| most.saturating_mul(self.job.loops));
        let doubled = if self.job.kind.is_trim_write() { 2 } else { 1 };
        most.is_some_and(|most| self.issued.iter().sum::<u64>() >= most.saturating_mul(doubled))
    }

    /// Whether the pass has a next request.
    #[inline]
    fn goes_on(&self) -> bool {
        self.job.time_based
            || (self.counted() < self.job_bytes.saturating_mul(self.job.loops) && !self.has_all_requests())
    }

    /// End a pass; begin the next one if there is one.
    fn turn(&mut self) -> bool {
        if self.in_pass == 0 {
            return false;
        }
        self.passes_left = self.passes_left.saturating_sub(1);
        let goes_on = self.job.time_based
            || self.passes_left > 0
            || (!self.has_all_requests()
                && self.job.io_size.is_some()
                && self.job_bytes.saturating_sub(self.bytes.iter().sum()) >= self.job.most_size());
        if goes_on {
            self.in_pass = 0;
            self.direction_until = 0;
            self.rewind();
            if matches!(self.job.seeding, Seeding::Repeat { .. }) {
                let is_long = matches!(self.draws.place, Rand::Long(_));
                self.draws = Draws::new(&self.seeds, is_long, self.job.kind.is_trim_write());
            }
        }
        goes_on
    }

    /// Forget where the job has been.
    fn rewind(&mut self) {
        self.last_end = [self.offset; 3];
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
            && self.job.kind.ops[WRITE]
            && !self.job.kind.is_trim_write()
        {
            self.after_flush = true;
            return Some(FLUSH);
        }
        let ddir = self.draw_direction();
        let (offset, is_random, may_overlap) = self.draw_place(ddir)?;
        if offset >= self.room || offset + self.offset >= self.device_bytes {
            return None;
        }
        if self.job.kind.is_trim_write()
            && self.job.kind.random
            && ddir == TRIM
            && self.last_begin[TRIM] == Some(offset + self.offset)
        {
            // The same place twice: the write after this trim must not look as if it were done.
            self.last_begin[WRITE] = None;
        }
        let offset = offset + self.offset;
        let mut length = self.draw_size(ddir, offset, is_random)?;
        if offset + length > self.device_bytes {
            return None;
        }
        if let (Places::Uniform(Some(map)), false) = (&mut self.places, may_overlap) {
            let unit = self.job.sizes[ddir].least;
            let free = map.visit_run((offset - self.offset) / unit, length.div_ceil(unit));
            length = length.min(free * unit);
        }
        self.last_begin[ddir] = Some(offset);
        self.last_end[ddir] = offset + length;
        self.issued[ddir] += 1;
        self.bytes[ddir] += length;
        self.in_pass += length;
        self.after_flush = false;
        let placement = if ddir == WRITE { self.placement() } else { None };
        Some(Request { arrival: Time::ZERO, offset, length, op: OPS[ddir], placement })
    }

    /// The placement hint of the write that has just been counted: in turn, as in fio by default.
    fn placement(&self) -> Option<PlacementId> {
        let placements = self.job.placements.as_ref().filter(|placements| !placements.is_empty())?;
        Some(placements[((self.issued[WRITE] - 1) % placements.len() as u64) as usize])
    }

    #[inline]
    fn draw_direction(&mut self) -> usize {
        let kind = self.job.kind;
        if kind.is_mixed() {
            if self.issued[self.direction] >= self.direction_until {
                let next = if self.draws.mix.percent() <= self.job.read_percent { READ } else { WRITE };
                if next != self.direction {
                    let percent = if self.direction == READ {
                        100 - self.job.read_percent
                    } else {
                        self.job.read_percent
                    };
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
            self.until_draw = self.job.sequence.every;
        }
        let kind = self.job.kind;
        if kind.random && kind.is_trim_write() && ddir == WRITE {
            return Some((self.last_begin[TRIM]? - self.offset, true, true));
        }
        if due {
            if !kind.random {
                return self.sequential(ddir).map(|place| (place, false, false));
            }
            let percent = self.job.random_percent[ddir];
            if percent == 100 || self.draws.order[ddir].percent() <= percent {
                return self.random(ddir).map(|place| (place, true, false));
            }
            let place = self.sequential(ddir).or_else(|| self.random(ddir));
            return place.map(|place| (place, false, true));
        }
        let place = if self.job.sequence.identical {
            Some(self.last_begin[ddir].map_or(0, |begin| begin - self.offset))
        } else {
            self.sequential(ddir).or_else(|| self.random(ddir))
        };
        place.map(|place| (place, false, true))
    }

    /// The place behind the latest request of a direction; `None` at the end of the device.
    fn sequential(&mut self, ddir: usize) -> Option<u64> {
        let Self { offset, room, device_bytes, .. } = *self;
        let step = self.job.sequence.step;
        let last = &mut self.last_end[ddir];
        if *last >= offset + room && self.job.time_based {
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
            if !self.job.time_based {
                return None;
            }
            self.rewind();
            self.random_block(ddir)
        })?;
        Some(block * self.job.align[ddir])
    }

    #[inline]
    fn random_block(&mut self, ddir: usize) -> Option<u64> {
        let (begin, count) = match &self.zones[ddir][..] {
            [] => (0, self.blocks[ddir]),
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
                let block = self.draws.place.below(count);
                match map {
                    Some(map) => {
                        map.look_ahead(self.draws.place_ahead.below(count));
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
        let kind = self.job.kind;
        if kind.random && kind.is_trim_write() && ddir == WRITE {
            return Some(self.last_end[TRIM] - self.last_begin[TRIM]?);
        }
        let ddir = match (self.job.sizes_by_order, is_random) {
            (false, _) => ddir,
            (true, true) => WRITE,
            (true, false) => READ,
        };
        let sizes = &self.job.sizes[ddir];
        if sizes.least == sizes.most {
            return Some(sizes.least);
        }
        let left = (self.offset + self.room).checked_sub(offset).filter(|&left| left >= sizes.least)?;
        let rand = &mut self.draws.sizes[ddir];
        for _ in 0..SIZE_DRAWS_MAX {
            let draw = rand.draw();
            let mut size = if sizes.split.is_empty() {
                sizes.least + (sizes.most as f64 * (draw as f64 / (rand.max() as f64 + 1.0))) as u64
            } else {
                let (mut size, mut until) = (sizes.least, 0);
                for &(of_split, percent) in sizes.split.iter().filter(|(_, percent)| *percent > 0) {
                    size = of_split;
                    until += u64::from(percent);
                    if draw / until <= rand.max() / 100 && size <= left {
                        break;
                    }
                }
                size
            };
            if !self.job.unaligned {
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

/// fio draws a size until one fits, for ever if need be; here the least one is taken after as many draws.
const SIZE_DRAWS_MAX: u32 = 100_000;

/// The largest map of visited blocks: 1 GiB of memory.
const MAP_BLOCKS_MAX: u64 = 1 << 33;

/// A flush of the device.
const FLUSH: Request = Request { arrival: Time::ZERO, offset: 0, length: 0, op: Op::Flush, placement: None };

impl Source for JobRequests {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        batch.extend(std::iter::from_fn(|| self.draw()).take(BATCH_REQUESTS));
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        let of_job = self.job_bytes.saturating_mul(self.job.loops) as f64;
        (!self.job.time_based).then(|| (self.counted() as f64 / of_job).min(1.0))
    }
}
