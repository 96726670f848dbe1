//! Containers under every kind of cut.

mod damage;
mod device_power;
mod firmware;
mod host_power;
mod lossy;
mod memory;
mod model;

use crate::power::Undecided;
use crate::{DeviceBytes, Disk, Store};
use coflash_media::Side;

/// What tests alone ask of a store.
impl<D: Disk> Store<D> {
    /// Cut all power after `steps` more steps.
    fn cut_after(&mut self, steps: u64) {
        self.cut_side_after(Side::Both, steps);
    }

    /// The number of stores that may or may not survive a cut here.
    fn undecided(&self) -> usize {
        let count = |store: &Undecided| match store {
            Undecided::Word { .. } => 1,
            Undecided::Slot { stores, .. } => *stores as usize,
        };
        self.power.undecided.iter().map(count).sum()
    }
}
