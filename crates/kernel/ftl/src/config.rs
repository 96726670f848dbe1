//! The FTL in a scenario.

use crate::placement::PlacementConfig;
use crate::refresh_config::RefreshConfig;
use crate::stream::{StreamGroups, WriteStream};
use crate::victim::VictimConfig;
use coflash_base::read::number_or_text;
use coflash_base::{Bytes, Misfit, Ratio, Share};
use coflash_media::Geometry;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The definition of a spare share: the literature has two (T physical pages, U exported pages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provisioning {
    /// (T − U) / T, DiskSim's "reserve pages".
    SpareOfPhysical,
    /// (T − U) / U, the usual definition.
    #[default]
    OverProvisioning,
}

coflash_base::config! {
    /// Spare space: flash that is not exported to the host.
    #[derive(Eq)]
    pub struct Spare {
        /// The share, more than 0%. An over-provisioning may exceed 100%.
        #[serde(deserialize_with = "any_ratio")]
        pub share: Share = Share::percent(15),
        /// The definition of the share.
        pub definition: Provisioning = Provisioning::OverProvisioning,
    }
}

fn any_ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    Ratio::deserialize(deserializer).map(|Ratio(share)| share)
}

impl Spare {
    /// The number of exported pages (U): a multiple of the number of dies, so that pages are striped evenly.
    #[must_use]
    pub fn logical_pages(&self, data_pages_per_die: u64, dies: u64) -> u64 {
        let one = u128::from(Share::ONE.ppb);
        let (pages, ppb) = (u128::from(data_pages_per_die), u128::from(self.share.ppb));
        let per_die = match self.definition {
            Provisioning::SpareOfPhysical => pages * one.saturating_sub(ppb) / one,
            Provisioning::OverProvisioning => pages * one / (one + ppb),
        };
        per_die as u64 * dies
    }

    /// The number of pages needed to export `logical_pages`: the inverse of
    /// [`logical_pages`](Self::logical_pages) for one die.
    #[must_use]
    fn data_pages(&self, logical_pages: u64) -> u64 {
        let one = u128::from(Share::ONE.ppb);
        let (pages, ppb) = (u128::from(logical_pages), u128::from(self.share.ppb));
        let data_pages = match self.definition {
            // The device's constructor refuses a share of 100%.
            Provisioning::SpareOfPhysical => (pages * one).div_ceil(one.saturating_sub(ppb).max(1)),
            Provisioning::OverProvisioning => (pages * (one + ppb)).div_ceil(one),
        };
        u64::try_from(data_pages).unwrap_or(u64::MAX)
    }
}

coflash_base::config! {
    /// The choice of the die for a write.
    pub enum Chips, default Static {
        /// Page number modulo the number of dies: a page never leaves its die.
        Static,
        /// The next die with room, in turn.
        RoundRobin,
        /// The die with the shortest backlog among those with room.
        LeastBusy,
    }

    /// The allocation pools. Each has a free list, active blocks and a GC of its own.
    pub enum Pools, default Plane {
        /// One pool per plane. A write goes to the plane of its die with the most free pages; ties are broken in turn.
        Plane,
        /// One pool per die.
        Die,
        /// One pool over the device, of superblocks: a block of every plane of every die. Pages of a superblock go round the dies,
        /// and its blocks are erased together.
        Device,
    }
}

impl Pools {
    /// The number of blocks of a pool, in the FTL's erase units ([`FtlConfig::erase_units`]).
    #[must_use]
    pub fn blocks(self, erase_units: &Geometry) -> u32 {
        match self {
            Self::Plane | Self::Device => erase_units.blocks_per_plane,
            Self::Die => erase_units.blocks_per_die(),
        }
    }
}

coflash_base::config! {
    /// Whether the last page of a block holds a summary: the owners of its other pages.
    pub enum Summary, default Off {
        /// All pages hold data.
        Off,
        /// Sealing a block programs its summary.
        On,
        /// As `on`, but the summary of a block sealed by GC costs nothing (as in the reference simulator).
        FreeInGc,
    }
}

coflash_base::choice! {
    /// The order in which free blocks are used.
    #[derive(Copy, Eq)]
    pub enum WearLevelling, default Off {
        /// In the order in which they became free.
        Off,
        /// The least-erased block first; ties go to the lowest block number.
        Dynamic,
        /// As `dynamic`, and cold data moves to worn blocks: when GC has erased a block `gap` times more often than the least-erased
        /// sealed block, it takes over the data of that block, which is then free for new writes.
        Static {
            /// The difference in erases above which a block takes over the data of the least-erased sealed block of its pool.
            #[serde(default = "wear_gap")]
            gap: u32,
        },
    }
}

