//! Faults of a drive, beside the loss of its power, that come once during a run: errors, and silent ones.

use super::record::{SECTOR, digest};
use crate::session::Session;
use coflash_base::Time;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_nbd::{Command, Errno, Request};
use coflash_store::{Disk, Store};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;
use std::str::FromStr;

/// A kind of fault. From bit rot on they are silent: the drive reports success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    ReadError,
    WriteError,
    FlushError,
    BadSector,
    Stuck,
    Full,
    BitRot,
    LostWrite,
    StaleSector,
    MisdirectedWrite,
    MisdirectedRead,
    KeptTrim,
}

impl Kind {
    /// What is counted up to it.
    fn counts(self) -> usize {
        match self {
            Self::ReadError | Self::MisdirectedRead => READS,
            Self::FlushError => FLUSHES,
            Self::KeptTrim => TRIMS,
            _ => WRITES,
        }
    }
}

/// A fault, and the number of the read, write, flush or trim at which it comes, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    name: String,
    kind: Kind,
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
        let (name, at) = text.split_once('@').map_or((text, None), |(name, at)| (name, Some(at)));
        let runs_at = match at {
            None => Some((RUNS, 0)),
            Some("*") => Some((RUNS_MAX, 0)),
            Some(at) => at.parse().ok().filter(|&at| at > 0).map(|at| (1, at)),
        };
        let problem = match (Kind::deserialize(name.into_deserializer()), runs_at) {
            (Ok(kind), Some((runs, at))) => return Ok(Self { name: name.to_owned(), kind, at, runs }),
            (kind, _) => kind.err().map_or_else(String::new, |unknown: Error| format!(": {unknown}")),
        };
        Err(format!(
            "\"{text}\" was given{problem}; a kind, KIND@N, with the number of its request from 1, or KIND@*, {RUNS_MAX} of \
             all requests, are allowed"
        ))
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
    counts: [u64; 4],
    /// The first byte of a sector that cannot be read.
    bad: Option<u64>,
    /// Where the last write was to go.
    last: u64,
}

impl Faults {
    /// The runs with a fault: if its request is not given, drawn ones, spread over those of the run that was counted.
    pub(crate) fn each(fault: &Fault, counted: &Self, stream: &mut RandomStream) -> Vec<Self> {
        let all = counted.counts[fault.kind.counts()].max(1);
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
        Some((format!("{}@{}", fault.name, fault.at), self.counts[fault.kind.counts()] >= fault.at))
    }

    /// What becomes of a request that has come. A silent fault changes the request, or its data.
    pub(crate) fn fate(
        &mut self,
        request: &mut Request,
        session: &mut Session<Store<impl Disk>>,
        now: Time,
    ) -> Fate {
        let counted = match request.command {
            Command::Read => READS,
            Command::Write => WRITES,
            Command::Flush => FLUSHES,
            Command::Trim => TRIMS,
            Command::WriteZeroes { .. } => CHANGES,
            _ => return Fate::Done,
        };
        if let Some(count) = self.counts.get_mut(counted) {
            *count += 1;
        }
        let (from, to) = (request.offset, request.offset + u64::from(request.length));
        let last = if counted == WRITES { std::mem::replace(&mut self.last, from) } else { self.last };
        let Some(&Fault { kind, at, .. }) = self.fault.as_ref() else { return Fate::Done };
        let count = self.counts[kind.counts()];
        let is_it = counted == kind.counts() && count == at;
        match kind {
            Kind::ReadError | Kind::WriteError | Kind::FlushError if is_it => return Fate::Failed(Errno::Io),
            Kind::Stuck if is_it => return Fate::Stuck,
            Kind::BadSector => {
                let is_bad = self.bad.is_some_and(|bad| from < bad + SECTOR && bad < to);
                if is_it {
                    self.bad = Some(from / SECTOR * SECTOR);
                } else if is_bad && counted != READS {
                    self.bad = None;
                }
                if is_bad && counted == READS {
                    return Fate::Failed(Errno::Io);
                }
            }
            Kind::Full if count >= at && [WRITES, CHANGES].contains(&counted) => {
                let is_new = session.runs(from, to - from).any(|(_, is_hole)| is_hole);
                return if is_new { Fate::Failed(Errno::NoSpace) } else { Fate::Done };
            }
            Kind::BitRot if is_it => {
                let bit = digest(at) as usize % (request.data.len() * 8);
                request.data[bit / 8] ^= 1 << (bit % 8);
            }
            // What was there before is there again.
            Kind::LostWrite | Kind::StaleSector if is_it => {
                let lost = if kind == Kind::LostWrite { to - from } else { SECTOR.min(to - from) };
                if session.read(from, &mut request.data[..lost as usize], now).is_err() {
                    return Fate::Failed(Errno::Io);
                }
            }
            Kind::MisdirectedWrite | Kind::MisdirectedRead if is_it => {
                let other = if last.abs_diff(from) < to - from { to } else { last };
                request.offset = other.min(session.size_bytes() - (to - from));
            }
            Kind::KeptTrim if counted == TRIMS && count >= at => request.command = Command::Cache,
            _ => {}
        }
        Fate::Done
    }
}

const READS: usize = 0;
const WRITES: usize = 1;
const FLUSHES: usize = 2;
const TRIMS: usize = 3;
/// Not counted.
const CHANGES: usize = 4;
