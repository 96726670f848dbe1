//! The tables of a container in memory.

use crate::cell::{self, BlockCell, Cell, Data, PageCell, SlotCell, WordCell};
use crate::disk::Disk;
use crate::error::{Finding, StoreError, while_doing};
use crate::format::{Layout, Table};
use crate::sabotage::{Sabotage, is_sabotaged};
use coflash_base::{Index, Lpn};
use coflash_media::{Contents, FoundPage, Ppn};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    pub(crate) cell: BlockCell,
    /// The number of its programmed pages, torn ones included. They are the first ones.
    pub(crate) filled: u32,
}

/// The tables as read from disk.
pub(crate) struct Read {
    pub(crate) tables: Tables,
    /// The contents of the device as recovery needs them.
    pub(crate) contents: Contents,
    pub(crate) mended: Vec<Mended>,
    findings: Vec<Finding>,
}

/// A cell with a damaged copy, and a sound one.
pub(crate) struct Mended {
    pub(crate) finding: Finding,
    /// The place of the damaged copy, and what it should be.
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The tables of a container.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) blocks: Vec<Block>,
    pub(crate) data: Vec<Data>,
    /// Torn pages of blocks that are not torn.
    pub(crate) torn: BTreeSet<Ppn>,
    pub(crate) words: Vec<u64>,
    pub(crate) slots: Vec<SlotCell>,
}

impl Tables {
    /// The tables of an erased device.
    pub(crate) fn erased(layout: &Layout) -> Self {
        Self {
            blocks: vec![Block::default(); layout.blocks.cells as usize],
            data: vec![Data::default(); layout.pages.cells as usize],
            torn: BTreeSet::new(),
            words: vec![0; layout.words.cells as usize],
            slots: vec![SlotCell::default(); layout.slots.cells as usize],
        }
    }

    /// Read the tables, each cell from a sound copy of it.
    ///
    /// # Errors
    /// Damaged or contradictory cells.
    pub(crate) fn read(metadata: &impl Disk, layout: &Layout) -> Result<Read, StoreError> {
        let (tables, contents) = (Self::erased(layout), Contents::default());
        let mut read = Read { tables, contents, mended: Vec::new(), findings: Vec::new() };
        read.all(metadata, layout).map_err(while_doing("reading the tables"))?;
        if !read.findings.is_empty() {
            return Err(StoreError::Damaged(read.findings));
        }
        read.contents.words.clone_from(&read.tables.words);
        read.contents.erases = read.tables.blocks.iter().map(|block| block.cell.generation).collect();
        Ok(read)
    }

    /// Whether a page was programmed and is not torn.
    pub(crate) fn is_programmed(&self, page: Ppn, layout: &Layout) -> bool {
        let (block, index) = layout.split(page);
        let block = &self.blocks[block];
        index < block.filled && !block.cell.torn && !self.torn.contains(&page)
    }

    /// The places of all data, once for each page and slot with it.
    pub(crate) fn places(&self, layout: &Layout) -> impl Iterator<Item = u32> {
        let pages = (0..self.data.len()).map(Ppn::from_index);
        let programmed = pages.filter(|&page| self.is_programmed(page, layout));
        let of_pages = programmed.map(|page| self.data[page.index()].place);
        of_pages.chain(self.slots.iter().filter_map(|slot| Some(slot.data?.place)))
    }
}

impl Read {
    fn all(&mut self, metadata: &impl Disk, layout: &Layout) -> std::io::Result<()> {
        self.cells(metadata, layout, ("block", &layout.blocks), |read, number, cell: BlockCell| {
            read.tables.blocks[number as usize].cell = cell;
            Ok(())
        })?;
        self.cells(metadata, layout, ("word", &layout.words), |read, number, WordCell(value)| {
            read.tables.words[number as usize] = value;
            Ok(())
        })?;
        self.cells(metadata, layout, ("slot", &layout.slots), |read, number, cell: SlotCell| {
            read.tables.slots[number as usize] = cell;
            cell.data.map_or(Ok(()), |data| check_place(data.place, layout))
        })?;
        self.cells(metadata, layout, ("page", &layout.pages), |read, number, cell| {
            let found = read.page(layout, Ppn::from_index(number as usize), cell)?;
            read.contents.pages.extend(found);
            Ok(())
        })
    }