fn wear_gap() -> u32 {
    16
}

coflash_base::choice! {
    /// The times at which GC works.
    #[derive(Copy, Eq)]
    pub enum GcMode, default Foreground {
        /// GC cleans whole victims when a pool is at or below the low mark, before the operation that triggers it.
        Foreground,
        /// As `foreground`, and GC also works while a die is idle and a pool is at or below `mark`: one page copy or erase after
        /// the other. A request waits for at most one that has begun.
        Background {
            /// GC works in idle time while a pool has at most this many free blocks; more than `low_mark`. By default a tenth more,
            /// at least 1 block. A higher mark leaves less spare space, which raises write amplification.
            mark: Option<FreeMark>,
        },
        /// GC does at most `steps_max` page copies and erases before each operation while a pool is at or below the low
        /// mark. It cleans whole victims only if a pool is down to its last free block.
        Preemptive {
            /// The most page copies and erases before an operation, at least 1. It must suffice for the pages that GC copies per
            /// page written; otherwise pools run down to their last free block.
            #[serde(default = "steps_max")]
            steps_max: u32,
        },
        /// As `foreground`, and before each write GC also cleans every victim of which at most the share `valid` is still valid,
        /// while a pool is at or below `mark`. Victims with more to copy wait for the low mark.
        Lazy {
            /// The mark at which victims with few valid pages are cleaned; more than `low_mark`. By default a tenth more, at least 1
            /// block.
            mark: Option<FreeMark>,
            /// The largest share of valid pages of a victim above the low mark.
            #[serde(default = "lazy_valid")]
            valid: Share,
        },
    }
}

fn steps_max() -> u32 {
    8
}

fn lazy_valid() -> Share {
    Share::percent(5)
}

impl GcMode {
    /// The mark at which GC works above the low mark, in a pool of `blocks` blocks with this low mark; `None` if it does not.
    #[must_use]
    pub fn higher_mark(self, blocks: u32, low: u32) -> Option<u32> {
        let (Self::Background { mark } | Self::Lazy { mark, .. }) = self else { return None };
        Some(mark.map_or(low.saturating_add((low / 10).max(1)), |mark| mark.blocks(blocks)))
    }
}

coflash_base::config! {
    /// The operations that check whether GC is needed.
    pub enum Trigger, default Write {
        /// Before a page is programmed.
        Write,
        /// Before any operation on the die, including reads (as in the reference simulator).
        Operation,
    }
}

/// A number of free blocks in a pool: a share of its blocks (`"5%"`) or a count (`3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeMark {
    /// A share of the pool's blocks, rounded down.
    Share(Share),
    /// A number of blocks.
    Blocks(u32),
}

impl FreeMark {
    /// The mark as a number of blocks, for a pool of `blocks` blocks.
    #[must_use]
    pub fn blocks(self, blocks: u32) -> u32 {
        match self {
            Self::Share(share) => share.part_of(u64::from(blocks)).try_into().unwrap_or(u32::MAX),
            Self::Blocks(count) => count,
        }
    }
}

impl fmt::Display for FreeMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => share.fmt(f),
            Self::Blocks(count) => write!(f, "{count} blocks"),
        }
    }
}

impl Serialize for FreeMark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(share) => share.serialize(serializer),
            Self::Blocks(count) => count.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FreeMark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_or_text(deserializer, "a share such as \"5%\" or a number of blocks", |given| match given {
            Ok(count) => {
                let is_count = count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&count);
                Ok(is_count.then_some(Self::Blocks(count as u32)))
            }
            Err(text) => text.parse().map(|share| Some(Self::Share(share))),
        })
    }
}

impl JsonSchema for FreeMark {
    fn schema_name() -> Cow<'static, str> {
        "FreeMark".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"], "examples": ["5%", 16], "description": "a share such as \"5%\", or a number of blocks",
        })
    }
}

coflash_base::config! {
    /// Garbage collection.
    pub struct GcConfig {
        /// The victim policy.
        pub victim: VictimConfig,
        /// Low mark: GC works while a pool has at most this many free blocks. A share of the pool's blocks, rounded down, or a
        /// number, at least 1.
        pub low_mark: FreeMark = FreeMark::Share(Share::percent(5)),
        /// The operations that check whether GC is needed.
        pub trigger: Trigger,
        /// The times at which GC works.
        pub mode: GcMode,
        /// With device-wide pools: room in the controller for pages that are copied from die to die. Pages take it in the order of GC; a
        /// page has it before its read, and until its program has ended. Default: four pages for each die, or for each plane if planes
        /// work in parallel.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub copy_buffer: Option<Bytes>,
    }
}

