//! The pSLC cache: blocks of MLC, TLC or QLC flash with one bit per cell. They are written faster, and have
//! fewer pages: in QLC a quarter.
//!
//! A block for host data is opened as SLC while there are few SLC blocks and enough free blocks. With a fixed
//! number of blocks the cache is static; limited by free blocks only, it shrinks as the device fills up, and
//! is dynamic. Folding is GC: a full SLC block is a victim that gains most of a block, and its pages are
//! copied to blocks with all bits. Folding waits until GC is due, so `gc.low_mark` and `gc.background_mark`
//! set its time.

use super::allocator::Taken;
use super::{Ftl, Io};
use crate::config::{FtlConfig, Summary};
use crate::dimensions::Dimensions;
use crate::hook::GcHook;
use crate::ids::{GroupId, PoolId};
use crate::stream::WriteStream;
use coflash_base::{IdVec, Misfit, Save};
use coflash_media::{BlockId, Geometry, Media, Mode};

coflash_base::measures! {
    /// The pSLC cache.
    pub struct SlcCounters in "slc_cache", "pSLC cache" {
        /// Pages programmed into SLC blocks.
        written_pages: u64, "pages written to the pSLC cache", pages;
        /// Pages copied from SLC blocks to blocks with all bits.
        folded_pages: u64, "pages folded", pages, cost;
    }
}

/// The pSLC cache of a device.
#[derive(Clone, Save)]
pub(super) struct SlcCache {
    /// The number of pages of an SLC block; 0 without a cache.
    pub(super) pages_per_block: u32,
    blocks_max: u32,
    /// The number of free blocks of a pool above which blocks are opened as SLC.
    free_min: u32,
    is_slc: IdVec<BlockId, bool>,
    in_pool: IdVec<PoolId, u32>,
    pub(super) counters: SlcCounters,
}

impl SlcCache {
    pub(super) fn new(geometry: &Geometry, config: &FtlConfig, dims: &Dimensions) -> Result<Self, Misfit> {
        let cache = &config.slc_cache;
        let blocks_max = cache.blocks.blocks(dims.blocks_per_pool);
        let pages_per_block =
            if blocks_max == 0 { 0 } else { geometry.pages_per_block / geometry.cell.bits() };
        let free_min = cache.while_free.blocks(dims.blocks_per_pool);
        let refuse = |key: &str, problem: String| Err(Misfit::new(key, problem));
        let groups = &dims.groups;
        if blocks_max > 0 {
            if geometry.cell.bits() == 1 {
                return refuse(
                    "flash.cell",
                    "a pSLC cache needs cells of several bits: \"mlc\", \"tlc\" or \"qlc\"".into(),
                );
            }
            if pages_per_block == 0 {
                return refuse("flash.pages_per_block", "too few for a block with one bit a cell".into());
            }
            if config.summary != Summary::Off {
                return refuse(
                    "ftl.summary",
                    "an SLC block has no summary; with ftl.slc_cache \"off\" is allowed".into(),
                );
            }
            if free_min < dims.step_mark_blocks {
                let problem =
                    format!("{free_min} blocks are fewer than GC keeps free ({})", dims.step_mark_blocks);
                return refuse("ftl.slc_cache.while_free", problem);
            }
            if dims.classes > 0 {
                let problem = "an SLC block takes pages of the host alone, and a class may take copies as well; with \
                               ftl.slc_cache \"none\" is allowed";
                return refuse("ftl.placement", problem.into());
            }
            if groups.group(WriteStream::Host) == groups.group(WriteStream::Gc) {
                let problem = "GC folds SLC blocks into others: with ftl.slc_cache \"gc\" shares no block with \"host\"";
                return refuse("ftl.shared_streams", problem.into());
            }
        }
        let (blocks, pools) =
            if blocks_max == 0 { (0, 0) } else { (geometry.blocks(), dims.pools(geometry)) };
        Ok(Self {
            pages_per_block,
            blocks_max,
            free_min,
            is_slc: IdVec::filled(false, blocks as usize),
            in_pool: IdVec::filled(0, pools as usize),
            counters: SlcCounters::default(),
        })
    }

    /// Note that a block was found to be SLC, after a restart.
    pub(super) fn recover(&mut self, pool: PoolId, block: BlockId) {
        self.is_slc[block] = true;
        self.in_pool[pool] += 1;
    }

    pub(super) fn exists(&self) -> bool {
        self.pages_per_block > 0
    }

    /// The number of pages of an SLC block; `None` for other blocks.
    pub(super) fn pages_of(&self, block: BlockId) -> Option<u32> {
        (self.exists() && self.is_slc[block]).then_some(self.pages_per_block)
    }

    /// The program mode of a block, for a page of the host.
    #[inline(always)]
    pub(super) fn mode_for(&mut self, block: BlockId) -> Mode {
        if self.pages_of(block).is_none() {
            return Mode::Normal;
        }
        self.counters.written_pages += 1;
        Mode::Slc
    }

    /// Whether a page is the last of an SLC block.
    #[inline(always)]
    pub(super) fn is_last(&self, taken: Taken) -> bool {
        taken.index + 1 == self.pages_per_block && self.is_slc[taken.block]
    }

    /// Note that pages of a block are copied by GC.
    #[inline(always)]
    pub(super) fn copied(&mut self, from: BlockId, pages: u32) {
        if self.pages_of(from).is_some() {
            self.counters.folded_pages += u64::from(pages);
        }
    }

    #[inline(always)]
    pub(super) fn erased(&mut self, pool: PoolId, block: BlockId) {
        if self.pages_of(block).is_some() {
            self.is_slc[block] = false;
            self.in_pool[pool] -= 1;
        }
    }
}

impl Ftl {
    /// Open a block for a group of streams.
    pub(super) fn open_block_for(&mut self, pool: PoolId, group: GroupId) -> BlockId {
        let is_for_copies = self.is_for_copies(group);
        let free = self.allocator.free_blocks(pool);
        let block = self.open_block(pool, group);
        let slc = &mut self.slc_cache;
        if slc.exists() && !is_for_copies && free > slc.free_min && slc.in_pool[pool] < slc.blocks_max {
            slc.is_slc[block] = true;
            slc.in_pool[pool] += 1;
        }
        block
    }

    /// Whether GC copies to the blocks of a group.
    pub(super) fn is_for_copies(&self, group: GroupId) -> bool {
        [WriteStream::Gc, WriteStream::Shadow].iter().any(|&stream| self.dims.groups.group(stream) == group)
    }

    /// Fold all SLC blocks, open ones too.
    pub(super) fn fold_all<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        for block in self.slc_cache.is_slc.ids() {
            if self.slc_cache.is_slc[block] {
                self.refresh_block(block, self.histories[block].erases, io)?;
            }
        }
        Ok(())
    }

    /// The counters of the pSLC cache, if there is one.
    #[must_use]
    pub fn slc_counters(&self) -> Option<&SlcCounters> {
        self.slc_cache.exists().then_some(&self.slc_cache.counters)
    }
}
