//! A media that loses power after a given number of steps, and then shows what is left.

use coflash_base::Duration;
use coflash_base::seed::{RngExt, Stream};
use coflash_controller::nvm::Layout;
use coflash_flash::{Access, BlockId, Cause, DieId, Geometry, Media, Oob, Place, Ppn};

/// A page's bytes, as two halves that can be torn apart.
pub(crate) type Page = [u64; 2];

/// A page as it lies in flash.
#[derive(Clone, Copy, Debug)]
enum Programmed {
    Whole(Page, Oob),
    /// Power was cut in the middle.
    Torn,
}

/// A store that is not yet known to be durable.
#[derive(Clone, Copy, Debug)]
enum Store {
    Word(u32, u64),
    Half(u32, usize, u64),
}

/// The memory of the cache: labels and other words, and the data of slots.
#[derive(Clone, Debug)]
struct Memory {
    words: Vec<u64>,
    slots: Vec<Page>,
}

impl Memory {
    fn apply(&mut self, store: Store) {
        match store {
            Store::Word(word, value) => self.words[word as usize] = value,
            Store::Half(slot, half, value) => self.slots[slot as usize][half] = value,
        }
    }
}

/// A mistake that a correct test must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// The fence before an erase has no effect: pages are erased before their copies are protected.
    EraseBeforeProtect,
    /// The commit's one word overtakes what it commits.
    CommitOvertakes,
    /// No fence has an effect.
    NoFences,
}

/// Flash and non-volatile memory with a power switch.
#[derive(Clone, Debug)]
pub(crate) struct Fragile {
    geometry: Geometry,
    pages: Vec<Option<Programmed>>,
    /// As the firmware sees it.
    current: Memory,
    /// What is known to survive.
    durable: Memory,
    pending: Vec<Store>,
    /// By sabotage, a fence that was called is carried out only at the next store (other than a commit's).
    late_fence: bool,
    sabotage: Sabotage,
    /// Steps until power is cut.
    pub(crate) steps_left: u64,
    pub(crate) steps: u64,
    host: Page,
    covered: [bool; 2],
    buffer: Page,
    /// Commits whose word was stored, and how many of those are fenced.
    pub(crate) commits_stored: u64,
    pub(crate) commits_fenced: u64,
}

impl Fragile {
    pub(crate) fn new(geometry: &Geometry, layout: Layout, sabotage: Sabotage) -> Self {
        let memory =
            Memory { words: vec![0; layout.words() as usize], slots: vec![[0; 2]; layout.slots as usize] };
        Self {
            geometry: geometry.clone(),
            pages: vec![None; geometry.pages() as usize],
            current: memory.clone(),
            durable: memory,
            pending: Vec::new(),
            late_fence: false,
            sabotage,
            steps_left: u64::MAX,
            steps: 0,
            host: [0; 2],
            covered: [true; 2],
            buffer: [0; 2],
            commits_stored: 0,
            commits_fenced: 0,
        }
    }

    /// One atomic step; false once there is no power.
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

    /// Stores that may or may not survive a cut here.
    pub(crate) fn undecided(&self) -> usize {
        self.pending.len()
    }