impl GcConfig {
    /// The number of pages on their way from die to die, if it is given.
    #[must_use]
    pub fn copies(&self, page_bytes: u64) -> Option<u32> {
        self.copy_buffer.map(|buffer| u32::try_from(buffer.count / page_bytes.max(1)).unwrap_or(u32::MAX))
    }

    /// Check the room for copies from die to die.
    ///
    /// # Errors
    /// Room where pages stay on their die, or for less than a page.
    pub fn check_copies(&self, pools: Pools, page_bytes: u64) -> Result<(), Misfit> {
        let Some(buffer) = self.copy_buffer else { return Ok(()) };
        let problem = if pools != Pools::Device {
            "pages are copied from die to die only with ftl.pools = \"device\": leave it out".to_owned()
        } else if buffer.count < page_bytes {
            format!("{buffer} is less than a page of {page_bytes} B")
        } else {
            return Ok(());
        };
        Err(Misfit::new("gc.copy_buffer", problem))
    }
}

coflash_base::config! {
    /// The pSLC cache: blocks of cells with several bits that are written with one, which is faster. See `flash.cell`.
    #[derive(Eq)]
    pub struct SlcCacheConfig {
        /// The maximum number of SLC blocks of a pool: a share of the pool's blocks or a number; 0 for no cache.
        pub blocks: FreeMark = FreeMark::Blocks(0),
        /// Blocks are opened as SLC while a pool has more free blocks than this. It is at least the mark at which GC works.
        pub while_free: FreeMark = FreeMark::Share(Share::percent(10)),
    }

    /// The flash translation layer.
    pub struct FtlConfig {
        /// Spare space: flash that is not exported to the host.
        pub spare: Spare,
        /// The choice of the die for a write. With device-wide pools a write goes to the next page of an open superblock, so
        /// that there is nothing to choose.
        pub chips: Chips,
        /// The allocation pools. Each has a free list, active blocks and a GC of its own.
        pub pools: Pools,
        /// With device-wide pools: the size of a reclaim unit, whose blocks are filled and erased together. It is a whole number of
        /// superblocks, each a block of every plane. Default: a superblock.
        pub reclaim_unit: Option<Bytes>,
        /// The placement policy: which open block takes a page.
        pub placement: PlacementConfig,
        /// Without a placement policy, streams that share an active block: a list of lists of "host", "evict", "gc" and "shadow". A stream that is not
        /// named has its own; "shadow" only if the cooperation scheme separates shadows.
        pub shared_streams: StreamGroups = vec![vec![WriteStream::Host, WriteStream::Evict]],
        /// Whether the last page of a block holds a summary: the owners of its other pages.
        pub summary: Summary,
        /// The order in which free blocks are used, and whether cold data is moved.
        pub wear_levelling: WearLevelling,
        /// Refresh: rewriting data before it fades. Off by default.
        pub refresh: RefreshConfig,
        /// The pSLC cache: blocks that are written with one bit per cell. Off by default.
        pub slc_cache: SlcCacheConfig,
        /// Size of the indirection unit: data that the map keeps together. A write of a part of it reads the rest and writes all of
        /// it. A multiple of `flash.page_size`. Default: a page.
        pub indirection_unit: Option<Bytes>,
    }
}

impl FtlConfig {
    /// The number of logical pages exported to the host (U).
    #[must_use]
    pub fn logical_pages(&self, geometry: &Geometry) -> u32 {
        let pages = self.logical_pages_per_die(geometry).saturating_mul(geometry.dies().into());
        u32::try_from(pages).unwrap_or(u32::MAX)
    }

    /// The number of logical pages over the number of dies.
    #[must_use]
    pub fn logical_pages_per_die(&self, geometry: &Geometry) -> u64 {
        geometry.exported_pages_per_die().unwrap_or_else(|| {
            let pages = u64::from(geometry.blocks_per_die()) * self.data_pages_per_block(geometry);
            self.spare.logical_pages(pages, 1)
        })
    }

    /// Check that the spare space leaves room both to GC and to the host.
    ///
    /// # Errors
    /// A share of nothing, or of everything.
    pub fn check_spare(&self, geometry: &Geometry) -> Result<(), Misfit> {
        let share = self.spare.share;
        let problem = if share == Share::ZERO {
            "0% leaves GC no space to work in: more than 0%".to_owned()
        } else if self.logical_pages(geometry) == 0 || self.spare.logical_pages(1 << 32, 1) == 0 {
            format!("{share} leaves no page to the host; less is allowed (spare_of_physical: below 100%)")
        } else {
            return Ok(());
        };
        Err(Misfit::new("ftl.spare.share", problem))
    }

