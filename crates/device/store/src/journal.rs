//! The redo journal: all changes of the tables since they were last written, in order.
//!
//! An entry is a header and any number of changes: "these bytes at this place of the metadata". Each entry names the
//! checksum of the one before, and the epoch. So only the entries that form an unbroken chain from the
//! journal's start are valid. There are two journals, with the same entries at the same places: of each entry one copy must be
//! sound.

use crate::cell::{CELL_BYTES_MAX, word64};
use crate::disk::Disk;
use crate::error::{Finding, StoreError, while_doing};
use crate::format::Layout;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: u32 = u32::from_le_bytes(*b"CFje");
const HEADER_BYTES: usize = size_of::<Header>();
/// Entries begin at multiples of this.
const ALIGNMENT: usize = 8;
const CHANGE_BYTES_MAX: usize = 8 + CELL_BYTES_MAX;
/// The parts of the tables that are read and written at once.
const SPAN_BYTES: u64 = 64 << 10;

/// The header of an entry.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: U32,
    /// Of all that follows in the entry.
    checksum: U32,
    epoch: U64,
    /// Its number in the epoch.
    number: U64,
    /// All entries up to this number are durable, and so is the data that they refer to.
    durable: U64,
    /// The checksum of the entry before.
    previous: U32,
    bytes: U32,
    /// Whether the data that this entry and earlier ones refer to was made durable before this entry was written.
    is_sync_point: u8,
    unused: [u8; 7],
}

/// The checksum of an entry.
fn checksum(entry: &[u8], seed: u32) -> u32 {
    crc32c::crc32c_append(seed, &entry[offset_of!(Header, epoch)..])
}

impl Header {
    /// The header of a whole entry at the start of `bytes`.
    fn decode(bytes: &[u8], seed: u32) -> Option<Self> {
        let (header, _) = Self::read_from_prefix(bytes).ok().filter(|(header, _)| header.magic == MAGIC)?;
        let entry = bytes.get(..header.bytes.get() as usize).filter(|entry| entry.len() >= HEADER_BYTES)?;
        (checksum(entry, seed) == header.checksum.get()).then_some(header)
    }
}

/// The journal of an open container.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    area: Range<u64>,
    /// The distances of all journals from the first one.
    journals: Vec<u64>,
    end: u64,
    seed: u32,
    epoch: u64,
    /// The number and the checksum of the last entry.
    last: (u64, u32),
    durable: u64,
    /// The changes that are not written yet, after room for a header.
    pending: Vec<u8>,
    /// Whether an entry was written since the last sync point.
    is_ahead: bool,
}

impl Journal {
    /// Create the empty journal of an epoch.
    pub(crate) fn new(layout: &Layout, epoch: u64) -> Self {
        let (area, journals, seed) = (layout.journal.clone(), layout.journals.clone(), layout.seed);
        let (end, pending) = (area.start, vec![0; HEADER_BYTES]);
        Self { area, journals, end, seed, epoch, pending, ..Self::default() }
    }

    /// Note a change of the metadata: `bytes` at `at`.
    pub(crate) fn note(&mut self, at: u64, bytes: &[u8]) {
        self.pending.extend((at | (bytes.len() as u64) << 48).to_le_bytes());
        self.pending.extend(bytes);
    }

    /// Whether there are changes that are not written yet.
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.len() > HEADER_BYTES
    }

    /// The size at which an entry is written in any case.
    fn entry_bytes(&self) -> usize {
        ((self.area.end - self.area.start) as usize / 8).min(64 << 10)
    }

    /// Whether the changes should be written before more of them are noted.
    pub(crate) fn is_due(&self) -> bool {
        self.pending.len() >= self.entry_bytes()
    }

    /// Whether the journal has to be emptied: there must always be room for an entry, and for the two of a sync point.
    pub(crate) fn is_full(&self) -> bool {
        // One operation adds only a few changes to an entry.
        let longest = self.entry_bytes() + 4 * CHANGE_BYTES_MAX;
        self.end + (longest + 2 * HEADER_BYTES) as u64 > self.area.end
    }

    /// Whether anything has changed since the last sync point.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead || self.has_pending()
    }

    /// The size of its entries in bytes.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.end - self.area.start
    }

    /// Write the pending changes as an entry.
    pub(crate) fn append(&mut self, metadata: &impl Disk, is_sync_point: bool) -> io::Result<()> {
        assert!(self.end + self.pending.len() as u64 <= self.area.end, "the journal has room for an entry");
        let (number, previous) = (self.last.0 + 1, self.last.1);
        let bytes = self.pending.len() as u32;
        let header = Header {
            magic: MAGIC.into(),
            checksum: 0.into(),
            epoch: self.epoch.into(),
            number: number.into(),
            durable: self.durable.into(),
            previous: previous.into(),
            bytes: bytes.into(),
            is_sync_point: is_sync_point.into(),
            unused: [0; 7],
        };
        self.pending[..HEADER_BYTES].copy_from_slice(header.as_bytes());
        let checksum = checksum(&self.pending, self.seed);
        self.pending[offset_of!(Header, checksum)..][..4].copy_from_slice(&checksum.to_le_bytes());
        for distance in &self.journals {
            metadata.write_at(&self.pending, self.end + distance)?;
        }
        self.end += u64::from(bytes);
        self.last = (number, checksum);
        self.is_ahead = true;
        self.pending.truncate(HEADER_BYTES);
        Ok(())
    }

    /// Note that all written entries, and the data that they refer to, are durable. A mark tells later
    /// readers of the journal: damage before it is no unfinished write. The mark itself need not be durable.
    pub(crate) fn synced(&mut self, metadata: &impl Disk) -> io::Result<()> {
        self.durable = self.last.0;
        self.append(metadata, true)?;
        self.is_ahead = false;
        Ok(())
    }

    /// Scan the written entries. `None` if there are none.
    pub(crate) fn written(&self, metadata: &impl Disk) -> io::Result<Scan> {
        let area = self.area.start..self.end;
        Ok(Scan::parse(read_all(metadata, &area, &self.journals)?, self.epoch, self.seed))
    }
}

