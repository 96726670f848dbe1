//! Flash and a disk that keep their contents and lose power after a given number of steps. The test chooses
//! the next event.

use crate::disk::{Data, Disk, SECTORS, Written};
use crate::moments::{Ends, Moments, When};
use crate::setup::Setup;
use coflash_base::{Amount, Duration, Lpn, Time};
use coflash_cache::SlotId;
use coflash_hybrid::{Found, SlotLabel, TierMedia};
use coflash_media::disk::Direction;
use coflash_media::{
    Access, Backed, BlockId, Cause, Clock, DieId, Flash, HostPage, Memory, Nvm, Oob, Place, Ppn, Slot,
    Transfer,
};
use coflash_testing::{Image, ImageError, Spare};
use std::collections::BTreeMap;

pub(crate) const PAGE_BYTES: u64 = 64;

/// A mistake that a correct test must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// Pages of the journal are programmed, and say nothing.
    NoJournal,
    /// A page of the journal is durable only with the next program.
    JournalLate,
    /// All labels say that the page is clean.
    NoLabels,
    /// The disk takes a group and forgets it.
    DestageNothing,
    /// The journal's records of trims are empty.
    NoTrims,
    /// A part of a cached page is written over the disk's contents.
    StaleBase,
    /// The disk does not keep writes to parts of pages behind destages that came before.
    PartsOvertake,
    /// Recovery of flash does not know what the cache above has.
    NobodyAbove,
    /// No fence of the cache above has an effect.
    NoFences,
}

/// Something that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Operations of flash end.
    Flash,
    /// The disk goes on with a transfer.
    Disk(usize),
    /// The level gets the report of a tag, perhaps because the disk has read or written.
    Tell { index: usize, direction: Option<Direction> },
}

#[derive(Clone, Debug)]
pub(crate) struct Fragile {
    pub(crate) flash: Image,
    pub(crate) disk: Disk,
    pub(crate) ends: Ends,
    sabotage: Sabotage,
    /// The level is to be told these, each at its moment.
    to_tell: Vec<(When, u32, Option<Direction>)>,
    telling: Option<u32>,
    gives_way: Option<u32>,
    /// Data that the host writes, has read from flash, and has read into the buffer.
    host_writes: Written,
    pub(crate) host_reads: Option<Data>,
    buffer: Data,
    /// The programmed part of the host's page.
    programmed: Option<Data>,
    /// For the page that is programmed next.
    label: Option<(SlotId, SlotLabel)>,
    words: Vec<u64>,
    fetched: Option<Data>,
    /// Whether the journal entry being written is a trim.
    pub(crate) trims: bool,
    /// The page of the journal that is durable only with the next program.
    late: Option<Ppn>,
    /// How often each thing that is to be tested has happened.
    pub(crate) seen: BTreeMap<&'static str, u64>,
}

impl Fragile {
    pub(crate) fn new(setup: &Setup, sabotage: Sabotage, moments: Moments) -> Self {
        let disk_pages = setup.disk_pages;
        let slots = |size: Amount| size.pages(PAGE_BYTES, disk_pages.into()) as u32;
        let mut flash = Image::new(&setup.geometry, slots(setup.cache.size))
            .with_slots(Memory::Host, slots(setup.cache.size))
            .with_slots(Memory::HostBuffer, slots(setup.buffer.size))
            .with_power_switch(setup.level().layout().map_or(0, |layout| layout.words()));
        // The data to program are put together here.
        flash.host_writes(0, &[]);
        Self {
            flash,
            disk: Disk::new(disk_pages, sabotage),
            ends: Ends::new(moments),
            sabotage,
            to_tell: Vec::new(),
            telling: None,
            gives_way: None,
            host_writes: Written::default(),
            host_reads: None,
            buffer: Data::default(),
            programmed: None,
            label: None,
            words: Vec::new(),
            fetched: None,
            trims: false,
            late: None,
            seen: BTreeMap::new(),
        }
    }

    pub(crate) fn count(&mut self, what: &'static str, count: u64) {
        *self.seen.entry(what).or_default() += count;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.flash.is_dead()
    }

