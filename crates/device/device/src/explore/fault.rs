//! Faults of a drive, beside the loss of its power, that come once during a run.

use super::record::SECTOR;
use crate::session::Session;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_nbd::{Command, Errno, Request};
use coflash_store::{Disk, Store};
use std::str::FromStr;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ReadError,
    WriteError,
    FlushError,
    BadSector,
    Stuck,
    Full,
}

/// The kinds: their names, and what is counted up to them.
const KINDS: [(&str, Kind, usize); 6] = [
    ("read-error", Kind::ReadError, READS),
    ("write-error", Kind::WriteError, WRITES),
    ("flush-error", Kind::FlushError, FLUSHES),
    ("bad-sector", Kind::BadSector, WRITES),
    ("stuck", Kind::Stuck, WRITES),
    ("full", Kind::Full, WRITES),
];

/// A fault, and the number of the read, write or flush at which it comes, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    name: &'static str,
    kind: Kind,
    counts: usize,
    at: u64,
    /// The most runs with this fault; each run has its own request.
    runs: u64,
}

/// The runs with a fault whose request is not given: they are spread over all such requests.
const RUNS: u64 = 4;
const RUNS_MAX: u64 = 32;

impl FromStr for Fault {
    type Err = String;

    /// Read `write-error`, `write-error@17` or `write-error@*`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (given, at) = text.split_once('@').map_or((text, None), |(name, at)| (name, Some(at)));
        let runs_at = match at {
            None => Some((RUNS, 0)),
            Some("*") => Some((RUNS_MAX, 0)),
            Some(at) => at.parse().ok().filter(|&at| at > 0).map(|at| (1, at)),
        };
        match (KINDS.iter().find(|(name, ..)| *name == given), runs_at) {
            (Some(&(name, kind, counts)), Some((runs, at))) => Ok(Self { name, kind, counts, at, runs }),
            _ => Err(format!(
                "\"{text}\" was given; {}, each also with @N, the number of its request from 1, or @*, {RUNS_MAX} of all \
                 requests, are allowed",
                KINDS.map(|(name, ..)| format!("\"{name}\"")).join(", ")
            )),
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is served.
    Done,
    /// It is not served, and fails.
    Failed(Errno),
    /// It is served, and its answer comes late.
    Stuck,
}

/// The reads, writes and flushes of a run so far, and its fault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    fault: Option<Fault>,
    counts: [u64; 3],
    /// The first byte of a sector that cannot be read.
    bad: Option<u64>,
}

impl Faults {
    /// The runs with a fault: if its request is not given, drawn ones, spread over those of the run that was counted.
    pub(crate) fn each(fault: &Fault, counted: &Self, stream: &mut RandomStream) -> Vec<Self> {
        let all = counted.counts[fault.counts].max(1);
        let runs = fault.runs.min(all);
        let mut drawn = |run: u64| stream.random_range(run * all / runs..(run + 1) * all / runs) + 1;
        let at = |run| if fault.at > 0 { fault.at } else { drawn(run) };
        let at: Vec<_> = (0..runs).map(at).collect();
        at.into_iter()
            .map(|at| Self { fault: Some(Fault { at, ..fault.clone() }), ..Self::default() })
            .collect()
    }

    /// The fault with its request, and whether it has come.
    pub(crate) fn told(&self) -> Option<(String, bool)> {
        let fault = self.fault.as_ref()?;
        Some((format!("{}@{}", fault.name, fault.at), self.counts[fault.counts] >= fault.at))
    }

    pub(crate) fn fate(&mut self, request: &Request, session: &Session<Store<impl Disk>>) -> Fate {
        let counted = match request.command {
            Command::Read => READS,
            Command::Write => WRITES,
            Command::Flush => FLUSHES,
            Command::WriteZeroes { .. } | Command::Trim => CHANGES,
            _ => return Fate::Done,
        };
        if let Some(count) = self.counts.get_mut(counted) {
            *count += 1;
        }
        let Some(Fault { kind, counts, at, .. }) = self.fault else { return Fate::Done };
        let count = self.counts[counts];
        let is_it = counted == counts && count == at;
        let (from, to) = (request.offset, request.offset + u64::from(request.length));
        match kind {
            Kind::ReadError | Kind::WriteError | Kind::FlushError if is_it => Fate::Failed(Errno::Io),
            Kind::Stuck if is_it => Fate::Stuck,
            Kind::BadSector => {
                let is_bad = self.bad.is_some_and(|bad| from < bad + SECTOR && bad < to);
                if is_it {
                    self.bad = Some(from / SECTOR * SECTOR);
                } else if is_bad && counted != READS {
                    self.bad = None;
                }
                if is_bad && counted == READS { Fate::Failed(Errno::Io) } else { Fate::Done }
            }
            Kind::Full
                if count >= at && matches!(request.command, Command::Write | Command::WriteZeroes { .. }) =>
            {
                let is_new = session.runs(from, to - from).any(|(_, is_hole)| is_hole);
                if is_new { Fate::Failed(Errno::NoSpace) } else { Fate::Done }
            }
            _ => Fate::Done,
        }
    }
}

const READS: usize = 0;
const WRITES: usize = 1;
const FLUSHES: usize = 2;
/// Not counted.
const CHANGES: usize = 3;
