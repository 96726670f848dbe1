//! Power cuts of the simulated device and of its host, and the restart after one.

use crate::cell::SlotCell;
use crate::disk::Disk;
use crate::error::{Damage, StoreError};
use crate::power::{Undecided, stores};
use crate::store::Store;
use coflash_media::{Contents, Flash, HostPage, Nvm, Side, Slot};
use std::collections::BTreeMap;

/// The bytes of a device behind a power switch: a container, or something that stands for one.
pub trait DeviceBytes: Flash<Error = StoreError, When = ()> + Nvm + HostPage {
    /// Cut the power of a side after `steps` more steps: those of the device if it alone is cut, else of both. 0 cuts it now.
    /// A store of eight bytes or a fence is one step, a program or an erase takes two. Then flash operations fail, and stores do
    /// nothing, until a restart. Memory in the host outlives the device. Without the host no flash operation begins, but none is
    /// torn.
    fn cut_side_after(&mut self, side: Side, steps: u64);

    /// Whether the power of a side is off.
    fn is_off(&self) -> bool;

    /// Whether memory has kept its power although that of the device is off.
    fn outlives_device(&self) -> bool;

    /// Restart the device after it alone has lost power, and return what it finds in its flash.
    ///
    /// # Errors
    /// The contents cannot be read.
    fn restart_device(&mut self) -> Result<Contents, StoreError>;

    /// Why data that was read from a slot since the last call is damaged: the current request must fail.
    fn take_slot_damage(&mut self) -> Option<Damage>;
}

impl<D: Disk> DeviceBytes for Store<D> {
    fn cut_side_after(&mut self, side: Side, steps: u64) {
        (self.power.side, self.power.steps_left) = (side, steps);
    }

    fn is_off(&self) -> bool {
        self.power.is_off()
    }

    fn outlives_device(&self) -> bool {
        self.format().in_host && self.power.is_off() && self.power.side == Side::Device
    }

    fn restart_device(&mut self) -> Result<Contents, StoreError> {
        self.power.steps_left = u64::MAX;
        self.contents()
    }

    fn take_slot_damage(&mut self) -> Option<Damage> {
        self.slot_damage.take()
    }
}

impl<D: Disk> Store<D> {
    /// Restart after a power cut. `survives` picks the surviving stores among those since the last fence,
    /// counted in order. The slots of a volatile cache are empty.
    ///
    /// # Errors
    /// A read or write of the host failed.
    pub fn restart(&mut self, survives: impl FnMut(usize) -> bool) -> Result<(), StoreError> {
        self.power.steps_left = u64::MAX;
        if self.format().volatile {
            for slot in &mut self.tables.slots {
                std::mem::take(slot).data.into_iter().for_each(|data| self.places.release(data.place));
            }
        }
        self.latching(|store| store.try_restart(survives))
    }

    fn try_restart(&mut self, mut survives: impl FnMut(usize) -> bool) -> Result<(), StoreError> {
        let undecided = std::mem::take(&mut self.power.undecided);
        // First the old contents of all, then the surviving stores.
        let mut slots = BTreeMap::<u32, (Vec<u8>, bool)>::new();
        for store in undecided.iter().rev() {
            match *store {
                Undecided::Word { word, was, .. } => self.set_word(word, was),
                Undecided::Slot { slot, was, .. } => self.tables.slots[slot as usize] = was,
            }
            self.end_operation()?;
        }
        let mut index = 0..;
        let mut draw = || survives(index.next().expect("there is no last number"));
        for store in &undecided {
            match store {
                Undecided::Word { word, is, .. } => {
                    if draw() {
                        self.set_word(*word, *is);
                        self.end_operation()?;
                    }
                }
                Undecided::Slot { slot, is, part, stores: made, .. } => {
                    let in_memory = Slot { memory: self.format().memory(), number: *slot };
                    if !slots.contains_key(slot) {
                        let loaded = self.load_slot(in_memory);
                        slots.insert(*slot, (self.pages.work.clone(), loaded.is_damaged));
                    }
                    let (bytes, is_damaged) = slots.get_mut(slot).expect("it was put there");
                    self.tables.slots[*slot as usize] = *is;
                    let new_is_damaged = self.load_slot(in_memory).is_damaged;
                    for at in stores(part).take(*made as usize).filter(|_| draw()) {
                        bytes[at.clone()].copy_from_slice(&self.pages.work[at]);
                        *is_damaged |= new_is_damaged;
                    }
                }
            }
        }
        for (slot, (bytes, is_damaged)) in slots {
            self.pages.work.copy_from_slice(&bytes);
            let loaded = self.pages.sum(is_damaged);
            let last = self.tables.slots[slot as usize].data;
            self.write_slot(slot as usize, loaded)?;
            last.into_iter().for_each(|data| self.places.release(data.place));
            self.end_operation()?;
        }
        self.power.undecided = undecided;
        self.decide();
        self.end_operation()
    }

    /// Make all undecided stores durable.
    pub(crate) fn decide(&mut self) {
        for store in self.power.undecided.drain(..) {
            if let Undecided::Slot { was: SlotCell { data: Some(data), .. }, .. } = store {
                self.places.release(data.place);
            }
        }
    }
}