    /// Power is back; memory is empty.
    pub(crate) fn restart(&mut self) {
        // Of the stores since the last fence some survive.
        self.flash.restart(|store| store % 3 != 1);
        self.flash.log.clear();
        self.disk.restart();
        self.ends.restart();
        self.to_tell.clear();
        (self.gives_way, self.label, self.fetched) = (None, None, None);
    }

    /// Every programmed page, as recovery finds it.
    pub(crate) fn programmed(&mut self) -> Vec<(Ppn, Option<Found>)> {
        let late = self.late.take();
        let found = |(page, oob): (Ppn, Option<Oob>)| {
            let found = oob.filter(|_| late != Some(page)).map(|oob| {
                let label = self.label_of(page);
                let has_words = label.is_none() && oob.lpn.is_some();
                let words = if has_words { words(self.flash.data(page)) } else { Vec::new() };
                Found { oob, label, words }
            });
            (page, found)
        };
        self.flash.programmed().map(found).collect()
    }

    /// The erase count of each block.
    pub(crate) fn erases(&self) -> Vec<u32> {
        self.flash.contents().erases
    }

    /// The label in the spare area of a page.
    pub(crate) fn label_of(&self, page: Ppn) -> Option<SlotLabel> {
        let [page, dirty, version] = self.flash.spare(page)?;
        Some(SlotLabel { page: Lpn::new(page as u32), dirty: dirty == 1, version })
    }

    /// The label of the page that was last programmed for a slot.
    fn last_label(&self, lpn: Lpn) -> Option<SlotLabel> {
        let of_slot =
            |(page, oob): (Ppn, Option<Oob>)| Some((oob.filter(|oob| oob.lpn == Some(lpn))?.sequence, page));
        let (_, page) = self.flash.programmed().filter_map(of_slot).max()?;
        self.label_of(page)
    }

    /// The data of a disk read that was done at this moment.
    pub(crate) fn brought(&self, when: When, page: Lpn) -> Option<Data> {
        self.ends.jobs_of(when).into_iter().find_map(|job| self.disk.brought(job, page))
    }

    /// The host writes this next.
    pub(crate) fn host_writes(&mut self, written: Written) {
        (self.host_writes, self.programmed) = (written, None);
    }

    /// The number of pending events.
    pub(crate) fn waiting(&self) -> usize {
        self.disk.waiting() + self.to_tell.len()
    }

    /// The possible next events.
    pub(crate) fn possible(&self) -> Vec<Event> {
        let tell = |(index, &(_, _, direction))| Event::Tell { index, direction };
        let told = (0..).zip(&self.to_tell).filter(|&(index, _)| self.may_be_told(index)).map(tell);
        let flash = self.ends.are_to_come().then_some(Event::Flash);
        self.disk.free(self.ends.now()).map(Event::Disk).chain(told).chain(flash).collect()
    }

    /// Of ends of writes the first is told first.
    fn may_be_told(&self, index: usize) -> bool {
        let is_write = |told: &(When, u32, Option<Direction>)| told.2 == Some(Direction::Write);
        let (before, told) = (&self.to_tell[..index], &self.to_tell[index]);
        self.ends.has_come(told.0) && !(is_write(told) && before.iter().any(is_write))
    }

    /// Operations of flash end.
    pub(crate) fn pass_time(&mut self) {
        self.ends.turn();
        self.ends.pass(4);
    }

    /// The disk goes on with a transfer: power may fail in between.
    pub(crate) fn work_disk(&mut self, index: usize) {
        self.ends.turn();
        let Self { flash, disk, .. } = self;
        let now = When::At(self.ends.now());
        if let Some((tag, direction)) = disk.work(index, || flash.power_for_a_step().is_ok()) {
            self.to_tell.push((now, tag, Some(direction)));
        }
        self.to_tell.extend(self.gives_way.take().map(|tag| (now, tag, None)));
    }

    /// A tag that the level is to be told now.
    pub(crate) fn tell(&mut self, index: usize) -> u32 {
        self.ends.turn();
        let (_, tag, _) = self.to_tell.remove(index);
        self.telling = Some(tag);
        tag
    }

