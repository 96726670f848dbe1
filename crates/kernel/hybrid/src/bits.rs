//! Bits of pages.

use coflash_base::{Index, Lpn, Save};

/// A bitmap of the pages of the disk.
#[derive(Clone, Debug, Save)]
pub(crate) struct Bits(pub(crate) Vec<u64>);

impl Bits {
    pub(crate) fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    #[inline(always)]
    pub(crate) fn get(&self, page: Lpn) -> bool {
        self.0[page.index() / 64] >> (page.index() % 64) & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, page: Lpn, value: bool) {
        let mask = 1 << (page.index() % 64);
        if value {
            self.0[page.index() / 64] |= mask;
        } else {
            self.0[page.index() / 64] &= !mask;
        }
    }
}