    /// Take the cell of a page; return the part that recovery needs.
    fn page(&mut self, layout: &Layout, page: Ppn, cell: PageCell) -> Result<Option<FoundPage>, String> {
        let (block, index) = layout.split(page);
        let block = &mut self.tables.blocks[block];
        if block.cell.torn {
            return Ok(Some(FoundPage::new(page, None)));
        }
        let generation = block.cell.generation;
        if cell.is_there && cell.generation > generation {
            return Err(format!(
                "it is of generation {}, and its block of generation {generation}",
                cell.generation
            ));
        }
        let is_current = cell.generation == generation || is_sabotaged(Sabotage::NoGeneration);
        if !cell.is_there || !is_current {
            return Ok(None);
        }
        if index != block.filled {
            return Err("pages before it are erased".to_owned());
        }
        block.filled += 1;
        let Some(oob) = cell.oob else {
            self.tables.torn.insert(page);
            return Ok(Some(FoundPage::new(page, None)));
        };
        if oob.lpn.is_some_and(|lpn: Lpn| u64::from(lpn.get()) >= layout.logical_pages) {
            return Err(format!("it is of {:?}; there are {}", oob.lpn, layout.logical_pages));
        }
        if oob.sequence >= FoundPage::SEQUENCES {
            return Err(format!("it has the sequence number {}, which is too large", oob.sequence));
        }
        check_place(cell.data.place, layout)?;
        self.tables.data[page.index()] = cell.data;
        Ok(Some(FoundPage::new(page, Some(oob))))
    }

    /// Read all cells of a table.
    fn cells<C: Cell>(
        &mut self,
        metadata: &impl Disk,
        layout: &Layout,
        (part, table): (&'static str, &Table),
        mut take: impl FnMut(&mut Self, u64, C) -> Result<(), String>,
    ) -> std::io::Result<()> {
        const CELLS_AT_ONCE: u64 = 32 << 10;
        let (seed, copies) = (layout.seed, &layout.copies);
        let (first_copy, last_copy) = (copies[0], copies[copies.len() - 1]);
        for first in (0..table.cells).step_by(CELLS_AT_ONCE as usize) {
            let bytes = CELLS_AT_ONCE.min(table.cells - first) as usize * C::BYTES;
            let read = |copy| {
                let mut cells = vec![0; bytes];
                metadata.read_at(&mut cells, table.at(first) + copy).map(|()| cells)
            };
            // A copy that the host cannot read is damaged: no cell is all ones.
            let unread = |_| vec![0xff; bytes];
            let (one, other) = match (read(first_copy), read(last_copy)) {
                (Err(error), Err(_)) => return Err(error),
                (one, other) => (one.unwrap_or_else(unread), other.unwrap_or_else(unread)),
            };
            let pairs = one.chunks_exact(C::BYTES).zip(other.chunks_exact(C::BYTES));
            for (number, (one, other)) in (first..).zip(pairs) {
                let at = table.at(number);
                let (sound, damaged) = match cell::compare(one, other, at, seed) {
                    Ordering::Equal => (one, None),
                    Ordering::Greater => (one, Some(at + last_copy)),
                    Ordering::Less => (other, Some(at + first_copy)),
                };
                if let Some(at) = damaged {
                    let problem =
                        "one of its two records does not match its checksum; the other is sound".to_owned();
                    let finding = Finding { part, number, problem };
                    self.mended.push(Mended { finding, at, bytes: sound.to_vec() });
                }
                let taken = match cell::decode(sound, at, seed) {
                    Some(_) if damaged.is_none() && one != other => Err("its two records differ".to_owned()),
                    Some(cell) => take(self, number, cell),
                    None => Err("its record does not match its checksum".to_owned()),
                };
                if let Err(problem) = taken {
                    self.findings.push(Finding { part, number, problem });
                }
            }
        }
        Ok(())
    }
}

fn check_place(place: u32, layout: &Layout) -> Result<(), String> {
    let count = layout.places;
    if place < count { Ok(()) } else { Err(format!("it names place {place}; there are {count}")) }
}
