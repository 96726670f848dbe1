//! The tables of a container in memory.

use crate::cell::{self, BlockCell, Cell, PageCell, SlotCell, WordCell};
use crate::disk::Disk;
use crate::error::{Finding, StoreError, while_doing};
use crate::format::{Layout, Table};
use crate::sabotage::{Sabotage, is_sabotaged};
use coflash_base::{Index, Lpn};
use coflash_media::{Contents, Oob, Ppn};
use std::collections::BTreeSet;

/// A block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    pub(crate) cell: BlockCell,
    /// The number of its programmed pages, torn ones included. They are the first ones.
    pub(crate) filled: u32,
}

/// The tables of a container.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) blocks: Vec<Block>,
    /// The checksums of pages.
    pub(crate) checksums: Vec<u32>,
    /// Torn pages of blocks that are not torn.
    pub(crate) torn: BTreeSet<Ppn>,
    /// Copies of damaged data, as of the opening.
    pub(crate) damaged: BTreeSet<Ppn>,
    pub(crate) words: Vec<u64>,
    pub(crate) slots: Vec<SlotCell>,
}

impl Tables {
    /// The tables of an erased device.
    pub(crate) fn erased(layout: &Layout) -> Self {
        Self {
            blocks: vec![Block::default(); layout.blocks.cells as usize],
            checksums: vec![0; layout.pages.cells as usize],
            torn: BTreeSet::new(),
            damaged: BTreeSet::new(),
            words: vec![0; layout.words.cells as usize],
            slots: vec![SlotCell::default(); layout.slots.cells as usize],
        }
    }

    /// Read the tables, and the contents of the device as recovery needs them.
    ///
    /// # Errors
    /// Damaged or contradictory cells.
    pub(crate) fn read(metadata: &impl Disk, layout: &Layout) -> Result<(Self, Contents), StoreError> {
        let mut reader = Reader { metadata, layout, tables: Self::erased(layout), findings: Vec::new() };
        let pages = reader.read().map_err(while_doing("reading the tables"))?;
        let Reader { tables, findings, .. } = reader;
        if !findings.is_empty() {
            return Err(StoreError::Damaged(findings));
        }
        let erases = tables.blocks.iter().map(|block| block.cell.generation).collect();
        let contents = Contents { words: tables.words.clone(), pages, erases };
        Ok((tables, contents))
    }

    /// Whether a page was programmed and is not torn.
    pub(crate) fn is_programmed(&self, page: Ppn, layout: &Layout) -> bool {
        let (block, index) = layout.split(page);
        let block = &self.blocks[block];
        index < block.filled && !block.cell.torn && !self.torn.contains(&page)
    }

    /// The place of the data of a page of a block that has an extent.
    pub(crate) fn page_data(&self, page: Ppn, layout: &Layout) -> Option<u64> {
        let (block, index) = layout.split(page);
        self.blocks[block].cell.extent.map(|extent| layout.page_data(extent, index))
    }
}

struct Reader<'a, D> {
    metadata: &'a D,
    layout: &'a Layout,
    tables: Tables,
    findings: Vec<Finding>,
}

impl<D: Disk> Reader<'_, D> {
    fn read(&mut self) -> std::io::Result<Vec<(Ppn, Option<Oob>)>> {
        let layout = self.layout;
        let mut used = vec![false; layout.extents as usize];
        self.cells("block", &layout.blocks, |reader, number, cell: BlockCell| {
            reader.tables.blocks[number as usize].cell = cell;
            cell.extent.map_or(Ok(()), |extent| claim(&mut used, extent, "extent"))
        })?;
        self.cells("word", &layout.words, |reader, number, WordCell(value)| {
            reader.tables.words[number as usize] = value;
            Ok(())
        })?;
        let mut used = vec![false; layout.slot_pages as usize];
        self.cells("slot", &layout.slots, |reader, number, cell: SlotCell| {
            reader.tables.slots[number as usize] = cell;
            cell.location.map_or(Ok(()), |location| claim(&mut used, location, "location"))
        })?;
        let mut pages = Vec::new();
        self.cells("page", &layout.pages, |reader, number, cell| {
            pages.extend(reader.page(Ppn::from_index(number as usize), cell)?);
            Ok(())
        })?;
        Ok(pages)
    }

    /// Take the cell of a page; return the part that recovery needs.
    fn page(&mut self, page: Ppn, cell: PageCell) -> Result<Option<(Ppn, Option<Oob>)>, String> {
        let (block, index) = self.layout.split(page);
        let block = &mut self.tables.blocks[block];
        if block.cell.torn {
            return Ok(Some((page, None)));
        }
        let BlockCell { extent, generation, .. } = block.cell;
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
        if extent.is_none() {
            return Err("its block has no extent".to_owned());
        }
        if index != block.filled {
            return Err("pages before it are erased".to_owned());
        }
        block.filled += 1;
        let Some(oob) = cell.oob else {
            self.tables.torn.insert(page);
            return Ok(Some((page, None)));
        };
        if oob.lpn.is_some_and(|lpn: Lpn| u64::from(lpn.get()) >= self.layout.logical_pages) {
            return Err(format!("it is of {:?}; there are {}", oob.lpn, self.layout.logical_pages));
        }
        if cell.damaged {
            self.tables.damaged.insert(page);
        }
        self.tables.checksums[page.index()] = cell.checksum;
        Ok(Some((page, Some(oob))))
    }

    /// Read all cells of a table.
    fn cells<C: Cell>(
        &mut self,
        part: &'static str,
        table: &Table,
        mut take: impl FnMut(&mut Self, u64, C) -> Result<(), String>,
    ) -> std::io::Result<()> {
        const CELLS_AT_ONCE: u64 = 32 << 10;
        let mut bytes = Vec::new();
        for first in (0..table.cells).step_by(CELLS_AT_ONCE as usize) {
            let count = CELLS_AT_ONCE.min(table.cells - first);
            bytes.resize(count as usize * C::BYTES, 0);
            self.metadata.read_at(&mut bytes, table.at(first))?;
            for (number, bytes) in (first..).zip(bytes.chunks_exact(C::BYTES)) {
                let cell = cell::decode(bytes, table.at(number), self.layout.seed);
                let taken = match cell {
                    Some(cell) => take(self, number, cell),
                    None => Err("it does not match its checksum".to_owned()),
                };
                if let Err(problem) = taken {
                    self.findings.push(Finding { part, number, problem });
                }
            }
        }
        Ok(())
    }
}

/// Note that a place is in use.
fn claim(used: &mut [bool], place: u32, name: &str) -> Result<(), String> {
    let count = used.len();
    match used.get_mut(place as usize) {
        None => Err(format!("it names {name} {place}; there are {count}")),
        Some(true) => Err(format!("it names {name} {place}, and so does another")),
        Some(used) => {
            *used = true;
            Ok(())
        }
    }
}
