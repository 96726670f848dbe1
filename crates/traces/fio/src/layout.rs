//! The layout of a job on a device: its range, its seeds, and where its random requests go.

use super::job::{Distribution, Generator, Job, READ, Seeding, WRITE};
use super::map::VisitedMap;
use super::random::{DEFAULT_SEED, Lfsr, Seeds, Use, name_hash};
use crate::Result;
use coflash_base::seed::Rng;
use coflash_base::{Amount, Bytes, Seed, Share};
use coflash_workload::WorkloadError;
use coflash_workload::skewed::Skewed;
use std::array;

/// The largest map of visited blocks: 1 GiB of memory.
const MAP_BLOCKS_MAX: u64 = 1 << 33;

/// A job on a device.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The first byte of the job's range, and its bytes.
    pub(super) offset: u64,
    pub(super) room: u64,
    pub(super) device_bytes: u64,
    /// Bytes of the whole job, without its loops.
    pub(super) job_bytes: u64,
    pub(super) seeds: Seeds,
    /// Whether places and sizes are draws of 64 bits.
    pub(super) is_long: bool,
    /// By direction: the blocks of the range.
    pub(super) blocks: [u64; 3],
    pub(super) zones: [Vec<Zone>; 3],
}

/// Where random requests go.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// Uniformly, with or without a map of visited blocks; by zones.
    Uniform(Option<VisitedMap>),
    Lfsr(Lfsr),
    Skewed(Skewed),
}

/// A range of places with its share of the draws, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zone {
    /// Draws up to this percentage, of all zones so far.
    pub(super) draws_until: u32,
    pub(super) begin: u64,
    pub(super) end: u64,
}

fn refuse<T>(job: &Job, problem: impl std::fmt::Display) -> Result<T> {
    Err(WorkloadError::trace(&job.place, format!("[{}]: {problem}", job.name)))
}

impl Layout {
    /// Lay out a job; `seed` is the seed of the scenario.
    ///
    /// # Errors
    /// A range beyond the device, or too small for the job's requests; a zone beyond the range.
    pub(super) fn new(job: &Job, device_bytes: u64, seed: Seed) -> Result<Self> {
        let (offset, room) = range(job, device_bytes)?;
        let zones = [zones(job, room, 0)?, zones(job, room, 1)?, zones(job, room, 2)?];
        Ok(Self {
            offset,
            room,
            device_bytes,
            job_bytes: match job.settings.io_size {
                None | Some(Amount::Bytes(Bytes::ZERO)) => room,
                amount => of_device(amount, room),
            },
            seeds: seeds(job, seed),
            is_long: match job.settings.generator {
                Some(generator) => generator == Generator::Tausworthe64,
                // As fio, where 32 bits do not reach all blocks.
                None => job.settings.kind.random && room / job.least_size() > u32::MAX.into(),
            },
            blocks: array::from_fn(|ddir| {
                let unit = job.align[ddir];
                (room - job.sizes[ddir].least.saturating_sub(unit)) / unit
            }),
            zones,
        })
    }

    /// The places of the job's random requests.
    ///
    /// # Errors
    /// More blocks than the generator reaches, or a map of visited blocks may have.
    pub(super) fn places(&self, job: &Job) -> Result<Places> {
        let blocks = self.room / job.least_size();
        let nearest = self.room.div_ceil(job.sizes[READ].least.min(job.sizes[WRITE].least));
        let seed = match job.seeding {
            Seeding::Repeat { .. } => name_hash(&job.file_name).wrapping_mul(job.number),
            _ => self.seeds.for_purpose(Use::Place) as u32,
        };
        let is_random = job.settings.kind.random;
        Ok(match job.settings.distribution {
            Distribution::Zipf { theta, center } => {
                Places::Skewed(Skewed::zipf(theta, nearest, center, seed))
            }
            Distribution::Pareto { h, center } => Places::Skewed(Skewed::pareto(h, nearest, center, seed)),
            Distribution::Normal { deviation, center } => {
                Places::Skewed(Skewed::normal(deviation, nearest, center, seed))
            }
            _ if job.settings.generator == Some(Generator::Lfsr) && is_random => {
                let lfsr = Lfsr::new(blocks, self.seeds.for_purpose(Use::Place)).map(Places::Lfsr);
                let problem = "random_generator=lfsr: it does not reach that many blocks";
                lfsr.map_or_else(|| refuse(job, problem), Ok)?
            }
            _ if job.has_map && is_random && blocks > MAP_BLOCKS_MAX => {
                let allowed = format!("at most {MAP_BLOCKS_MAX}, or norandommap is allowed");
                let problem = format!("bs: {blocks} blocks would have a map of visited blocks; {allowed}");
                return refuse(job, problem);
            }
            _ => Places::Uniform((job.has_map && is_random).then(|| VisitedMap::new(blocks))),
        })
    }
}

