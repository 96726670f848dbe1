//! The changes that a workload makes while it is explored.

use crate::folder::Folder;
use crate::session::{Failure, Session};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Bytes, Time};
use coflash_nbd::{Command, Request};
use coflash_store::{Disk, SECTOR_BYTES, Store, StoreError};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::str::FromStr;

/// The atomic write unit: of its bytes, if they begin at a multiple of it, a power cut leaves all or none of a
/// write. In bytes, a multiple of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicUnit(u64);

impl FromStr for AtomicUnit {
    type Err = String;

    /// Read a size such as `4KiB`.
    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = text.parse::<Bytes>().map_err(|error| error.to_string())?.count;
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES as u64) {
            return Err(format!(
                "\"{text}\" was given; a multiple of {SECTOR_BYTES}B, such as \"4KiB\", is allowed"
            ));
        }
        Ok(Self(bytes))
    }
}

/// A request that changes data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// A write; its data lies at `place` of the file of [`Changes`].
    Write {
        offset: u64,
        length: u32,
        place: u64,
    },
    Trim {
        offset: u64,
        length: u64,
    },
    Zeroes {
        offset: u64,
        length: u64,
    },
    Flush,
}

/// The changes that a workload makes, in order. The data is in a file without a name: a workload may write
/// more than memory holds.
pub(crate) struct Changes {
    pub(crate) list: Vec<(Time, Change)>,
    data: File,
    data_bytes: u64,
    /// The first error is kept until the end, so that it stops no request.
    pub(crate) written: io::Result<()>,
}

impl Changes {
    pub(crate) fn new(folder: &Folder) -> io::Result<Self> {
        let data = tempfile::tempfile_in(folder.join(""))?;
        Ok(Self { list: Vec::new(), data, data_bytes: 0, written: Ok(()) })
    }

    pub(crate) fn record(&mut self, now: Time, request: &Request) {
        let (offset, length) = (request.offset, u64::from(request.length));
        let change = match request.command {
            Command::Write => {
                let place = self.data_bytes;
                self.data_bytes += length;
                if self.written.is_ok() {
                    self.written = self.data.write_all_at(&request.data, place);
                }
                Some(Change::Write { offset, length: request.length, place })
            }
            Command::Trim => Some(Change::Trim { offset, length }),
            Command::WriteZeroes { .. } => Some(Change::Zeroes { offset, length }),
            Command::Flush => Some(Change::Flush),
            Command::Read | Command::Cache | Command::BlockStatus => None,
        };
        self.list.extend(change.map(|change| (now, change)));
        self.list.extend(request.fua.then_some((now, Change::Flush)));
    }

    fn data(&self, length: u32, place: u64) -> Result<Vec<u8>, Failure> {
        let mut data = vec![0; length as usize];
        let read = self.data.read_exact_at(&mut data, place);
        let action = "to read what the workload wrote";
        read.map_err(|problem| StoreError::host(action, &problem))?;
        Ok(data)
    }

    pub(crate) fn apply(
        &self,
        change: Change,
        session: &mut Session<Store<impl Disk>>,
        now: Time,
    ) -> Result<(), Failure> {
        match change {
            Change::Write { offset, length, place } => session.write(offset, &self.data(length, place)?, now),
            Change::Trim { offset, length } => session.trim(offset, length, now),
            Change::Zeroes { offset, length } => session.write_zeroes(offset, length, false, now),
            Change::Flush => session.flush(now),
        }
        .map(drop)
    }

    /// Apply a part of a request: nothing, all, or some atomic units of a write.
    pub(crate) fn apply_in_part(
        &self,
        change: Change,
        session: &mut Session<Store<impl Disk>>,
        unit: AtomicUnit,
        share: f64,
        stream: &mut RandomStream,
    ) -> Result<(), Failure> {
        let now = Time::ZERO;
        let torn = match change {
            Change::Write { offset, length, place } if stream.random_bool(0.25) => {
                Some((offset, length, place))
            }
            _ => None,
        };
        let Some((offset, length, place)) = torn else {
            return if stream.random_bool(share) { self.apply(change, session, now) } else { Ok(()) };
        };
        let data = self.data(length, place)?;
        let mut at = 0;
        while at < data.len() {
            let unit_end = (offset + at as u64 + 1).next_multiple_of(unit.0);
            let end = data.len().min((unit_end - offset) as usize);
            if stream.random_bool(share) {
                session.write(offset + at as u64, &data[at..end], now)?;
            }
            at = end;
        }
        Ok(())
    }
}
