//! Flash as an image of bytes with its out-of-band data: operations act at once and are checked against the rules of NAND.
//!
//! The firmware that runs over the [`Timeline`](crate::Timeline) runs over this unchanged. It is the oracle of the tests,
//! and the model of what a real device has to keep.

use crate::{Access, BlockId, Cause, DieId, Geometry, Media, Oob, Place, Ppn};
use coflash_base::{Duration, Lpn};

/// One flash operation, for comparing what two media were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the Media methods")]
pub enum Done {
    Read(Ppn, Cause),
    Program(Ppn, Oob, Cause),
    Copy(Ppn, Ppn, Oob, Cause),
    Erase(BlockId, Cause),
}

/// A page as it lies in flash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    data: Box<[u8]>,
    oob: Oob,
}

/// Flash, cache and the request being served, all as bytes.
#[derive(Clone, Debug)]
pub struct Image {
    geometry: Geometry,
    pages: Vec<Option<Page>>,
    slots: Vec<Box<[u8]>>,
    /// The page of the request being served: its bytes, and which of them it covers.
    host: Box<[u8]>,
    covered: std::ops::Range<usize>,
    /// What the last flash read left in the controller.
    buffer: Box<[u8]>,
    /// Everything that was done, in order.
    pub log: Vec<Done>,
}

impl Image {
    /// An erased device with `slots` cache slots.
    #[must_use]
    pub fn new(geometry: &Geometry, slots: u32) -> Self {
        let bytes = geometry.page_size.count as usize;
        let blank = || vec![0; bytes].into_boxed_slice();
        Self {
            geometry: geometry.clone(),
            pages: vec![None; geometry.pages() as usize],
            slots: (0..slots).map(|_| blank()).collect(),
            host: blank(),
            covered: 0..bytes,
            buffer: blank(),
            log: Vec::new(),
        }
    }

    /// Puts the host's bytes for the next write of one page in place: `data` at byte `start` of the page.
    pub fn host_writes(&mut self, start: usize, data: &[u8]) {
        self.covered = start..start + data.len();
        self.host[self.covered.clone()].copy_from_slice(data);
    }

    /// What the last read handed to the host, a whole page.
    #[must_use]
    pub fn host_reads(&self) -> &[u8] {
        &self.host
    }

    /// The out-of-band data of every programmed page.
    pub fn oob(&self) -> impl Iterator<Item = (Ppn, Oob)> + '_ {
        (0..).zip(&self.pages).filter_map(|(page, content)| Some((Ppn::new(page), content.as_ref()?.oob)))
    }

    /// The mapping table as out-of-band data alone gives it: of each logical page the copy programmed last.
    #[must_use]
    pub fn rebuild_map(&self, logical_pages: usize) -> Vec<Option<Ppn>> {
        let mut newest: Vec<Option<(u64, Ppn)>> = vec![None; logical_pages];
        for (page, oob) in self.oob() {
            if let Some(lpn) = oob.lpn {
                let entry = &mut newest[lpn.get() as usize];
                if entry.is_none_or(|(sequence, _)| sequence < oob.sequence) {
                    *entry = Some((oob.sequence, page));
                }
            }
        }
        newest.into_iter().map(|entry| entry.map(|(_, page)| page)).collect()
    }

    /// The logical page that a physical page says it holds.
    #[must_use]
    pub fn owner(&self, page: Ppn) -> Option<Lpn> {
        self.pages[page.get() as usize].as_ref().and_then(|content| content.oob.lpn)
    }

    fn put(&mut self, page: Ppn, data: Box<[u8]>, oob: Oob) {
        let index = page.get() % self.geometry.pages_per_block;
        let at = page.get() as usize;
        assert!(self.pages[at].is_none(), "{page:?} is programmed twice without an erase");
        assert!(index == 0 || self.pages[at - 1].is_some(), "{page:?} is programmed out of order");
        self.pages[at] = Some(Page { data, oob });
    }

    fn data(&self, page: Ppn) -> &[u8] {
        &self.pages[page.get() as usize]
            .as_ref()
            .unwrap_or_else(|| panic!("{page:?} is read but erased"))
            .data
    }

    /// The bytes a page or slot will hold when the host's part is laid over `below`.
    fn merged(&self, below: &[u8]) -> Box<[u8]> {
        let mut bytes: Box<[u8]> = below.into();
        bytes[self.covered.clone()].copy_from_slice(&self.host[self.covered.clone()]);
        bytes
    }
}

impl Media for Image {
    type When = ();

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, (): ()) {
        self.log.push(Done::Read(page, cause));
        let data: Box<[u8]> = self.data(page).into();
        match to {
            Place::Host => self.host = data,
            Place::Merged => self.buffer = data,
            Place::Cache { slot } => self.slots[slot as usize] = data,
        }
    }

    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, (): ()) {
        self.log.push(Done::Program(page, oob, cause));
        let data = match from {
            Place::Host => {
                let blank = vec![0; self.host.len()];
                self.merged(&blank)
            }
            Place::Merged => self.merged(&self.buffer),
            Place::Cache { slot } => self.slots[slot as usize].clone(),
        };
        self.put(page, data, oob);
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, (): ()) {
        self.log.push(Done::Copy(from, to, oob, cause));
        assert_eq!(self.owner(from), oob.lpn, "a copy keeps its logical page");
        let data = self.data(from).into();
        self.put(to, data, oob);
    }

    fn erase(&mut self, block: BlockId, cause: Cause, (): ()) {
        self.log.push(Done::Erase(block, cause));
        let first = self.geometry.page(block, 0).get() as usize;
        self.pages[first..first + self.geometry.pages_per_block as usize].fill(None);
    }

    fn access(&mut self, slot: u32, access: Access, (): ()) {
        match access {
            Access::Read => self.host.copy_from_slice(&self.slots[slot as usize]),
            Access::Write => self.slots[slot as usize] = self.merged(&self.slots[slot as usize]),
            Access::Fill => self.slots[slot as usize].clone_from(&self.host),
            Access::CopyOf { slot: other } => self.slots[slot as usize] = self.slots[other as usize].clone(),
            Access::WriteNew => self.slots[slot as usize] = self.merged(&vec![0; self.host.len()]),
        }
    }

    fn later(&self, (): (), _: Duration) {}

    fn both(&mut self, (): (), (): ()) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}
