//! One job of a job file, as fio understands its options.

use crate::Result;
use coflash_base::{Amount, Bytes, Op, PlacementId};
use coflash_workload::jobs::Pace;
use coflash_workload::steady::SteadyState;
use coflash_workload::{WorkloadError, no_handle};
use std::ops::Range;

/// The directions of a job, in fio's order.
pub(super) const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;
pub(super) const TRIM: usize = 2;

/// The operations of a job and their order (`rw`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Reads, writes, trims.
    pub(super) ops: [bool; 3],
    pub(super) random: bool,
}

const fn kind(name: &'static str, ops: [bool; 3], random: bool) -> Kind {
    Kind { name, ops, random }
}

/// All values of `rw`; aliases last.
pub(super) const KINDS: [Kind; 11] = [
    kind("read", [true, false, false], false),
    kind("write", [false, true, false], false),
    kind("trim", [false, false, true], false),
    kind("rw", [true, true, false], false),
    kind("trimwrite", [false, true, true], false),
    kind("randread", [true, false, false], true),
    kind("randwrite", [false, true, false], true),
    kind("randtrim", [false, false, true], true),
    kind("randrw", [true, true, false], true),
    kind("randtrimwrite", [false, true, true], true),
    kind("readwrite", [true, true, false], false),
];

impl Kind {
    pub(super) fn is_mixed(self) -> bool {
        self.ops[READ] && self.ops[WRITE]
    }

    pub(super) fn is_trim_write(self) -> bool {
        self.ops[TRIM] && self.ops[WRITE]
    }
}

/// The sizes of one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes {
    pub(super) least: u64,
    pub(super) most: u64,
    /// Sizes and their percentages, the rarest first; empty for a range.
    pub(super) split: Vec<(u64, u64)>,
}

/// The generator of places and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generator {
    Tausworthe,
    Tausworthe64,
    Lfsr,
}

/// The distribution of random places.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Distribution {
    #[default]
    Random,
    Zipf {
        theta: f64,
        center: Option<f64>,
    },
    Pareto {
        h: f64,
        center: Option<f64>,
    },
    Normal {
        deviation: f64,
        center: Option<f64>,
    },
    /// For each direction: percentages of draws, and sizes: percentages of the space, or bytes.
    Zoned {
        is_share: bool,
        zones: [Vec<(u64, u64)>; 3],
    },
}

/// The parameters of the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seeding {
    /// `randrepeat=1`, the default: always the same; `all` with `allrandrepeat`.
    Repeat { all: bool },
    /// `randseed`. In fio 3.33 the places of a section's first job still repeat, unless `randrepeat=0` is given as well.
    Given { seed: u64, repeat_places: bool },
    /// `randrepeat=0`: the scenario's seed.
    OfScenario,
}

/// Where in the space a sequential request goes after another (`rw=write:4k`, `rw=randread:8`, `rw_sequencer`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    /// The number of requests after which a new place is drawn.
    pub(super) every: u32,
    /// Bytes left out between two sequential requests; negative for backwards.
    pub(super) step: i64,
    /// Whether requests between two draws repeat the place instead of going on behind it.
    pub(super) identical: bool,
}

/// What a section says of the requests of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Settings {
    pub(super) kind: Kind,
    pub(super) read_percent: u32,
    pub(super) sequence: Sequence,
    pub(super) sizes_by_order: bool,
    pub(super) unaligned: bool,
    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) offset: Option<Amount>,
    pub(super) offset_increment: Option<Amount>,
    pub(super) offset_align: Option<u64>,
    pub(super) loops: u64,
    pub(super) time_based: bool,
    pub(super) requests_max: Option<u64>,
    pub(super) generator: Option<Generator>,
    pub(super) distribution: Distribution,
    /// By direction.
    pub(super) random_percent: [u32; 3],
    pub(super) flush_at_end: bool,
}