/// An amount of a device in bytes.
fn of_device(amount: Option<Amount>, device_bytes: u64) -> u64 {
    amount.map_or(0, |amount| amount.pages(1, device_bytes))
}

/// The first byte of a job's range, and its bytes.
fn range(job: &Job, device_bytes: u64) -> Result<(u64, u64)> {
    let (settings, least) = (&job.settings, job.least_size());
    let is_share = |amount| matches!(amount, Some(Amount::Share(_)));
    let increment = of_device(settings.offset_increment, device_bytes).saturating_mul(job.clone.into());
    let mut offset = of_device(settings.offset, device_bytes).saturating_add(increment);
    if offset < device_bytes && (is_share(settings.offset) || is_share(settings.offset_increment)) {
        offset = offset.next_multiple_of(settings.offset_align.unwrap_or(least));
    }
    if offset >= device_bytes {
        let [offset, device] = [offset, device_bytes].map(|count| Bytes { count });
        let problem = format!("offset: it begins at {offset}; less than the device, {device}, is allowed");
        return refuse(job, problem);
    }
    let left = device_bytes - offset;
    let room = match settings.size {
        None | Some(Amount::Share(Share::ONE) | Amount::Bytes(Bytes::ZERO)) => left,
        Some(Amount::Bytes(bytes)) => bytes.count,
        share => {
            let bytes = of_device(share, device_bytes).min(left);
            bytes - bytes % least
        }
    };
    if room > left || room < job.most_size() {
        let [room, left, least] = [room, left, job.most_size()].map(|count| Bytes { count });
        let allowed = format!("from a request, {least}, to what is left of the device, {left}, is allowed");
        return refuse(job, format!("size: it is {room}; {allowed}"));
    }
    Ok((offset, room))
}

/// The seeds of a job; those of the scenario for `randrepeat=0`.
fn seeds(job: &Job, seed: Seed) -> Seeds {
    let (mut seeds, repeats_places) = match job.seeding {
        Seeding::Repeat { all: true } => (Seeds::of_number(job.number), true),
        Seeding::Repeat { all: false } => (Seeds::new(DEFAULT_SEED, job.number), true),
        Seeding::Given { seed, repeat_places } => (Seeds::new(seed, job.number), repeat_places),
        Seeding::OfScenario => (Seeds::new(seed.stream("fio").next_u64(), job.number), false),
    };
    if repeats_places && job.settings.kind.random {
        seeds.repeat_places(job.number);
    }
    seeds
}

/// The zones of a direction; none without a distribution by zones.
fn zones(job: &Job, room: u64, ddir: usize) -> Result<Vec<Zone>> {
    let unit = job.align[ddir];
    let places = room / unit;
    let (mut zones, mut draws_until, mut size) = (Vec::new(), 0, 0);
    if let Distribution::Zoned { is_share, zones: given } = &job.settings.distribution {
        for &(draws, more) in &given[ddir] {
            let (begin, length) = match is_share {
                true => (size * places / 100, places * more / 100),
                false => (size / unit, (size + more) / unit - size / unit),
            };
            draws_until += draws as u32;
            size += more;
            zones.push(Zone { draws_until, begin, end: begin + length });
        }
    }
    if let Some(Zone { begin, end, .. }) =
        zones.iter().find(|zone| zone.end > places || zone.end == zone.begin)
    {
        let allowed = format!("at least one block, and an end up to {places} is allowed");
        let zone = format!("a zone of {} blocks ends at block {end}", end - begin);
        return refuse(job, format!("random_distribution: {zone}; {allowed}"));
    }
    Ok(zones)
}
