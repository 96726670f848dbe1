//! Bitmaps with a bit for each physical page.

use coflash_base::prefetch::prefetch;
use coflash_base::{Index, Save, huge_pages};
use coflash_media::{BlockId, Geometry, Ppn};

/// A bitmap with a whole number of words for each block, or an empty one: all its bits read as clear.
#[derive(Clone, Debug, Save)]
pub(super) struct PageBits {
    words: Vec<u64>,
    pub(super) words_per_block: usize,
    /// The bits at the end of each block that belong to no page: each block begins with a word.
    spare_bits: usize,
}

impl PageBits {
    /// Create an empty bitmap: all bits read as clear.
    pub(super) fn none() -> Self {
        Self { words: Vec::new(), words_per_block: 0, spare_bits: 0 }
    }

    /// Whether the bitmap is empty.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.words_per_block == 0
    }

    pub(super) fn new(geometry: &Geometry) -> Self {
        let words_per_block = geometry.pages_per_block.div_ceil(64) as usize;
        let words = huge_pages::zeros(words_per_block * geometry.blocks() as usize);
        Self { words, words_per_block, spare_bits: words_per_block * 64 - geometry.pages_per_block as usize }
    }

    #[inline(always)]
    fn place(&self, block: BlockId, page: Ppn) -> (usize, u64) {
        let bit = page.index() + block.index() * self.spare_bits;
        (bit / 64, 1 << (bit % 64))
    }

    /// Prefetch the memory of a bit.
    #[inline(always)]
    pub(super) fn prefetch(&self, block: BlockId, page: Ppn) {
        prefetch(&self.words, self.place(block, page).0);
    }

    #[inline(always)]
    pub(super) fn get(&self, block: BlockId, page: Ppn) -> bool {
        let (word, bit) = self.place(block, page);
        self.words[word] & bit != 0
    }

    #[inline(always)]
    pub(super) fn set(&mut self, block: BlockId, page: Ppn) {
        let (word, bit) = self.place(block, page);
        self.words[word] |= bit;
    }

    /// As [`set`](Self::set), for page `index` of the block.
    #[inline(always)]
    pub(super) fn set_at(&mut self, block: BlockId, index: u32) {
        self.words[block.index() * self.words_per_block + (index / 64) as usize] |= 1 << (index % 64);
    }

    /// Set the bits of up to 64 pages of a block from page `index` on.
    #[inline(always)]
    pub(super) fn set_run(&mut self, block: BlockId, index: u32, pages: u32) {
        let word = block.index() * self.words_per_block + (index / 64) as usize;
        let bits = ((1_u128 << pages) - 1) << (index % 64);
        self.words[word] |= bits as u64;
        if bits >> 64 != 0 {
            self.words[word + 1] |= (bits >> 64) as u64;
        }
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, block: BlockId, page: Ppn) {
        let (word, bit) = self.place(block, page);
        self.words[word] &= !bit;
    }

    /// Word `word` of a block: the bits of pages 64·word to 64·word + 63.
    #[inline(always)]
    pub(super) fn word(&self, block: BlockId, word: usize) -> u64 {
        self.words[block.index() * self.words_per_block + word]
    }

    /// The index of the first page of a block with a set bit.
    #[inline]
    pub(super) fn first(&self, block: BlockId) -> Option<u32> {
        let word = (0..self.words_per_block).find(|&word| self.word(block, word) != 0)?;
        Some(word as u32 * 64 + self.word(block, word).trailing_zeros())
    }

    pub(super) fn clear_block(&mut self, block: BlockId) {
        let first = block.index() * self.words_per_block;
        self.words[first..first + self.words_per_block].fill(0);
    }

    pub(super) fn count(&self, block: BlockId) -> u32 {
        (0..self.words_per_block).map(|word| self.word(block, word).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sets_the_bits_that_its_pages_would() {
        let geometry =
            Geometry { channels: 1, blocks_per_plane: 2, pages_per_block: 200, ..Geometry::default() };
        let block = BlockId::new(1);
        for (index, pages) in [(0, 0), (0, 64), (3, 5), (60, 10), (63, 1), (64, 64), (130, 64), (199, 1)] {
            let (mut run, mut one_by_one) = (PageBits::new(&geometry), PageBits::new(&geometry));
            run.set_run(block, index, pages);
            (index..index + pages).for_each(|page| one_by_one.set_at(block, page));
            assert_eq!(run.words, one_by_one.words, "{pages} pages from {index}");
        }
    }
}
