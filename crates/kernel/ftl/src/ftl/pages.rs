//! The map, and the state of each physical page.

use super::ages::AgeClasses;
use super::bits::PageBits;
use super::map::Map;
use crate::marks::Marks;
use crate::weight::AgeClass;
use coflash_base::{IdSet, IdVec, Index, Lpn, Save};
use coflash_media::{BlockId, Geometry, Memory, Ppn, Run};

/// The map of logical pages, and the states of physical pages. Counts are kept elsewhere.
#[derive(Clone, Save)]
pub(super) struct Pages {
    pub(super) map: Map,
    /// The owner in the out-of-band area of each page; kept after the page becomes invalid.
    pub(super) owner: IdVec<Ppn, Option<Lpn>>,
    pub(super) valid: PageBits,
    marked_device: PageBits,
    marked_host: PageBits,
    /// A bit for each logical page, mapped or not: the host's memory holds newer data. Empty unless this is
    /// tracked.
    pub(super) newer_in_host: IdSet<Lpn>,
    pub(super) ages: AgeClasses,
}

impl Pages {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, age_classes: bool) -> Self {
        Self {
            map: Map::new(logical_pages),
            owner: IdVec::filled(None, geometry.pages() as usize),
            valid: PageBits::new(geometry),
            marked_device: PageBits::new(geometry),
            marked_host: PageBits::none(),
            newer_in_host: IdSet::new(0),
            ages: AgeClasses::new(geometry, age_classes),
        }
    }

    /// Prefetch the state of the first 64 pages of a block; the processor itself prefetches what follows.
    pub(super) fn prefetch(&self, block: BlockId, first: Ppn) {
        self.valid.prefetch(block, first);
        [0, 16, 32, 48, 63].into_iter().for_each(|page| self.owner.prefetch(Ppn::new(first.get() + page)));
    }

    /// Prefetch the map entries of the owners of valid pages: GC will move them. `moved` is a bitmap of pages from `first` on.
    #[inline(always)]
    pub(super) fn prefetch_entries(&self, first: Ppn, mut moved: u64) {
        let owners = &(*self.owner)[first.index()..];
        while moved != 0 {
            self.map.prefetch(owners[moved.trailing_zeros() as usize]);
            moved &= moved - 1;
        }
    }

    /// Enter the first `copied` pages of a run at their new places. Counts are kept elsewhere.
    #[inline(always)]
    pub(super) fn move_run(&mut self, run: Run, copied: u32) {
        let (first, to, mut left) = (run.first.index(), run.to.index(), run.pages);
        let places = [first..first + 64 - left.leading_zeros() as usize, to..to + copied as usize];
        let [from, into] = self.owner.get_disjoint_mut(places).expect("a run goes to another block");
        for (to, place) in (run.to.get()..).zip(into) {
            *place = from[left.trailing_zeros() as usize];
            self.map.set(place.expect("a valid page has an owner"), Ppn::new(to));
            left &= left - 1;
        }
    }

    /// Allocate marks for the host's memory: one more bit per physical page, and one per logical page.
    pub(super) fn track_host(&mut self, geometry: &Geometry) {
        self.marked_host = PageBits::new(geometry);
        self.newer_in_host = IdSet::new(self.map.len());
    }

    /// The marks of a page.
    #[inline(always)]
    pub(super) fn marks(&self, block: BlockId, page: Ppn) -> Marks {
        let host = !self.marked_host.is_none() && self.marked_host.get(block, page);
        Marks { host, device: self.marked_device.get(block, page) }
    }

    /// The marked pages of a word, by any memory.
    #[inline(always)]
    pub(super) fn marked_word(&self, block: BlockId, word: usize) -> u64 {
        let host = if self.marked_host.is_none() { 0 } else { self.marked_host.word(block, word) };
        self.marked_device.word(block, word) | host
    }

    #[inline(always)]
    pub(super) fn set_mark(&mut self, block: BlockId, page: Ppn, memory: Memory, marked: bool) {
        let bits = match memory {
            Memory::HostBuffer | Memory::Host => &mut self.marked_host,
            Memory::Device => &mut self.marked_device,
        };
        if marked {
            bits.set(block, page)
        } else {
            bits.clear(block, page)
        }
        if memory == Memory::Device && !marked {
            self.ages.set(block, page, AgeClass::FIRST);
        }
    }

    /// Clear the marks of a page and return them.
    #[inline(always)]
    pub(super) fn take_marks(&mut self, block: BlockId, page: Ppn) -> Marks {
        let marks = self.marks(block, page);
        if marks.host {
            self.set_mark(block, page, Memory::Host, false);
        }
        if marks.device {
            self.set_mark(block, page, Memory::Device, false);
        }
        marks
    }

    /// Clear the marks of a block.
    pub(super) fn clear_marks(&mut self, block: BlockId) {
        self.marked_device.clear_block(block);
        self.ages.clear_block(block);
        if !self.marked_host.is_none() {
            self.marked_host.clear_block(block);
        }
    }

    /// The memory for the states of physical pages in bytes: validity and marks.
    pub(super) fn state_bytes(&self) -> usize {
        self.valid.heap_bytes()
            + self.marked_device.heap_bytes()
            + self.marked_host.heap_bytes()
            + self.ages.heap_bytes()
    }
}
