//! The sets of pages read and written: two bits per page, in chunks for accessed regions only.
//!
//! Cost: one look-up per 32,768 pages of a request, one word per 64 pages.

use coflash_base::prefetch::prefetch;
use rustc_hash::FxHashMap;
use serde::Serialize;

const CHUNK_WORDS: usize = 512;
const CHUNK_PAGES: u64 = CHUNK_WORDS as u64 * 64;
const CHUNKS_MAX: usize = 1 << 16;

/// Distinct pages; trims are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkingSets {
    /// Pages read.
    pub read_pages: u64,
    /// Pages written.
    pub written_pages: u64,
    /// Pages both read and written.
    pub both_pages: u64,
}

/// The sets of pages read and written.
#[derive(Default)]
pub(super) struct Footprint {
    /// By the number of the chunk. No result depends on the order of the table.
    chunks: FxHashMap<u64, Box<Chunk>>,
    written_pages: u64,
    too_scattered: bool,
}

/// A bit for each of [`CHUNK_PAGES`].
struct Chunk {
    read: [u64; CHUNK_WORDS],
    written: [u64; CHUNK_WORDS],
}

impl Footprint {
    /// Ask for the memory of a page.
    #[inline]
    pub(super) fn look_ahead(&self, page: u64, writes: bool) {
        if let Some(bits) = self.chunks.get(&(page / CHUNK_PAGES)) {
            let words = if writes { &bits.written } else { &bits.read };
            prefetch(words, (page % CHUNK_PAGES / 64) as usize);
        }
    }

    /// Mark the pages from `first` to `last`, inclusive.
    pub(super) fn touch(&mut self, first: u64, last: u64, writes: bool) {
        for chunk in first / CHUNK_PAGES..=last / CHUNK_PAGES {
            if self.too_scattered {
                return;
            }
            let empty = || Box::new(Chunk { read: [0; CHUNK_WORDS], written: [0; CHUNK_WORDS] });
            let bits = self.chunks.entry(chunk).or_insert_with(empty);
            let from = first.saturating_sub(chunk * CHUNK_PAGES);
            let to = (last - chunk * CHUNK_PAGES).min(CHUNK_PAGES - 1);
            for word in from / 64..=to / 64 {
                let low = from.saturating_sub(word * 64);
                let high = (to - word * 64).min(63);
                let touched = u64::MAX << low & u64::MAX >> (63 - high);
                if writes {
                    let written = &mut bits.written[word as usize];
                    self.written_pages += u64::from((touched & !*written).count_ones());
                    *written |= touched;
                } else {
                    bits.read[word as usize] |= touched;
                }
            }
            if self.chunks.len() > CHUNKS_MAX {
                self.too_scattered = true;
                self.chunks.clear();
            }
        }
    }

    /// Distinct pages written so far; `None` if pages are too scattered to count.
    #[inline]
    pub(super) fn written_pages(&self) -> Option<u64> {
        (!self.too_scattered).then_some(self.written_pages)
    }

    /// The working sets; `None` if pages are too scattered to count.
    pub(super) fn working_sets(&self) -> Option<WorkingSets> {
        let mut sets = WorkingSets { written_pages: self.written_pages()?, ..WorkingSets::default() };
        for chunk in self.chunks.values() {
            for (read, written) in chunk.read.iter().zip(&chunk.written) {
                sets.read_pages += u64::from(read.count_ones());
                sets.both_pages += u64::from((read & written).count_ones());
            }
        }
        Some(sets)
    }
}

impl WorkingSets {
    /// Pages read or written.
    #[must_use]
    pub fn all_pages(&self) -> u64 {
        self.read_pages + self.written_pages - self.both_pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn working_sets_are_those_of_plain_sets(
            ranges in proptest::collection::vec((0..200_000_usize, 0..70_000_usize, any::<bool>()), 1..12),
        ) {
            let (mut footprint, mut touched) = (Footprint::default(), vec![[false; 2]; 270_000]);
            let count = |touched: &[[bool; 2]], is_counted: fn(&[bool; 2]) -> bool| {
                touched.iter().filter(|of| is_counted(of)).count() as u64
            };
            for (first, more, writes) in ranges {
                footprint.touch(first as u64, (first + more) as u64, writes);
                touched[first..=first + more].iter_mut().for_each(|of| of[usize::from(writes)] = true);
                prop_assert_eq!(footprint.written_pages(), Some(count(&touched, |of| of[1])));
            }
            let [read_pages, written_pages] = [count(&touched, |of| of[0]), count(&touched, |of| of[1])];
            let both_pages = count(&touched, |of| of[0] && of[1]);
            let found = footprint.working_sets().unwrap();
            prop_assert_eq!(found, WorkingSets { read_pages, written_pages, both_pages });
            prop_assert_eq!(found.all_pages(), count(&touched, |of| of[0] || of[1]));
        }
    }

    #[test]
    fn a_footprint_too_scattered_to_count_is_not_given() {
        let mut footprint = Footprint::default();
        footprint.touch(0, (1 << 54) - 1, true);
        assert_eq!((footprint.working_sets(), footprint.written_pages()), (None, None));
    }
}
