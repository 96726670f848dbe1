//! A device of a few pages, and operations on it as firmware may call them.

use super::memory::MemoryDisk;
use crate::disk::{Disk, Disks};
use crate::{DeviceBytes, Format, Store, StoreError};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Bytes, Index, Lpn};
use coflash_media::{
    Access, BlockId, Cause, Contents, Flash, Geometry, HostPage, Memory, Mode, Nvm, Oob, Place, Ppn, Slot,
};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) const BLOCKS: u32 = 5;
pub(super) const PAGES_PER_BLOCK: u32 = 3;
pub(super) const PAGE_BYTES: usize = 1024;
pub(super) const SLOTS: u32 = 3;
pub(super) const WORDS: u32 = 4;

pub(super) fn format() -> Format {
    let geometry = Geometry {
        channels: 1,
        blocks_per_plane: BLOCKS,
        pages_per_block: PAGES_PER_BLOCK,
        page_size: Bytes { count: PAGE_BYTES as u64 },
        ..Geometry::default()
    };
    let logical_bytes = 8 * PAGE_BYTES as u64;
    let scenario = "# none".to_owned();
    Format {
        geometry,
        logical_bytes,
        slots: SLOTS,
        volatile: false,
        in_host: false,
        words: WORDS,
        scenario,
        uuid: u128::MAX - 7,
    }
}

pub(super) fn erased() -> Disks<MemoryDisk> {
    let disks = Disks::<MemoryDisk>::default();
    Store::create(Disks { data: &disks.data, metadata: &disks.metadata }, &format()).expect("it fits");
    disks
}

pub(super) fn slot(number: u32) -> Slot {
    Slot { memory: Memory::Device, number }
}

/// A page of data that no other tag has.
pub(super) fn page_of(tag: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    for (word, bytes) in (0..).zip(page.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&(tag << 16 | word).to_le_bytes());
    }
    page
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Program the next page of a block with the host's data, or its first half.
    Program {
        page: Ppn,
        tag: u64,
        half: bool,
    },
    /// Read a page, copy another meanwhile, and program the merged page.
    Merge {
        from: Ppn,
        page: Ppn,
        tag: u64,
    },
    FromSlot {
        slot: u32,
        page: Ppn,
    },
    Copy {
        from: Ppn,
        page: Ppn,
    },
    Erase {
        block: u32,
    },
    WriteSlot {
        slot: u32,
        tag: u64,
        half: bool,
        new: bool,
    },
    FillSlot {
        slot: u32,
        from: Ppn,
    },
    Store {
        word: u32,
        value: u64,
    },
    Fence,
}

/// The contents of a device. States that follow one another share the data of most pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) pages: BTreeMap<u32, (Oob, Rc<[u8]>)>,
    pub(super) torn: Vec<u32>,
    pub(super) slots: Vec<Rc<[u8]>>,
    pub(super) words: Vec<u64>,
    pub(super) erases: Vec<u32>,
}

impl State {
    pub(super) fn erased() -> Self {
        Self {
            slots: vec![Rc::from([0; PAGE_BYTES]); SLOTS as usize],
            words: vec![0; WORDS as usize],
            erases: vec![0; BLOCKS as usize],
            ..Self::default()
        }
    }

    /// The next page of a block, if it has one.
    fn next(&self, block: u32) -> Option<Ppn> {
        let first = block * PAGES_PER_BLOCK;
        let all = first..first + PAGES_PER_BLOCK;
        let is_used = |page: &u32| self.pages.contains_key(page) || self.torn.contains(page);
        all.into_iter().find(|page| !is_used(page)).map(Ppn::new)
    }

    /// Draw an operation that firmware may call.
    pub(super) fn draw(&self, tag: u64, stream: &mut RandomStream) -> Operation {
        let any = |stream: &mut RandomStream| {
            let count = self.pages.len().max(1);
            self.pages.keys().nth(stream.random_range(0..count)).copied().map(Ppn::new)
        };
        let slot = stream.random_range(0..SLOTS);
        loop {
            let block = stream.random_range(0..BLOCKS);
            let (next, from) = (self.next(block), any(stream));
            return match (stream.random_range(0..12), next, from) {
                (0..=2, Some(page), _) => Operation::Program { page, tag, half: stream.random() },
                (3, Some(page), Some(from)) => Operation::Merge { from, page, tag },
                (4, Some(page), _) => Operation::FromSlot { slot, page },
                (5, Some(page), Some(from)) => Operation::Copy { from, page },
                (6, None, _) => Operation::Erase { block },
                (7..=8, ..) => {
                    let (half, new) = (stream.random(), stream.random());
                    Operation::WriteSlot { slot, tag, half, new }
                }
                (9, _, Some(from)) => Operation::FillSlot { slot, from },
                (10, ..) => Operation::Store { word: stream.random_range(0..WORDS), value: tag },
                (11, ..) => Operation::Fence,
                _ => continue,
            };
        }
    }

