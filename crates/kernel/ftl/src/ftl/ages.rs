//! Age classes of marked pages: two bits per page, and the number of pages of a block in each class after the first. If
//! they are not required they take no memory, and all pages are in the first class.

use super::bits::PageBits;
use crate::weight::{AgeClass, Aged};
use coflash_base::{IdVec, Save};
use coflash_media::{BlockId, Geometry, Ppn};

/// The age classes of all pages.
#[derive(Clone, Debug, Save)]
pub(super) struct AgeClasses {
    low: PageBits,
    high: PageBits,
    counts: IdVec<BlockId, Aged>,
}

impl AgeClasses {
    pub(super) fn new(geometry: &Geometry, required: bool) -> Self {
        let bits = || if required { PageBits::new(geometry) } else { PageBits::none() };
        let blocks = if required { geometry.blocks() as usize } else { 0 };
        Self { low: bits(), high: bits(), counts: IdVec::filled(Aged::default(), blocks) }
    }

    #[inline(always)]
    pub(super) fn get(&self, block: BlockId, page: Ppn) -> AgeClass {
        if self.low.is_none() {
            return AgeClass::FIRST;
        }
        AgeClass::at(u8::from(self.low.get(block, page)) | u8::from(self.high.get(block, page)) << 1)
    }

    #[inline(always)]
    pub(super) fn set(&mut self, block: BlockId, page: Ppn, class: AgeClass) {
        if self.low.is_none() {
            return assert_eq!(class, AgeClass::FIRST, "age classes were not required");
        }
        let before = self.get(block, page).index();
        let after = class.index();
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

    /// The number of pages of a block in each class after the first.
    #[inline(always)]
    pub(super) fn by_class(&self, block: BlockId) -> Aged {
        if self.low.is_none() { Aged::default() } else { self.counts[block] }
    }

    pub(super) fn clear_block(&mut self, block: BlockId) {
        if !self.low.is_none() && self.counts[block] != Aged::default() {
            self.low.clear_block(block);
            self.high.clear_block(block);
            self.counts[block] = Aged::default();
        }
    }

    /// The same as [`of`](Self::of), recounted.
    pub(super) fn count(&self, block: BlockId) -> Aged {
        if self.low.is_none() { Aged::default() } else { [self.low.count(block), self.high.count(block)] }
    }
}
