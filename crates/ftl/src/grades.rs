//! Grades of marks: two bits a page, and how many pages of a block are of each grade after the first. Nothing at all where
//! the advisor did not ask for grades: all are of the first then.

use crate::advisor::Grade;
use crate::block::{Graded, PageBits};
use coflash_base::IdVec;
use coflash_flash::{BlockId, Geometry, Ppn};

/// See the top of the file.
#[derive(Clone, Debug)]
pub(crate) struct Grades {
    low: PageBits,
    high: PageBits,
    counts: IdVec<BlockId, Graded>,
}

impl Grades {
    pub(crate) fn new(geometry: &Geometry, wanted: bool) -> Self {
        let bits = || if wanted { PageBits::new(geometry) } else { PageBits::none() };
        let blocks = if wanted { geometry.blocks() as usize } else { 0 };
        Self { low: bits(), high: bits(), counts: IdVec::filled(Graded::default(), blocks) }
    }

    #[inline(always)]
    pub(crate) fn get(&self, block: BlockId, page: Ppn) -> Grade {
        if self.low.is_none() {
            return Grade::FIRST;
        }
        Grade::at(u8::from(self.low.get(block, page)) | u8::from(self.high.get(block, page)) << 1)
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, block: BlockId, page: Ppn, grade: Grade) {
        if self.low.is_none() {
            return assert_eq!(grade, Grade::FIRST, "grades were not asked for");
        }
        let before = self.get(block, page).index();
        let after = grade.index();
        if before == after {
            return;
        }
        let counts = &mut self.counts[block];
        if before > 0 {
            counts[before - 1] -= 1;
        }
        if after > 0 {
            counts[after - 1] += 1;
        }
        for (bits, bit) in [(&mut self.low, 1), (&mut self.high, 2)] {
            if after & bit != 0 { bits.set(block, page) } else { bits.clear(block, page) }
        }
    }

    /// Pages of a block of each grade after the first.
    #[inline(always)]
    pub(crate) fn of(&self, block: BlockId) -> Graded {
        if self.low.is_none() { Graded::default() } else { self.counts[block] }
    }

    pub(crate) fn clear_block(&mut self, block: BlockId) {
        if !self.low.is_none() && self.counts[block] != Graded::default() {
            self.low.clear_block(block);
            self.high.clear_block(block);
            self.counts[block] = Graded::default();
        }
    }

    /// As [`of`](Self::of), counted anew.
    pub(crate) fn count(&self, block: BlockId) -> Graded {
        if self.low.is_none() { Graded::default() } else { [self.low.count(block), self.high.count(block)] }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.low.heap_bytes() + self.high.heap_bytes() + self.counts.heap_bytes()
    }
}