    /// The state after an operation.
    pub(super) fn apply(&mut self, operation: Operation, oob: Oob) {
        let half = PAGE_BYTES / 2;
        let over = |below: &[u8], tag| [&page_of(tag)[..half], &below[half..]].concat().into();
        let zeros = [0; PAGE_BYTES];
        match operation {
            Operation::Program { page, tag, half } => {
                let data = if half { over(&zeros, tag) } else { page_of(tag).into() };
                self.pages.insert(page.get(), (oob, data));
            }
            Operation::Merge { from, page, tag } => {
                let data = over(&self.pages[&from.get()].1, tag);
                self.pages.insert(page.get(), (oob, data));
            }
            Operation::FromSlot { slot, page } => {
                self.pages.insert(page.get(), (oob, self.slots[slot as usize].clone()));
            }
            Operation::Copy { from, page } => {
                self.pages.insert(page.get(), (oob, self.pages[&from.get()].1.clone()));
            }
            Operation::Erase { block } => {
                let erased = block * PAGES_PER_BLOCK..(block + 1) * PAGES_PER_BLOCK;
                self.pages.retain(|page, _| !erased.contains(page));
                self.torn.retain(|page| !erased.contains(page));
                self.erases[block as usize] += 1;
            }
            Operation::WriteSlot { slot, tag, half, new } => {
                let slot = &mut self.slots[slot as usize];
                let below = if new { &zeros } else { &**slot };
                *slot = if half { over(below, tag) } else { page_of(tag).into() };
            }
            Operation::FillSlot { slot, from } => {
                self.slots[slot as usize] = self.pages[&from.get()].1.clone();
            }
            Operation::Store { word, value } => self.words[word as usize] = value,
            Operation::Fence => {}
        }
    }
}

/// The out-of-band data of the operation with a tag.
pub(super) fn oob(state: &State, operation: Operation, tag: u64) -> Oob {
    let lpn = match operation {
        Operation::Copy { from, .. } => state.pages[&from.get()].0.lpn,
        _ => Some(Lpn::from_index(tag as usize % 8)),
    };
    Oob { lpn, sequence: tag, mode: if tag.is_multiple_of(5) { Mode::Fast } else { Mode::Normal } }
}

/// Do an operation on a media.
pub(super) fn call<M: HostPage + Nvm<When = ()> + Flash>(
    media: &mut M,
    operation: Operation,
    oob: Oob,
) -> Result<(), M::Error> {
    let cause = Cause::Host;
    let host = |media: &mut M, tag, half| {
        let data = page_of(tag);
        media.host_writes(0, if half { &data[..PAGE_BYTES / 2] } else { &data });
        Place::Host
    };
    match operation {
        Operation::Program { page, tag, half } => {
            let from = host(media, tag, half);
            media.program(page, oob, from, cause, ())
        }
        Operation::Merge { from, page, tag } => {
            media.read(from, Place::Merged, cause, ())?;
            host(media, tag, true);
            media.program(page, oob, Place::Merged, cause, ())
        }
        Operation::FromSlot { slot: number, page } => {
            media.program(page, oob, Place::Slot(slot(number)), Cause::Evict, ())
        }
        Operation::Copy { from, page } => media.copy(from, page, oob, Cause::Gc, ()),
        Operation::Erase { block } => media.erase(BlockId::new(block), Cause::Gc, ()),
        Operation::WriteSlot { slot: number, tag, half, new } => {
            let from = host(media, tag, half);
            let access = if new { Access::WriteNew { from } } else { Access::Write { from } };
            media.access(slot(number), access, ());
            Ok(())
        }
        Operation::FillSlot { slot: number, from } => media.read(from, Place::Slot(slot(number)), cause, ()),
        Operation::Store { word, value } => {
            media.store(word, value);
            Ok(())
        }
        Operation::Fence => {
            media.fence();
            Ok(())
        }
    }
}

/// Read the whole contents of a store.
pub(super) fn look<D: Disk>(store: &mut Store<D>, contents: &Contents) -> Result<State, StoreError> {
    let mut state =
        State { words: contents.words.clone(), erases: contents.erases.clone(), ..State::default() };
    for found in &contents.pages {
        let page = found.page();
        if let Some(oob) = found.oob() {
            store.read(page, Place::Host, Cause::Host, ())?;
            state.pages.insert(page.get(), (oob, store.host_reads().into()));
        } else {
            state.torn.push(page.get());
        }
    }
    for number in 0..SLOTS {
        store.access(slot(number), Access::Read { to: Place::Host }, ());
        state.slots.push(store.host_reads().into());
    }
    store.take_slot_damage().map_or(Ok(state), |damage| Err(StoreError::Unreadable(Ppn::new(0), damage)))
}