/// Read the same part of all journals. One that the host cannot read is all zeros, unless that holds for all.
fn read_all(metadata: &impl Disk, area: &Range<u64>, journals: &[u64]) -> io::Result<Vec<Vec<u8>>> {
    let nothing = || vec![0; (area.end - area.start) as usize];
    let read = |distance: &u64| {
        let mut bytes = nothing();
        metadata.read_at(&mut bytes, area.start + distance).map(|()| bytes)
    };
    let mut all: Vec<_> = journals.iter().map(read).collect();
    if all.iter().all(Result::is_err) {
        all.swap_remove(0)?;
    }
    Ok(all.into_iter().map(|read| read.unwrap_or_else(|_| nothing())).collect())
}

/// The entries of a journal as read from disk.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The journals; the first one has each sound entry.
    journals: Vec<Vec<u8>>,
    epoch: u64,
    entries: Vec<Entry>,
    /// Entries with one sound copy.
    mended: Vec<u64>,
    /// The number of the last sound entry, although entries before it are damaged.
    last_seen: u64,
}

#[derive(Debug)]
struct Entry {
    place: Range<usize>,
    header: Header,
}

impl Scan {
    /// Read the journal of an epoch.
    ///
    /// # Errors
    /// A durable entry is damaged.
    pub(crate) fn read(metadata: &impl Disk, layout: &Layout, epoch: u64) -> Result<Self, StoreError> {
        // Most of a journal is a hole.
        let Range { start, end } = layout.journal;
        let end_of = |distance: &u64| metadata.data_end(&(start + distance..end + distance)) - distance;
        let area = start..layout.journals.iter().map(end_of).max().unwrap_or(end);
        let journals = read_all(metadata, &area, &layout.journals);
        let mut scan = Self::parse(journals.map_err(while_doing("reading the journal"))?, epoch, layout.seed);
        scan.check(layout).map_err(|finding| StoreError::Damaged(vec![finding]))?;
        // The first one has all sound entries.
        scan.journals.truncate(1);
        Ok(scan)
    }

    /// Find the entries of an epoch, and mend the first journal.
    fn parse(mut journals: Vec<Vec<u8>>, epoch: u64, seed: u32) -> Self {
        let (mut entries, mut mended) = (Vec::<Entry>::new(), Vec::new());
        let mut at = 0;
        loop {
            let last = entries.last().map(|entry| entry.header);
            let (number, previous) = last.map_or((0, 0.into()), |last| (last.number.get(), last.checksum));
            let follows = |header: &Header| {
                header.epoch == epoch && header.number == number + 1 && header.previous == previous
            };
            let sound = |bytes: &Vec<u8>| Header::decode(&bytes[at..], seed).filter(follows);
            let copies: Vec<_> = journals.iter().map(sound).collect();
            let Some(from) = copies.iter().position(Option::is_some) else { break };
            let header = copies[from].expect("it is that one");
            if copies.iter().any(Option::is_none) {
                mended.push(header.number.get());
            }
            let whole = at..at + header.bytes.get() as usize;
            if from > 0 {
                let (first, others) = journals.split_at_mut(1);
                first[0][whole.clone()].copy_from_slice(&others[from - 1][whole.clone()]);
            }
            at = whole.end;
            entries.push(Entry { place: whole.start + HEADER_BYTES..whole.end, header });
        }
        let last_seen = entries.len() as u64;
        Self { journals, epoch, entries, mended, last_seen }
    }

