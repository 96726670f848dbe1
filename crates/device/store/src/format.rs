//! The format of a container: its superblock, and where its parts are.
//!
//! ```text
//! metadata   superblock · superblock again · journal · journal again · tables · tables again
//! tables     blocks · words · slots · pages
//! data       places of a page each, for flash pages and cache slots, with spare ones
//! ```

use crate::cell::{BlockCell, Cell, PageCell, SlotCell, WordCell, word32, word64};
use crate::disk::Disk;
use crate::error::{Finding, StoreError, while_doing};
use coflash_media::{Geometry, Memory, Ppn, Side};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The intended use of a container. By default it has no memory beside its flash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// The flash.
    pub geometry: Geometry,
    /// The capacity of the FTL in bytes, a multiple of the page size.
    pub logical_bytes: u64,
    /// The number of page-sized slots of the cache.
    pub slots: u32,
    /// Whether the slots are DRAM: their data ends with the process, or at a power cut.
    pub volatile: bool,
    /// Whether slots and words are the host's, which may lose power without the device.
    #[serde(default)]
    pub in_host: bool,
    /// The number of 8-byte words of non-volatile memory.
    pub words: u32,
    /// The scenario as TOML, at most 24 KiB.
    pub scenario: String,
    /// A number that tells this container from others.
    pub uuid: u128,
}

impl Format {
    /// The memory that the slots are in.
    pub(crate) fn memory(&self) -> Memory {
        if self.in_host { Memory::Host } else { Memory::Device }
    }

    /// The side that slots and words lose power with.
    pub(crate) fn memory_side(&self) -> Side {
        if self.in_host { Side::Host } else { Side::Device }
    }

    /// Check the numbers.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let foreign = |problem| Err(StoreError::Foreign(problem));
        if let Err(misfit) = self.geometry.check() {
            return foreign(misfit.to_string());
        }
        let (page_bytes, flash_bytes) = (self.geometry.page_size.count, self.geometry.capacity().count);
        if self.logical_bytes > flash_bytes || !self.logical_bytes.is_multiple_of(page_bytes) {
            let given = self.logical_bytes;
            return foreign(format!(
                "a capacity of {given} B was given; a multiple of {page_bytes} B up to {flash_bytes} B is allowed"
            ));
        }
        if self.slots > self.geometry.pages() {
            let (given, most) = (self.slots, self.geometry.pages());
            return foreign(format!(
                "{given} slots were given; at most one for each of {most} pages is allowed"
            ));
        }
        Ok(())
    }
}

/// The size of each of the two superblocks.
const SUPERBLOCK_BYTES: usize = 32 << 10;
const MAGIC: [u8; 8] = *b"coflash\n";
/// The version of new containers. Version 4 had one journal and one copy of the tables; it is served as it is.
pub(crate) const VERSION: u32 = 5;
pub(crate) const VERSION_WITHOUT_COPIES: u32 = 4;
/// Magic, version, length of the format, epoch, checksum of all of these and of the format.
const HEADER_BYTES: usize = 8 + 4 + 4 + 8 + 4;

/// The superblock: the format, and the epoch of the journal. There are two copies, and one of them is always
/// intact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) format: Format,
    /// The number of times that the journal was emptied into the tables.
    pub(crate) epoch: u64,
    pub(crate) version: u32,
}

impl Superblock {
    /// Read the newer intact one, and note the other one if it is damaged.
    pub(crate) fn read(metadata: &impl Disk, found: &mut Vec<Finding>) -> Result<Self, StoreError> {
        let mut bytes = [0, 1].map(|_| vec![0; SUPERBLOCK_BYTES]);
        for (copy, bytes) in (0..).zip(&mut bytes) {
            metadata
                .read_at(bytes, copy * SUPERBLOCK_BYTES as u64)
                .map_err(while_doing("reading the superblock"))?;
        }
        let decoded = bytes.each_ref().map(|bytes| Self::decode(bytes));
        let damaged = decoded.iter().position(Option::is_none);
        let finding = |number: usize, problem: &str| Finding {
            part: "superblock",
            number: number as u64,
            problem: problem.to_owned(),
        };
        let newest = decoded.into_iter().flatten().max_by_key(|found| found.epoch);
        if let Some(superblock) = newest {
            superblock.format.check()?;
            let problem = "it does not match its checksum; the other one is sound";
            found.extend(damaged.map(|number| finding(number, problem)));
            return Ok(superblock);
        }
        let given = bytes.iter().find(|bytes| bytes.starts_with(&MAGIC)).map(|bytes| word32(bytes, 8));
        let problem = match given {
            None => "this is no container of coflash, or its creation was interrupted".to_owned(),
            Some(VERSION | VERSION_WITHOUT_COPIES) => {
                let finding = finding(0, "neither of the two matches its checksum");
                return Err(StoreError::Damaged(vec![finding]));
            }
            Some(version) => format!(
                "a container of version {version} was given; versions {VERSION_WITHOUT_COPIES} and {VERSION} are allowed: the \
                 coflash that made it serves it, and `nbdcopy` takes its contents to a new device"
            ),
        };
        Err(StoreError::Foreign(problem))
    }

