//! What the FTL is told of other copies of a valid page: one bit for each tier that may hold one.
//!
//! With the bit that says whether the page is valid these are the three bits of ShadowGC's states ("ShadowGC: Cooperative
//! Garbage Collection with Multi-level Buffer", DATE 2018): 3 bits a page, and 4 bytes a block for how many are marked.

use crate::advisor::Grade;
use crate::ftl::Ftl;
use coflash_base::Lpn;
use coflash_flash::{BlockId, Ppn};

/// A tier above flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The host's cache or write buffer.
    Host,
    /// The cache or write buffer of the device.
    Device,
}

/// The tiers that hold a page too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The host's cache or write buffer.
    pub host: bool,
    /// The cache or write buffer of the device.
    pub device: bool,
}

impl Marks {
    /// No other tier does.
    pub const NONE: Self = Self { host: false, device: false };

    /// The device's tier alone does.
    pub const DEVICE: Self = Self { host: false, device: true };

    /// Whether any does.
    #[inline(always)]
    #[must_use]
    pub fn any(self) -> bool {
        self.host | self.device
    }

    /// A number from 0 to 3: ShadowGC's state of a valid page, without its lowest bit.
    #[inline(always)]
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.host) | usize::from(self.device) << 1
    }
}

impl Ftl {
    /// Makes room for marks of the host's tier: another bit a page.
    pub fn track_host(&mut self) {
        self.marked_host = crate::block::PageBits::new(&self.geometry);
    }

    /// Marks the flash copy of a page, if there is one: the device's tier holds the data too (CDM: *removable*).
    #[inline]
    pub fn mark(&mut self, lpn: Lpn) {
        debug_assert!(!self.marks(lpn).is_some_and(|marks| marks.device), "{lpn:?} is marked twice");
        self.set_mark(lpn, Tier::Device, true);
    }

    /// Takes the mark back: flash holds the only copy again.
    #[inline]
    pub fn unmark(&mut self, lpn: Lpn) {
        debug_assert!(self.marks(lpn).is_none_or(|marks| marks.device), "{lpn:?} is not marked");
        self.set_mark(lpn, Tier::Device, false);
    }

    /// Says whether a tier holds the data of a page too; nothing where flash has no copy of it.
    #[inline]
    pub fn set_mark(&mut self, lpn: Lpn, tier: Tier, marked: bool) {
        let Some(page) = self.map[lpn] else { return };
        let block = self.geometry.block_of(page);
        let before = self.marks_of(block, page);
        let bits = match tier {
            Tier::Host => &mut self.marked_host,
            Tier::Device => &mut self.marked,
        };
        if marked {
            bits.set(block, page);
        } else if before.any() {
            bits.clear(block, page);
        }
        if tier == Tier::Device && !marked {
            self.grades.set(block, page, Grade::FIRST);
        }
        let after = match tier {
            Tier::Host => Marks { host: marked, ..before },
            Tier::Device => Marks { device: marked, ..before },
        };
        let count = self.blocks.marked[block] + u32::from(after.any()) - u32::from(before.any());
        self.recount(block, self.blocks.valid[block], count);
    }

    /// Gives the mark of the device's tier another grade, if there is one. The FTL must have been built for it
    /// ([`Demands::grades`](crate::Demands)).
    #[inline]
    pub fn grade(&mut self, lpn: Lpn, grade: Grade) {
        if let Some(page) = self.map[lpn]
            && self.marks_of(self.geometry.block_of(page), page).device
        {
            self.set_grade(page, grade);
        }
    }

    pub(crate) fn set_grade(&mut self, page: Ppn, grade: Grade) {
        let block = self.geometry.block_of(page);
        self.grades.set(block, page, grade);
        self.recount(block, self.blocks.valid[block], self.blocks.marked[block]);
    }

    /// The grade of the mark of the device's tier.
    #[must_use]
    pub fn grade_of(&self, lpn: Lpn) -> Option<Grade> {
        let page = self.map[lpn]?;
        let block = self.geometry.block_of(page);
        self.marks_of(block, page).device.then(|| self.grades.get(block, page))
    }

    /// The marks of the flash copy of a page; none where there is no such copy.
    #[inline]
    #[must_use]
    pub fn marks(&self, lpn: Lpn) -> Option<Marks> {
        self.map[lpn].map(|page| self.marks_of(self.geometry.block_of(page), page))
    }

    /// Whether the flash copy of a page is marked, by any tier.
    #[must_use]
    pub fn is_marked(&self, lpn: Lpn) -> bool {
        self.marks(lpn).is_some_and(Marks::any)
    }

    /// The bytes that the states of pages take: valid or not, and each mark.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        self.valid.heap_bytes()
            + self.marked.heap_bytes()
            + self.marked_host.heap_bytes()
            + self.grades.heap_bytes()
            + self.blocks.marked.heap_bytes()
    }

    /// What is marked of a page. Most blocks have no marks: that is one look at a count that is at hand.
    #[inline(always)]
    pub(crate) fn marks_of(&self, block: BlockId, page: Ppn) -> Marks {
        if self.blocks.marked[block] == 0 {
            return Marks::NONE;
        }
        let host = !self.marked_host.is_none() && self.marked_host.get(block, page);
        Marks { host, device: self.marked.get(block, page) }
    }

    /// Which of the pages of a word are marked, by any tier.
    #[inline(always)]
    pub(crate) fn marked_word(&self, block: BlockId, word: usize) -> u64 {
        let host = if self.marked_host.is_none() { 0 } else { self.marked_host.word(block, word) };
        self.marked.word(block, word) | host
    }

    /// Marks a page that has just been programmed; the caller counts it.
    pub(crate) fn enter_marks(&mut self, block: BlockId, page: Ppn, marks: Marks) {
        if marks.host {
            self.marked_host.set(block, page);
        }
        if marks.device {
            self.marked.set(block, page);
        }
    }

    /// Clears the marks of a page and tells what they were; the caller counts it.
    pub(crate) fn take_marks(&mut self, block: BlockId, page: Ppn) -> Marks {
        let marks = self.marks_of(block, page);
        if marks.host {
            self.marked_host.clear(block, page);
        }
        if marks.device {
            self.marked.clear(block, page);
            self.grades.set(block, page, Grade::FIRST);
        }
        marks
    }

    /// Clears the marks of a block; the caller counts it.
    pub(crate) fn clear_marks(&mut self, block: BlockId) {
        self.marked.clear_block(block);
        self.grades.clear_block(block);
        if !self.marked_host.is_none() {
            self.marked_host.clear_block(block);
        }
    }
}
