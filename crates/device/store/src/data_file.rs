//! The data file, an array of pages. Writes wait in memory, and those to adjacent places are made as one.

use crate::disk::Disk;
use std::io;

/// The bytes that may wait: few enough for a processor's own cache.
const WAITING_BYTES_MAX: usize = 256 << 10;
/// The bytes of one write. The system's page cache keeps together the bytes that a single write brings in, and a later write of
/// a part of them costs up to ten times as much, the larger the whole is.
const WRITE_BYTES_MAX: usize = 16 << 10;

/// The disk of the data of flash pages and slots.
#[derive(Debug)]
pub(crate) struct DataFile<D> {
    pub(crate) disk: D,
    page_bytes: usize,
    /// The places of the pages that wait to be written, and the pages.
    places: Vec<u32>,
    waiting: Vec<u8>,
    /// Adjacent pages, on their way to the disk.
    run: Vec<u8>,
    /// Whether data was written since it was last synced.
    is_unsynced: bool,
}

impl<D: Disk> DataFile<D> {
    pub(crate) fn new(disk: D, page_bytes: usize) -> Self {
        // An earlier process may have ended before a sync.
        let (places, waiting, run) = (Vec::new(), Vec::new(), Vec::new());
        Self { disk, page_bytes, places, waiting, run, is_unsynced: true }
    }

    /// Read the page at a place.
    pub(crate) fn read(&self, page: &mut [u8], place: u32) -> io::Result<()> {
        match self.places.iter().position(|&waiting| waiting == place) {
            Some(index) => page.copy_from_slice(&self.waiting[index * self.page_bytes..][..self.page_bytes]),
            None => self.disk.read_at(page, u64::from(place) * self.page_bytes as u64)?,
        }
        Ok(())
    }

    /// Write a page to a place: it waits until [`write_out`](Self::write_out), or until too many pages wait. The
    /// place has no page that waits.
    pub(crate) fn write(&mut self, page: &[u8], place: u32) -> io::Result<()> {
        self.is_unsynced = true;
        if self.waiting.len() + self.page_bytes > WAITING_BYTES_MAX {
            self.write_out()?;
        }
        self.places.push(place);
        self.waiting.extend_from_slice(page);
        Ok(())
    }

    /// Hand the pages that wait to the host. After a failure they are still there.
    pub(crate) fn write_out(&mut self) -> io::Result<()> {
        let Self { disk, page_bytes, places, waiting: bytes, run, .. } = self;
        let page = |index: usize| index * *page_bytes..(index + 1) * *page_bytes;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|&index| places[index]);
        let runs = order.chunk_by(|&one, &next| places[one] + 1 == places[next]);
        for adjacent in runs.flat_map(|run| run.chunks((WRITE_BYTES_MAX / *page_bytes).max(1))) {
            let (first, last) = (adjacent[0], adjacent[adjacent.len() - 1]);
            let data = if last + 1 == first + adjacent.len() && adjacent.is_sorted() {
                &bytes[page(first).start..page(last).end]
            } else {
                run.clear();
                adjacent.iter().for_each(|&index| run.extend_from_slice(&bytes[page(index)]));
                &*run
            };
            disk.write_at(data, u64::from(places[first]) * *page_bytes as u64)?;
        }
        places.clear();
        bytes.clear();
        Ok(())
    }

    /// Make all written data durable, if there is any since the last time.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.write_out()?;
        if std::mem::take(&mut self.is_unsynced) { self.disk.sync() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Counts the bytes of each write.
    #[derive(Default)]
    struct Writes(RefCell<Vec<(u64, usize)>>);

    impl Disk for &Writes {
        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            self.0.borrow_mut().push((offset, bytes.len()));
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn size_bytes(&self) -> io::Result<u64> {
            Ok(0)
        }
    }

    /// Each write, for pages of a size at these places.
    fn writes(page_bytes: usize, places: &[u32]) -> Vec<(u64, usize)> {
        let disk = Writes::default();
        let mut file = DataFile::new(&disk, page_bytes);
        let page = vec![7; page_bytes];
        places.iter().for_each(|&place| file.write(&page, place).expect("it cannot fail"));
        file.write_out().expect("it cannot fail");
        disk.0.take()
    }

    #[test]
    fn adjacent_pages_are_one_write_of_a_few() {
        let (page, most) = (4096, WRITE_BYTES_MAX);
        assert_eq!(writes(page, &[9, 7, 3, 8]), [(3 * 4096, page), (7 * 4096, 3 * page)]);
        assert_eq!(
            writes(page, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
            [(0, most), (4 * 4096, most), (8 * 4096, page)]
        );
        assert_eq!(writes(2 * most, &[1, 2]), [2, 4].map(|at| (at * most as u64, 2 * most)));
    }
}
