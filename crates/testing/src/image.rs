//! Flash and cache memory as an image of bytes, with the rules of NAND, out-of-band data and a power switch.
//!
//! The firmware runs over it as over the [`Timeline`](coflash_media::Timeline). It is the reference of the tests, and
//! the model of the durable state of a real device. Operations act at once.
//!
//! **Power** can be cut after any step. A store of eight bytes or a fence is one step; a program or an erase takes two,
//! and a cut between them leaves torn pages. After the cut, flash operations fail and stores do nothing until a
//! [restart](Image::restart). Any subset of the stores since the last fence may survive. Where the cache is in the host,
//! one [`Side`] may lose power alone: flash is the device's, slots and words are the host's.

use coflash_base::{Index, Lpn};
use coflash_media::{
    Access, BlockId, Cause, Contents, DieId, Flash, FoundPage, Geometry, HostPage, Immediate, Memory, Mode,
    Nvm, Oob, Place, Ppn, Side, Slot,
};
use std::ops::Range;

/// A flash operation in the log, for comparing the calls to two media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the Flash methods")]
pub enum Done {
    Read(Ppn, Cause),
    Program(Ppn, Oob, Cause),
    Copy(Ppn, Ppn, Oob, Cause),
    Erase(BlockId, Cause),
}

/// A failed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The power is off.
    PowerCut,
    /// The page was [made unreadable](Image::spoil).
    Unreadable(Ppn),
}

/// Additional data of the writer in the spare area of a page. A copy keeps it.
pub type Spare = [u64; 3];

/// A page of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Erased,
    /// Power was cut in the middle of a program or an erase.
    Torn,
    Programmed {
        oob: Oob,
        spare: Option<Spare>,
        readable: bool,
    },
}

/// The bytes of an atomic store.
const STORE_BYTES: usize = 8;

/// A store of up to eight bytes of a slot, or of a word.
#[derive(Clone, Copy, Debug)]
enum Store {
    Word(u32, u64),
    Bytes { memory: Memory, at: usize, len: usize, bytes: [u8; STORE_BYTES] },
}

/// The contents of cache memory.
#[derive(Clone, Debug, Default)]
struct Cells {
    words: Vec<u64>,
    /// By [`Memory`].
    slots: [Vec<u8>; Memory::COUNT],
}

impl Cells {
    fn apply(&mut self, store: Store) {
        match store {
            Store::Word(word, value) => self.words[word as usize] = value,
            Store::Bytes { memory, at, len, bytes } => {
                self.slots[memory as usize][at..at + len].copy_from_slice(&bytes[..len]);
            }
        }
    }
}

/// The durable state, and stores that may or may not survive a cut.
#[derive(Clone, Debug)]
struct Power {
    durable: Cells,
    /// Stores since the last fence.
    undecided: Vec<Store>,
    /// The side that loses power when no steps are left.
    side: Side,
    steps_left: u64,
    steps: u64,
}

/// Flash, caches and the current request as bytes.
#[derive(Clone, Debug)]
pub struct Image {
    geometry: Geometry,
    page_bytes: usize,
    pages: Vec<Page>,
    data: Vec<u8>,
    /// The erase count of each block.
    erases: Vec<u32>,
    cells: Cells,
    /// The power switch; `None` if power cannot be cut.
    power: Option<Power>,
    /// The page of the current request: its bytes, and the range that it covers.
    host: Vec<u8>,
    covered: Range<usize>,
    /// The page buffer of the controller: the data of the last flash read.
    buffer: Vec<u8>,
    next_spare: Option<Spare>,
    /// All flash operations in order.
    pub log: Vec<Done>,
}

impl Image {
    /// Create an erased device with `slots` cache slots in the device.
    #[must_use]
    pub fn new(geometry: &Geometry, slots: u32) -> Self {
        let page_bytes = geometry.page_size.count as usize;
        let image = Self {
            geometry: geometry.clone(),
            page_bytes,
            pages: vec![Page::Erased; geometry.pages() as usize],
            data: vec![0; geometry.pages() as usize * page_bytes],
            erases: vec![0; geometry.blocks() as usize],
            cells: Cells::default(),
            power: None,
            host: vec![0; page_bytes],
            covered: 0..page_bytes,
            buffer: vec![0; page_bytes],
            next_spare: None,
            log: Vec::new(),
        };
        image.with_slots(Memory::Device, slots)
    }

    /// Add cache slots in a memory.
    #[must_use]
    pub fn with_slots(mut self, memory: Memory, slots: u32) -> Self {
        self.cells.slots[memory as usize] = vec![0; slots as usize * self.page_bytes];
        self
    }

