//! What the FTL knows of each page and block, as arrays.

use crate::advisor::Grade;
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

/// The marks of physical pages: two bits each, 0 for none, or the grade plus one.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    low: PageBits,
    high: PageBits,
}

impl Marks {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self { low: PageBits::new(geometry), high: PageBits::new(geometry) }
    }

    #[inline(always)]
    pub(crate) fn get(&self, block: BlockId, page: Ppn) -> Option<Grade> {
        let code = u8::from(self.low.get(block, page)) | u8::from(self.high.get(block, page)) << 1;
        code.checked_sub(1).map(Grade::at)
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, block: BlockId, page: Ppn, mark: Option<Grade>) {
        let code = mark.map_or(0, |grade| grade.index() + 1);
        for (bits, bit) in [(&mut self.low, 1), (&mut self.high, 2)] {
            if code & bit != 0 { bits.set(block, page) } else { bits.clear(block, page) }
        }
    }

    /// As [`PageBits::word`]: the pages with any mark.
    pub(crate) fn word(&self, block: BlockId, word: usize) -> u64 {
        self.low.word(block, word) | self.high.word(block, word)
    }

    pub(crate) fn clear_block(&mut self, block: BlockId) {
        self.low.clear_block(block);
        self.high.clear_block(block);
    }

    /// Marked pages of a block by grade.
    pub(crate) fn count(&self, block: BlockId) -> [u32; Grade::COUNT] {
        let mut counts = [0; Grade::COUNT];
        for word in 0..self.low.words_per_block() {
            let (low, high) = (self.low.word(block, word), self.high.word(block, word));
            for (count, bits) in counts.iter_mut().zip([low & !high, high & !low, low & high]) {
                *count += bits.count_ones();
            }
        }
        counts
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.low.heap_bytes() + self.high.heap_bytes()
    }
}

/// What the FTL knows of each block.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pub(crate) state: IdVec<BlockId, State>,
    pub(crate) valid: IdVec<BlockId, u32>,
    pub(crate) marked: IdVec<BlockId, Marked>,
    pub(crate) erases: IdVec<BlockId, u32>,
    /// The program count of the device when the block was sealed.
    pub(crate) sealed_at: IdVec<BlockId, u64>,
    /// What cleaning the block costs, in [`Scale`] units.
    pub(crate) cost: IdVec<BlockId, u32>,
}

impl Blocks {
    pub(crate) fn new(blocks: usize) -> Self {
        Self {
            state: IdVec::filled(State::Free, blocks),
            valid: IdVec::filled(0, blocks),
            marked: IdVec::filled(Marked::default(), blocks),
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

/// Marked pages of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) by_grade: [u32; Grade::COUNT],
}

impl Marked {
    #[inline(always)]
    pub(crate) fn any(self) -> bool {
        self.by_grade != [0; Grade::COUNT]
    }

    /// With a page more, or one less, where it is marked.
    #[inline(always)]
    #[must_use]
    pub(crate) fn with(mut self, mark: Option<Grade>) -> Self {
        if let Some(grade) = mark {
            self.by_grade[grade.index()] += 1;
        }
        self
    }

    #[inline(always)]
    #[must_use]
    pub(crate) fn without(mut self, mark: Option<Grade>) -> Self {
        if let Some(grade) = mark {
            self.by_grade[grade.index()] -= 1;
        }
        self
    }
}

/// The unit of a victim's cost: whole pages while a marked page counts all or nothing, sixteenths otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// What a valid page counts.
    pub(crate) valid: u32,
    /// What a marked page counts, by its grade.
    pub(crate) marked: [u32; Grade::COUNT],
}

impl Scale {
    #[inline(always)]
    pub(crate) fn cost(self, valid: u32, marked: Marked) -> u32 {
        let mut cost = valid * self.valid;
        if marked.any() {
            for (count, weight) in marked.by_grade.into_iter().zip(self.marked) {
                cost = cost + count * weight - count * self.valid;
            }
        }
        cost
    }
}