    /// Write both, one after the other, beginning with the older one.
    pub(crate) fn write(&self, metadata: &impl Disk) -> Result<(), StoreError> {
        let bytes = self.encode()?;
        for copy in [self.epoch % 2, (self.epoch + 1) % 2] {
            let written = metadata.write_at(&bytes, copy * SUPERBLOCK_BYTES as u64);
            written.and_then(|()| metadata.sync()).map_err(while_doing("writing the superblock"))?;
        }
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let format = serde_json::to_vec(&self.format).expect("a format is text and numbers");
        let most = SUPERBLOCK_BYTES - HEADER_BYTES;
        if format.len() > most {
            let problem = format!("a scenario that takes {} B was given; {most} B is allowed", format.len());
            return Err(StoreError::Foreign(problem));
        }
        let mut bytes =
            [&MAGIC[..], &self.version.to_le_bytes(), &(format.len() as u32).to_le_bytes()].concat();
        bytes.extend(self.epoch.to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), &format);
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(format);
        Ok(bytes)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let version = word32(bytes, 8);
        if !bytes.starts_with(&MAGIC) || ![VERSION, VERSION_WITHOUT_COPIES].contains(&version) {
            return None;
        }
        let format = bytes.get(HEADER_BYTES..HEADER_BYTES.checked_add(word32(bytes, 12) as usize)?)?;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..HEADER_BYTES - 4]), format);
        if checksum != word32(bytes, HEADER_BYTES - 4) {
            return None;
        }
        Some(Self { format: serde_json::from_slice(format).ok()?, epoch: word64(bytes, 16), version })
    }
}

/// The least number of spare places: for slots that are written more than once between two fences.
const SPARE_PLACES_MIN: u32 = 64;
/// The number of spare places that outlasts the writes between two sync points: 5 s of 100,000 a second.
const SPARE_PLACES_ENOUGH: u32 = 1 << 19;

/// The size of the journal in sizes of the table of pages. Each emptying is a sync point, which writes all new data to the disk
/// while requests wait: a long journal makes it rare. In this crate's tests the journal is often full.
const JOURNAL_TABLES: u64 = if cfg!(test) { 8 } else { 32 };
/// The journal of 200,000 random writes or so. Opening after the end of the process takes half a second for them.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// A table of cells in the metadata.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) start: u64,
    pub(crate) cells: u64,
    pub(crate) cell_bytes: u64,
}

impl Table {
    fn after<C: Cell>(end: u64, cells: u64) -> Self {
        Self { start: end.next_multiple_of(4096), cells, cell_bytes: C::BYTES as u64 }
    }

    fn end(&self) -> u64 {
        self.start + self.cells * self.cell_bytes
    }

    /// The place of a cell.
    pub(crate) fn at(&self, number: u64) -> u64 {
        self.start + number * self.cell_bytes
    }

    /// The number of the cell at a place.
    pub(crate) fn number(&self, at: u64) -> Option<u64> {
        (self.start..self.end()).contains(&at).then(|| (at - self.start) / self.cell_bytes)
    }
}

/// Where the parts of a container are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) geometry: Geometry,
    pub(crate) page_bytes: usize,
    pub(crate) logical_pages: u64,
    /// The number of places for data: one for each flash page and each slot, and spare ones, since data of the last
    /// sync point keeps its place up to the next one.
    pub(crate) places: u32,
    /// The first journal.
    pub(crate) journal: Range<u64>,
    /// The distances of all journals from the first one.
    pub(crate) journals: Vec<u64>,
    /// The distances of all copies of the tables from the first one.
    pub(crate) copies: Vec<u64>,
    pub(crate) blocks: Table,
    pub(crate) words: Table,
    pub(crate) slots: Table,
    pub(crate) pages: Table,
    /// The seed of all metadata checksums: those of another container do not match.
    pub(crate) seed: u32,
}

impl Layout {
    pub(crate) fn new(format: &Format, version: u32) -> Self {
        let geometry = format.geometry.clone();
        let (blocks, pages) = (geometry.blocks(), geometry.pages());
        let tables_bytes = u64::from(pages) * PageCell::BYTES as u64;
        let journal_bytes = (tables_bytes * JOURNAL_TABLES).clamp(4 << 10, JOURNAL_BYTES_MAX);
        let journal_start = 2 * SUPERBLOCK_BYTES as u64;
        let journal = journal_start..journal_start + journal_bytes;
        let count = if version == VERSION_WITHOUT_COPIES { 1 } else { 2 };
        let journals: Vec<_> = (0..count).map(|copy| copy * journal_bytes).collect();
        let of_blocks = Table::after::<BlockCell>(journal.start + count * journal_bytes, blocks.into());
        let words = Table::after::<WordCell>(of_blocks.end(), format.words.into());
        let slots = Table::after::<SlotCell>(words.end(), format.slots.into());
        let of_pages = Table::after::<PageCell>(slots.end(), pages.into());
        let copy_bytes = (of_pages.end() - of_blocks.start).next_multiple_of(4096);
        Self {
            journals,
            copies: (0..count).map(|copy| copy * copy_bytes).collect(),
            page_bytes: geometry.page_size.count as usize,
            logical_pages: format.logical_bytes / geometry.page_size.count,
            places: pages
                .saturating_add(format.slots.saturating_mul(2))
                .saturating_add((pages / 16).max(pages.min(SPARE_PLACES_ENOUGH)))
                .saturating_add(SPARE_PLACES_MIN),
            journal,
            blocks: of_blocks,
            words,
            slots,
            pages: of_pages,
            seed: crc32c::crc32c(&format.uuid.to_le_bytes()),
            geometry,
        }
    }

    /// The size of the metadata.
    pub(crate) fn end(&self) -> u64 {
        self.pages.end() + self.copies[self.copies.len() - 1]
    }

    /// Where the first copy of the tables is.
    pub(crate) fn tables(&self) -> Range<u64> {
        self.blocks.start..self.pages.end()
    }

    /// The block of a page, and its index there.
    pub(crate) fn split(&self, page: Ppn) -> (usize, u32) {
        let per_block = self.geometry.pages_per_block;
        ((page.get() / per_block) as usize, page.get() % per_block)
    }
}
