//! The state of pages, for those who look at a device.

use super::Ftl;
use crate::block::State;
use crate::marks::Marks;
use coflash_base::Lpn;
use coflash_media::BlockId;

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
    /// Look at the data pages, block by block: a superblock is one.
    pub fn page_views(&self) -> impl Iterator<Item = PageView> + '_ {
        self.blocks.ids().flat_map(move |id| {
            let written = self.written(id);
            (0..self.dims.data_pages_per_block).map(move |index| {
                let page = self.geometry.page(id, index);
                match self.pages.owner[page] {
                    _ if index >= written => PageView::Free,
                    Some(lpn) if self.pages.valid.get(id, page) => {
                        PageView::Valid(lpn, self.marks_of(id, page))
                    }
                    Some(lpn) if !self.early.is_none() && self.early.get(id, page) => {
                        PageView::Superseded(lpn)
                    }
                    _ => PageView::Invalid,
                }
            })
        })
    }

    /// The data pages of a block that were programmed since its last erase.
    fn written(&self, id: BlockId) -> u32 {
        let mut actives = self.allocator.actives(self.dims.pool_of(id)).iter();
        match (self.blocks[id].state, actives.find(|active| active.block == Some(id))) {
            (State::Free, _) => 0,
            (_, Some(active)) => active.next,
            _ => self.slc_cache.pages_of(id).unwrap_or(self.dims.data_pages_per_block),
        }
    }
}