    fn check(&mut self, layout: &Layout) -> Result<(), Finding> {
        let count = self.entries.len() as u64;
        let finding =
            |problem: &str| Finding { part: "journal", number: count + 1, problem: problem.to_owned() };
        let end = self.entries.last().map_or(0, |entry| entry.place.end);
        for journal in &self.journals {
            for at in (end..journal.len()).step_by(ALIGNMENT) {
                let Some(later) = Header::decode(&journal[at..], layout.seed) else { continue };
                if later.epoch == self.epoch && later.durable.get() > count {
                    return Err(finding("this entry was durable, and does not match its checksum"));
                }
                if later.epoch == self.epoch {
                    self.last_seen = self.last_seen.max(later.number.get());
                }
            }
        }
        let tables = layout.tables();
        for (at, bytes) in self.changes(0..self.entries.len()) {
            if !tables.contains(&at) || bytes.is_empty() || tables.end - at < bytes.len() as u64 {
                return Err(finding("a change is outside of the tables"));
            }
        }
        Ok(())
    }

    /// Entries with one sound copy, but for the last one, which the end of the process may have interrupted.
    pub(crate) fn mended(&self) -> impl Iterator<Item = Finding> {
        let problem = "one of its two copies is not whole, the other is. After the last sync point a loss of power of the host \
                       leaves that, too";
        let but_last = self.mended.iter().filter(|&&number| number < self.last_seen);
        but_last.map(move |&number| Finding { part: "journal", number, problem: problem.to_owned() })
    }

    /// What is lost if the journal ends after some entries: none, or all that follow.
    pub(crate) fn lost_after(&self, entries: usize, layout: &Layout) -> Option<Finding> {
        if entries as u64 == self.last_seen {
            return None;
        }
        let is_data =
            |(at, _): &(u64, &[u8])| layout.pages.number(*at).is_some() || layout.slots.number(*at).is_some();
        let pages = self.changes(entries..self.entries.len()).filter(is_data).count();
        let unread = self.last_seen - self.entries.len() as u64;
        let rest =
            if unread > 0 { format!(", and {unread} entries that cannot be read") } else { String::new() };
        let problem = format!(
            "it is not whole, or the data that it refers to: the device is as before it. Lost are the changes of {pages} pages and \
             slots after the last sync point{rest}. After a loss of power of the host that is expected, else it is damage"
        );
        Some(Finding { part: "journal", number: entries as u64 + 1, problem })
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of entries up to the last sync point.
    pub(crate) fn synced(&self) -> usize {
        self.entries.iter().rposition(|entry| entry.header.is_sync_point != 0).map_or(0, |last| last + 1)
    }

    /// The changes of some entries: places, and bytes there.
    pub(crate) fn changes(&self, entries: Range<usize>) -> impl Iterator<Item = (u64, &[u8])> {
        self.entries[entries].iter().flat_map(|entry| {
            let mut rest = &self.journals[0][entry.place.clone()];
            std::iter::from_fn(move || {
                let (key, after) = rest.split_at_checked(8)?;
                let key = word64(key, 0);
                let len = (key >> 48) as usize;
                let (bytes, after) = after.split_at(len.min(after.len()));
                rest = after;
                Some((key & ((1 << 48) - 1), bytes))
            })
        })
    }

    /// Apply the changes of some entries to all copies of the tables. Those near each other are one read and one write, with the
    /// bytes between them.
    pub(crate) fn apply(
        &self,
        entries: Range<usize>,
        metadata: &impl Disk,
        copies: &[u64],
    ) -> io::Result<()> {
        let mut changes: Vec<_> = self.changes(entries).collect();
        // The order of changes of one cell stays. Spans are few, and so quickly sorted.
        changes.sort_by_key(|&(at, _)| at / SPAN_BYTES);
        let mut span = Vec::new();
        for near in changes.chunk_by(|(one, _), (next, _)| one / SPAN_BYTES == next / SPAN_BYTES) {
            let start = near.iter().map(|&(at, _)| at).fold(u64::MAX, u64::min);
            let end = near.iter().map(|(at, bytes)| at + bytes.len() as u64).fold(0, u64::max);
            span.resize((end - start) as usize, 0);
            for copy in copies {
                metadata.read_at(&mut span, start + copy)?;
                for (at, bytes) in near {
                    span[(at - start) as usize..][..bytes.len()].copy_from_slice(bytes);
                }
                metadata.write_at(&span, start + copy)?;
            }
        }
        Ok(())
    }

    /// Continue the journal after the first `entries`.
    pub(crate) fn into_journal(self, layout: &Layout, entries: usize) -> Journal {
        let mut journal = Journal::new(layout, self.epoch);
        if let Some(last) = self.entries[..entries].last() {
            journal.end += last.place.end as u64;
            journal.last = (last.header.number.get(), last.header.checksum.get());
            journal.durable = last.header.durable.get();
            journal.is_ahead = true;
        }
        journal
    }
}