/// One job: a section of the job file, or one of its clones (`numjobs`).
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The name of its section.
    pub name: String,
    /// The phase, from 0: a job with `stonewall` begins a new one.
    pub phase: u32,
    /// The group of jobs reported as one (`group_reporting`); without it each job is a group.
    pub report: u32,
    /// When it issues requests.
    pub pace: Pace,
    /// Its options, as the job file says them: (name, value).
    pub options: Vec<(String, String)>,
    /// Its number among all jobs, from 1: seeds depend on it.
    pub(super) number: u32,
    /// Its number among the clones of its section: 0 for the first job, then down from `numjobs - 1` to 1, as in fio.
    pub(super) clone: u32,
    /// The name of its file: the seed of skewed distributions depends on it, as in fio.
    pub(super) file_name: String,
    /// By direction.
    pub(super) sizes: [Sizes; 3],
    /// By direction: the multiple at which random requests begin.
    pub(super) align: [u64; 3],
    pub(super) has_map: bool,
    pub(super) seeding: Seeding,
    pub(super) settings: Settings,
    pub(super) flush_every: u64,
    /// The placement hints that its writes have in turn; none of them are all that there are.
    pub(super) placements: Option<Vec<PlacementId>>,
    pub(super) select: Select,
    /// When the jobs of its report end early.
    pub steady: Option<SteadyState>,
    /// Where the section begins, for errors.
    pub(super) place: String,
}

/// How the placement hint of a write is chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Select {
    InTurn,
    AtRandom,
    /// The first range that the write begins in; else hint 0.
    ByPlace(Vec<(Range<u64>, PlacementId)>),
}

impl Job {
    /// The job in a few words: `churn: randwrite of 4KiB, depth 32`.
    #[must_use]
    pub fn description(&self) -> String {
        let Settings { kind, distribution, .. } = &self.settings;
        let direction = (0..3).find(|&ddir| kind.ops[ddir]).unwrap_or(WRITE);
        let Sizes { least, most, .. } = self.sizes[direction];
        let [least, most] = [least, most].map(|count| Bytes { count });
        let size = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let law = match distribution {
            _ if !kind.random => "",
            Distribution::Random if self.has_map => ", each block once",
            Distribution::Random => "",
            Distribution::Zipf { .. } => ", fio-zipf",
            Distribution::Pareto { .. } => ", pareto",
            Distribution::Normal { .. } => ", normal",
            Distribution::Zoned { .. } => ", zoned",
        };
        format!("{}: {} of {size}{law}, depth {}", self.name, kind.name, self.pace.queue_depth)
    }

    /// Bind the placement hints of the job to the handles of a device; `None` if the device ignores hints.
    ///
    /// # Errors
    /// A hint beyond the handles.
    pub fn bind_placements(&mut self, handles: Option<u32>) -> Result<()> {
        let (Some(handles), Some(placements)) = (handles, &mut self.placements) else { return Ok(()) };
        if placements.is_empty() {
            placements.extend((0..handles).filter_map(|handle| PlacementId::new(handle.into())));
        }
        let of_scheme = match &self.select {
            Select::ByPlace(ranges) => &ranges[..],
            _ => &[],
        };
        let mut used = placements.iter().chain(of_scheme.iter().map(|(_, placement)| placement));
        match used.find(|placement| placement.get() >= handles) {
            None => Ok(()),
            Some(placement) => Err(WorkloadError::trace(
                &self.place,
                format!("[{}]: plids: {}", self.name, no_handle(*placement, handles)),
            )),
        }
    }

    /// The smallest size of all directions.
    pub(super) fn least_size(&self) -> u64 {
        self.sizes.iter().map(|sizes| sizes.least).min().expect("three directions")
    }

    /// The largest size of all directions.
    pub(super) fn most_size(&self) -> u64 {
        self.sizes.iter().map(|sizes| sizes.most).max().expect("three directions")
    }
}