    /// Add words of metadata and a power switch.
    #[must_use]
    pub fn with_power_switch(mut self, words: u32) -> Self {
        self.cells.words = vec![0; words as usize];
        let durable = self.cells.clone();
        self.power =
            Some(Power { durable, undecided: Vec::new(), side: Side::Both, steps_left: u64::MAX, steps: 0 });
        self
    }

    /// Put data into the page buffer, as if it had been read from flash.
    pub fn fill_buffer(&mut self, data: &[u8]) {
        self.buffer.copy_from_slice(data);
    }

    /// The data in the page buffer.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Set the spare area of the page that is programmed next.
    pub fn set_spare(&mut self, spare: Spare) {
        self.next_spare = Some(spare);
    }

    /// Make a page unreadable, and every copy of it.
    pub fn spoil(&mut self, page: Ppn) {
        if let Page::Programmed { readable, .. } = &mut self.pages[page.get() as usize] {
            *readable = false;
        }
    }

    /// The input of recovery.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let pages = self.programmed().map(|(page, oob)| FoundPage::new(page, oob)).collect();
        let words = self.words().to_vec();
        Contents { words, pages, erases: self.erases.clone() }
    }

    /// All programmed pages with their out-of-band data, or `None` for a torn page.
    pub fn programmed(&self) -> impl Iterator<Item = (Ppn, Option<Oob>)> + '_ {
        (0..).map(Ppn::new).zip(&self.pages).filter_map(|(page, content)| match content {
            Page::Erased => None,
            Page::Torn => Some((page, None)),
            Page::Programmed { oob, .. } => Some((page, Some(*oob))),
        })
    }

    /// The map by out-of-band data alone: for each logical page the copy programmed last.
    #[must_use]
    pub fn rebuild_map(&self, logical_pages: usize) -> Vec<Option<Ppn>> {
        let mut newest: Vec<Option<(u64, Ppn)>> = vec![None; logical_pages];
        for (page, oob) in self.programmed() {
            if let Some(Oob { lpn: Some(lpn), sequence, .. }) = oob {
                let entry = &mut newest[lpn.get() as usize];
                if entry.is_none_or(|(other, _)| other < sequence) {
                    *entry = Some((sequence, page));
                }
            }
        }
        newest.into_iter().map(|entry| entry.map(|(_, page)| page)).collect()
    }

    /// The logical page in the out-of-band data of a physical page.
    #[must_use]
    pub fn owner(&self, page: Ppn) -> Option<Lpn> {
        match self.pages[page.get() as usize] {
            Page::Programmed { oob, .. } => oob.lpn,
            Page::Erased | Page::Torn => None,
        }
    }

    /// The spare area of a programmed page.
    #[must_use]
    pub fn spare(&self, page: Ppn) -> Option<Spare> {
        match self.pages[page.get() as usize] {
            Page::Programmed { spare, .. } => spare,
            Page::Erased | Page::Torn => None,
        }
    }

    /// The bytes of a programmed page.
    #[must_use]
    pub fn data(&self, page: Ppn) -> &[u8] {
        let is_programmed = matches!(self.pages[page.get() as usize], Page::Programmed { .. });
        assert!(is_programmed, "{page:?} is read but erased or torn");
        &self.data[self.range(page.get())]
    }

    fn range(&self, number: u32) -> Range<usize> {
        let start = number as usize * self.page_bytes;
        start..start + self.page_bytes
    }

    fn slot(&self, slot: Slot) -> Vec<u8> {
        self.cells.slots[slot.memory as usize][self.range(slot.number)].to_vec()
    }

    /// The bytes of `below`, overlaid by the host's part.
    fn merged(&self, below: &[u8]) -> Vec<u8> {
        let mut bytes = below.to_vec();
        bytes[self.covered.clone()].copy_from_slice(&self.host[self.covered.clone()]);
        bytes
    }

    fn put(&mut self, page: Ppn, data: &[u8], content: Page) -> Result<(), ImageError> {
        self.step(Side::Device)?;
        let at = page.get() as usize;
        assert!(self.pages[at] == Page::Erased, "{page:?} is programmed twice without an erase");
        let is_first = page.get().is_multiple_of(self.geometry.pages_per_block);
        assert!(is_first || self.pages[at - 1] != Page::Erased, "{page:?} is programmed out of order");
        self.check_bits(page, content);
        self.pages[at] = Page::Torn;
        self.step(Side::Device)?;
        self.pages[at] = content;
        let range = self.range(page.get());
        self.data[range].copy_from_slice(data);
        Ok(())
    }

    /// All pages of a block have one bit a cell, or none has. With one bit a cell, a block has fewer pages.
    fn check_bits(&self, page: Ppn, content: Page) {
        let Page::Programmed { oob, .. } = content else { return };
        let (pages, is_slc) = (self.geometry.pages_per_block, oob.mode == Mode::Slc);
        let index = page.get() % pages;
        assert!(
            !is_slc || index < pages / self.geometry.cell.bits(),
            "{page:?} is not in a block of one bit a cell"
        );
        let before = self.pages[(page.get() - index) as usize..page.get() as usize].iter().rev();
        let other = before
            .filter_map(|page| if let Page::Programmed { oob, .. } = page { Some(oob.mode) } else { None })
            .next();
        assert!(
            other.is_none_or(|other| (other == Mode::Slc) == is_slc),
            "{page:?} is programmed as {:?} in a block of {other:?}",
            oob.mode
        );
    }

    fn store_now(&mut self, store: Store) {
        if self.power_for_a_step().is_ok() {
            self.cells.apply(store);
            if let Some(power) = &mut self.power {
                power.undecided.push(store);
            }
        }
    }

    /// Store the bytes of a slot that lie in `covered`.
    fn store_page(&mut self, slot: Slot, data: &[u8], covered: Range<usize>) {
        let first = slot.number as usize * self.page_bytes;
        if self.power.is_none() {
            let slots = &mut self.cells.slots[slot.memory as usize];
            slots[first + covered.start..first + covered.end].copy_from_slice(&data[covered]);
            return;
        }
        for start in (0..self.page_bytes).step_by(STORE_BYTES) {
            let (start, end) = (start.max(covered.start), (start + STORE_BYTES).min(covered.end));
            if start < end {
                let mut bytes = [0; STORE_BYTES];
                bytes[..end - start].copy_from_slice(&data[start..end]);
                self.store_now(Store::Bytes {
                    memory: slot.memory,
                    at: first + start,
                    len: end - start,
                    bytes,
                });
            }
        }
    }

    fn source(&self, from: Place, below: &[u8]) -> Vec<u8> {
        match from {
            Place::Host => self.merged(below),
            Place::Merged => self.merged(&self.buffer),
            Place::Buffer => self.buffer.clone(),
            Place::Slot(slot) => self.slot(slot),
        }
    }
}

