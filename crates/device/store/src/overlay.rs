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