    /// The fewest blocks per plane that leave the spare space in addition to the exported capacity that the
    /// geometry gives; `None` if the geometry gives none.
    #[must_use]
    pub fn blocks_per_plane(&self, geometry: &Geometry) -> Option<u32> {
        let per_die = geometry.exported_pages_per_die()?;
        let per_stripe = u64::from(geometry.planes_per_die) * self.data_pages_per_block(geometry);
        let blocks = self.spare.data_pages(per_die).div_ceil(per_stripe.max(1));
        let whole = blocks.next_multiple_of(self.superblocks_per_unit(geometry).into());
        Some(u32::try_from(whole).unwrap_or(u32::MAX))
    }

    /// The number of superblocks of a reclaim unit, at least 1.
    #[must_use]
    pub fn superblocks_per_unit(&self, flash: &Geometry) -> u32 {
        let units = self.reclaim_unit.map_or(1, |unit| unit.count / flash.superblock_bytes().max(1));
        u32::try_from(units).unwrap_or(u32::MAX).max(1)
    }

    /// The number of blocks that are filled and erased together.
    #[must_use]
    pub fn blocks_per_erase(&self, flash: &Geometry) -> u32 {
        match self.pools {
            Pools::Plane | Pools::Die => 1,
            Pools::Device => flash.planes() * self.superblocks_per_unit(flash),
        }
    }

    /// The flash in the FTL's units of filling and erasing: its own blocks, or units of superblocks.
    #[must_use]
    pub fn erase_units(&self, flash: &Geometry) -> Geometry {
        match self.pools {
            Pools::Plane | Pools::Die => flash.clone(),
            Pools::Device => flash.superblocks(self.superblocks_per_unit(flash)),
        }
    }

    /// Check the size of reclaim units.
    ///
    /// # Errors
    /// A size that the pools do not support, or that does not divide the flash.
    pub fn check_reclaim_unit(&self, flash: &Geometry) -> Result<(), Misfit> {
        let Some(unit) = self.reclaim_unit else { return Ok(()) };
        let (superblock, blocks) = (Bytes { count: flash.superblock_bytes() }, flash.blocks_per_plane);
        if self.pools != Pools::Device {
            let problem = format!(
                "{unit} was given; with ftl.pools = \"device\" only are there units of several blocks"
            );
            return Err(Misfit::new("ftl.reclaim_unit", problem));
        }
        if unit.count == 0 || !unit.count.is_multiple_of(superblock.count) {
            let problem = format!("{unit} was given; whole superblocks of {superblock} are allowed");
            return Err(Misfit::new("ftl.reclaim_unit", problem));
        }
        let superblocks = unit.count / superblock.count;
        if !u64::from(blocks).is_multiple_of(superblocks) {
            let problem = format!(
                "{unit} was given, {superblocks} superblocks of {superblock}: the {blocks} of the device \
                 (flash.blocks_per_plane) are not a multiple of that"
            );
            return Err(Misfit::new("ftl.reclaim_unit", problem));
        }
        Ok(())
    }

    /// The number of pages of each block that may hold data.
    #[must_use]
    pub fn data_pages_per_block(&self, geometry: &Geometry) -> u64 {
        u64::from(geometry.pages_per_block.saturating_sub(self.summary_pages()))
    }

    /// The number of pages of each block that hold no data.
    pub(crate) fn summary_pages(&self) -> u32 {
        u32::from(self.summary != Summary::Off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_definitions_of_spare() {
        let spare = |definition| Spare { share: Share::percent(25), definition };
        assert_eq!(spare(Provisioning::SpareOfPhysical).logical_pages(1000, 2), 1500);
        assert_eq!(spare(Provisioning::OverProvisioning).logical_pages(1000, 2), 1600);
        assert_eq!(spare(Provisioning::SpareOfPhysical).data_pages(750), 1000);
        assert_eq!(spare(Provisioning::OverProvisioning).data_pages(800), 1000);
        for definition in [Provisioning::SpareOfPhysical, Provisioning::OverProvisioning] {
            for pages in 1..2000 {
                let data_pages = spare(definition).data_pages(pages);
                assert!(spare(definition).logical_pages(data_pages, 1) >= pages);
                assert!(spare(definition).logical_pages(data_pages - 1, 1) < pages);
            }
        }
    }
}
