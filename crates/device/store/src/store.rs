//! An open container: its tables in memory, its changes on their way to disk.

use crate::cell::{self, BlockCell, Cell, Data, PageCell, SlotCell};
use crate::code::Looked;
use crate::data_file::DataFile;
use crate::disk::{Disk, Disks};
use crate::error::{Damage, Finding, StoreError, while_doing};
use crate::format::{Format, Layout, Superblock, VERSION};
use crate::journal::{Journal, Scan};
use crate::overlay::{FirstFailure, Overlay};
use crate::page::PageBuffers;
use crate::places::Places;
use crate::power::Power;
use crate::sabotage::{Sabotage, is_sabotaged};
use crate::tables::{Mended, Read, Tables};
use coflash_base::Index;
use coflash_media::{Contents, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A flash device, with the memory of its cache, in the two files of a container.
///
/// Reads and writes are made at once, by the [traits](coflash_media) of a media.
#[derive(Debug)]
pub struct Store<D> {
    pub(crate) data: DataFile<Overlay<D>>,
    metadata: Overlay<D>,
    superblock: Superblock,
    pub(crate) layout: Layout,
    journal: Journal,
    pub(crate) tables: Tables,
    pub(crate) places: Places,
    pub(crate) pages: PageBuffers,
    pub(crate) power: Power,
    /// The first failure of a write or sync: the store is read-only.
    failure: FirstFailure,
    /// Whether it was read-only before anything could be written to it: there is nothing to sync.
    is_for_reading: bool,
    /// A failure in the midst of an operation, after which the state is not known: nothing can be read, either.
    broken: Option<StoreError>,
    /// Why data read from a slot is damaged.
    pub(crate) slot_damage: Option<Damage>,
    /// What opening has found.
    found: Vec<Finding>,
    sync_points: u64,
}

/// The number of moments after the last sync point that opening tries, from the last one back.
const TRIES_AHEAD: u32 = 64;

/// The description of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The intended use.
    pub format: Format,
    /// The number of times that the journal was emptied into the tables.
    pub epoch: u64,
    /// The number of sync points since it was opened.
    pub sync_points: u64,
    /// The number of programmed pages, torn ones included.
    pub programmed_pages: u64,
    /// The number of slots with data.
    pub filled_slots: u64,
    /// The size of the journal's entries in bytes.
    pub journal_bytes: u64,
    /// The number of pages of data that can be written before the next sync point.
    pub free_pages: u64,
    /// Why it is read-only, if it is.
    pub refusal: Option<String>,
}

impl<D: Disk> Store<D> {
    /// Create a container on empty disks: an erased device, and memory of zeros.
    ///
    /// # Errors
    /// A format that is not allowed, or a failed write.
    pub fn create(disks: Disks<D>, format: &Format) -> Result<Self, StoreError> {
        format.check()?;
        let (disks, failure) = guarded(disks)?;
        let layout = Layout::new(format, VERSION);
        // The whole size from the start: a shorter file was truncated.
        let written = disks.metadata.write_at(&[0], layout.end() - 1).and_then(|()| disks.metadata.sync());
        written.map_err(while_doing("writing the tables"))?;
        let superblock = Superblock { format: format.clone(), epoch: 1, version: VERSION };
        superblock.write(&disks.metadata)?;
        let (tables, journal) = (Tables::erased(&layout), Journal::new(&layout, 1));
        let store = Self::new(disks, failure, superblock, layout, tables, journal);
        store.check_written().map(|()| store)
    }

