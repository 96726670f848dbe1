//! The store as a media: flash, the memory of the cache, and the host's page.

use crate::cell::{BlockCell, PageCell, SlotCell};
use crate::disk::Disk;
use crate::error::{StoreError, while_doing};
use crate::page::Loaded;
use crate::power::{Undecided, stores};
use crate::sabotage::{Sabotage, is_sabotaged};
use crate::store::Store;
use coflash_base::{Duration, Index, Time};
use coflash_media::{
    Access, BlockId, Cause, Clock, DieId, Flash, HostPage, Memory, Nvm, Oob, Place, Ppn, Slot,
};
use std::ops::Range;

/// The base of a page, before the host's part is written over it.
enum Below {
    Zeros,
    /// The host's whole page.
    Host,
    /// The page buffer.
    Merged,
    Slot(Slot),
}

impl<D: Disk> Store<D> {
    /// The place of the data of a programmed page.
    fn programmed(&self, page: Ppn) -> Result<u64, StoreError> {
        let at = self.tables.page_data(page, &self.layout);
        at.filter(|_| self.tables.is_programmed(page, &self.layout)).ok_or(StoreError::Unreadable(page))
    }

    /// Read data into the page to be written. Unreadable data counts as damaged.
    fn load_data(&mut self, at: u64, checksum: u32) -> Loaded {
        match self.disks.data.read_at(&mut self.pages.work, at) {
            Ok(()) => self.pages.carry(checksum),
            Err(_) => Loaded { checksum, is_damaged: true },
        }
    }

    /// Read a programmed page into the page to be written, with its checksum.
    fn load_page(&mut self, page: Ppn) -> Result<Loaded, StoreError> {
        let at = self.programmed(page)?;
        Ok(self.load_data(at, self.tables.checksums[page.index()]))
    }

    /// Read a slot into the page to be written, with its checksum. An empty slot is all zeros.
    pub(crate) fn load_slot(&mut self, slot: Slot) -> Loaded {
        let SlotCell { location, checksum, .. } = self.tables.slots[self.slot_number(slot)];
        match location {
            Some(location) => self.load_data(self.layout.slot_data(location), checksum),
            None => {
                self.pages.work.fill(0);
                self.pages.sum(false)
            }
        }
    }

    /// The number of a slot of the device's memory: a container has no other memory.
    fn slot_number(&self, slot: Slot) -> usize {
        assert_eq!(slot.memory, Memory::Device, "a container holds the slots of the device");
        slot.number as usize
    }

    /// Load the page to be written; with `overlaid`, write the host's part over it.
    fn load(&mut self, below: Below, overlaid: bool) -> Loaded {
        let pages = &mut self.pages;
        let is_damaged = match below {
            Below::Zeros => {
                pages.work.fill(0);
                false
            }
            Below::Host => {
                pages.work.copy_from_slice(&pages.host);
                false
            }
            Below::Merged => {
                pages.work.copy_from_slice(&pages.merged);
                pages.merged_is_damaged
            }
            Below::Slot(slot) => {
                let loaded = self.load_slot(slot);
                if !overlaid {
                    return loaded;
                }
                loaded.is_damaged
            }
        };
        if overlaid {
            self.pages.overlay();
        }
        self.pages.sum(is_damaged)
    }

    /// Load the page from a place, over `below` where the host gives only a part.
    fn load_from(&mut self, from: Place, below: Below) -> Loaded {
        match from {
            Place::Host if self.pages.is_covered() => self.load(Below::Host, false),
            Place::Host => self.load(below, true),
            Place::Merged => self.load(Below::Merged, true),
            Place::Slot(slot) => self.load(Below::Slot(slot), false),
        }
    }

    /// Use power for a step of flash.
    fn step(&mut self) -> Result<(), StoreError> {
        if self.power.take(1) == 1 { Ok(()) } else { Err(StoreError::PowerCut) }
    }

