//! The most writes that a cache can keep from the level below, the future known.
//!
//! A version of a page lives from its write until the page is written again or trimmed. If it is in the cache all that time, it need not
//! be written below; otherwise it must, also where it goes past the cache. So a cache can absorb a set of versions if and only if no more
//! of their lives overlap than it has slots: the most are the largest part of an interval graph that C colours suffice for, with C slots.
//! A greedy choice finds it (M. C. Carlisle & E. L. Lloyd, "On the k-coloring of intervals", Discrete Applied Mathematics 59(3), 1995;
//! U. Faigle & W. M. Nawijn, "Note on scheduling intervals on-line", Discrete Applied Mathematics 58(1), 1995): lives are taken in the
//! order of their ends, which needs no look ahead, and each gets the slot that became free last before it began.

use coflash_base::{IdVec, Lpn};
use std::collections::BTreeSet;

/// The most versions that a cache can absorb. Takes 8 bytes a page, and some 20 a slot.
#[derive(Clone, Debug)]
pub struct Absorption {
    /// The time at which each page's living version was written; 0 without one.
    written_at: IdVec<Lpn, u64>,
    /// Since when each slot that was used is free.
    free_since: BTreeSet<u64>,
    unused_slots: u64,
    /// The number of writes and trims so far: each has a time of its own.
    now: u64,
    absorbed: u64,
}

impl Absorption {
    /// Create an empty cache of `slots` for pages below `pages`.
    #[must_use]
    pub fn new(pages: u32, slots: u64) -> Self {
        Self {
            written_at: IdVec::zeros(pages as usize),
            free_since: BTreeSet::new(),
            unused_slots: slots,
            now: 0,
            absorbed: 0,
        }
    }

    /// Write a page. O(log slots).
    pub fn write(&mut self, lpn: Lpn) {
        self.trim(lpn);
        self.written_at[lpn] = self.now;
    }

    /// Trim a page. O(log slots).
    pub fn trim(&mut self, lpn: Lpn) {
        self.now += 1;
        let begin = std::mem::take(&mut self.written_at[lpn]);
        self.end(begin);
    }

    /// The most versions that can be absorbed: those that are in the cache in the end count.
    #[must_use]
    pub fn finish(mut self) -> u64 {
        for lpn in self.written_at.ids() {
            self.now += 1;
            self.end(self.written_at[lpn]);
        }
        self.absorbed
    }

    /// End a life now.
    fn end(&mut self, begin: u64) {
        if begin == 0 {
            return;
        }
        match self.free_since.range(..=begin).next_back().copied() {
            Some(since) => _ = self.free_since.remove(&since),
            None if self.unused_slots > 0 => self.unused_slots -= 1,
            None => return,
        }
        self.free_since.insert(self.now);
        self.absorbed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::seed::RngExt;
    use coflash_base::{Index, Seed};

    /// A page, and whether it is written, or trimmed.
    type Event = (usize, bool);

    fn found(events: &[Event], slots: u64) -> u64 {
        let mut absorption = Absorption::new(6, slots);
        for &(page, is_write) in events {
            let lpn = Lpn::from_index(page);
            if is_write { absorption.write(lpn) } else { absorption.trim(lpn) }
        }
        absorption.finish()
    }

    /// The most absorbed versions of any cache, by trying all it can do: keep a version, or write it below, at each event.
    fn most(events: &[Event], slots: usize, kept: &[usize]) -> u64 {
        let Some((&(page, is_write), rest)) = events.split_first() else { return kept.len() as u64 };
        let others: Vec<usize> = kept.iter().copied().filter(|&other| other != page).collect();
        let absorbed = (kept.len() - others.len()) as u64;
        let mut best = most(rest, slots, &others);
        if is_write && slots > 0 {
            let with = |others: &[usize]| most(rest, slots, &[others, &[page]].concat());
            if others.len() < slots {
                best = best.max(with(&others));
            }
            for out in 0..others.len() {
                best = best.max(with(&[&others[..out], &others[out + 1..]].concat()));
            }
        }
        absorbed + best
    }

    #[test]
    fn no_cache_absorbs_more_and_one_absorbs_as_many() {
        for seed in 0..300 {
            let mut stream = Seed(seed).stream("absorption");
            let slots = stream.random_range(0..4);
            let events: Vec<Event> =
                (0..11).map(|_| (stream.random_range(0..6), stream.random_range(0..5) > 0)).collect();
            assert_eq!(
                found(&events, slots),
                most(&events, slots as usize, &[]),
                "seed {seed}: {events:?}, {slots}"
            );
        }
    }

    #[test]
    fn a_page_that_is_written_again_needs_no_second_slot() {
        assert_eq!(found(&[(0, true), (0, true), (1, true)], 1), 2);
        assert_eq!(found(&[(0, true), (1, true), (0, false), (1, false)], 1), 1);
    }
}