/// The power switch.
impl Image {
    /// Consume the power for one atomic step of the cache.
    ///
    /// # Errors
    /// The power is off.
    pub fn power_for_a_step(&mut self) -> Result<(), ImageError> {
        self.step(Side::Host)
    }

    /// Consume the power for one atomic step of a side.
    fn step(&mut self, side: Side) -> Result<(), ImageError> {
        if self.is_cut(side) {
            return Err(ImageError::PowerCut);
        }
        if let Some(power) = &mut self.power
            && power.steps_left > 0
        {
            power.steps_left -= 1;
            power.steps += 1;
        }
        Ok(())
    }

    fn switch(&mut self) -> &mut Power {
        self.power.as_mut().expect("this image has a power switch")
    }

    /// Cut all power after `steps` more steps.
    pub fn cut_after(&mut self, steps: u64) {
        self.cut_side_after(Side::Both, steps);
    }

    /// Cut the power of a side after `steps` more steps of both. The other side keeps its power.
    pub fn cut_side_after(&mut self, side: Side, steps: u64) {
        let power = self.switch();
        (power.side, power.steps_left) = (side, steps);
    }

    /// The number of steps taken with power.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.power.as_ref().map_or(0, |power| power.steps)
    }

    /// Reset the count of steps.
    pub fn count_steps(&mut self) {
        self.switch().steps = 0;
    }

    /// Whether power is off, on either side.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.power.as_ref().is_some_and(|power| power.steps_left == 0)
    }

    /// Whether the power of a side is off.
    #[must_use]
    pub fn is_cut(&self, side: Side) -> bool {
        let cut = self.power.as_ref().filter(|power| power.steps_left == 0).map(|power| power.side);
        cut.is_some_and(|cut| cut == Side::Both || cut == side)
    }

    /// The number of stores that may or may not survive a cut here.
    #[must_use]
    pub fn undecided(&self) -> usize {
        self.power.as_ref().map_or(0, |power| power.undecided.len())
    }

    /// Restart after a power cut. `survives` picks the surviving stores among those since the last fence.
    pub fn restart(&mut self, mut survives: impl FnMut(usize) -> bool) {
        let power = self.switch();
        for (index, store) in std::mem::take(&mut power.undecided).into_iter().enumerate() {
            if survives(index) {
                power.durable.apply(store);
            }
        }
        power.steps_left = u64::MAX;
        self.cells = self.switch().durable.clone();
        self.next_spare = None;
    }

    /// Restart the device after it alone has lost power. The host's stores stay as they are.
    pub fn restart_device(&mut self) {
        self.switch().steps_left = u64::MAX;
        self.next_spare = None;
    }

    /// Make one word durable at once, before earlier stores. For tests of broken firmware.
    pub fn store_durably(&mut self, word: u32, value: u64) {
        self.cells.apply(Store::Word(word, value));
        self.switch().durable.apply(Store::Word(word, value));
    }

    /// The durable words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        self.power.as_ref().map_or(&[], |power| &power.durable.words)
    }

    /// Replace the durable words.
    pub fn set_words(&mut self, words: &[u64]) {
        self.switch().durable.words.copy_from_slice(words);
        self.cells = self.switch().durable.clone();
    }
}