    /// The data in a slot of the cache above.
    fn cached(&mut self, slot: Slot) -> Data {
        self.flash.access(slot, Access::Read { to: Place::Buffer }, ());
        words(self.flash.buffer())[..SECTORS].try_into().expect("a version for each sector")
    }

    /// Stores data in a slot of the cache above, sector by sector.
    fn cache(&mut self, slot: Slot, data: Data) {
        self.flash.fill_buffer(&bytes(&data));
        self.flash.access(slot, Access::WriteNew { from: Place::Buffer }, ());
    }

    /// The contents of the next page of metadata.
    fn metadata(&mut self) -> Vec<u64> {
        let mut words = std::mem::take(&mut self.words);
        let is_silent = match self.sabotage {
            Sabotage::NoJournal => true,
            Sabotage::NoTrims => self.trims,
            _ => false,
        };
        if is_silent && words[1] > 0 {
            words[1] = 0;
        }
        words
    }

    /// The next page of a slot: its data and its spare area.
    fn page_of_slot(&mut self, lpn: Lpn, from: Place) -> (Data, Spare) {
        // GC may program a slot anew, with the data of the cache above: the label stays.
        let label = self
            .label
            .take_if(|label| label.0.get() == lpn.get())
            .or_else(|| Some((SlotId::new(lpn.get()), self.last_label(lpn)?)));
        let (slot, label) = label.expect("a cached page has a label");
        assert_eq!(slot.get(), lpn.get(), "the label is that of the slot");
        let base = if self.sabotage == Sabotage::StaleBase { self.disk.at(label.page) } else { self.buffer };
        let data = match from {
            Place::Host => self.fetched.take().unwrap_or(self.host_writes.data),
            Place::Merged => self.host_writes.over(base),
            Place::Buffer => unreachable!("the tier has no units of several pages"),
            Place::Slot(slot) => self.cached(slot),
        };
        // What comes from above, perhaps for GC, is not what the host writes now.
        if label.dirty && !matches!(from, Place::Slot(_)) {
            self.programmed = Some(data);
        }
        let dirty = label.dirty && self.sabotage != Sabotage::NoLabels;
        (data, [label.page.get().into(), dirty.into(), label.version])
    }
}

/// Words as the bytes of a page, and back.
fn bytes(words: &[u64]) -> Vec<u8> {
    let mut bytes: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(PAGE_BYTES as usize, 0);
    bytes
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}

impl Clock for Fragile {
    type When = When;

    fn later(&self, after: When, _: Duration) -> When {
        after
    }

    fn both(&mut self, one: When, other: When) -> When {
        self.ends.both(one, other)
    }

    fn known(&self, when: When) -> Option<Time> {
        match when {
            When::At(time) => Some(time),
            When::Of(_) => None,
        }
    }
}

impl Flash for Fragile {
    type Error = ImageError;

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, after: When) -> Result<When, ImageError> {
        self.flash.read(page, Place::Merged, cause, ())?;
        let data = words(self.flash.buffer())[..SECTORS].try_into().expect("a version for each sector");
        if let Place::Slot(slot) = to {
            self.cache(slot, data);
        } else if to == Place::Host {
            self.host_reads = Some(data);
        } else {
            self.buffer = data;
            self.count("merges", u64::from(cause == Cause::Host));
        }
        Ok(self.ends.issue(after))
    }

    fn program(
        &mut self,
        page: Ppn,
        oob: Oob,
        from: Place,
        cause: Cause,
        after: When,
    ) -> Result<When, ImageError> {
        let is_metadata = cause == Cause::Metadata && oob.lpn.is_some();
        let contents = match oob.lpn {
            // The FTL's own summary; the labels of its block are read from the pages themselves.
            None => Vec::new(),
            Some(_) if is_metadata => self.metadata(),
            Some(lpn) => {
                let (data, spare) = self.page_of_slot(lpn, from);
                self.flash.set_spare(spare);
                data.to_vec()
            }
        };
        self.late = None;
        self.flash.fill_buffer(&bytes(&contents));
        self.flash.program(page, oob, Place::Merged, cause, ())?;
        self.late = (is_metadata && self.sabotage == Sabotage::JournalLate).then_some(page);
        Ok(self.ends.issue(after))
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: When) -> Result<When, ImageError> {
        self.flash.copy(from, to, oob, cause, ())?;
        self.late = None;
        Ok(self.ends.issue(after))
    }

    fn erase(&mut self, block: BlockId, cause: Cause, after: When) -> Result<When, ImageError> {
        self.flash.erase(block, cause, ())?;
        Ok(self.ends.issue(after))
    }

    fn await_programs(&mut self, parts: &mut Vec<When>) {
        parts.push(self.ends.last());
    }

    fn backlog(&self, _: DieId, _: When) -> u64 {
        0
    }
}

