//! The FTL's checked configuration, in numbers of blocks and pages of one device.

use crate::config::{Chips, FtlConfig, GcConfig, GcMode, Pools};
use crate::groups::Groups;
use crate::ids::{LocalBlock, PoolId};
use crate::placement::Classes;
use crate::requirements::Requirements;
use coflash_base::{Divisor, Misfit, Save, Share};
use coflash_media::{BlockId, DieId, Geometry, Ppn};

const TOO_SMALL: &str = "the device is too small";

/// The numbers of one device.
#[derive(Clone, Debug, Save)]
pub(crate) struct Dimensions {
    pub(crate) logical_pages: u32,
    pub(crate) data_pages_per_block: u32,
    /// Divides by the pages of a block.
    by_pages_per_block: Divisor,
    pub(crate) pools_per_die: u32,
    pub(crate) blocks_per_pool: u32,
    /// Divides by `blocks_per_pool`.
    by_blocks_per_pool: Divisor,
    /// The number of blocks that are erased together.
    pub(crate) blocks_per_erase: u32,
    /// The number of dies over which the pages of a block are striped: 1 if a block lies on one die.
    pub(crate) dies_per_block: u32,
    /// The number of free blocks at or below which GC cleans whole victims before a pool is written.
    pub(crate) low_mark_blocks: u32,
    /// The number of free blocks at or below which GC works in steps; not less than `low_mark_blocks`.
    pub(crate) step_mark_blocks: u32,
    /// The groups of streams that share active blocks.
    pub(crate) groups: Groups,
    /// The classes of the placement policy; 0 without one.
    pub(crate) classes: u32,
    /// The maximal number of valid pages in a pool at which GC can still free a page.
    pub(crate) valid_pages_max: u32,
}

impl Dimensions {
    /// Compute the numbers of a device. `flash` has the blocks of planes, `geometry` the blocks that are
    /// filled and erased together. Where it is too small, the error names a spare share that would do.
    pub(crate) fn new(
        flash: &Geometry,
        geometry: &Geometry,
        ftl: &FtlConfig,
        gc: &GcConfig,
        requirements: Requirements,
    ) -> Result<Self, Misfit> {
        Self::fit(flash, geometry, ftl, gc, requirements).map_err(|Misfit { key, problem }| {
            let shares = if problem.starts_with(TOO_SMALL) { 1..100 } else { 1..1 };
            let enough = shares.map(Share::percent).filter(|share| *share > ftl.spare.share).find(|share| {
                let (mut ftl, mut flash) = (ftl.clone(), flash.clone());
                ftl.spare.share = *share;
                flash.blocks_per_plane = ftl.blocks_per_plane(&flash).unwrap_or(flash.blocks_per_plane);
                Self::fit(&flash, &ftl.erase_units(&flash), &ftl, gc, requirements).is_ok()
            });
            let would_do = enough.map(|share| format!(" (ftl.spare.share={share} would do)"));
            Misfit::new(&key, problem + &would_do.unwrap_or_default())
        })
    }

    fn fit(
        flash: &Geometry,
        geometry: &Geometry,
        ftl: &FtlConfig,
        gc: &GcConfig,
        requirements: Requirements,
    ) -> Result<Self, Misfit> {
        ftl.refresh.check()?;
        let summary_pages = ftl.summary_pages();
        if geometry.pages_per_block <= summary_pages {
            let problem = "1 is too few: a block with a summary needs at least 2";
            return Err(Misfit::new("flash.pages_per_block", problem));
        }
        let data_pages_per_block = geometry.pages_per_block - summary_pages;
        let (pools_per_die, blocks_per_pool) = match ftl.pools {
            Pools::Plane => (geometry.planes_per_die, geometry.blocks_per_plane),
            Pools::Die | Pools::Device => (1, geometry.blocks_per_die()),
        };
        if ftl.pools == Pools::Device && ftl.chips != Chips::default() {
            let problem =
                "with ftl.pools \"device\" pages go round the dies as superblocks are filled: leave it out";
            return Err(Misfit::new("ftl.chips", problem));
        }
        let groups = groups(ftl, requirements)?;
        // When GC begins, each of its target blocks may be full, but only once.
        let reserve = groups.copied_to;
        let (step_mark_blocks, low_mark_blocks) = marks(gc, blocks_per_pool, reserve)?;
        ftl.check_spare(flash)?;
        let dies = u64::from(geometry.dies());
        let logical_pages = u64::from(ftl.logical_pages(flash));
        // The free blocks at the mark, the active blocks, and one target of GC must not be needed for data.
        let is_background = matches!(gc.mode, GcMode::Background { .. });
        let mark = if matches!(gc.mode, GcMode::Lazy { .. }) { low_mark_blocks } else { step_mark_blocks };
        let kept_back = mark.saturating_add(groups.count + 1);
        let usable = u64::from(blocks_per_pool.saturating_sub(kept_back)) * u64::from(data_pages_per_block);
        let per_pool = logical_pages.div_ceil(dies * u64::from(pools_per_die));
        if per_pool > usable {
            return Err(Misfit::new(
                "ftl.spare.share",
                format!(
                    "{TOO_SMALL}: a pool of {blocks_per_pool} blocks must hold {per_pool} pages, but GC keeps \
                     {kept_back} blocks back ({} mark {mark}, {} active, 1 reserve), which leaves room \
                     for {usable}; more blocks, a lower {}, or more spare share",
                    if is_background { "background" } else { "low" },
                    groups.count,
                    if is_background { "gc.mode.mark" } else { "gc.low_mark" }
                ),
            ));
        }
        Ok(Self {
            logical_pages: logical_pages as u32,
            data_pages_per_block,
            by_pages_per_block: Divisor::new(geometry.pages_per_block),
            pools_per_die,
            blocks_per_pool,
            by_blocks_per_pool: Divisor::new(blocks_per_pool),
            blocks_per_erase: ftl.blocks_per_erase(flash),
            dies_per_block: if ftl.pools == Pools::Device { flash.dies() } else { 1 },
            low_mark_blocks,
            step_mark_blocks,
            groups,
            classes: match ftl.placement.classes()? {
                Classes::Streams => 0,
                Classes::Own { count, .. } => count,
            },
            valid_pages_max: usable as u32,
        })
    }