    /// Open a container. Its state is that at the close. If the process ended before, it is the state at the
    /// last write of the journal. If the host lost power, it is the state of the last sync point or a later
    /// intact one.
    ///
    /// Where the host cannot write, as on a full disk, the store is read-only from the start.
    ///
    /// # Errors
    /// The files are no container, or it is damaged.
    pub fn open(disks: Disks<D>) -> Result<(Self, Contents), StoreError> {
        let (disks, failure) = guarded(disks)?;
        let mut found = Vec::new();
        let superblock = Superblock::read(&disks.metadata, &mut found)?;
        let layout = Layout::new(&superblock.format, superblock.version);
        let metadata = &disks.metadata;
        let there = metadata.size_bytes().map_err(while_doing("opening the container"))?;
        if there < layout.end() {
            let problem = format!("it has {there} B of {}", layout.end());
            return Err(StoreError::Damaged(vec![Finding { part: "metadata file", number: 0, problem }]));
        }
        // Everything read from here on is durable.
        metadata.sync().map_err(while_doing("opening the container"))?;
        let scan = Scan::read(metadata, &layout, superblock.epoch)?;
        let (synced, mut entries) = (scan.synced(), scan.len());
        let applied = scan.apply(0..synced, metadata, &layout.copies);
        applied.map_err(while_doing("applying the journal"))?;
        let mut tries = 0..TRIES_AHEAD;
        let Read { tables, contents, mended, .. } = loop {
            if entries == synced || tries.next().is_none() {
                entries = synced;
                break Tables::read(metadata, &layout)?;
            }
            match Self::read_ahead(&disks, &layout, &scan, synced..entries)? {
                Ok(read) => break read,
                Err(whole) => entries = whole,
            }
        };
        found.extend(scan.mended());
        found.extend(scan.lost_after(entries, &layout));
        found.extend(mended.iter().map(|mended| mended.finding.clone()));
        let journal = scan.into_journal(&layout, entries);
        let mut store = Self::new(disks, failure, superblock, layout, tables, journal);
        store.found = found;
        if entries > synced {
            store.make_sync_point()?;
        }
        // A new epoch in any case. Rejected entries are still in the journal, and recovery may write the entry before
        // them again, byte for byte: in the same epoch they would come back after a later loss of power.
        store.empty_journal()?;
        for Mended { at, bytes, .. } in &mended {
            store.metadata.write_at(bytes, *at).map_err(while_doing("writing the tables"))?;
        }
        store.is_for_reading = store.failure.get().is_some();
        Ok((store, contents))
    }

    /// The state after entries that no sync point covers, if they and all data that they refer to are intact; else the number of
    /// entries before the first one that is not.
    fn read_ahead(
        disks: &Disks<Overlay<D>>,
        layout: &Layout,
        scan: &Scan,
        entries: std::ops::Range<usize>,
    ) -> Result<Result<Read, usize>, StoreError> {
        let ahead = Overlay::new(&disks.metadata).map_err(while_doing("opening the container"))?;
        scan.apply(entries.clone(), &ahead, &layout.copies).map_err(while_doing("reading the journal"))?;
        let Ok(read) = Tables::read(&ahead, layout) else { return Ok(Err(entries.start)) };
        let data = DataFile::new(&disks.data, layout.page_bytes);
        let mut bytes = vec![0; layout.page_bytes];
        let mut is_whole = |Data { place, code }: Data| {
            data.read(&mut bytes, place).is_ok() && code.mend(&mut bytes) != Looked::Damaged
        };
        let of_entry = |entry| scan.changes(entry..entry + 1).map(move |(at, bytes)| (at, (entry, bytes)));
        let last = entries.clone().flat_map(of_entry).collect::<BTreeMap<_, _>>().into_iter();
        let damaged = last.filter(|&(at, (_, bytes))| {
            if let Some(number) = layout.pages.number(at) {
                let cell = cell::decode::<PageCell>(bytes, at, layout.seed).unwrap_or_default();
                let is_there = read.tables.is_programmed(Ppn::from_index(number as usize), layout);
                is_there && cell.is_new && !is_whole(cell.data)
            } else if layout.slots.number(at).is_some() {
                let cell = cell::decode::<SlotCell>(bytes, at, layout.seed).unwrap_or_default();
                cell.data.is_some_and(|data| cell.is_new && !is_whole(data))
            } else {
                false
            }
        });
        Ok(damaged.map(|(_, (entry, _))| entry).min().map_or(Ok(read), Err))
    }

