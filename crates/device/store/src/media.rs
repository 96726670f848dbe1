//! The store as a media: flash, the memory of the cache, and the host's page.

use crate::cell::{BlockCell, Data, PageCell, SlotCell};
use crate::disk::Disk;
use crate::error::{Damage, StoreError, while_doing};
use crate::page::Loaded;
use crate::power::{Undecided, stores};
use crate::sabotage::{Sabotage, is_sabotaged};
use crate::store::Store;
use coflash_base::Index;
use coflash_media::{
    Access, BlockId, Cause, DieId, Flash, HostPage, Immediate, Nvm, Oob, Place, Ppn, Side, Slot,
};
use std::ops::Range;

/// The base of a page, before the host's part is written over it.
enum Below {
    Zeros,
    /// The page buffer.
    Merged,
    Slot(Slot),
}

impl<D: Disk> Store<D> {
    /// The data of a programmed page.
    fn programmed(&self, page: Ppn) -> Result<Data, StoreError> {
        let is_programmed = self.tables.is_programmed(page, &self.layout);
        is_programmed
            .then(|| self.tables.data[page.index()])
            .ok_or(StoreError::Unreadable(page, Damage::Changed))
    }

    /// Read data into the page to be written. Unreadable data counts as damaged.
    fn load_data(&mut self, data: Data) -> Loaded {
        let intact = self.check_intact().map_err(std::io::Error::other);
        let read = intact.and_then(|()| self.data.read(&mut self.pages.work, data.place));
        self.pages.loaded(data, read)
    }

    /// Read a slot into the page to be written, with its checksum. An empty slot is all zeros.
    pub(crate) fn load_slot(&mut self, slot: Slot) -> Loaded {
        match self.tables.slots[self.slot_number(slot)].data {
            Some(data) => self.load_data(data),
            None => {
                self.pages.work.fill(0);
                self.pages.sum(false)
            }
        }
    }

    /// The number of a slot: a container has one memory.
    fn slot_number(&self, slot: Slot) -> usize {
        assert_eq!(slot.memory, self.format().memory(), "the container holds the slots of another memory");
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
            Below::Merged => {
                pages.work.copy_from_slice(&pages.merged);
                pages.merged_is_damaged
            }
            Below::Slot(slot) => self.load_slot(slot).is_damaged,
        };
        if overlaid {
            self.pages.overlay();
        }
        self.pages.sum(is_damaged)
    }

    /// Load the page from a buffer or a slot, over `below` where the host gives only a part.
    fn load_from(&mut self, from: Place, below: Below) -> Loaded {
        match from {
            Place::Host if self.pages.is_covered() => self.pages.host(),
            Place::Host => self.load(below, true),
            Place::Merged => self.load(Below::Merged, true),
            Place::Buffer => self.load(Below::Merged, false),
            Place::Slot(slot) => match self.tables.slots[self.slot_number(slot)].data {
                Some(data) => Loaded::unread(data),
                None => self.load(Below::Zeros, false),
            },
        }
    }

    /// Keep the loaded page: at the place where its data is already, or at a new one.
    fn keep(&mut self, loaded: Loaded) -> Result<Data, StoreError> {
        let Loaded { place, code, is_damaged, .. } = loaded;
        if let Some(place) = place {
            self.places.share(place);
            return Ok(Data { place, code });
        }
        let place = self.take_place(is_damaged)?;
        self.data.write(self.pages.data(loaded), place).map_err(while_doing("writing data"))?;
        Ok(Data { place, code })
    }

    /// Note where the host's page was read from. The place is kept for a slot that will have the page, too.
    fn hold(&mut self, data: Option<Data>) {
        data.iter().for_each(|data| self.places.share(data.place));
        let before = std::mem::replace(&mut self.pages.host_data, data);
        before.into_iter().for_each(|data| self.places.release(data.place));
    }

    /// Pass what was loaded to the host, or to be merged.
    fn hand_over(&mut self, to: Place, data: Option<Data>, is_damaged: bool) {
        let pages = &mut self.pages;
        if to == Place::Host {
            std::mem::swap(&mut pages.host, &mut pages.work);
            self.hold(data);
        } else {
            std::mem::swap(&mut pages.merged, &mut pages.work);
            pages.merged_is_damaged = is_damaged;
        }
    }

    /// Use power for a step of flash.
    fn step(&mut self) -> Result<(), StoreError> {
        if self.power.take(Side::Device, 1) == 1 { Ok(()) } else { Err(StoreError::PowerCut) }
    }

    /// Program the loaded page.
    fn put(&mut self, page: Ppn, oob: Oob, loaded: Loaded) -> Result<(), StoreError> {
        let (block, index) = self.layout.split(page);
        let BlockCell { generation, torn } = self.tables.blocks[block].cell;
        assert!(!torn && self.tables.blocks[block].filled == index, "{page:?} is programmed out of order");
        self.step()?;
        let is_torn = self.power.tears();
        let mut cell = PageCell { generation, is_there: true, ..PageCell::default() };
        if !is_torn {
            self.power.take(Side::Device, 1);
            let data = self.keep(loaded)?;
            self.tables.data[page.index()] = data;
            cell = PageCell { oob: Some(oob), data, is_new: self.places.is_new(data.place), ..cell };
        }
        self.tables.blocks[block].filled += 1;
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
        let made = self.power.take(self.format().memory_side(), wanted);
        if made == 0 {
            return Ok(());
        }
        let was = self.tables.slots[number];
        if made < wanted {
            if let Some(place) = loaded.place {
                loaded = self.load_data(Data { place, code: loaded.code });
            }
            let (new, new_is_damaged) = (self.pages.data(loaded).to_vec(), loaded.is_damaged);
            loaded = self.load_slot(slot);
            stores(&part)
                .take(made as usize)
                .for_each(|at| self.pages.work[at.clone()].copy_from_slice(&new[at]));
            loaded = self.pages.sum(loaded.is_damaged || new_is_damaged);
        }
        let is = self.write_slot(number, loaded)?;
        if self.format().volatile {
            was.data.into_iter().for_each(|data| self.places.release(data.place));
        } else {
            self.power.undecided.push(Undecided::Slot { slot: slot.number, was, is, part, stores: made });
        }
        self.end_operation()
    }

    /// Write the loaded page as the data of a slot. The old place of the slot is not released.
    pub(crate) fn write_slot(&mut self, number: usize, loaded: Loaded) -> Result<SlotCell, StoreError> {
        let data = self.keep(loaded)?;
        let cell = SlotCell { data: Some(data), is_new: self.places.is_new(data.place) };
        self.tables.slots[number] = cell;
        if !self.format().volatile {
            self.note(self.layout.slots.at(number as u64), &cell);
        }
        Ok(cell)
    }

    /// Take a place for data. One is reserved for a restart, which writes slots anew one by one.
    fn take_place(&mut self, is_damaged: bool) -> Result<u32, StoreError> {
        if self.places.free() < 2 {
            self.free_places()?;
        }
        // Firmware that never fences uses all of them up: memory may write back its contents at any time.
        if self.places.free() < 2 {
            self.decide();
            self.free_places()?;
        }
        Ok(self.places.take(is_damaged).expect("there are more places than pages and slots"))
    }

    pub(crate) fn set_word(&mut self, word: u32, value: u64) {
        self.tables.words[word as usize] = value;
        self.note(self.layout.words.at(word.into()), &crate::cell::WordCell(value));
    }

    fn try_access(&mut self, slot: Slot, access: Access) -> Result<(), StoreError> {
        let whole = 0..self.layout.page_bytes;
        match access {
            Access::Read { to: Place::Slot(other) } => {
                self.try_access(other, Access::WriteNew { from: Place::Slot(slot) })
            }
            Access::Read { to } => {
                let loaded = self.load_slot(slot);
                if loaded.is_damaged {
                    self.slot_damage = Some(self.pages.damage.clone());
                }
                self.hand_over(to, self.tables.slots[slot.number as usize].data, loaded.is_damaged);
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
                let loaded = match (from, self.pages.host_data) {
                    (Place::Host, Some(data)) => Loaded::unread(data),
                    (Place::Host, None) => self.pages.host(),
                    (Place::Merged, _) => self.load(Below::Merged, false),
                    _ => self.load_from(from, Below::Zeros),
                };
                self.latching(|store| store.put_slot(slot, whole, loaded))
            }
        }
    }
}

