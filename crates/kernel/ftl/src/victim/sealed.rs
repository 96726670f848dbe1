//! The candidates of a pool as a set to draw from.

use crate::ids::LocalBlock;
use coflash_base::{IdVec, Save};

/// An unordered set of candidates. Draw, insertion and removal take constant time.
#[derive(Clone, Debug, Save)]
pub(super) struct SealedSet {
    pub(super) members: Vec<LocalBlock>,
    position: IdVec<LocalBlock, u32>,
}

impl SealedSet {
    pub(super) fn new(blocks: u32) -> Self {
        Self {
            members: Vec::with_capacity(blocks as usize),
            position: IdVec::filled(u32::MAX, blocks as usize),
        }
    }

    pub(super) fn insert(&mut self, block: LocalBlock) {
        self.position[block] = self.members.len() as u32;
        self.members.push(block);
    }

    pub(super) fn remove(&mut self, block: LocalBlock) {
        let at = std::mem::replace(&mut self.position[block], u32::MAX);
        self.members.swap_remove(at as usize);
        if let Some(&moved) = self.members.get(at as usize) {
            self.position[moved] = at;
        }
    }
}
