//! A disk and changes over it in memory: a disk that is never written, or only as long as the host can write it.
//!
//! After the first failed write or sync nothing is written to either file of a container: what is there stays as after a loss
//! of power at that moment, which every opening can mend. The store goes on over both disks and the changes in memory, so that
//! reads find everything that was answered; the changes are at most as large as the metadata, and the data of one batch.

use crate::disk::{Disk, SECTOR_BYTES};
use crate::error::{StoreError, while_doing};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A disk, and the sectors written over it, in memory. For a look at a container that changes nothing, for many variants of
/// one container, and for a disk that cannot be written any more.
#[derive(Debug)]
pub struct Overlay<D> {
    below: D,
    written: Mutex<(Sectors, u64)>,
    /// The host, if changes go to the disk as long as that takes them.
    host: Option<Host>,
}

/// The host of a container, which may fail to write.
#[derive(Debug)]
struct Host {
    /// What is told of a failed write, and of a failed sync.
    actions: [&'static str; 2],
    failure: FirstFailure,
}

/// The first failure of a write or sync, of any disk of a container: a later one does not replace it.
pub(crate) type FirstFailure = Arc<OnceLock<StoreError>>;

impl<D: Disk> Overlay<D> {
    /// Create an overlay without changes.
    ///
    /// # Errors
    /// The size of the disk is not known.
    pub fn new(below: D) -> io::Result<Self> {
        let size_bytes = below.size_bytes()?;
        Ok(Self { below, written: Mutex::new((Sectors::new(), size_bytes)), host: None })
    }

    /// Create an overlay whose changes go to the disk up to the first `failure`, which may be that of another disk.
    pub(crate) fn until(failure: &FirstFailure, actions: [&'static str; 2], below: D) -> io::Result<Self> {
        let host = Some(Host { actions, failure: failure.clone() });
        Ok(Self { host, ..Self::new(below)? })
    }

    /// The disk without the changes.
    pub(crate) fn below(&self) -> &D {
        &self.below
    }

    fn written(&self) -> MutexGuard<'_, (Sectors, u64)> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host, as long as changes go to the disk: none lies over it.
    fn host(&self) -> Option<&Host> {
        self.host.as_ref().filter(|host| host.failure.get().is_none())
    }

    /// Do it on the disk, if changes go there. Returns whether that was done.
    fn on_disk(&self, action: usize, work: impl FnOnce(&D) -> io::Result<()>) -> bool {
        self.host().is_some_and(|host| {
            let done = work(&self.below).map_err(while_doing(host.actions[action]));
            done.map_err(|failure| host.failure.set(failure)).is_ok()
        })
    }
}

impl<D: Disk> Disk for Overlay<D> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.below.read_at(bytes, offset)?;
        if self.host().is_some() {
            return Ok(());
        }
        let len = bytes.len();
        for (&number, sector) in self.written().0.range(touched(offset, len)) {
            let (within, there) = overlap(number, offset, len);
            bytes[there].copy_from_slice(&sector[within]);
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.on_disk(0, |disk| disk.write_at(bytes, offset)) {
            return Ok(());
        }
        let (written, size_bytes) = &mut *self.written();
        for number in touched(offset, bytes.len()) {
            let sector = get(written, number, &self.below)?;
            let (within, there) = overlap(number, offset, bytes.len());
            sector[within].copy_from_slice(&bytes[there]);
        }
        *size_bytes = (*size_bytes).max(offset + bytes.len() as u64);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.on_disk(1, Disk::sync);
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.written().1)
    }

    fn data_end(&self, range: &Range<u64>) -> u64 {
        let sectors = touched(range.start, (range.end - range.start) as usize);
        let written = self.written().0.range(sectors).next_back().map_or(0, |(number, _)| number + 1);
        self.below.data_end(range).max((written * SECTOR_BYTES as u64).min(range.end))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::FileDisk;

    #[test]
    fn the_data_of_a_range_ends_with_its_last_write_on_the_file_or_over_it() {
        const MIB: u64 = 1 << 20;
        let path = std::env::temp_dir().join(format!("coflash-data-end-{}", std::process::id()));
        let file = FileDisk::create(&path).expect("a new file");
        for at in [MIB, 5 * MIB, 40 * MIB] {
            file.write_at(&[1], at).expect("there is room");
        }
        // File systems have holes of whole blocks, or none.
        let is_near = |found: u64, wanted: u64| found > wanted && found <= wanted + MIB;
        let range = 2 * MIB..30 * MIB;
        let of_file = file.data_end(&range);
        assert!(is_near(of_file, 5 * MIB) || of_file == range.end, "{of_file}");
        let over = Overlay::new(&file).expect("its size is known");
        assert_eq!(over.data_end(&range), of_file);
        over.write_at(&[1], 20 * MIB).expect("it is memory");
        over.write_at(&[1], 35 * MIB).expect("it is memory");
        assert!(is_near(over.data_end(&range), 20 * MIB) || of_file == range.end);
        assert_eq!(over.data_end(&(39 * MIB..40 * MIB + 1)), 40 * MIB + 1, "no further than the range");
        std::fs::remove_file(&path).expect("it is there");
    }
}