    fn new(
        disks: Disks<Overlay<D>>,
        failure: FirstFailure,
        superblock: Superblock,
        layout: Layout,
        mut tables: Tables,
        journal: Journal,
    ) -> Self {
        if superblock.format.volatile {
            tables.slots.fill(SlotCell::default());
        }
        Self {
            places: Places::new(layout.places, tables.places(&layout)),
            pages: PageBuffers::new(layout.page_bytes),
            data: DataFile::new(disks.data, layout.page_bytes),
            metadata: disks.metadata,
            superblock,
            layout,
            journal,
            tables,
            power: Power::new(),
            failure,
            is_for_reading: false,
            broken: None,
            slot_damage: None,
            found: Vec::new(),
            sync_points: 0,
        }
    }

    /// The intended use of the container.
    pub fn format(&self) -> &Format {
        &self.superblock.format
    }

    /// Look at the container.
    pub fn info(&self) -> Info {
        Info {
            format: self.format().clone(),
            epoch: self.superblock.epoch,
            sync_points: self.sync_points,
            programmed_pages: self.tables.blocks.iter().map(|block| u64::from(block.filled)).sum(),
            filled_slots: self.tables.slots.iter().filter(|slot| slot.data.is_some()).count() as u64,
            journal_bytes: self.journal.used_bytes(),
            free_pages: self.places.free() as u64,
            refusal: self.failure().map(ToString::to_string),
        }
    }

    /// The first failure of a write or sync, after which the store is read-only.
    pub fn failure(&self) -> Option<&StoreError> {
        self.broken.as_ref().or(self.failure.get())
    }

    /// The files as they are: without what could not be written.
    pub fn files(&self) -> Disks<&D> {
        Disks { data: self.data.disk.below(), metadata: self.metadata.below() }
    }

    /// Refuse writes from here on, as after a failed one: what belongs to them cannot be written. What was written is synced.
    pub fn refuse_writes(&mut self, why: StoreError) {
        self.is_for_reading = self.sync_point().is_ok();
        // An earlier failure stays.
        let _ = self.failure.set(why);
    }

