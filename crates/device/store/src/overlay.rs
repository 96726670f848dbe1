//! A disk that is never written: changes stay in memory.

use crate::disk::{Disk, SECTOR_BYTES};
use crate::sectors::{self, Sectors};
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A disk, and the sectors written over it, in memory. For a look at a container that changes nothing, and
/// for many variants of one container.
#[derive(Debug)]
pub struct Overlay<D> {
    below: D,
    written: Mutex<(Sectors, u64)>,
}

impl<D: Disk> Overlay<D> {
    /// Create an overlay without changes.
    ///
    /// # Errors
    /// The size of the disk is not known.
    pub fn new(below: D) -> io::Result<Self> {
        let size_bytes = below.size_bytes()?;
        Ok(Self { below, written: Mutex::new((Sectors::new(), size_bytes)) })
    }

    /// The disk without the changes.
    pub(crate) fn below(&self) -> &D {
        &self.below
    }

    fn written(&self) -> MutexGuard<'_, (Sectors, u64)> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Disk> Disk for Overlay<D> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.below.read_at(bytes, offset)?;
        let len = bytes.len();
        for (&number, sector) in self.written().0.range(sectors::touched(offset, len)) {
            let (within, there) = sectors::overlap(number, offset, len);
            bytes[there].copy_from_slice(&sector[within]);
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let (written, size_bytes) = &mut *self.written();
        for number in sectors::touched(offset, bytes.len()) {
            let sector = sectors::get(written, number, &self.below)?;
            let (within, there) = sectors::overlap(number, offset, bytes.len());
            sector[within].copy_from_slice(&bytes[there]);
        }
        *size_bytes = (*size_bytes).max(offset + bytes.len() as u64);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.written().1)
    }

    fn data_end(&self, range: &Range<u64>) -> u64 {
        let sectors = sectors::touched(range.start, (range.end - range.start) as usize);
        let written = self.written().0.range(sectors).next_back().map_or(0, |(number, _)| number + 1);
        self.below.data_end(range).max((written * SECTOR_BYTES as u64).min(range.end))
    }
}