    /// Program the loaded page.
    fn put(&mut self, page: Ppn, oob: Oob, loaded: Loaded) -> Result<(), StoreError> {
        let (block, index) = self.layout.split(page);
        let BlockCell { extent, generation, torn } = self.tables.blocks[block].cell;
        assert!(!torn && self.tables.blocks[block].filled == index, "{page:?} is programmed out of order");
        self.step()?;
        let extent = match extent {
            Some(extent) => extent,
            None => self.take_extent()?,
        };
        let is_torn = self.power.is_off();
        if !is_torn {
            self.step()?;
            let written = self.disks.data.write_at(&self.pages.work, self.layout.page_data(extent, index));
            written.map_err(while_doing("programming a page"))?;
            self.has_unsynced_data = true;
        }
        if index == 0 {
            self.set_block(block, BlockCell { extent: Some(extent), generation, torn });
        }
        self.tables.blocks[block].filled += 1;
        self.tables.checksums[page.index()] = loaded.checksum;
        let Loaded { checksum, is_damaged: damaged } = loaded;
        let cell = PageCell { oob: (!is_torn).then_some(oob), generation, checksum, damaged, is_there: true };
        self.note(self.layout.pages.at(page.index() as u64), &cell);
        if is_torn {
            self.tables.torn.insert(page);
            return Err(StoreError::PowerCut);
        }
        self.end_operation()
    }

    /// Store a part of the loaded page in a slot.
    fn put_slot(&mut self, slot: Slot, part: Range<usize>, mut loaded: Loaded) -> Result<(), StoreError> {
        let number = self.slot_number(slot);
        let wanted = stores(&part).count() as u64;
        let made = self.power.take(wanted);
        if made == 0 {
            return Ok(());
        }
        let was = self.tables.slots[number];
        if made < wanted {
            let new = self.pages.work.clone();
            loaded = self.load_slot(slot);
            stores(&part)
                .take(made as usize)
                .for_each(|at| self.pages.work[at.clone()].copy_from_slice(&new[at]));
            loaded = self.pages.sum(loaded.is_damaged);
        }
        let is = self.write_slot(number, loaded)?;
        if !self.format().volatile {
            self.power.undecided.push(Undecided::Slot { slot: slot.number, was, is, part, stores: made });
        }
        self.end_operation()
    }

    /// Write the loaded page as the data of a slot. The old page of the slot is not released.
    pub(crate) fn write_slot(&mut self, number: usize, loaded: Loaded) -> Result<SlotCell, StoreError> {
        let is_volatile = self.format().volatile;
        let location = if is_volatile { number as u32 } else { self.take_slot_page()? };
        let written = self.disks.data.write_at(&self.pages.work, self.layout.slot_data(location));
        written.map_err(while_doing("writing a slot"))?;
        let Loaded { checksum, is_damaged: damaged } = loaded;
        let cell = SlotCell { location: Some(location), checksum, damaged };
        self.tables.slots[number] = cell;
        if !is_volatile {
            self.has_unsynced_data = true;
            self.note(self.layout.slots.at(number as u64), &cell);
        }
        Ok(cell)
    }

    fn take_extent(&mut self) -> Result<u32, StoreError> {
        if self.extents.free() == 0 {
            self.free_places()?;
        }
        Ok(self.extents.take().expect("there are more extents than blocks"))
    }

    /// Take a page for a slot. One is reserved for a restart, which writes slots anew one by one.
    fn take_slot_page(&mut self) -> Result<u32, StoreError> {
        if self.slot_pages.free() < 2 {
            self.free_places()?;
        }
        // Firmware that never fences uses all of them up: memory may write back its contents at any time.
        if self.slot_pages.free() < 2 {
            self.decide();
            self.free_places()?;
        }
        Ok(self.slot_pages.take().expect("there are more pages than slots"))
    }

    pub(crate) fn set_word(&mut self, word: u32, value: u64) {
        self.tables.words[word as usize] = value;
        self.note(self.layout.words.at(word.into()), &crate::cell::WordCell(value));
    }

    fn try_access(&mut self, slot: Slot, access: Access) -> Result<(), StoreError> {
        let whole = 0..self.layout.page_bytes;
        match access {
            Access::Read { to } => {
                let loaded = self.load_slot(slot);
                self.slot_was_damaged |= loaded.is_damaged && !matches!(to, Place::Slot(_));
                match to {
                    Place::Host => std::mem::swap(&mut self.pages.host, &mut self.pages.work),
                    Place::Merged => {
                        std::mem::swap(&mut self.pages.merged, &mut self.pages.work);
                        self.pages.merged_is_damaged = loaded.is_damaged;
                    }
                    Place::Slot(other) => return self.latching(|store| store.put_slot(other, whole, loaded)),
                }
                Ok(())
            }
            Access::Write { from } => {
                let part = if from == Place::Host { self.pages.covered.clone() } else { whole };
                let loaded = self.load_from(from, Below::Slot(slot));
                self.latching(|store| store.put_slot(slot, part, loaded))
            }
            Access::WriteNew { from } => {
                let loaded = self.load_from(from, Below::Zeros);
                self.latching(|store| store.put_slot(slot, whole, loaded))
            }
            Access::Fill { from } => {
                let below = match from {
                    Place::Host => Below::Host,
                    Place::Merged => Below::Merged,
                    Place::Slot(other) => Below::Slot(other),
                };
                let loaded = self.load(below, false);
                self.latching(|store| store.put_slot(slot, whole, loaded))
            }
        }
    }
}