impl<D: Disk> HostPage for Store<D> {
    fn host_writes(&mut self, start: usize, data: &[u8]) {
        self.hold(None);
        self.pages.covered = start..start + data.len();
        self.pages.host[start..start + data.len()].copy_from_slice(data);
    }

    fn host_reads(&self) -> &[u8] {
        &self.pages.host
    }
}

impl<D> Immediate for Store<D> {}

impl<D: Disk> Flash for Store<D> {
    type Error = StoreError;

    /// A checksum mismatch makes a page unreadable.
    fn read(&mut self, page: Ppn, to: Place, _: Cause, (): ()) -> Result<(), StoreError> {
        if self.power.is_off() {
            return Err(StoreError::PowerCut);
        }
        self.check_intact()?;
        let data = self.programmed(page)?;
        let loaded = self.load_data(data);
        if loaded.is_damaged {
            return Err(StoreError::Unreadable(page, self.pages.damage.clone()));
        }
        match to {
            Place::Host | Place::Merged | Place::Buffer => self.hand_over(to, Some(data), false),
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
            let data = store.programmed(from)?;
            let mut loaded = Loaded::unread(data);
            if is_sabotaged(Sabotage::RecomputedChecksum) {
                store.load_data(data);
                loaded = store.pages.sum(false);
            }
            store.put(to, oob, loaded)
        })
    }

    fn erase(&mut self, block: BlockId, _: Cause, (): ()) -> Result<(), StoreError> {
        self.latching(|store| {
            store.step()?;
            let number = block.index();
            let generation = store.tables.blocks[number].cell.generation;
            let torn = store.power.tears();
            let first = store.layout.geometry.page(block, 0).get();
            for page in (first..first + store.tables.blocks[number].filled).map(Ppn::new) {
                if store.tables.is_programmed(page, &store.layout) {
                    store.places.release(store.tables.data[page.index()].place);
                }
                store.tables.torn.remove(&page);
            }
            store.tables.blocks[number].filled = 0;
            if torn {
                store.set_block(number, BlockCell { generation, torn });
                return Err(StoreError::PowerCut);
            }
            store.power.take(Side::Device, 1);
            store.set_block(number, BlockCell { generation: generation + 1, torn });
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
        if self.power.take(self.format().memory_side(), 1) == 1 {
            // A failure is kept for the caller.
            let _ = self.latching(|store| {
                let was = store.tables.words[word as usize];
                store.power.undecided.push(Undecided::Word { word, was, is: value });
                store.set_word(word, value);
                store.end_operation()
            });
        }
    }

    fn buffer(&mut self, (): ()) {}

    fn unbuffer(&mut self, (): ()) {}

    fn fence(&mut self) {
        if self.power.take(self.format().memory_side(), 1) == 1 {
            self.decide();
        }
    }
}