    /// The number of pools of the device.
    pub(crate) fn pools(&self, geometry: &Geometry) -> u32 {
        geometry.dies() * self.pools_per_die
    }

    /// The block of a page.
    #[inline(always)]
    pub(crate) fn block_of(&self, page: Ppn) -> BlockId {
        BlockId::new(self.by_pages_per_block.divide(page.get()))
    }

    #[inline(always)]
    pub(crate) fn pool_of(&self, block: BlockId) -> PoolId {
        PoolId::new(self.by_blocks_per_pool.divide(block.get()))
    }

    #[inline(always)]
    pub(crate) fn die_of(&self, pool: PoolId) -> DieId {
        DieId::new(pool.get() / self.pools_per_die)
    }

    /// Pool `local` of a die.
    #[inline(always)]
    pub(crate) fn pool(&self, die: DieId, local: u32) -> PoolId {
        PoolId::new(die.get() * self.pools_per_die + local)
    }

    pub(crate) fn pools_of(&self, die: DieId) -> impl Iterator<Item = PoolId> + use<> {
        let first = die.get() * self.pools_per_die;
        (first..first + self.pools_per_die).map(PoolId::new)
    }

    /// The ids of a pool's blocks.
    #[inline(always)]
    fn range_of(&self, pool: PoolId) -> std::ops::Range<u32> {
        let first = pool.get() * self.blocks_per_pool;
        first..first + self.blocks_per_pool
    }

    pub(crate) fn blocks_of(&self, pool: PoolId) -> impl Iterator<Item = BlockId> + use<> {
        self.range_of(pool).map(BlockId::new)
    }

    /// The indices of a pool's blocks in a table of blocks.
    #[inline(always)]
    pub(crate) fn indices_of(&self, pool: PoolId) -> std::ops::Range<usize> {
        let range = self.range_of(pool);
        range.start as usize..range.end as usize
    }

    #[inline(always)]
    pub(crate) fn local(&self, pool: PoolId, block: BlockId) -> LocalBlock {
        LocalBlock::new(block.get() - self.range_of(pool).start)
    }

    #[inline(always)]
    pub(crate) fn block(&self, pool: PoolId, local: LocalBlock) -> BlockId {
        BlockId::new(self.range_of(pool).start + local.get())
    }
}

/// The groups of pages that share blocks: write streams, or the classes of a placement policy.
fn groups(ftl: &FtlConfig, requirements: Requirements) -> Result<Groups, Misfit> {
    let Classes::Own { count, gc } = ftl.placement.classes()? else {
        return Groups::new(&ftl.shared_streams, requirements);
    };
    if ftl.shared_streams != FtlConfig::default().shared_streams {
        let problem = format!(
            "with ftl.placement \"{}\" the policy says which pages share blocks: leave it out",
            ftl.placement.name()
        );
        return Err(Misfit::new("ftl.shared_streams", problem));
    }
    Ok(Groups::by_class(count, &gc, ftl.placement.targets(), requirements.shadow_stream))
}

/// The numbers of free blocks at or below which GC works in steps, and in whole victims. `reserve` blocks
/// suffice to clean any victim.
fn marks(gc: &GcConfig, blocks_per_pool: u32, reserve: u32) -> Result<(u32, u32), Misfit> {
    let low = gc.low_mark.blocks(blocks_per_pool);
    if low == 0 {
        let problem = format!("{} of {blocks_per_pool} blocks is none: at least 1 block", gc.low_mark);
        return Err(Misfit::new("gc.low_mark", problem));
    }
    if low < reserve {
        let problem = format!(
            "{} of {blocks_per_pool} blocks is {low}: with this cooperation and placement GC fills {reserve} blocks at once, \
                 so it needs at least {reserve}",
            gc.low_mark
        );
        return Err(Misfit::new("gc.low_mark", problem));
    }
    match gc.mode {
        GcMode::Foreground => Ok((low, low)),
        GcMode::Background { .. } | GcMode::Lazy { .. } => {
            let mark = gc.mode.higher_mark(blocks_per_pool, low).unwrap_or(low);
            if mark <= low {
                let problem = format!("{mark} blocks is not more than gc.low_mark ({low} blocks)");
                return Err(Misfit::new("gc.mode.mark", problem));
            }
            Ok((mark, low))
        }
        GcMode::Preemptive { steps_max } => {
            if steps_max == 0 {
                return Err(Misfit::out_of_range("gc.mode.steps_max", 0, "at least 1"));
            }
            let least = reserve + PREEMPTIVE_BLOCKS;
            if low < least {
                let problem = format!(
                    "{} of {blocks_per_pool} blocks is {low}: preemptive GC needs at least {least}, one to copy into, \
                         one for writes in between, {reserve} in reserve",
                    gc.low_mark
                );
                return Err(Misfit::new("gc.low_mark", problem));
            }
            Ok((low, reserve))
        }
    }
}

/// The free blocks of a pool that preemptive GC needs above the mark for whole victims.
const PREEMPTIVE_BLOCKS: u32 = 2;
