//! A disk that goes on in memory once the host cannot write it any more.
//!
//! After the first failed write or sync nothing is written to either file of a container: what is there stays as after a loss
//! of power at that moment, which every opening can mend. The store goes on over both disks and the changes in memory, so that
//! reads find everything that was answered; the changes are at most as large as the metadata, and the data of one batch.

use crate::disk::Disk;
use crate::error::{StoreError, while_doing};
use crate::overlay::Overlay;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The first failure of a write or sync, of any disk of a container: a later one does not replace it.
pub(crate) type FirstFailure = Arc<OnceLock<StoreError>>;

/// A disk, or after a failure the disk and its changes in memory.
#[derive(Debug)]
pub(crate) struct Guarded<D> {
    disk: Overlay<D>,
    /// What is told of a failed write, and of a failed sync.
    actions: [&'static str; 2],
    failure: FirstFailure,
}

impl<D: Disk> Guarded<D> {
    pub(crate) fn new(disk: D, actions: [&'static str; 2], failure: &FirstFailure) -> io::Result<Self> {
        Ok(Self { disk: Overlay::new(disk)?, actions, failure: failure.clone() })
    }

    /// The disk without the changes in memory.
    pub(crate) fn below(&self) -> &D {
        self.disk.below()
    }

    /// Do it on the disk. Returns whether that was done.
    fn on_disk(&self, action: &'static str, work: impl FnOnce(&D) -> io::Result<()>) -> bool {
        if self.failure.get().is_some() {
            return false;
        }
        let done = work(self.below()).map_err(while_doing(action));
        done.map_err(|failure| self.failure.set(failure)).is_ok()
    }
}

impl<D: Disk> Disk for Guarded<D> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        match self.failure.get() {
            None => self.below().read_at(bytes, offset),
            Some(_) => self.disk.read_at(bytes, offset),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.on_disk(self.actions[0], |disk| disk.write_at(bytes, offset)) {
            return Ok(());
        }
        self.disk.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.on_disk(self.actions[1], Disk::sync);
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.disk.size_bytes()
    }

    fn data_end(&self, range: &Range<u64>) -> u64 {
        self.disk.data_end(range)
    }
}
