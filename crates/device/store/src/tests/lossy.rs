//! A host that loses power: some of the sectors written since the last sync are lost.

use crate::disk::{Disk, SECTOR_BYTES};
use crate::overlay::{self, Overlay, Sectors};
use coflash_base::seed::{RandomStream, RngExt};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The power of a host, for all of its disks.
#[derive(Debug)]
pub(super) struct HostPower {
    steps_left: AtomicU64,
}

impl Default for HostPower {
    fn default() -> Self {
        Self { steps_left: AtomicU64::new(u64::MAX) }
    }
}

impl HostPower {
    /// The shares of unsynced sectors to keep, to draw from: with most or few of them kept, writes appear in
    /// another order than they were made.
    pub(super) const SHARES: [f64; 5] = [0.0, 1.0 / 16.0, 0.5, 15.0 / 16.0, 1.0];

    /// Cut power during the write or sync number `steps` from now; 0 cuts it at once, `u64::MAX` restores it.
    pub(super) fn cut_after(&self, steps: u64) {
        self.steps_left.store(steps, Ordering::Relaxed);
    }

    /// The number of writes and syncs up to the cut, including the interrupted one.
    #[must_use]
    pub(super) fn steps_left(&self) -> u64 {
        self.steps_left.load(Ordering::Relaxed)
    }

    /// Use power for a step.
    fn step(&self) -> Step {
        match self.steps_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Err(_) => Step::Off,
            Ok(1) => Step::Cut,
            Ok(_) => Step::Done,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Done,
    /// Power fails in the midst of it.
    Cut,
    Off,
}

/// A disk of a host that loses power, over another disk. It keeps a copy of the sectors as of the last sync.
#[derive(Debug)]
pub(super) struct LossyDisk<'a, D> {
    inner: D,
    power: &'a HostPower,
    synced: Mutex<Sectors>,
    ignores_syncs: AtomicBool,
}

impl<'a, D: Disk> LossyDisk<'a, D> {
    /// Create a disk with durable contents.
    #[must_use]
    pub(super) fn new(inner: D, power: &'a HostPower) -> Self {
        Self { inner, power, synced: Mutex::default(), ignores_syncs: AtomicBool::new(false) }
    }

    /// Answer syncs without making anything durable, as a broken disk does.
    pub(super) fn ignore_syncs(&self) {
        self.ignores_syncs.store(true, Ordering::Relaxed);
    }

    /// Lose power: each sector written since the last sync is kept with probability `share`, else it is as of
    /// that sync.
    ///
    /// # Errors
    /// The disk below fails.
    pub(super) fn lose(&self, share: f64, stream: &mut RandomStream) -> io::Result<()> {
        put_back(&self.synced(), &self.inner, share, stream)?;
        self.synced().clear();
        Ok(())
    }

    /// The disk as [`lose`](Self::lose) would leave it. It is valid until the disk is written again.
    ///
    /// # Errors
    /// The disk below fails.
    pub(super) fn after_loss(&self, share: f64, stream: &mut RandomStream) -> io::Result<Overlay<&D>> {
        let left = Overlay::new(&self.inner)?;
        put_back(&self.synced(), &left, share, stream)?;
        Ok(left)
    }

    /// The number of sectors that a loss of power may lose.
    #[must_use]
    pub(super) fn unsynced_sectors(&self) -> usize {
        self.synced().len()
    }

    fn synced(&self) -> MutexGuard<'_, Sectors> {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Restore some sectors of a disk.
fn put_back(sectors: &Sectors, disk: &impl Disk, share: f64, stream: &mut RandomStream) -> io::Result<()> {
    for (number, sector) in sectors {
        if !stream.random_bool(share) {
            disk.write_at(&**sector, number * SECTOR_BYTES as u64)?;
        }
    }
    Ok(())
}

fn off() -> io::Error {
    io::Error::other("the host has lost power")
}

impl<D: Disk> Disk for LossyDisk<'_, D> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if self.power.steps_left() == 0 { Err(off()) } else { self.inner.read_at(bytes, offset) }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let step = self.power.step();
        if step == Step::Off {
            return Err(off());
        }
        let mut synced = self.synced();
        for number in overlay::touched(offset, bytes.len()) {
            overlay::get(&mut synced, number, &self.inner)?;
        }
        self.inner.write_at(bytes, offset)?;
        // An interrupted write leaves some of its sectors, as does any other write since the last sync.
        if step == Step::Cut { Err(off()) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        if self.power.step() != Step::Done {
            return Err(off());
        }
        if !self.ignores_syncs.load(Ordering::Relaxed) {
            self.inner.sync()?;
            self.synced().clear();
        }
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.inner.size_bytes()
    }
}
