//! Stack distances: the number of distinct pages used since the last use of a page.
//!
//! Every use takes the next slot, and a page holds only the slot of its last use. So the occupied slots, in order, are
//! the LRU stack, and the occupied slots after that of a page are the pages above it. Slots are bits, counted by a
//! Fenwick tree over words of 64. When the slots are exhausted, the occupied ones are renumbered without gaps: memory
//! is a quarter of a word per page, independent of the number of uses.
//!
//! Source: Bennett and Kruskal, "LRU stack processing" (1975), for the tree of bits over time; Olken, "Efficient
//! methods for calculating the success function of fixed space replacement policies" (1981), for renumbering. Cost:
//! O(log n).

/// The minimum number of slots; a multiple of 64.
const SLOTS_MIN: usize = 1 << 10;

/// The slots, in the order of last use.
pub(super) struct Recency {
    /// A bit per slot: occupied or free.
    words: Vec<u64>,
    /// At `w` the number of occupied slots in the words from `w & (w + 1)` to `w`.
    tree: Vec<u32>,
    next: u32,
    live: u32,
}

/// The new numbers of slots.
pub(super) struct Renumbered {
    words: Vec<u64>,
    /// Occupied slots before each word.
    before: Vec<u32>,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self::with_first(0)
    }

    /// Create slots with the first `live` occupied, and three times as many free ones, to make renumbering rare.
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

    /// Take the next slot, which must exist.
    #[inline]
    pub(super) fn push(&mut self) -> u32 {
        let slot = self.next;
        self.words[slot as usize / 64] |= 1 << (slot % 64);
        self.count(slot, 1);
        self.next += 1;
        self.live += 1;
        slot
    }

    /// Free a slot: its page was used again, or is no longer tracked.
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

    /// The number of occupied slots after `slot`.
    #[inline]
    pub(super) fn since(&self, slot: u32) -> u32 {
        let word = slot as usize / 64;
        let mut through = (self.words[word] & (u64::MAX >> (63 - slot % 64))).count_ones();
        // The words before it, as runs that end just below `end`.
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

    /// Renumber the occupied slots, in their order.
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
    /// The new number of an occupied slot.
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
                // No page was used twice, so no slot is freed.
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