impl<D: Disk> Store<D> {
    /// Whether damaged data was read from a slot since the last call: the current request must fail.
    pub fn take_slot_damage(&mut self) -> bool {
        std::mem::take(&mut self.slot_was_damaged)
    }
}

impl<D: Disk> HostPage for Store<D> {
    fn host_writes(&mut self, start: usize, data: &[u8]) {
        self.pages.covered = start..start + data.len();
        self.pages.host[start..start + data.len()].copy_from_slice(data);
    }

    fn host_reads(&self) -> &[u8] {
        &self.pages.host
    }
}

/// Operations act at once.
impl<D> Clock for Store<D> {
    type When = ();

    fn later(&self, (): (), _: Duration) {}

    fn both(&mut self, (): (), (): ()) {}

    fn known(&self, (): ()) -> Option<Time> {
        None
    }
}

impl<D: Disk> Flash for Store<D> {
    type Error = StoreError;

    /// A checksum mismatch makes a page unreadable.
    fn read(&mut self, page: Ppn, to: Place, _: Cause, (): ()) -> Result<(), StoreError> {
        if self.power.is_off() {
            return Err(StoreError::PowerCut);
        }
        let loaded = self.load_page(page)?;
        if loaded.is_damaged {
            return Err(StoreError::Unreadable(page));
        }
        match to {
            Place::Host => std::mem::swap(&mut self.pages.host, &mut self.pages.work),
            Place::Merged => {
                std::mem::swap(&mut self.pages.merged, &mut self.pages.work);
                self.pages.merged_is_damaged = false;
            }
            Place::Slot(slot) => {
                let whole = 0..self.layout.page_bytes;
                self.latching(|store| store.put_slot(slot, whole, loaded))?;
            }
        }
        Ok(())
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, _: Cause, (): ()) -> Result<(), StoreError> {
        self.latching(|store| {
            let loaded = store.load_from(from, Below::Zeros);
            store.put(page, oob, loaded)
        })
    }

    /// The checksum goes with the data: damaged data stays damaged.
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, _: Cause, (): ()) -> Result<(), StoreError> {
        self.latching(|store| {
            let mut loaded = store.load_page(from)?;
            if is_sabotaged(Sabotage::RecomputedChecksum) {
                loaded = store.pages.sum(false);
            }
            store.put(to, oob, loaded)
        })
    }

    fn erase(&mut self, block: BlockId, _: Cause, (): ()) -> Result<(), StoreError> {
        self.latching(|store| {
            store.step()?;
            let number = block.index();
            let BlockCell { extent, generation, .. } = store.tables.blocks[number].cell;
            let torn = store.power.is_off();
            extent.into_iter().for_each(|extent| store.extents.release(extent));
            let first = store.layout.geometry.page(block, 0).get();
            for page in first..first + store.tables.blocks[number].filled {
                store.tables.torn.remove(&Ppn::new(page));
            }
            store.tables.blocks[number].filled = 0;
            if torn {
                store.set_block(number, BlockCell { extent: None, generation, torn });
                return Err(StoreError::PowerCut);
            }
            store.step()?;
            store.set_block(number, BlockCell { extent: None, generation: generation + 1, torn });
            store.end_operation()
        })
    }

    fn await_programs(&mut self, _: &mut Vec<()>) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}

/// No method can fail here: a failure is kept, and the next flash operation or sync point returns it.
impl<D: Disk> Nvm for Store<D> {
    fn access(&mut self, slot: Slot, access: Access, (): ()) {
        // A failure is kept for the caller.
        let _ = self.try_access(slot, access);
    }

    fn store(&mut self, word: u32, value: u64) {
        if self.power.take(1) == 1 {
            // A failure is kept for the caller.
            let _ = self.latching(|store| {
                let was = store.tables.words[word as usize];
                store.power.undecided.push(Undecided::Word { word, was, is: value });
                store.set_word(word, value);
                store.end_operation()
            });
        }
    }

    fn buffer(&mut self, (): ()) -> [(); 2] {
        [(), ()]
    }

    fn unbuffer(&mut self, (): ()) {}

    fn fence(&mut self) {
        if self.power.take(1) == 1 {
            self.decide();
        }
    }
}