impl Nvm for Fragile {
    fn access(&mut self, slot: Slot, access: Access, after: When) -> When {
        match access {
            Access::Read { to: Place::Host } => self.host_reads = Some(self.cached(slot)),
            Access::Write { from: Place::Host } => {
                let base = self.cached(slot);
                let data = self.host_writes.over(base);
                self.cache(slot, data);
            }
            Access::WriteNew { from: Place::Host } => self.cache(slot, self.host_writes.data),
            // What leaves the host's write buffer is whole, and so is what it asks for.
            Access::Write { from: Place::Slot(from) } | Access::WriteNew { from: Place::Slot(from) } => {
                let data = self.cached(from);
                self.cache(slot, data);
            }
            Access::Fill { from: Place::Host } => {
                self.cache(
                    slot,
                    self.host_reads.expect("flash had it: what the disks bring is not cached above"),
                );
            }
            other => unreachable!("{other:?} of {slot:?}"),
        }
        self.ends.issue(after)
    }

    fn store(&mut self, word: u32, value: u64) {
        self.flash.store(word, value);
    }

    fn buffer(&mut self, _: When) -> When {
        unreachable!("a tier has no write buffer")
    }

    fn unbuffer(&mut self, _: When) {
        unreachable!("a tier has no write buffer")
    }

    fn fence(&mut self) {
        if self.sabotage != Sabotage::NoFences {
            self.flash.fence();
        }
    }
}

impl Backed for Fragile {
    fn transfer(&mut self, transfer: Transfer, at: Time, tag: u32) {
        let called_off = self.disk.ask(transfer, at, tag);
        self.count("destages called off", called_off as u64);
    }

    fn tell_level(&mut self, when: When, tag: u32) {
        assert_eq!(self.known(when), None, "only a time that is not known yet is told");
        let when = self.ends.hand_on(when);
        self.to_tell.push((when, tag, None));
    }

    fn after_others(&mut self, tag: u32) {
        assert!(self.gives_way.replace(tag).is_none(), "one transfer at a time gives way");
        self.count("groups that give way", 1);
    }

    fn is_idle(&self, _: u64) -> bool {
        self.disk.is_idle(self.ends.now())
    }

    fn disk_time(&self, _: Cause) -> Duration {
        Duration::ZERO
    }

    fn disks(&self) -> u32 {
        1
    }

    fn promise(&mut self) -> When {
        self.ends.promise()
    }

    fn keep(&mut self, promise: When, with: When) {
        self.ends.keep(promise, with, self.telling);
    }
}

impl TierMedia for Fragile {
    fn label(&mut self, slot: SlotId, label: SlotLabel) {
        self.label = Some((slot, label));
    }

    fn words(&mut self, words: &[u64]) {
        self.words = words.to_vec();
    }

    fn fetched(&mut self, tag: u32, page: Lpn) {
        self.fetched = self.disk.brought(tag, page);
    }

    fn to_disk(&mut self, tag: u32, page: Lpn, from: Place) {
        let written = match from {
            // Written through, it goes to the disk as it is in flash.
            Place::Host => self.programmed.map_or(self.host_writes, |data| Written { data, only: None }),
            Place::Slot(slot) => Written { data: self.cached(slot), only: None },
            _ => Written { data: self.buffer, only: None },
        };
        self.count("parts to the disk", u64::from(written.only.is_some()));
        self.disk.takes(tag, page, written, from);
    }
}
