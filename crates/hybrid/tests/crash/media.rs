//! Flash and disk that lose power after a given number of steps, and then show what is left.

use coflash_base::{Duration, Lpn};
use coflash_cache::SlotId;
use coflash_flash::{Access, BlockId, Cause, DieId, Geometry, Media, Oob, Place, Ppn};
use coflash_hybrid::{Found, Label, TierMedia};

/// A page as it lies in flash.
#[derive(Clone, Debug)]
enum Programmed {
    Whole(Content, Oob),
    Torn,
}

/// Sectors of a page; each is on the disk whole or not at all.
pub(crate) const SECTORS: usize = 2;

/// The version of each sector of a page.
pub(crate) type Data = [u64; SECTORS];

/// What a request writes to a page: one of its sectors, or all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) data: Data,
    pub(crate) only: Option<usize>,
}

impl Written {
    pub(crate) fn writes(&self, sector: usize) -> bool {
        self.only.is_none_or(|only| only == sector)
    }

    fn over(&self, base: Data) -> Data {
        std::array::from_fn(|sector| if self.writes(sector) { self.data[sector] } else { base[sector] })
    }
}

/// What a flash page holds: the data of a cached page with its label, or words.
#[derive(Clone, Debug, Default)]
struct Content {
    data: Data,
    label: Option<Label>,
    words: Vec<u64>,
}

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
    /// What the journal says of trims says nothing.
    NoTrims,
    /// A part of a cached page is written over what the disk holds.
    StaleBase,
    /// The disk does not keep writes to parts of pages behind destages that came before.
    PartsOvertake,
}

/// A page that a group brings to the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destage {
    pub(crate) group: u32,
    pub(crate) page: Lpn,
    pub(crate) data: Data,
}

#[derive(Clone, Debug)]
pub(crate) struct Fragile {
    geometry: Geometry,
    pages: Vec<Option<Programmed>>,
    disk: Vec<Data>,
    pub(crate) steps_left: u64,
    pub(crate) steps: u64,
    pub(crate) sabotage: Sabotage,
    /// What is journalled now was trimmed.
    pub(crate) trims: bool,
    late: Option<(Ppn, Programmed)>,
    /// What the host writes, what it reads, and what was read into the buffer.
    pub(crate) host_writes: Written,
    pub(crate) host_reads: Data,
    buffer: Data,
    label: Option<(SlotId, Label)>,
    words: Vec<u64>,
    /// What each fetch has brought: (fetch, page, data).
    pub(crate) fetched: Vec<(u32, Lpn, Data)>,
    from_disk: Option<Data>,
    /// Pages for the disk that the driver has not taken yet.
    pub(crate) destages: Vec<Destage>,
}

impl Fragile {
    pub(crate) fn new(geometry: &Geometry, disk_pages: u32, sabotage: Sabotage) -> Self {
        Self {
            geometry: geometry.clone(),
            pages: vec![None; geometry.pages() as usize],
            disk: vec![Data::default(); disk_pages as usize],
            steps_left: u64::MAX,
            steps: 0,
            sabotage,
            trims: false,
            late: None,
            host_writes: Written::default(),
            host_reads: Data::default(),
            buffer: Data::default(),
            label: None,
            words: Vec::new(),
            fetched: Vec::new(),
            from_disk: None,
            destages: Vec::new(),
        }
    }

    fn step(&mut self) -> bool {
        if self.steps_left == 0 {
            return false;
        }
        self.steps_left -= 1;
        self.steps += 1;
        true
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.steps_left == 0
    }

    /// Power is back; what was in memory is gone.
    pub(crate) fn power_on(&mut self) {
        self.steps_left = u64::MAX;
        self.late = None;
        self.label = None;
        self.words.clear();
        self.fetched.clear();
        self.destages.clear();
    }

    pub(crate) fn read_disk(&self, page: Lpn) -> Data {
        self.disk[page.get() as usize]
    }

    /// A sector at a time: power may fail in between.
    pub(crate) fn write_disk(&mut self, page: Lpn, written: Written) {
        for sector in (0..SECTORS).filter(|&sector| written.writes(sector)) {
            if self.step() {
                self.disk[page.get() as usize][sector] = written.data[sector];
            }
        }
    }

    /// Every programmed page, as recovery finds it.
    pub(crate) fn programmed(&self) -> Vec<(Ppn, Option<Found>)> {
        let found = |(index, page): (usize, &Option<Programmed>)| {
            let found = match page.as_ref()? {
                Programmed::Whole(content, oob) => {
                    Some(Found { oob: *oob, label: content.label, words: content.words.clone() })
                }
                Programmed::Torn => None,
            };
            Some((Ppn::new(index as u32), found))
        };
        self.pages.iter().enumerate().filter_map(found).collect()
    }

