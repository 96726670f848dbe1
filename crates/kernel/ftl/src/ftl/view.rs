//! The state of blocks and pages, for those who look at a device.

use super::Ftl;
use crate::block::State;
use crate::marks::Marks;
use coflash_base::Lpn;
use coflash_media::BlockId;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Erased.
    Free,
    /// Being filled.
    Open,
    /// Full.
    Full,
    /// Being cleaned.
    Victim,
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// Its state.
    pub state: BlockState,
    /// Its pages that were programmed since its last erase, those of a summary left out.
    pub written: u32,
    /// Its valid pages.
    pub valid: u32,
    /// The valid pages that are marked: another memory holds their data.
    pub marked: u32,
    /// How often it was erased.
    pub erases: u32,
    /// Its class of the placement policy; without a policy, the group of streams of an open block.
    pub class: Option<u32>,
}

/// A page of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageView {
    /// Erased.
    Free,
    /// Its data is out of date.
    Invalid,
    /// As that, and known early: another memory holds the newer data of this logical page, which no flash has yet.
    Superseded(Lpn),
    /// It holds the data of this logical page.
    Valid(Lpn, Marks),
}

impl Ftl {
    /// Look at the blocks: erase units, so that a superblock is one.
    pub fn block_views(&self) -> impl Iterator<Item = BlockView> + '_ {
        self.blocks.ids().map(|id| self.block_view(id))
    }

    /// Look at a block.
    #[must_use]
    pub fn block_view(&self, id: BlockId) -> BlockView {
        let block = &self.blocks[id];
        let mut actives = self.allocator.actives(self.dims.pool_of(id)).iter().enumerate();
        let open = actives.find(|(_, active)| active.block == Some(id));
        let (state, written) = match (block.state, open) {
            (State::Free, _) => (BlockState::Free, 0),
            (_, Some((_, active))) => (BlockState::Open, active.next),
            (state, None) => {
                let pages = self.slc_cache.pages_of(id).unwrap_or(self.dims.data_pages_per_block);
                (if state == State::Victim { BlockState::Victim } else { BlockState::Full }, pages)
            }
        };
        BlockView {
            state,
            written,
            valid: block.valid,
            marked: block.marked,
            erases: self.histories[id].erases,
            class: self.placer.class_of(id).or_else(|| open.map(|(group, _)| group as u32)),
        }
    }

    /// Look at the data pages of a block.
    pub fn page_views(&self, id: BlockId) -> impl Iterator<Item = PageView> + '_ {
        let written = self.block_view(id).written;
        (0..self.dims.data_pages_per_block).map(move |index| {
            let page = self.geometry.page(id, index);
            match self.pages.owner[page] {
                _ if index >= written => PageView::Free,
                Some(lpn) if self.pages.valid.get(id, page) => PageView::Valid(lpn, self.marks_of(id, page)),
                Some(lpn) if !self.early.is_none() && self.early.get(id, page) => PageView::Superseded(lpn),
                _ => PageView::Invalid,
            }
        })
    }

    /// The number of data pages of a block.
    #[must_use]
    pub fn pages_per_block(&self) -> u32 {
        self.dims.data_pages_per_block
    }
}
