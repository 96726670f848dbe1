//! The map of blocks that a random job has been at: it visits each once before it visits one again.
//!
//! A tree of words: a bit is set while its block, or any block below it, is free. Cost: one bit a block and a 63rd
//! more; a look at a few words a draw, however full the map is.

use coflash_base::huge_pages;
use coflash_base::prefetch::prefetch;

/// A set of blocks.
#[derive(Clone, Debug)]
pub(super) struct VisitedMap {
    blocks: u64,
    /// The blocks themselves, then for each level the words below with a free one.
    levels: Vec<Vec<u64>>,
}

impl VisitedMap {
    pub(super) fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks.max(1);
        loop {
            bits = bits.div_ceil(64);
            levels.push(huge_pages::table(u64::MAX, bits as usize));
            if bits == 1 {
                break;
            }
        }
        let mut map = Self { blocks, levels };
        map.mark_end();
        map
    }

    /// Forget all visits.
    pub(super) fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(u64::MAX));
        self.mark_end();
    }

    /// Bits beyond the end are not free blocks.
    fn mark_end(&mut self) {
        let mut bits = self.blocks.max(1);
        for level in &mut self.levels {
            if !bits.is_multiple_of(64) {
                level[(bits / 64) as usize] = !(u64::MAX << (bits % 64));
            }
            bits = bits.div_ceil(64);
        }
    }

    /// Ask for the memory of a block.
    #[inline]
    pub(super) fn look_ahead(&self, block: u64) {
        prefetch(&self.levels[0], (block / 64) as usize);
    }

    #[inline]
    pub(super) fn is_free(&self, block: u64) -> bool {
        block < self.blocks && self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    #[inline]
    fn visit(&mut self, block: u64) {
        let mut index = block;
        for level in &mut self.levels {
            let word = &mut level[(index / 64) as usize];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// Visit up to `count` blocks from `first` on, until one that was visited before; return how many. A run that
    /// reaches the end goes on behind it, as in fio.
    #[inline]
    pub(super) fn visit_run(&mut self, first: u64, count: u64) -> u64 {
        let run =
            (first..first.saturating_add(count)).take_while(|&block| self.is_free(block)).count() as u64;
        (first..first + run).for_each(|block| self.visit(block));
        if first + run == self.blocks { count } else { run }
    }

    /// The first free block from `block` on.
    fn free_from(&self, block: u64) -> Option<u64> {
        let mut index = block;
        // Up, until a word has something free at the index or behind it, ...
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get((index / 64) as usize)?;
            let free = word & u64::MAX << (index % 64);
            if free != 0 {
                index = index / 64 * 64 + u64::from(free.trailing_zeros());
                // ... then down to its first free block.
                for below in self.levels[..height].iter().rev() {
                    index = index * 64 + u64::from(below[index as usize].trailing_zeros());
                }
                return Some(index);
            }
            index = index / 64 + 1;
        }
        None
    }

    /// `block` if it is free, or else the next free one, past the end from the beginning on; `None` if none is free.
    #[inline]
    pub(super) fn free_near(&self, block: u64) -> Option<u64> {
        if self.is_free(block) { Some(block) } else { self.free_from(block).or_else(|| self.free_from(0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a plain set.
        #[test]
        fn the_map_is_a_set(
            blocks in prop_oneof![1_u64..200, 4000_u64..4200, Just(64), Just(4096)],
            draws in prop::collection::vec((any::<u64>(), 1_u64..80), 1..400),
        ) {
            let (mut map, mut set) = (VisitedMap::new(blocks), BTreeSet::new());
            for (draw, count) in draws {
                let block = draw % blocks;
                let found = map.free_near(block);
                prop_assert_eq!(found, (block..blocks).chain(0..block).find(|block| !set.contains(block)));
                let Some(first) = found else { map.clear(); set.clear(); continue };
                let run = (first..blocks.min(first + count)).take_while(|block| !set.contains(block)).count();
                let visited = if first + run as u64 == blocks { count } else { run as u64 };
                prop_assert_eq!(map.visit_run(first, count), visited);
                set.extend(first..first + run as u64);
            }
        }
    }
}
