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
use std::collections::BTreeMap;
use std::ops::Range;
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
    Unplugged,
    BitRot,
    LostWrite,
    StaleSector,
    MisdirectedWrite,
    MisdirectedRead,
    KeptTrim,
}

impl Kind {
    /// What is counted up to it.
    fn counts(self) -> Command {
        match self {
            Self::ReadError | Self::MisdirectedRead => Command::Read,
            Self::FlushError => Command::Flush,
            Self::KeptTrim => Command::Trim,
            _ => Command::Write,
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
    /// It fails, and its device has not got it.
    Gone,
    /// It is served, and its answer comes late.
    Stuck,
}

/// The requests of a run so far, and its fault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    fault: Option<Fault>,
    counts: BTreeMap<Command, u64>,
    /// The first byte of a sector that cannot be read.
    bad: Option<u64>,
    /// Where the last write was to go.
    last: u64,
    /// The first byte of the device that has lost its power alone.
    gone: Option<u64>,
    /// Whether a request has failed.
    pub(crate) has_failed: bool,
}

impl Faults {
    /// The runs with a fault: if its request is not given, drawn ones, spread over those of the run that was counted.
    pub(crate) fn each(fault: &Fault, counted: &Self, stream: &mut RandomStream) -> Vec<Self> {
        let all = counted.count(fault.kind).max(1);
        let runs = fault.runs.min(all);
        let mut drawn = |run: u64| stream.random_range(run * all / runs..(run + 1) * all / runs) + 1;
        let of = |run| {
            let at = if fault.at > 0 { fault.at } else { drawn(run) };
            Self { fault: Some(Fault { at, ..fault.clone() }), ..Self::default() }
        };
        (0..runs).map(of).collect()
    }

    /// The fault with its request, and whether it has come.
    pub(crate) fn told(&self) -> Option<(String, bool)> {
        let fault = self.fault.as_ref()?;
        Some((format!("{}@{}", fault.name, fault.at), self.count(fault.kind) >= fault.at))
    }

    fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind.counts()).copied().unwrap_or_default()
    }

    /// What becomes of a request that has come to a device. A silent fault changes the request, or its data.
    pub(crate) fn fate(
        &mut self,
        request: &mut Request,
        device: &Range<u64>,
        session: &mut Session<Store<impl Disk>>,
        now: Time,
    ) -> Fate {
        let command = request.command;
        if self.gone == Some(device.start) {
            return Fate::Gone;
        } else if matches!(command, Command::Cache | Command::BlockStatus) {
            return Fate::Done;
        }
        *self.counts.entry(command).or_default() += 1;
        let (from, to) = (request.offset, request.offset + u64::from(request.length));
        let last =
            if command == Command::Write { std::mem::replace(&mut self.last, from) } else { self.last };
        let Some(&Fault { kind, at, .. }) = self.fault.as_ref() else { return Fate::Done };
        let count = self.count(kind);
        let is_it = command == kind.counts() && count == at;
        match kind {
            Kind::ReadError | Kind::WriteError | Kind::FlushError if is_it => return Fate::Failed(Errno::Io),
            Kind::Unplugged if is_it => {
                self.gone = Some(device.start);
                return Fate::Failed(Errno::Io);
            }
            Kind::Stuck if is_it => return Fate::Stuck,
            Kind::BadSector => {
                let is_bad = self.bad.is_some_and(|bad| from < bad + SECTOR && bad < to);
                if is_it {
                    self.bad = Some(from / SECTOR * SECTOR);
                } else if is_bad && command != Command::Read {
                    self.bad = None;
                }
                if is_bad && command == Command::Read {
                    return Fate::Failed(Errno::Io);
                }
            }
            Kind::Full if count >= at && matches!(command, Command::Write | Command::WriteZeroes { .. }) => {
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
                request.offset = other.clamp(device.start, device.end - (to - from));
            }
            Kind::KeptTrim if command == Command::Trim && count >= at => request.command = Command::Cache,
            _ => {}
        }
        Fate::Done
    }
}
