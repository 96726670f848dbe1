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

/// The kinds: their names, and what is counted up to them.
const KINDS: [(&str, Kind, usize); 6] = [
    ("read-error", Kind::ReadError, READS),
    ("write-error", Kind::WriteError, WRITES),
    ("flush-error", Kind::FlushError, FLUSHES),
    ("bad-sector", Kind::BadSector, WRITES),
    ("stuck", Kind::Stuck, WRITES),
    ("full", Kind::Full, WRITES),
];

/// A fault, and the number of the read, write or flush at which it comes, from 1; drawn if it is not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    name: &'static str,
    kind: Kind,
    counts: usize,
    at: Option<u64>,
}

impl FromStr for Fault {
    type Err = String;

    /// Read `write-error` or `write-error@17`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (given, at) = text.split_once('@').map_or((text, None), |(name, at)| (name, Some(at)));
        let number = at.map(|at| at.parse().ok().filter(|&at: &u64| at > 0));
        match KINDS.iter().find(|(name, ..)| *name == given) {
            Some(&(name, kind, counts)) if number != Some(None) => {
                Ok(Self { name, kind, counts, at: number.flatten() })
            }
            _ => Err(format!(
                "\"{text}\" was given; {}, each also with @N, the number of its request from 1, are allowed",
                KINDS.map(|(name, ..)| format!("\"{name}\"")).join(", ")
            )),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        self.at.map_or(Ok(()), |at| write!(f, "@{at}"))
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
        let at = fault.at.unwrap_or_else(|| draw(counted.counts[fault.counts].max(1)));
        Self { fault: Some(Fault { at: Some(at), ..fault.clone() }), ..Self::default() }
    }

    /// The fault, with its request.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether it has come.
    pub(crate) fn has_come(&self) -> bool {
        self.fault.as_ref().is_none_or(|fault| self.counts[fault.counts] >= fault.at.unwrap_or(1))
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
        let Some(Fault { kind, counts, at: Some(at), .. }) = self.fault else { return Fate::Done };
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
