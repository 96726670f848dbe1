//! Accesses to chunks of the address space.

use coflash_base::{Index, Lpn, Misfit, Save};

/// The number of accesses to each chunk of the address space, and the time of the last one. Pages written one after
/// another at successive addresses are one request. 8 bytes per chunk.
#[derive(Clone, Save)]
pub(super) struct Chunks {
    pages_per_chunk: u32,
    counts: Vec<u32>,
    /// Times are stored in 32 bits: an age of 2³² or more looks younger.
    accessed: Vec<u32>,
    /// The page after the one written last.
    end: u32,
}

impl Chunks {
    pub(super) fn new(pages: u32, pages_per_chunk: u32) -> Self {
        let chunks = pages.div_ceil(pages_per_chunk) as usize;
        Self { pages_per_chunk, counts: vec![0; chunks], accessed: vec![0; chunks], end: u32::MAX }
    }

    /// Refuse chunks without a page.
    pub(super) fn check(pages_per_chunk: u32) -> Result<(), Misfit> {
        if pages_per_chunk > 0 {
            return Ok(());
        }
        Err(Misfit::out_of_range("chunk_pages", pages_per_chunk, "from 1"))
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn of(&self, lpn: Lpn) -> usize {
        lpn.index() / self.pages_per_chunk as usize
    }

    /// Note a written page. Returns whether it continues a request, and whether it is the first one in its chunk.
    pub(super) fn write(&mut self, lpn: Lpn) -> (bool, bool) {
        let continues = lpn.get() == self.end;
        self.end = lpn.get().wrapping_add(1);
        (continues, !continues || lpn.get().is_multiple_of(self.pages_per_chunk))
    }

    /// The accesses to a chunk, and the time since the last one.
    pub(super) fn record(&self, chunk: usize, now: u64) -> (u32, u64) {
        (self.counts[chunk], (now as u32).wrapping_sub(self.accessed[chunk]).into())
    }

    pub(super) fn set(&mut self, chunk: usize, count: u32, now: u64) {
        (self.counts[chunk], self.accessed[chunk]) = (count, now as u32);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.counts.capacity() + self.accessed.capacity()) * size_of::<u32>()
    }
}

/// The class of a number of accesses: its logarithm to base 2, below `classes`.
pub(super) fn class_of(count: u32, classes: u32) -> u32 {
    count.checked_ilog2().unwrap_or(0).min(classes - 1)
}
