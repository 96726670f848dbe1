//! Copies of some sectors of a disk.

use crate::disk::{Disk, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::ops::Range;

/// A sector.
pub(crate) type Sector = [u8; SECTOR_BYTES];

/// Sectors by number.
pub(crate) type Sectors = BTreeMap<u64, Box<Sector>>;

/// The numbers of the sectors that `len` bytes at `offset` touch.
pub(crate) fn touched(offset: u64, len: usize) -> Range<u64> {
    let size = SECTOR_BYTES as u64;
    offset / size..(offset + len as u64).div_ceil(size)
}

/// The sector of a number among `sectors`; a missing one is read from a disk.
pub(crate) fn get<'a>(sectors: &'a mut Sectors, number: u64, disk: &impl Disk) -> io::Result<&'a mut Sector> {
    Ok(match sectors.entry(number) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let mut sector = Box::new([0; SECTOR_BYTES]);
            disk.read_at(&mut *sector, number * SECTOR_BYTES as u64)?;
            entry.insert(sector)
        }
    })
}

/// The common part of a sector and `len` bytes at `offset`: its place in the sector and in the bytes.
pub(crate) fn overlap(number: u64, offset: u64, len: usize) -> (Range<usize>, Range<usize>) {
    let first = number * SECTOR_BYTES as u64;
    let (start, end) = (first.max(offset), (first + SECTOR_BYTES as u64).min(offset + len as u64));
    let within = |base: u64| (start - base) as usize..(end - base) as usize;
    (within(first), within(offset))
}