    /// Take what opening has found and mended, and what is lost.
    pub fn take_found(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.found)
    }

    /// Hand all changes to the host: from here on they survive the end of this process. Call it before
    /// requests are answered; one call for many requests costs one write.
    ///
    /// # Errors
    /// The write failed, now or earlier.
    pub fn write_out(&mut self) -> Result<(), StoreError> {
        self.check_written()?;
        self.write_pending()?;
        self.check_written()
    }

    /// Make all changes durable: they survive any failure of the host. Costs nothing if nothing has changed.
    ///
    /// # Errors
    /// A write or sync failed, now or earlier.
    pub fn sync_point(&mut self) -> Result<(), StoreError> {
        if self.is_for_reading {
            return Ok(());
        }
        self.check_written()?;
        self.latching(|store| if store.journal.is_ahead() { store.free_places() } else { Ok(()) })?;
        self.check_written()
    }

    /// Make all changes durable, and bring the tables up to date. The next opening has nothing to replay.
    ///
    /// # Errors
    /// A write or sync failed, now or earlier.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.sync_point()?;
        if self.is_for_reading || self.journal.used_bytes() == 0 {
            return Ok(());
        }
        self.empty_journal()?;
        self.check_written()
    }

    /// The contents after a power cut of the simulated device.
    ///
    /// # Errors
    /// A read or write failed, now or earlier.
    pub fn contents(&mut self) -> Result<Contents, StoreError> {
        self.write_pending()?;
        let reading = while_doing("reading the journal");
        let written = self.journal.written(&self.metadata).map_err(&reading)?;
        let tables = Overlay::new(&self.metadata).map_err(&reading)?;
        written.apply(0..written.len(), &tables, &self.layout.copies).map_err(&reading)?;
        Ok(Tables::read(&tables, &self.layout)?.contents)
    }

    fn write_pending(&mut self) -> Result<(), StoreError> {
        self.latching(|store| if store.journal.has_pending() { store.write_entry() } else { Ok(()) })
    }

    /// Run an operation that may fail. A failure of the host is permanent: the state after it is not known. Failed writes are
    /// none, since the disk goes on in memory.
    pub(crate) fn latching<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.check_intact()?;
        work(self).inspect_err(|failure| {
            if let StoreError::Host { .. } = failure {
                self.broken = Some(failure.clone());
            }
        })
    }

    /// Fail if a write or sync has failed.
    fn check_written(&self) -> Result<(), StoreError> {
        self.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Fail if the state is not known.
    pub(crate) fn check_intact(&self) -> Result<(), StoreError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Write the journal if it is long enough. Call it after each operation: the changes of an operation stay
    /// together.
    pub(crate) fn end_operation(&mut self) -> Result<(), StoreError> {
        if self.journal.is_due() { self.write_entry() } else { Ok(()) }
    }

    fn write_entry(&mut self) -> Result<(), StoreError> {
        self.append(false)?;
        if self.journal.is_full() { self.free_places() } else { Ok(()) }
    }

    /// First the data, then the entry that refers to it.
    fn append(&mut self, is_sync_point: bool) -> Result<(), StoreError> {
        if !is_sabotaged(Sabotage::EntryBeforeData) {
            self.data.write_out().map_err(while_doing("writing data"))?;
        }
        let appended = self.journal.append(&self.metadata, is_sync_point);
        appended.map_err(while_doing("writing the journal"))?;
        self.places.written();
        Ok(())
    }

    /// First the data is durable, then the entry that refers to it.
    pub(crate) fn make_sync_point(&mut self) -> Result<(), StoreError> {
        let syncing = while_doing("syncing");
        self.data.sync().map_err(&syncing)?;
        self.append(true)?;
        self.metadata.sync().map_err(&syncing)?;
        self.places.synced();
        self.sync_points += 1;
        self.journal.synced(&self.metadata).map_err(while_doing("writing the journal"))
    }

    /// Bring the tables up to date right after a sync point, and begin the journal anew.
    fn empty_journal(&mut self) -> Result<(), StoreError> {
        let metadata = &self.metadata;
        let applying = while_doing("writing the tables");
        let written = self.journal.written(metadata).map_err(&applying)?;
        written.apply(0..written.len(), metadata, &self.layout.copies).map_err(&applying)?;
        metadata.sync().map_err(&applying)?;
        // No entry of the new epoch is written before both superblocks name it.
        self.superblock.epoch += 1;
        self.superblock.write(metadata)?;
        self.journal = Journal::new(&self.layout, self.superblock.epoch);
        Ok(())
    }

    /// Note the new state of the cell at `at`.
    pub(crate) fn note<C: Cell>(&mut self, at: u64, cell: &C) {
        let bytes = cell::encode(cell, at, self.layout.seed);
        self.journal.note(at, &bytes[..C::BYTES]);
    }

    /// Change the state of a block.
    pub(crate) fn set_block(&mut self, block: usize, cell: BlockCell) {
        self.tables.blocks[block].cell = cell;
        self.note(self.layout.blocks.at(block as u64), &cell);
    }

    /// Make a sync point, so that released places are free.
    pub(crate) fn free_places(&mut self) -> Result<(), StoreError> {
        self.make_sync_point()?;
        if self.journal.is_full() { self.empty_journal() } else { Ok(()) }
    }
}

/// The disks of a container, which go on in memory when one of them cannot be written.
fn guarded<D: Disk>(disks: Disks<D>) -> Result<(Disks<Overlay<D>>, FirstFailure), StoreError> {
    let failure = FirstFailure::default();
    let guard =
        |disk, actions| Overlay::until(&failure, actions, disk).map_err(while_doing("opening the container"));
    let disks = Disks {
        data: guard(disks.data, ["writing data", "syncing data"])?,
        metadata: guard(disks.metadata, ["writing metadata", "syncing metadata"])?,
    };
    Ok((disks, failure))
}
