//! What the FTL knows of each page and block, as arrays.

use crate::advisor::{Grade, Weight, Weights};
use coflash_base::{IdVec, Index};
use coflash_flash::{BlockId, Geometry, Ppn};

/// Where a block is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Erased, in its pool's free list.
    Free,
    /// Being filled.
    Open,
    /// Full; a candidate for GC.
    Sealed,
    /// Being cleaned.
    Victim,
}

/// A bit for each physical page, a whole number of words for each block.
#[derive(Clone, Debug)]
pub(crate) struct PageBits {
    words: Vec<u64>,
    words_per_block: usize,
    pages_per_block: u32,
}

impl PageBits {
    /// A bit for no page: all of them are clear.
    pub(crate) fn none() -> Self {
        Self { words: Vec::new(), words_per_block: 0, pages_per_block: 0 }
    }

    /// Whether there is no bit for any page.
    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.words_per_block == 0
    }

    pub(crate) fn new(geometry: &Geometry) -> Self {
        let words_per_block = geometry.pages_per_block.div_ceil(64) as usize;
        let words = vec![0; words_per_block * geometry.blocks() as usize];
        Self { words, words_per_block, pages_per_block: geometry.pages_per_block }
    }

    #[inline(always)]
    fn place(&self, block: BlockId, page: Ppn) -> (usize, u64) {
        let index = page.get() - block.get() * self.pages_per_block;
        (block.index() * self.words_per_block + (index / 64) as usize, 1 << (index % 64))
    }

    #[inline(always)]
    pub(crate) fn get(&self, block: BlockId, page: Ppn) -> bool {
        let (word, bit) = self.place(block, page);
        self.words[word] & bit != 0
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, block: BlockId, page: Ppn) {
        let (word, bit) = self.place(block, page);
        self.words[word] |= bit;
    }

    /// As [`set`](Self::set), for page `index` of the block.
    #[inline(always)]
    pub(crate) fn set_at(&mut self, block: BlockId, index: u32) {
        self.words[block.index() * self.words_per_block + (index / 64) as usize] |= 1 << (index % 64);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self, block: BlockId, page: Ppn) {
        let (word, bit) = self.place(block, page);
        self.words[word] &= !bit;
    }

    /// Word `word` of a block: pages 64·word and on.
    #[inline(always)]
    pub(crate) fn word(&self, block: BlockId, word: usize) -> u64 {
        self.words[block.index() * self.words_per_block + word]
    }

    /// The first page of a block whose bit is set, as an index in the block.
    #[inline]
    pub(crate) fn first(&self, block: BlockId) -> Option<u32> {
        let word = (0..self.words_per_block).find(|&word| self.word(block, word) != 0)?;
        Some(word as u32 * 64 + self.word(block, word).trailing_zeros())
    }

    /// The words of all blocks.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    pub(crate) fn words_per_block(&self) -> usize {
        self.words_per_block
    }

    pub(crate) fn clear_block(&mut self, block: BlockId) {
        let first = block.index() * self.words_per_block;
        self.words[first..first + self.words_per_block].fill(0);
    }

    pub(crate) fn count(&self, block: BlockId) -> u32 {
        (0..self.words_per_block).map(|word| self.word(block, word).count_ones()).sum()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// Marked pages of a block, for each grade after the first.
pub(crate) type Graded = [u32; Grade::COUNT - 1];

/// What the FTL knows of each block.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pub(crate) state: IdVec<BlockId, State>,
    pub(crate) valid: IdVec<BlockId, u32>,
    pub(crate) marked: IdVec<BlockId, u32>,
    pub(crate) erases: IdVec<BlockId, u32>,
    /// The program count of the device when the block was sealed.
    pub(crate) sealed_at: IdVec<BlockId, u64>,
    /// What cleaning a sealed block costs, in [`Scale`] units.
    pub(crate) cost: IdVec<BlockId, u32>,
}

impl Blocks {
    pub(crate) fn new(blocks: usize) -> Self {
        Self {
            state: IdVec::filled(State::Free, blocks),
            valid: IdVec::filled(0, blocks),
            marked: IdVec::filled(0, blocks),
            erases: IdVec::filled(0, blocks),
            sealed_at: IdVec::filled(0, blocks),
            cost: IdVec::filled(0, blocks),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.state.heap_bytes()
            + self.valid.heap_bytes()
            + self.marked.heap_bytes()
            + self.erases.heap_bytes()
            + self.sealed_at.heap_bytes()
            + self.cost.heap_bytes()
    }
}

/// The unit of a victim's cost: whole pages while a marked page counts all or nothing, sixteenths otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// What a valid page counts.
    pub(crate) valid: u32,
    /// What a marked page counts, by its grade.
    pub(crate) marked: [u32; Grade::COUNT],
    /// A block with so many valid pages costs `full_cost`, marked or not; out of reach unless marked pages count more than
    /// others: then it must come last, since it has nothing to gain.
    pub(crate) full_pages: u32,
    pub(crate) full_cost: u32,
}

impl Scale {
    /// A valid page counts `valid`, a marked one its weight of that, in a block of so many data pages.
    pub(crate) fn new(valid: u32, weights: Weights, pages: u32) -> Self {
        let marked = weights.0.map(|weight| weight.0 * valid / Weight::SIXTEENTHS);
        let dearest = marked.into_iter().fold(valid, u32::max);
        let full_pages = if dearest > valid { pages } else { u32::MAX };
        Self { valid, marked, full_pages, full_cost: pages * dearest }
    }

    #[inline(always)]
    pub(crate) fn cost(&self, valid: u32, marked: u32, graded: impl FnOnce() -> Graded) -> u32 {
        if valid == self.full_pages {
            return self.full_cost;
        }
        let mut cost = (valid - marked) * self.valid;
        if marked > 0 {
            cost += marked * self.marked[0];
            for (count, weight) in graded().into_iter().zip(&self.marked[1..]) {
                cost = cost + count * weight - count * self.marked[0];
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a weight above one, shadows put a block off, but not behind one that has nothing to gain.
    #[test]
    fn a_block_without_an_invalid_page_comes_last() {
        let scale = Scale::new(1, Weights::all(Weight(32)), 4);
        let costs = [(1, 0), (2, 0), (1, 1), (3, 0), (2, 2), (3, 3), (4, 0), (4, 4)]
            .map(|(valid, marked)| scale.cost(valid, marked, || [0; 2]));
        assert_eq!(costs, [1, 2, 2, 3, 4, 6, 8, 8]);
        assert_eq!(scale.full_cost, 8);
        let plain = Scale::new(16, Weights::all(Weight(8)), 4);
        let cost = |valid, marked, graded| plain.cost(valid, marked, || graded);
        assert_eq!([cost(4, 0, [0; 2]), cost(4, 4, [0; 2]), plain.full_cost], [64, 32, 64]);
        let graded = Scale::new(16, Weights([Weight(8), Weight(0), Weight(16)]), 4);
        let cost = |marked, grades| graded.cost(4, marked, || grades);
        assert_eq!([cost(4, [0, 0]), cost(4, [1, 2]), cost(2, [2, 0])], [32, 40, 32]);
    }
}
