//! A disk in memory, with holes.

use coflash_nbd::{Command, Errno, Export, Hangup, Request, Shape};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Unmapped ranges read as zeros.
const PAGE_BYTES: usize = 4096;

struct Disk {
    bytes: Vec<u8>,
    mapped: Vec<bool>,
}

/// A disk in memory.
pub(crate) struct Memory(Mutex<Disk>);

impl Memory {
    /// A disk of zeros, all of it holes.
    pub(crate) fn with_size(size_bytes: usize) -> Self {
        let (bytes, mapped) = (vec![0; size_bytes], vec![false; size_bytes.div_ceil(PAGE_BYTES)]);
        Self(Mutex::new(Disk { bytes, mapped }))
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk {
    fn serve(&mut self, request: &mut Request) -> Result<(), Errno> {
        let begin = usize::try_from(request.offset).map_err(|_| Errno::Invalid)?;
        let range = begin..begin + request.length as usize;
        match request.command {
            Command::Read => {
                request.data.copy_from_slice(&self.bytes[range.clone()]);
                self.tell(range, request);
            }
            Command::Write => {
                self.bytes[range.clone()].copy_from_slice(&request.data);
                self.mapped[pages(&range)].fill(true);
            }
            Command::WriteZeroes { no_hole: true, fast: true } => return Err(Errno::NotSupported),
            Command::Trim | Command::WriteZeroes { .. } => {
                self.bytes[range.clone()].fill(0);
                let whole = range.start.div_ceil(PAGE_BYTES)..range.end / PAGE_BYTES;
                if !matches!(request.command, Command::WriteZeroes { no_hole: true, .. }) && !whole.is_empty()
                {
                    self.mapped[whole].fill(false);
                }
            }
            Command::BlockStatus => self.tell(range, request),
            Command::Flush | Command::Cache => {}
        }
        Ok(())
    }

    /// Says which parts of a range are holes.
    fn tell(&self, range: Range<usize>, request: &mut Request) {
        for page in pages(&range) {
            let end = ((page + 1) * PAGE_BYTES).min(range.end);
            let begin = (page * PAGE_BYTES).max(range.start);
            if !request.extents.push((end - begin) as u64, !self.mapped[page]) {
                break;
            }
        }
    }
}

/// The pages that a range of bytes touches.
fn pages(range: &Range<usize>) -> Range<usize> {
    range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES)
}

impl Export for Memory {
    fn shape(&self) -> Shape {
        let size_bytes = self.lock().bytes.len() as u64;
        let (name, description) = ("memory".to_owned(), "a disk in memory".to_owned());
        Shape { name, description, size_bytes, preferred_bytes: 4096, read_only: false }
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let mut disk = self.lock();
        for mut request in requests.drain(..) {
            let result = disk.serve(&mut request);
            request.answer(result);
        }
    }

    fn ended(&self, why: &Hangup) {
        if !why.is_orderly() {
            eprintln!("a connection ended: {why}");
        }
    }
}
