//! How many pages were used since one was: an order statistic over the moments of last use.
//!
//! Every use takes the next slot, and a page holds the slot of its last use only. So slots in use, in order, are the LRU
//! stack, and the slots in use after a page's are the pages above it. They are bits, counted by a Fenwick tree over words
//! of 64. When the slots run out, those in use are numbered anew, without gaps: memory is a quarter of a word for
//! each page, not for each use.
//!
//! Source: Bennett and Kruskal, "LRU stack processing" (1975), for the tree of bits over time; Olken, "Efficient methods
//! for calculating the success function of fixed space replacement policies" (1981), for numbering anew. Cost: O(log n).

/// The least slots; a multiple of 64.
const SLOTS_MIN: usize = 1 << 10;

/// Moments of last use.
pub(super) struct Recency {
    /// A bit for each slot in use.
    words: Vec<u64>,
    /// At `w` the slots in use of the words from `w & (w + 1)` to `w`.
    tree: Vec<u32>,
    next: u32,
    live: u32,
}

/// Where slots are after they were numbered anew.
pub(super) struct Renumbered {
    words: Vec<u64>,
    /// Slots in use before each word.
    before: Vec<u32>,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self::with_first(0)
    }

    /// With the first `live` slots in use, and as many more as make it worth while to have numbered them.
    fn with_first(live: u32) -> Self {
        let slots = (live as usize).saturating_mul(4).clamp(SLOTS_MIN, 1 << 31);
        let (full, rest) = (live as usize / 64, live % 64);
        let mut words = vec![0; slots / 64 + 1];
        words[..full].fill(u64::MAX);
        words[full] = (1 << rest) - 1;
        let mut tree: Vec<u32> = words.iter().map(|word: &u64| word.count_ones()).collect();
        for word in 0..tree.len() {
            let above = word | (word + 1);
            if above < tree.len() {
                tree[above] += tree[word];
            }
        }
        Self { words, tree, next: live, live }
    }

    /// The slot of a use now. There must be one left.
    #[inline]
    pub(super) fn push(&mut self) -> u32 {
        let slot = self.next;
        self.words[slot as usize / 64] |= 1 << (slot % 64);
        self.count(slot, 1);
        self.next += 1;
        self.live += 1;
        slot
    }

    /// The slot is out of use: the page was used again, or is followed no longer.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        self.words[slot as usize / 64] &= !(1 << (slot % 64));
        self.count(slot, 1_u32.wrapping_neg());
        self.live -= 1;
    }

    #[inline]
    fn count(&mut self, slot: u32, change: u32) {
        let mut word = slot as usize / 64;
        while let Some(count) = self.tree.get_mut(word) {
            *count = count.wrapping_add(change);
            word |= word + 1;
        }
    }

    /// The slots in use after `slot`.
    #[inline]
    pub(super) fn since(&self, slot: u32) -> u32 {
        let word = slot as usize / 64;
        let mut through = (self.words[word] & (u64::MAX >> (63 - slot % 64))).count_ones();
        // Words before it, as runs that end just below `end`.
        let mut end = word;
        while end > 0 {
            through += self.tree[end - 1];
            end &= end - 1;
        }
        self.live - through
    }

    /// Whether no slot is left.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.next as usize >= self.words.len() * 64
    }

    /// Numbers the slots in use anew, in their order.
    #[cold]
    pub(super) fn renumber(&mut self) -> Renumbered {
        let old = std::mem::replace(self, Self::with_first(self.live));
        let mut sum = 0;
        let before = old.words.iter().map(|word| {
            sum += word.count_ones();
            sum - word.count_ones()
        });
        Renumbered { before: before.collect(), words: old.words }
    }
}

impl Renumbered {
    /// What `slot`, which was in use, is called now.
    #[inline]
    pub(super) fn of(&self, slot: u32) -> u32 {
        let word = slot as usize / 64;
        self.before[word] + (self.words[word] & ((1 << (slot % 64)) - 1)).count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_list(uses in proptest::collection::vec((0..200_usize, 0..10_u8), 1..6000)) {
            let mut recency = Recency::new();
            let mut slots: Vec<Option<u32>> = vec![None; 200];
            let mut list: Vec<usize> = Vec::new();
            for (page, what) in uses {
                if recency.is_full() {
                    let renumbered = recency.renumber();
                    slots.iter_mut().flatten().for_each(|slot| *slot = renumbered.of(*slot));
                }
                if let Some(slot) = slots[page].take() {
                    let place = list.iter().position(|&listed| listed == page).unwrap();
                    prop_assert_eq!(recency.since(slot) as usize, list.len() - 1 - place);
                    list.remove(place);
                    recency.remove(slot);
                }
                if what > 0 {
                    slots[page] = Some(recency.push());
                    list.push(page);
                }
            }
        }
    }

    #[test]
    fn memory_follows_the_pages_and_not_the_uses() {
        let mut recency = Recency::new();
        let mut slots = [0; 3000];
        slots.iter_mut().for_each(|slot| {
            if recency.is_full() {
                // Nothing was used twice, so every slot stays.
                assert_eq!(recency.renumber().of(7), 7);
            }
            *slot = recency.push();
        });
        for turn in 0..100_000 {
            if recency.is_full() {
                let renumbered = recency.renumber();
                slots.iter_mut().for_each(|slot| *slot = renumbered.of(*slot));
            }
            let page = turn % slots.len();
            assert_eq!(recency.since(slots[page]), 2999);
            recency.remove(slots[page]);
            slots[page] = recency.push();
        }
        assert!(recency.words.len() * 64 <= 4 * 3000 + 64);
    }
}
