//! Allocation pools: a free list, active blocks and a victim policy for a plane or a die.

use crate::config::WearLevelling;
use crate::victim::Victim;
use coflash_flash::{BlockId, Cause, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Where written data belongs: each stream (or group of streams) fills an active block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// What the host writes past the cache.
    Host,
    /// What leaves the device's cache.
    Evict,
    /// What GC copies.
    Gc,
    /// What GC copies though the host is about to replace it; with GC's other copies, unless the cooperation keeps it apart.
    Shadow,
}

impl Stream {
    pub(crate) const COUNT: usize = 4;

    /// The stream of a program by its cause.
    #[inline(always)]
    pub(crate) fn of(cause: Cause) -> Self {
        match cause {
            Cause::Evict | Cause::Destage => Self::Evict,
            Cause::Gc | Cause::Refresh | Cause::WearLevelling => Self::Gc,
            Cause::Host | Cause::Metadata => Self::Host,
        }
    }
}

/// Erased blocks in the order in which they will be used.
#[derive(Clone, Debug)]
pub(crate) enum FreeList {
    InOrder(VecDeque<BlockId>),
    LeastErased(BinaryHeap<Reverse<(u32, BlockId)>>),
}

impl FreeList {
    /// Of blocks and how often each was erased.
    pub(crate) fn new(blocks: impl Iterator<Item = (BlockId, u32)>, wear_levelling: WearLevelling) -> Self {
        match wear_levelling {
            WearLevelling::Off => Self::InOrder(blocks.map(|(block, _)| block).collect()),
            WearLevelling::Dynamic | WearLevelling::Static => {
                Self::LeastErased(blocks.map(|(block, erases)| Reverse((erases, block))).collect())
            }
        }
    }

    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::InOrder(blocks) => blocks.len() as u32,
            Self::LeastErased(blocks) => blocks.len() as u32,
        }
    }

    pub(crate) fn pop(&mut self) -> Option<BlockId> {
        match self {
            Self::InOrder(blocks) => blocks.pop_front(),
            Self::LeastErased(blocks) => blocks.pop().map(|Reverse((_, block))| block),
        }
    }

    pub(crate) fn push(&mut self, block: BlockId, erases: u32) {
        match self {
            Self::InOrder(blocks) => blocks.push_back(block),
            Self::LeastErased(blocks) => blocks.push(Reverse((erases, block))),
        }
    }

    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = BlockId> + '_> {
        match self {
            Self::InOrder(blocks) => Box::new(blocks.iter().copied()),
            Self::LeastErased(blocks) => Box::new(blocks.iter().map(|Reverse((_, block))| *block)),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::InOrder(blocks) => blocks.capacity() * size_of::<BlockId>(),
            Self::LeastErased(blocks) => blocks.capacity() * size_of::<(u32, BlockId)>(),
        }
    }
}

/// The block a group of streams is filling.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Active {
    pub(crate) block: Option<BlockId>,
    /// Its next page.
    pub(crate) next: u32,
}

/// An erased page that is taken to be programmed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) block: BlockId,
    /// Its place in the block.
    pub(crate) index: u32,
    pub(crate) page: Ppn,
}

/// A block that is being emptied in steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleaning {
    pub(crate) block: BlockId,
    /// Garbage collection, or wear levelling.
    pub(crate) cause: Cause,
    /// Pages of it were dropped: another tier holds them.
    pub(crate) dropped: bool,
}

/// A plane or a die as a place to allocate from.
#[derive(Clone)]
pub(crate) struct Pool {
    /// Its first block, as a number; the others follow.
    pub(crate) first_block: u32,
    pub(crate) free: FreeList,
    pub(crate) actives: Vec<Active>,
    pub(crate) victim: Victim,
    /// Valid pages in it.
    pub(crate) valid_pages: u32,
    /// The victim that is partly cleaned.
    pub(crate) cleaning: Option<Cleaning>,
    /// The block that takes over cold data while that is moved.
    pub(crate) cold: Active,
    /// No block of it was erased less often; for static wear levelling.
    pub(crate) erases_min: u32,
}

impl Pool {
    pub(crate) fn heap_bytes(&self) -> usize {
        self.free.heap_bytes() + self.actives.capacity() * size_of::<Active>() + self.victim.heap_bytes()
    }
}
