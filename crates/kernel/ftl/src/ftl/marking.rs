//! Marking: levels above tell the FTL about other copies of pages.

use super::Ftl;
use crate::marks::Marks;
use crate::weight::AgeClass;
use coflash_base::Lpn;
use coflash_media::{BlockId, Memory, Ppn};

impl Ftl {
    /// Allocate marks for the host's memory: one more bit per physical page, and one per logical page.
    pub fn track_host(&mut self) {
        self.pages.track_host(&self.geometry);
    }

    /// Set whether a memory holds a copy of a page. If flash has no copy, the host's mark is kept for the
    /// next copy; it may be older data on its way from the device's cache.
    #[inline]
    pub fn set_mark(&mut self, lpn: Lpn, memory: Memory, marked: bool) {
        if memory != Memory::Device {
            self.pages.newer_in_host.set(lpn, marked);
        }
        let Some(page) = self.pages.map.get(lpn) else { return };
        let block = self.dims.block_of(page);
        let before = self.marks_of(block, page);
        let after = before.with(memory, marked);
        if before == after {
            return;
        }
        self.pages.set_mark(block, page, memory, marked);
        let known = &mut self.blocks[block];
        known.marked = known.marked + u32::from(after.any()) - u32::from(before.any());
        self.recount(self.dims.pool_of(block), block);
    }

    /// Change the age class of a page marked for the device's memory. The FTL must have been created with
    /// [`Requirements::age_classes`](crate::Requirements).
    #[inline]
    pub fn age(&mut self, lpn: Lpn, class: AgeClass) {
        if let Some(page) = self.pages.map.get(lpn)
            && self.marks_of(self.dims.block_of(page), page).device
        {
            self.set_age(page, class);
        }
    }

    pub(super) fn set_age(&mut self, page: Ppn, class: AgeClass) {
        let block = self.dims.block_of(page);
        self.pages.ages.set(block, page, class);
        self.recount(self.dims.pool_of(block), block);
    }

    /// The age class of a page marked for the device's memory.
    #[must_use]
    pub fn age_of(&self, lpn: Lpn) -> Option<AgeClass> {
        let page = self.pages.map.get(lpn)?;
        let block = self.dims.block_of(page);
        self.marks_of(block, page).device.then(|| self.pages.ages.get(block, page))
    }

    /// The marks of the flash copy of a page, if there is one.
    #[inline]
    #[must_use]
    pub fn marks(&self, lpn: Lpn) -> Option<Marks> {
        self.pages.map.get(lpn).map(|page| self.marks_of(self.dims.block_of(page), page))
    }

    /// Whether the flash copy of a page is marked, by any memory.
    #[must_use]
    pub fn is_marked(&self, lpn: Lpn) -> bool {
        self.marks(lpn).is_some_and(Marks::any)
    }

    /// The memory for page states in bytes: validity, marks, and the number of marked pages of each block.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        self.pages.state_bytes() + self.blocks.len() * size_of::<u32>()
    }

    /// The marks of a page. For most blocks the count of marked pages, already loaded, is zero.
    #[inline(always)]
    pub(super) fn marks_of(&self, block: BlockId, page: Ppn) -> Marks {
        if self.blocks[block].marked == 0 { Marks::NONE } else { self.pages.marks(block, page) }
    }

    /// Mark a page that has just been programmed.
    pub(super) fn enter_marks(&mut self, block: BlockId, page: Ppn, marks: Marks) {
        for (memory, marked) in [(Memory::Host, marks.host), (Memory::Device, marks.device)] {
            if marked {
                self.pages.set_mark(block, page, memory, true);
            }
        }
        self.blocks[block].marked += 1;
    }
}
