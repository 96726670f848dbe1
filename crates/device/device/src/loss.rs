//! What power cuts take from clients: answered writes that neither a flush nor a commit had made durable, and connections.

use crate::power_on::power_was_cut;
use coflash_base::Bytes;
use coflash_level::AtRisk;
use coflash_level::cooperation::CommitCounters;
use coflash_media::Side;
use coflash_workload::Op;
use serde::{Deserialize, Serialize};

/// Answered requests whose effect a power cut would take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unsettled {
    /// Writes; trims, too, where they wait for a commit.
    writes: u64,
    bytes: u64,
    risk: AtRisk,
    commits: u64,
}

impl Unsettled {
    /// Note what is at risk now. A commit, or a cache without dirty pages, has settled all that came before.
    pub(crate) fn look(&mut self, (risk, commits): (AtRisk, CommitCounters)) {
        if risk == AtRisk::Nothing || commits.commits != self.commits {
            (self.writes, self.bytes) = (0, 0);
        }
        (self.risk, self.commits) = (risk, commits.commits);
    }

    /// Add a request that was served just now.
    pub(crate) fn add(&mut self, op: Op, bytes: u64) {
        if self.takes(op) {
            self.writes += 1;
            self.bytes += bytes;
        }
    }

    /// Leave out a request that is not answered.
    pub(crate) fn leave_out(&mut self, op: Op, bytes: u64) {
        if self.takes(op) {
            self.writes = self.writes.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Every scheme but those with commits keeps trims.
    fn takes(&self, op: Op) -> bool {
        match self.risk {
            AtRisk::Nothing => false,
            AtRisk::Dirty(_) => op == Op::Write,
            AtRisk::Uncommitted => matches!(op, Op::Write | Op::Trim),
        }
    }
}

/// What a power cut has taken from clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The loss in words.
    pub told: String,
    /// Answered writes, and where they wait for a commit also trims, after the last flush or commit.
    pub writes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, pages that are gone; `None`: all of them are.
    pub pages: Option<u32>,
    /// Connections that ended.
    pub connections: usize,
}

impl Loss {
    /// The loss of a cut that ended the session.
    pub(crate) fn new(side: Side, unsettled: Unsettled, connections: usize) -> Self {
        let Unsettled { writes, bytes, risk, .. } = unsettled;
        let (count, size) = (grouped(writes), Bytes { count: bytes });
        let pages = if let AtRisk::Dirty(pages) = risk { Some(pages).filter(|_| writes > 0) } else { None };
        let gone = match pages.map(|pages| grouped(pages.into())) {
            _ if writes == 0 => "no answered write is lost".to_owned(),
            Some(pages) => {
                format!("{pages} pages are lost, of {count} answered writes ({size}) that no flush followed")
            }
            None => {
                format!(
                    "{count} answered writes and trims ({size}) are lost: neither flush nor commit followed"
                )
            }
        };
        let ended = grouped(connections as u64);
        let told = format!("{}: {gone}; connections ended: {ended}; it is on again", power_was_cut(side));
        Self { told, writes, bytes, pages, connections }
    }

    /// A cut of the device below a host that goes on with its cache.
    pub(crate) fn nothing(side: Side) -> Self {
        let told =
            format!("{}: no answered write is lost, and no connection ended; {WENT_ON}", power_was_cut(side));
        Self { told, writes: 0, bytes: 0, pages: None, connections: 0 }
    }
}

/// The end of a cut of the device alone.
pub(crate) const WENT_ON: &str = "it is on again, and the host went on";

/// A number with its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}
