//! A disk of bytes: it runs pending transfers sector by sector, in any order that keeps conflicts in order.

use crate::media::Sabotage;
use coflash_base::{Lpn, Time};
use coflash_media::disk::Direction;
use coflash_media::{Cause, Place, Transfer};
use std::collections::BTreeMap;

/// Sectors of a page; each is on the disk whole or not at all.
pub(crate) const SECTORS: usize = 2;

/// The version of each sector of a page.
pub(crate) type Data = [u64; SECTORS];

/// The written part of a page: one of its sectors, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) data: Data,
    pub(crate) only: Option<usize>,
}

impl Written {
    pub(crate) fn writes(&self, sector: usize) -> bool {
        self.only.is_none_or(|only| only == sector)
    }

    pub(crate) fn over(&self, base: Data) -> Data {
        std::array::from_fn(|sector| if self.writes(sector) { self.data[sector] } else { base[sector] })
    }
}

/// A transfer that the disk has to do.
#[derive(Clone, Copy, Debug)]
struct Asked {
    transfer: Transfer,
    tag: u32,
    begin: Time,
    /// Sectors written.
    done: usize,
}

impl Asked {
    fn pages(&self) -> std::ops::Range<u32> {
        let first = self.transfer.first as u32;
        first..first + self.transfer.pages
    }

    fn conflicts(&self, other: &Self) -> bool {
        let writes = [self, other].iter().any(|asked| asked.transfer.direction == Direction::Write);
        writes && self.pages().start < other.pages().end && other.pages().start < self.pages().end
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Disk {
    sabotage: Sabotage,
    pages: Vec<Data>,
    /// In the order of the requests.
    transfers: Vec<Asked>,
    /// The data to write for each tag, with its source; and the data read.
    outgoing: BTreeMap<(u32, Lpn), (Written, Place)>,
    brought: BTreeMap<(u32, Lpn), Data>,
}

impl Disk {
    pub(crate) fn new(pages: u32, sabotage: Sabotage) -> Self {
        Self {
            sabotage,
            pages: vec![Data::default(); pages as usize],
            transfers: Vec::new(),
            outgoing: BTreeMap::new(),
            brought: BTreeMap::new(),
        }
    }

    /// Power is gone, and back.
    pub(crate) fn restart(&mut self) {
        *self = Self { pages: std::mem::take(&mut self.pages), ..Self::new(0, self.sabotage) };
    }

    pub(crate) fn at(&self, page: Lpn) -> Data {
        self.pages[page.get() as usize]
    }

    pub(crate) fn waiting(&self) -> usize {
        self.transfers.len()
    }

    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.transfers.iter().all(|asked| asked.begin > now)
    }

    /// The data of a page read by the transfers of a tag.
    pub(crate) fn brought(&self, tag: u32, page: Lpn) -> Option<Data> {
        self.brought.get(&(tag, page)).copied()
    }

    /// A transfer of a tag to come takes a page here.
    pub(crate) fn takes(&mut self, tag: u32, page: Lpn, written: Written, from: Place) {
        self.outgoing.insert((tag, page), (written, from));
    }

    /// Asks for a transfer; how many pages of its group were left out before it.
    pub(crate) fn ask(&mut self, transfer: Transfer, begin: Time, tag: u32) -> usize {
        let before = self.outgoing.len();
        if transfer.cause == Cause::Destage {
            // A group goes in the order of its pages.
            let first = Lpn::new(transfer.first as u32);
            self.outgoing.retain(|&(of, page), _| of != tag || page >= first);
        }
        self.transfers.push(Asked { transfer, tag, begin, done: 0 });
        before - self.outgoing.len()
    }

    /// The writes on their way to a page, and their places.
    pub(crate) fn on_the_way(&self, page: Lpn) -> impl Iterator<Item = (Written, Place)> {
        let to_page = self.outgoing.iter().filter(move |((_, to), _)| *to == page);
        // A page of a group may be called off until the disk is asked.
        to_page
            .filter(move |((tag, _), (_, from))| *from != Place::Merged || self.is_asked(*tag, page))
            .map(|(_, outgoing)| *outgoing)
    }

    /// Whether the host writes a page past the cache, and the disk does not know yet.
    pub(crate) fn is_held_back(&self, page: Lpn) -> bool {
        let to_page = self.outgoing.iter().filter(|((_, to), (_, from))| *to == page && *from == Place::Host);
        to_page.into_iter().any(|((tag, _), _)| !self.is_asked(*tag, page))
    }

    fn is_asked(&self, tag: u32, page: Lpn) -> bool {
        self.transfers.iter().any(|asked| asked.tag == tag && asked.pages().contains(&page.get()))
    }

    /// The transfers that may go on, by their place.
    pub(crate) fn free(&self, now: Time) -> impl Iterator<Item = usize> {
        let may_go = move |&index: &usize| {
            let asked = &self.transfers[index];
            let waits_for = |earlier: &Asked| earlier.conflicts(asked) && !self.overtakes(asked, earlier);
            asked.begin <= now && !self.transfers[..index].iter().any(waits_for)
        };
        (0..self.transfers.len()).filter(may_go)
    }

    fn overtakes(&self, asked: &Asked, earlier: &Asked) -> bool {
        let parts = |((tag, _), (written, _)): (&(u32, Lpn), &(Written, Place))| {
            *tag == asked.tag && written.only.is_some()
        };
        self.sabotage == Sabotage::PartsOvertake
            && earlier.transfer.cause == Cause::Destage
            && self.outgoing.iter().any(parts)
    }

    /// Reads for a transfer, or writes a sector, if there is power. Its tag and direction when it is done.
    pub(crate) fn work(
        &mut self,
        index: usize,
        has_power: impl FnOnce() -> bool,
    ) -> Option<(u32, Direction)> {
        let Asked { transfer, tag, done, .. } = self.transfers[index];
        if transfer.direction == Direction::Read {
            for page in self.transfers[index].pages().map(Lpn::new) {
                self.brought.insert((tag, page), self.at(page));
            }
        } else {
            let (page, sector) = (transfer.first as usize + done / SECTORS, done % SECTORS);
            let (written, _) = self.outgoing[&(tag, Lpn::new(page as u32))];
            let forgets = self.sabotage == Sabotage::DestageNothing && transfer.cause == Cause::Destage;
            if written.writes(sector) && has_power() && !forgets {
                self.pages[page][sector] = written.data[sector];
            }
            self.transfers[index].done += 1;
            if done + 1 < transfer.pages as usize * SECTORS {
                return None;
            }
        }
        for page in self.transfers.remove(index).pages().map(Lpn::new) {
            // Who waits for this write to read its page gets what it has written.
            self.brought.insert((tag, page), self.at(page));
            self.outgoing.remove(&(tag, page));
        }
        Some((tag, transfer.direction))
    }
}