impl HostPage for Image {
    fn host_writes(&mut self, start: usize, data: &[u8]) {
        self.covered = start..start + data.len();
        self.host[self.covered.clone()].copy_from_slice(data);
    }

    fn host_reads(&self) -> &[u8] {
        &self.host
    }
}

impl Immediate for Image {}

impl Flash for Image {
    type Error = ImageError;

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, (): ()) -> Result<(), ImageError> {
        self.log.push(Done::Read(page, cause));
        if self.is_cut(Side::Device) {
            return Err(ImageError::PowerCut);
        }
        let data = self.data(page).to_vec();
        if let Page::Programmed { readable: false, .. } = self.pages[page.get() as usize] {
            return Err(ImageError::Unreadable(page));
        }
        match to {
            Place::Host => self.host = data,
            Place::Merged | Place::Buffer => self.buffer = data,
            Place::Slot(slot) => self.store_page(slot, &data, 0..self.page_bytes),
        }
        Ok(())
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, (): ()) -> Result<(), ImageError> {
        self.log.push(Done::Program(page, oob, cause));
        let data = self.source(from, &vec![0; self.page_bytes]);
        let spare = self.next_spare.take();
        self.put(page, &data, Page::Programmed { oob, spare, readable: true })
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, (): ()) -> Result<(), ImageError> {
        self.log.push(Done::Copy(from, to, oob, cause));
        if self.is_cut(Side::Device) {
            return Err(ImageError::PowerCut);
        }
        let data = self.data(from).to_vec();
        assert_eq!(self.owner(from), oob.lpn, "a copy keeps its logical page");
        let Page::Programmed { spare, readable, .. } = self.pages[from.get() as usize] else {
            unreachable!("its data was read")
        };
        self.put(to, &data, Page::Programmed { oob, spare, readable })
    }

    fn erase(&mut self, block: BlockId, cause: Cause, (): ()) -> Result<(), ImageError> {
        self.log.push(Done::Erase(block, cause));
        let first = self.geometry.page(block, 0).get() as usize;
        let pages = first..first + self.geometry.pages_per_block as usize;
        self.step(Side::Device)?;
        self.pages[pages.clone()].fill(Page::Torn);
        self.step(Side::Device)?;
        self.erases[block.index()] += 1;
        self.pages[pages].fill(Page::Erased);
        Ok(())
    }

    fn await_programs(&mut self, _: &mut Vec<()>) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}

impl Nvm for Image {
    fn access(&mut self, slot: Slot, access: Access, (): ()) {
        let whole = 0..self.page_bytes;
        match access {
            Access::Read { to: Place::Host } => self.host = self.slot(slot),
            Access::Read { to: Place::Merged | Place::Buffer } => self.buffer = self.slot(slot),
            Access::Read { to: Place::Slot(other) } => {
                let data = self.slot(slot);
                self.store_page(other, &data, whole);
            }
            Access::Write { from } => {
                let covered = if from == Place::Host { self.covered.clone() } else { whole };
                let data = self.source(from, &self.slot(slot));
                self.store_page(slot, &data, covered);
            }
            Access::WriteNew { from } => {
                let data = self.source(from, &vec![0; self.page_bytes]);
                self.store_page(slot, &data, whole);
            }
            Access::Fill { from } => {
                let data = match from {
                    Place::Host => self.host.clone(),
                    Place::Merged | Place::Buffer => self.buffer.clone(),
                    Place::Slot(other) => self.slot(other),
                };
                self.store_page(slot, &data, whole);
            }
        }
    }

    fn store(&mut self, word: u32, value: u64) {
        // Without a power switch the words are never read back.
        if self.power.is_some() {
            self.store_now(Store::Word(word, value));
        }
    }

    fn buffer(&mut self, (): ()) {}

    fn unbuffer(&mut self, (): ()) {}

    fn fence(&mut self) {
        if self.power_for_a_step().is_ok()
            && let Some(power) = &mut self.power
        {
            for store in power.undecided.drain(..) {
                power.durable.apply(store);
            }
        }
    }
}