    /// What a page of flash holds.
    pub(crate) fn look(&self, page: Ppn) -> Data {
        self.content(page).data
    }

    fn content(&self, page: Ppn) -> Content {
        if let Some((late, Programmed::Whole(content, _))) = &self.late
            && *late == page
        {
            return content.clone();
        }
        match &self.pages[page.get() as usize] {
            Some(Programmed::Whole(content, _)) => content.clone(),
            _ => {
                assert!(self.is_dead(), "{page:?} is read, and cannot be");
                Content::default()
            }
        }
    }

    fn put(&mut self, page: Ppn, content: Content, oob: Oob) {
        if !self.step() {
            return;
        }
        let index = page.get() as usize;
        assert!(self.pages[index].is_none(), "{page:?} is programmed twice without an erase");
        let first = page.get().is_multiple_of(self.geometry.pages_per_block);
        assert!(first || self.pages[index - 1].is_some(), "{page:?} is programmed out of order");
        if let Some((late, programmed)) = self.late.take() {
            self.pages[late.get() as usize] = Some(programmed);
        }
        self.pages[index] = Some(Programmed::Torn);
        let is_journal = content.label.is_none() && !content.words.is_empty();
        let whole = Programmed::Whole(content, oob);
        if self.step() {
            if is_journal && self.sabotage == Sabotage::JournalLate {
                self.late = Some((page, whole));
            } else {
                self.pages[index] = Some(whole);
            }
        }
    }
}

impl Media for Fragile {
    type When = ();

    fn read(&mut self, page: Ppn, to: Place, _: Cause, (): ()) {
        let data = self.content(page).data;
        match to {
            Place::Host => self.host_reads = data,
            Place::Merged => self.buffer = data,
            Place::Cache { .. } => unreachable!("the tier has no slots in memory"),
        }
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, (): ()) {
        let content = match (oob.lpn, cause) {
            // The FTL's own summary; the labels of its block are read from the pages themselves.
            (None, _) => Content::default(),
            (Some(_), Cause::Metadata) => {
                let mut words = std::mem::take(&mut self.words);
                let is_silent = match self.sabotage {
                    Sabotage::NoJournal => true,
                    Sabotage::NoTrims => self.trims,
                    _ => false,
                };
                if is_silent && words[1] > 0 {
                    words[1] = 0;
                }
                Content { words, ..Content::default() }
            }
            (Some(lpn), _) => {
                let (slot, mut label) = self.label.take().expect("a cached page has a label");
                assert_eq!(slot.get(), lpn.get(), "the label is that of the slot");
                label.dirty &= self.sabotage != Sabotage::NoLabels;
                let data = match from {
                    Place::Host => self.from_disk.take().unwrap_or(self.host_writes.data),
                    Place::Merged => {
                        let page = label.page.get() as usize;
                        let is_stale = self.sabotage == Sabotage::StaleBase;
                        self.host_writes.over(if is_stale { self.disk[page] } else { self.buffer })
                    }
                    Place::Cache { .. } => unreachable!("the tier has no slots in memory"),
                };
                Content { data, label: Some(label), words: Vec::new() }
            }
        };
        self.put(page, content, oob);
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, _: Cause, (): ()) {
        let content = self.content(from);
        self.put(to, content, oob);
    }

    fn erase(&mut self, block: BlockId, _: Cause, (): ()) {
        let first = self.geometry.page(block, 0).get() as usize;
        let range = first..first + self.geometry.pages_per_block as usize;
        if !self.step() {
            return;
        }
        self.pages[range.clone()].fill(Some(Programmed::Torn));
        if self.step() {
            self.pages[range].fill(None);
        }
    }

    fn access(&mut self, _: u32, _: Access, (): ()) {
        unreachable!("the tier has no cache in memory")
    }

    fn later(&self, (): (), _: Duration) {}

    fn both(&mut self, (): (), (): ()) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}

impl TierMedia for Fragile {
    fn label(&mut self, slot: SlotId, label: Label) {
        self.label = Some((slot, label));
    }

    fn words(&mut self, words: &[u64]) {
        self.words = words.to_vec();
    }

    fn fetched(&mut self, fetch: u32, page: Lpn) {
        let brought = self.fetched.iter().find(|&&(id, of, _)| (id, of) == (fetch, page));
        self.from_disk = Some(brought.expect("the disk has delivered it").2);
    }

    fn destage(&mut self, group: u32, page: Lpn, (): ()) {
        self.destages.push(Destage { group, page, data: self.buffer });
    }
}
