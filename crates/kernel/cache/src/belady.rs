//! Belady's optimum: evict the page with the furthest next use (L. A. Belady, "A Study of Replacement
//! Algorithms for a Virtual-Storage Computer", IBM Systems Journal 5(2), 1966; MIN).
//!
//! No cache has fewer misses. It needs all accesses in advance. A device does not know them, so it is not one
//! of the [eviction policies](crate::evict): the cache here serves a list of accesses. The choice between
//! pages that are never used again changes no miss.

use std::collections::BinaryHeap;

/// A page that is never used again.
const NEVER: u32 = u32::MAX;

/// The next use of each access.
#[derive(Clone, Debug)]
pub struct FutureReferences {
    next: Vec<u32>,
    pages: usize,
}

impl FutureReferences {
    /// Look ahead over accesses to pages below `pages`. Panics at 2^32 − 1 accesses or more.
    pub fn new(accesses: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator, pages: usize) -> Self {
        assert!(accesses.len() < NEVER as usize, "accesses are numbered in 32 bits");
        let mut next = vec![NEVER; accesses.len()];
        let mut known = vec![NEVER; pages];
        for (at, page) in accesses.enumerate().rev() {
            next[at] = std::mem::replace(&mut known[page as usize], at as u32);
        }
        Self { next, pages }
    }

    /// Serve the same accesses by a cache of `slots` pages. Returns whether each hits. O(log `slots`) for each.
    pub fn hits(&self, accesses: impl Iterator<Item = u32>, slots: u32) -> impl Iterator<Item = bool> {
        let mut cached = vec![None; self.pages];
        let mut len = 0;
        // The furthest next use on top, past uses at the bottom.
        let mut order = BinaryHeap::new();
        accesses.zip(&self.next).enumerate().map(move |(now, (page, &next))| {
            let is_hit = cached[page as usize].is_some();
            if slots == 0 {
                return false;
            }
            if !is_hit && len == slots {
                let (_, furthest) = order.pop().expect("a full cache has a page");
                cached[furthest as usize] = None;
            } else if !is_hit {
                len += 1;
            }
            cached[page as usize] = Some(next);
            order.push((next, page));
            if order.len() > 2 * slots as usize + 1 {
                order.retain(|&(next, _)| next > now as u32);
            }
            is_hit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use coflash_base::seed::RngExt;

    fn hits(accesses: &[u32], slots: u32) -> Vec<bool> {
        let all = || accesses.iter().copied();
        FutureReferences::new(all(), 16).hits(all(), slots).collect()
    }

    /// The most hits of any cache, by trying all evictions.
    fn most_hits(accesses: &[u32], slots: usize, cached: &[u32]) -> usize {
        let Some((page, rest)) = accesses.split_first() else { return 0 };
        if cached.contains(page) {
            return 1 + most_hits(rest, slots, cached);
        }
        let with = |others: &[u32]| most_hits(rest, slots, &[others, &[*page]].concat());
        if cached.len() < slots {
            return with(cached);
        }
        let without = |out: usize| [&cached[..out], &cached[out + 1..]].concat();
        (0..slots).map(|out| with(&without(out))).max().unwrap_or(0)
    }

    #[test]
    fn no_choice_of_victims_has_more_hits() {
        for seed in 0..200 {
            let mut stream = Seed(seed).stream("belady");
            let slots = stream.random_range(1..4);
            let accesses: Vec<u32> = (0..12).map(|_| stream.random_range(0..6)).collect();
            let found = hits(&accesses, slots).into_iter().filter(|&hit| hit).count();
            assert_eq!(
                found,
                most_hits(&accesses, slots as usize, &[]),
                "seed {seed}: {accesses:?}, {slots}"
            );
        }
    }

    #[test]
    fn a_larger_cache_hits_whatever_a_smaller_one_does() {
        for seed in 0..20 {
            let mut stream = Seed(seed).stream("belady");
            let accesses: Vec<u32> = (0..400).map(|_| stream.random_range(0..16)).collect();
            let counts: Vec<usize> =
                (0..=16).map(|slots| hits(&accesses, slots).into_iter().filter(|&hit| hit).count()).collect();
            assert!(counts.is_sorted(), "seed {seed}: {counts:?}");
            assert_eq!((counts[0], counts[16]), (0, 400 - 16), "seed {seed}");
        }
    }
}
