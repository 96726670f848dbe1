//! The data file, an array of pages. Writes wait in memory, and those to adjacent places are made as one.

use crate::disk::Disk;
use std::io;

/// The bytes that may wait: few enough for a processor's own cache.
const WAITING_BYTES_MAX: usize = 256 << 10;

/// The disk of the data of flash pages and slots.
#[derive(Debug)]
pub(crate) struct DataFile<D> {
    disk: D,
    page_bytes: usize,
    /// The pages that wait to be written, each with its place.
    waiting: Pages,
    /// Adjacent pages, on their way to the disk.
    run: Vec<u8>,
    /// Whether data was written since it was last synced.
    is_unsynced: bool,
}

#[derive(Debug, Default)]
struct Pages {
    places: Vec<u32>,
    bytes: Vec<u8>,
}

impl<D: Disk> DataFile<D> {
    pub(crate) fn new(disk: D, page_bytes: usize) -> Self {
        // An earlier process may have ended before a sync.
        Self { disk, page_bytes, waiting: Pages::default(), run: Vec::new(), is_unsynced: true }
    }

    /// Read the page at a place.
    pub(crate) fn read(&self, page: &mut [u8], place: u32) -> io::Result<()> {
        match self.waiting.places.iter().position(|&waiting| waiting == place) {
            Some(index) => {
                page.copy_from_slice(&self.waiting.bytes[index * self.page_bytes..][..self.page_bytes])
            }
            None => self.disk.read_at(page, u64::from(place) * self.page_bytes as u64)?,
        }
        Ok(())
    }

    /// Write a page to a place: it waits until [`write_out`](Self::write_out), or until too many pages wait. The
    /// place has no page that waits.
    pub(crate) fn write(&mut self, page: &[u8], place: u32) -> io::Result<()> {
        self.is_unsynced = true;
        if self.waiting.bytes.len() + self.page_bytes > WAITING_BYTES_MAX {
            self.write_out()?;
        }
        self.waiting.places.push(place);
        self.waiting.bytes.extend_from_slice(page);
        Ok(())
    }

    /// Hand the pages that wait to the host. After a failure they are still there.
    pub(crate) fn write_out(&mut self) -> io::Result<()> {
        let Self { disk, page_bytes, waiting: Pages { places, bytes }, run, .. } = self;
        let page = |index: usize| index * *page_bytes..(index + 1) * *page_bytes;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|&index| places[index]);
        for adjacent in order.chunk_by(|&one, &next| places[one] + 1 == places[next]) {
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
