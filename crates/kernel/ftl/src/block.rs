//! The FTL's record of each block.

use coflash_base::{IdVec, Save};
use coflash_media::BlockId;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) enum State {
    /// Erased, in its pool's free list.
    Free,
    /// Active: being filled.
    Open,
    /// Full, and a candidate for GC.
    Sealed,
    /// Full, and in a queue of the placement policy: no candidate.
    Queued,
    /// Being cleaned.
    Victim,
}

/// The record of a block that changes with each of its pages: 16 bytes, so that the records of a device fit a CPU's cache.
#[derive(Clone, Copy, Debug, Save)]
pub(crate) struct Block {
    /// The number of valid pages.
    pub(crate) valid: u32,
    /// The number of marked pages among them.
    pub(crate) marked: u32,
    /// The cost of cleaning it while it is sealed, in units of the FTL's scale.
    pub(crate) cost: u32,
    pub(crate) state: State,
}

/// The record of a block that changes when it is sealed or erased: 12 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(4))]
pub(crate) struct History {
    /// The program count of the device when the block was sealed.
    pub(crate) sealed_at: u64,
    pub(crate) erases: u32,
}

// A field of a packed record has no reference.
coflash_base::saved_as! {
    History as (u64, u32): |history| (history.sealed_at, history.erases), |(sealed_at, erases)| Some(Self { sealed_at, erases });
}

impl Block {
    pub(crate) const ERASED: Self = Self { valid: 0, marked: 0, cost: 0, state: State::Free };

    /// Whether it is full, and not being cleaned.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.state, State::Sealed | State::Queued)
    }
}

/// All blocks.
pub(crate) type Blocks = IdVec<BlockId, Block>;

/// The histories of all blocks.
pub(crate) type Histories = IdVec<BlockId, History>;

/// Create `blocks` erased blocks.
pub(crate) fn erased(blocks: u32) -> Blocks {
    IdVec::filled(Block::ERASED, blocks as usize)
}
