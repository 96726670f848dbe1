//! What is kept of a run: its log, and the data that it wrote.

use super::painted::Piece;
use crate::order::{Entry, Id, Kind, Log};
use crate::session::{Failure, Session};
use coflash_base::Time;
use coflash_store::{Disk, SECTOR_BYTES, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::FileExt;

/// The state in which a run begins that is the recovery from a power cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cut {
    /// The number of the state.
    pub(crate) state: usize,
    /// What the first run leaves, from its beginning on.
    pub(crate) pieces: Vec<Piece>,
    /// Flushes of the workload, and its last mark, before the cut.
    pub(crate) flushes: usize,
    pub(crate) mark: String,
}

/// A run that has ended. A workload may write more than memory holds, so its data is in a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) log: Log,
    /// The cut from which it recovers, if it does.
    pub(crate) cut: Option<Cut>,
    /// The fault under which it ran, and whether that came.
    pub(crate) fault: Option<(String, bool)>,
    /// Whether that made a request fail, and the workload ended well.
    #[serde(default)]
    pub(crate) is_unreported: bool,
    /// How many runs share its points.
    pub(crate) share: usize,
    /// When power was switched on, in seconds since 1970.
    pub(crate) power_on_s: f64,
    #[serde(skip)]
    pub(crate) data: Option<File>,
}

impl Record {
    fn data(&self, id: Id, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let entry = &self.log.entries[id];
        let mut bytes = vec![0; (to - from) as usize];
        let file = self.data.as_ref().expect("it is opened with the record");
        file.read_exact_at(&mut bytes, entry.place + (from - entry.offset))?;
        Ok(bytes)
    }

    /// Make the changes that are seen of a state, durably.
    pub(crate) fn apply(
        &self,
        pieces: &[Piece],
        session: &mut Session<Store<impl Disk>>,
    ) -> Result<(), Failure> {
        for Piece { id, range } in pieces {
            match self.log.entries[*id].kind {
                Kind::Write => {
                    let action = "to read what the workload wrote";
                    let failed = |problem: io::Error| StoreError::host(action, &problem);
                    let data = self.data(*id, range.start, range.end).map_err(failed)?;
                    session.write(range.start, &data, Time::ZERO)?;
                }
                Kind::Zeroes | Kind::Trim => {
                    session.write_zeroes(range.start, range.end - range.start, false, Time::ZERO)?;
                }
                Kind::Flush => {}
            }
        }
        session.flush(Time::ZERO).map(drop)
    }

    /// The digests of the whole sectors of each write.
    pub(crate) fn digests(&self) -> io::Result<Digests> {
        let digests = |(id, entry): (Id, &Entry)| -> io::Result<Vec<u64>> {
            let (from, end) = (entry.offset.next_multiple_of(SECTOR), entry.end() / SECTOR * SECTOR);
            if entry.kind != Kind::Write || from >= end {
                return Ok(Vec::new());
            }
            Ok(self.data(id, from, end)?.chunks_exact(SECTOR_BYTES).map(digest).collect())
        };
        let all = self.log.entries.iter().enumerate().map(digests).collect::<io::Result<_>>()?;
        Ok(Digests { all, zeros: digest([0_u8; SECTOR_BYTES].as_slice()) })
    }
}

pub(crate) const SECTOR: u64 = SECTOR_BYTES as u64;

/// A digest by which contents are compared.
pub(crate) fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The digests of what each change leaves in its sectors.
pub(crate) struct Digests {
    all: Vec<Vec<u64>>,
    zeros: u64,
}

impl Digests {
    /// That of a whole sector of a change.
    pub(crate) fn sector(&self, log: &Log, id: Id, sector: u64) -> u64 {
        match log.entries[id].kind {
            Kind::Write => self.all[id][(sector - log.entries[id].offset.div_ceil(SECTOR)) as usize],
            _ => self.zeros,
        }
    }
}