    /// Power is gone, and back: of the stores since the last fence those survive that `survives` picks.
    pub(crate) fn restart(&mut self, mut survives: impl FnMut(usize) -> bool) {
        for (index, store) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            if survives(index) {
                self.durable.apply(store);
            }
        }
        self.current = self.durable.clone();
        self.late_fence = false;
        self.steps_left = u64::MAX;
    }

    /// As [`restart`](Self::restart), by lot.
    pub(crate) fn restart_by_lot(&mut self, stream: &mut Stream) {
        self.restart(|_| stream.random_range(0..2_u32) == 0);
    }

    /// Has memory say something else.
    pub(crate) fn set_words(&mut self, words: Vec<u64>) {
        self.durable.words = words;
        self.current = self.durable.clone();
    }

    pub(crate) fn words(&self) -> Vec<u64> {
        self.durable.words.clone()
    }

    /// Every programmed page with its out-of-band data, as recovery finds it.
    pub(crate) fn programmed(&self) -> Vec<(Ppn, Option<Oob>)> {
        let found = |(index, page): (usize, &Option<Programmed>)| {
            let oob = match (*page)? {
                Programmed::Whole(_, oob) => Some(oob),
                Programmed::Torn => None,
            };
            Some((Ppn::new(index as u32), oob))
        };
        self.pages.iter().enumerate().filter_map(found).collect()
    }

    pub(crate) fn host_writes(&mut self, data: Page, covered: [bool; 2]) {
        (self.host, self.covered) = (data, covered);
    }

    pub(crate) fn host_reads(&self) -> Page {
        self.host
    }

    fn put(&mut self, store: Store) {
        if !self.step() {
            return;
        }
        let is_commit = matches!(store, Store::Word(Layout::COMMITTED, _));
        self.current.apply(store);
        self.commits_stored += u64::from(is_commit);
        if is_commit && self.sabotage == Sabotage::CommitOvertakes {
            self.durable.apply(store);
            return;
        }
        if std::mem::take(&mut self.late_fence) {
            self.fence_now();
        }
        self.pending.push(store);
    }

    fn fence_now(&mut self) {
        for store in self.pending.drain(..) {
            self.durable.apply(store);
        }
        self.commits_fenced = self.commits_stored;
    }

    fn put_page(&mut self, slot: u32, data: Page, covered: [bool; 2]) {
        for half in 0..2 {
            if covered[half] {
                self.put(Store::Half(slot, half, data[half]));
            }
        }
    }

    fn merged(&self, below: Page) -> Page {
        std::array::from_fn(|half| if self.covered[half] { self.host[half] } else { below[half] })
    }

    /// What a page of flash holds.
    pub(crate) fn data(&self, page: Ppn) -> Page {
        match self.pages[page.get() as usize] {
            Some(Programmed::Whole(data, _)) => data,
            // Without power nothing is written any more, and what the firmware reads does not matter.
            _ => {
                assert!(self.is_dead(), "{page:?} is read, and cannot be");
                [0; 2]
            }
        }
    }

    fn write_flash(&mut self, page: Ppn, data: Page, oob: Oob) {
        let index = page.get() as usize;
        if !self.step() {
            return;
        }
        assert!(self.pages[index].is_none(), "{page:?} is programmed twice without an erase");
        assert!(
            page.get().is_multiple_of(self.geometry.pages_per_block) || self.pages[index - 1].is_some(),
            "{page:?} is programmed out of order"
        );
        self.pages[index] = Some(Programmed::Torn);
        if self.step() {
            self.pages[index] = Some(Programmed::Whole(data, oob));
        }
    }
}

impl Media for Fragile {
    type When = ();

    fn read(&mut self, page: Ppn, to: Place, _: Cause, (): ()) {
        let data = self.data(page);
        match to {
            Place::Host => self.host = data,
            Place::Merged => self.buffer = data,
            Place::Cache { slot } => self.put_page(slot, data, [true; 2]),
        }
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, _: Cause, (): ()) {
        let data = match from {
            Place::Host => self.merged([0; 2]),
            Place::Merged => self.merged(self.buffer),
            Place::Cache { slot } => self.current.slots[slot as usize],
        };
        self.write_flash(page, data, oob);
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, _: Cause, (): ()) {
        let data = self.data(from);
        self.write_flash(to, data, oob);
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

    fn access(&mut self, slot: u32, access: Access, (): ()) {
        match access {
            Access::Read => self.host = self.current.slots[slot as usize],
            Access::Write => self.put_page(slot, self.host, self.covered),
            Access::WriteNew => self.put_page(slot, self.merged([0; 2]), [true; 2]),
            Access::Fill => self.put_page(slot, self.host, [true; 2]),
            Access::CopyOf { slot: other } => {
                self.put_page(slot, self.current.slots[other as usize], [true; 2])
            }
        }
    }

    fn store(&mut self, word: u32, value: u64) {
        self.put(Store::Word(word, value));
    }

    fn fence(&mut self) {
        if !self.step() {
            return;
        }
        match self.sabotage {
            Sabotage::NoFences => {}
            Sabotage::EraseBeforeProtect | Sabotage::CommitOvertakes => self.late_fence = true,
            Sabotage::None => self.fence_now(),
        }
    }

    fn later(&self, (): (), _: Duration) {}

    fn both(&mut self, (): (), (): ()) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}
