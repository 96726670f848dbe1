//! Faults of a drive, beside the loss of its power, that come once during a run.

use super::record::SECTOR;
use crate::session::Session;
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

/// The names of the kinds.
const KINDS: [(&str, Kind); 6] = [
    ("read-error", Kind::ReadError),
    ("write-error", Kind::WriteError),
    ("flush-error", Kind::FlushError),
    ("bad-sector", Kind::BadSector),
    ("stuck", Kind::Stuck),
    ("full", Kind::Full),
];

/// A fault, and the number of the read, write or flush at which it comes, from 1; drawn if it is not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    kind: Kind,
    at: Option<u64>,
}

impl FromStr for Fault {
    type Err = String;

    /// Read `write-error` or `write-error@17`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, at) = text.split_once('@').map_or((text, None), |(name, at)| (name, Some(at)));
        let kind = KINDS.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind);
        let number = at.map(|at| at.parse().ok().filter(|&at: &u64| at > 0));
        match (kind, number) {
            (Some(kind), None) => Ok(Self { kind, at: None }),
            (Some(kind), Some(Some(at))) => Ok(Self { kind, at: Some(at) }),
            _ => Err(format!(
                "\"{text}\" was given; {}, each also with @N, the number of its request from 1, are allowed",
                KINDS.map(|(name, _)| format!("\"{name}\"")).join(", ")
            )),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, _) = KINDS.iter().find(|(_, kind)| *kind == self.kind).expect("each has a name");
        write!(f, "{name}")?;
        self.at.map_or(Ok(()), |at| write!(f, "@{at}"))
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is served.
    Served,
    /// It is not served, and fails.
    Failed(Errno),
    /// It is served, and its answer comes late.
    Stuck,
}

/// The reads, writes and flushes of a run so far, and its fault.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    fault: Option<Fault>,
    counts: [u64; 3],
    /// The first byte of a sector that cannot be read.
    bad: Option<u64>,
}

impl Faults {
    /// A fault; if its request is not given, `draw` gets the number of such requests.
    pub(crate) fn new(fault: &Fault, counted: &Self, draw: impl FnOnce(u64) -> u64) -> Self {
        let at = fault.at.unwrap_or_else(|| draw(counted.counts[fault.kind.counts()].max(1)));
        Self { fault: Some(Fault { kind: fault.kind, at: Some(at) }), ..Self::default() }
    }

    /// The fault, with its request.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether it has come.
    pub(crate) fn has_come(&self) -> bool {
        self.fault.as_ref().is_none_or(|fault| self.counts[fault.kind.counts()] >= fault.at.unwrap_or(1))
    }

    pub(crate) fn fate(&mut self, request: &Request, session: &Session<Store<impl Disk>>) -> Fate {
        let counted = match request.command {
            Command::Read => READS,
            Command::Write => WRITES,
            Command::Flush => FLUSHES,
            Command::WriteZeroes { .. } | Command::Trim => CHANGES,
            _ => return Fate::Served,
        };
        if let Some(count) = self.counts.get_mut(counted) {
            *count += 1;
        }
        let Some(Fault { kind, at: Some(at) }) = self.fault else { return Fate::Served };
        let count = self.counts[kind.counts()];
        let is_it = counted == kind.counts() && count == at;
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
                if is_bad && counted == READS { Fate::Failed(Errno::Io) } else { Fate::Served }
            }
            Kind::Full
                if count >= at && matches!(request.command, Command::Write | Command::WriteZeroes { .. }) =>
            {
                let is_new = session.runs(from, to - from).any(|(_, is_hole)| is_hole);
                if is_new { Fate::Failed(Errno::NoSpace) } else { Fate::Served }
            }
            _ => Fate::Served,
        }
    }
}

const READS: usize = 0;
const WRITES: usize = 1;
const FLUSHES: usize = 2;
/// Not counted.
const CHANGES: usize = 3;

impl Kind {
    /// What is counted up to it.
    fn counts(self) -> usize {
        match self {
            Self::ReadError => READS,
            Self::FlushError => FLUSHES,
            Self::WriteError | Self::BadSector | Self::Stuck | Self::Full => WRITES,
        }
    }
}
