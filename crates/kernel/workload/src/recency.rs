//! Stack distances: the number of distinct pages used since the last use of a page, and the page at a distance.
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
#[derive(Clone, Debug)]
pub struct Recency {
    slots: RankedBits,
    next: u32,
}

/// Bits with their ranks: how many are set beyond a place, and where the last but n is.
#[derive(Clone, Debug)]
pub struct RankedBits {
    words: Vec<u64>,
    /// At `w` the number of set bits in the words from `w & (w + 1)` to `w`.
    tree: Vec<u32>,
    ones: u32,
}

/// The new numbers of slots.
pub struct Renumbered {
    words: Vec<u64>,
    /// Occupied slots before each word.
    before: Vec<u32>,
}

impl RankedBits {
    /// Create at least `count` bits; the first `ones` are set.
    #[must_use]
    pub fn new(count: usize, ones: u32) -> Self {
        let (full, rest) = (ones as usize / 64, ones % 64);
        let mut words = vec![0; count / 64 + 1];
        words[..full].fill(u64::MAX);
        words[full] = (1 << rest) - 1;
        let mut tree: Vec<u32> = words.iter().map(|word: &u64| word.count_ones()).collect();
        for word in 0..tree.len() {
            let above = word | (word + 1);
            if above < tree.len() {
                tree[above] += tree[word];
            }
        }
        Self { words, tree, ones }
    }

    /// The number of bits.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.len() * 64
    }

    /// The number of set bits.
    #[must_use]
    pub fn ones(&self) -> u32 {
        self.ones
    }

    /// Set a bit that is not set.
    #[inline]
    pub fn set(&mut self, bit: u32) {
        self.words[bit as usize / 64] |= 1 << (bit % 64);
        self.add(bit, 1);
        self.ones += 1;
    }

    /// Clear a bit that is set.
    #[inline]
    pub fn clear(&mut self, bit: u32) {
        self.words[bit as usize / 64] &= !(1 << (bit % 64));
        self.add(bit, 1_u32.wrapping_neg());
        self.ones -= 1;
    }

    #[inline]
    fn add(&mut self, bit: u32, change: u32) {
        let mut word = bit as usize / 64;
        while let Some(count) = self.tree.get_mut(word) {
            *count = count.wrapping_add(change);
            word |= word + 1;
        }
    }

    /// The number of set bits after `bit`.
    #[inline]
    #[must_use]
    pub fn after(&self, bit: u32) -> u32 {
        let word = bit as usize / 64;
        let mut through = (self.words[word] & (u64::MAX >> (63 - bit % 64))).count_ones();
        // The words before it, as runs that end just below `end`.
        let mut end = word;
        while end > 0 {
            through += self.tree[end - 1];
            end &= end - 1;
        }
        self.ones - through
    }

    /// The set bit with `after` set bits after it; there must be one.
    #[inline]
    #[must_use]
    pub fn with_after(&self, after: u32) -> u32 {
        let mut rank = self.ones - after;
        let mut word = 0;
        let mut step = 1 << self.tree.len().ilog2();
        while step > 0 {
            if let Some(&count) = self.tree.get(word + step - 1)
                && count < rank
            {
                rank -= count;
                word += step;
            }
            step /= 2;
        }
        let mut bits = self.words[word];
        (1..rank).for_each(|_| bits &= bits - 1);
        (word * 64) as u32 + bits.trailing_zeros()
    }

    /// The set bits, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left > 0).then(|| (word * 64) as u32 + left.trailing_zeros());
                left &= left.wrapping_sub(1);
                bit
            })
        })
    }
}

impl Default for Recency {
    fn default() -> Self {
        Self::with_first(0)
    }
}

impl Recency {
    /// Create slots with the first `live` occupied, and three times as many free ones, to make renumbering rare.
    fn with_first(live: u32) -> Self {
        let slots = (live as usize).saturating_mul(4).clamp(SLOTS_MIN, 1 << 31);
        Self { slots: RankedBits::new(slots, live), next: live }
    }

    /// Take the next slot; there must be one.
    #[inline]
    pub fn push(&mut self) -> u32 {
        let slot = self.next;
        self.slots.set(slot);
        self.next += 1;
        slot
    }

    /// Free a slot: its page was used again, or is no longer tracked.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.slots.clear(slot);
    }

    /// The number of occupied slots.
    #[must_use]
    pub fn live(&self) -> u32 {
        self.slots.ones()
    }

    /// The occupied slots.
    #[must_use]
    pub fn slots(&self) -> &RankedBits {
        &self.slots
    }

    /// The number of occupied slots after `slot`.
    #[inline]
    #[must_use]
    pub fn since(&self, slot: u32) -> u32 {
        self.slots.after(slot)
    }

    /// Whether no slot is left.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.next as usize >= self.slots.count()
    }

    /// Renumber the occupied slots, in their order.
    #[cold]
    pub fn renumber(&mut self) -> Renumbered {
        let old = std::mem::replace(self, Self::with_first(self.live()));
        let mut sum = 0;
        let before = old.slots.words.iter().map(|word| {
            sum += word.count_ones();
            sum - word.count_ones()
        });
        Renumbered { before: before.collect(), words: old.slots.words }
    }
}

impl Renumbered {
    /// The new number of an occupied slot.
    #[inline]
    #[must_use]
    pub fn new_number(&self, slot: u32) -> u32 {
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
            let mut recency = Recency::default();
            let mut slots: Vec<Option<u32>> = vec![None; 200];
            let mut list: Vec<usize> = Vec::new();
            for (page, what) in uses {
                if recency.is_full() {
                    let renumbered = recency.renumber();
                    slots.iter_mut().flatten().for_each(|slot| *slot = renumbered.new_number(*slot));
                }
                if let Some(slot) = slots[page].take() {
                    let place = list.iter().position(|&listed| listed == page).unwrap();
                    prop_assert_eq!(recency.since(slot) as usize, list.len() - 1 - place);
                    prop_assert_eq!(recency.slots().with_after(recency.since(slot)), slot);
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
        let mut recency = Recency::default();
        let mut slots = [0; 3000];
        slots.iter_mut().for_each(|slot| {
            if recency.is_full() {
                // No page was used twice, so no slot is freed.
                assert_eq!(recency.renumber().new_number(7), 7);
            }
            *slot = recency.push();
        });
        for turn in 0..100_000 {
            if recency.is_full() {
                let renumbered = recency.renumber();
                slots.iter_mut().for_each(|slot| *slot = renumbered.new_number(*slot));
            }
            let page = turn % slots.len();
            assert_eq!(recency.since(slots[page]), 2999);
            recency.remove(slots[page]);
            slots[page] = recency.push();
        }
        assert!(recency.slots.count() <= 4 * 3000 + 64);
    }
}
