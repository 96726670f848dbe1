//! What a scenario says of the FTL.

use crate::advisor::Demands;
use crate::pool::Stream;
use crate::refresh::RefreshConfig;
use crate::victim::VictimConfig;
use coflash_base::Share;
use coflash_flash::Geometry;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// Which of the two definitions in the literature a spare share follows (T physical pages, U exported ones).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provisioning {
    /// (T − U) / T, DiskSim's "reserve pages".
    SpareOfPhysical,
    /// (T − U) / U, the usual definition.
    #[default]
    OverProvisioning,
}

/// How much of flash the host does not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spare {
    /// The share, more than 0%.
    pub share: Share,
    /// Which of the two definitions it follows.
    pub definition: Provisioning,
}

impl Default for Spare {
    fn default() -> Self {
        Self { share: Share::percent(15), definition: Provisioning::OverProvisioning }
    }
}

impl Spare {
    /// U, of so many data pages: a whole number of pages on each die, so that striping comes out even.
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
}

/// How a write finds its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Chips {
    /// Page number modulo the number of dies: a page never leaves its die.
    #[default]
    Static,
    /// The next die in turn that has room.
    RoundRobin,
    /// The die with the least work before it, of those that have room.
    LeastBusy,
}

/// Which blocks share one allocation pool: a free list, active blocks and a GC of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pools {
    /// Each plane; a write goes to the plane of its die with the most free pages, searched in turn.
    #[default]
    Plane,
    /// Each die.
    Die,
}

/// Whether the last page of a block holds a summary of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// All pages hold data.
    #[default]
    Off,
    /// Sealing a block programs its summary.
    On,
    /// As `on`, but a block that GC seals gets its summary for nothing (the reference simulator does this).
    FreeInGc,
}

/// How free blocks are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WearLevelling {
    /// In the order in which they became free.
    #[default]
    Off,
    /// The least-erased first; of equals the lowest block number.
    Dynamic,
    /// As `dynamic`; and a block that GC erases `wear_gap` times more often than the least-erased sealed one takes over
    /// the latter's data, which is cold: the young block is free to be written.
    Static,
}

/// When GC works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcMode {
    /// When a pool is at or under the low mark: whole victims, before the operation that found it so.
    #[default]
    Foreground,
    /// As `foreground`, and while a die is idle: one page copy or erase after the other, for as long as nothing else is
    /// to be done and a pool is at or under `background_mark`. An operation waits for at most the one that has begun.
    Background,
    /// When a pool is at or under the low mark, but no more than `steps_max` page copies and erases before each operation;
    /// whole victims only where a pool is down to its last free block.
    Preemptive,
}

/// When GC looks whether it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Before a page is programmed.
    #[default]
    Write,
    /// Before any operation on the die, reads included (the reference simulator does this).
    Operation,
}

/// A number of free blocks in a pool: a share of its blocks (`"5%"`) or a count (`3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeMark {
    /// A share of the pool's blocks, rounded down.
    Share(Share),
    /// So many blocks.
    Blocks(u32),
}

impl FreeMark {
    /// The mark in blocks of a pool of `blocks`.
    #[must_use]
    pub fn of(self, blocks: u32) -> u32 {
        match self {
            Self::Share(share) => share.of(u64::from(blocks)).try_into().unwrap_or(u32::MAX),
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
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = FreeMark;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share such as \"5%\" or a number of blocks")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<FreeMark, E> {
                text.parse().map(FreeMark::Share).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<FreeMark, E> {
                u32::try_from(count)
                    .map(FreeMark::Blocks)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<FreeMark, E> {
                u32::try_from(count)
                    .map(FreeMark::Blocks)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(count), &self))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for FreeMark {
    fn schema_name() -> Cow<'static, str> {
        "FreeMark".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "description": "a share such as \"5%\" or a number of blocks" })
    }
}

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Which sealed block is cleaned next.
    pub victim: VictimConfig,
    /// GC runs while a pool has this many free blocks or fewer; a share of the pool's blocks or a count, at least 1.
    pub low_mark: FreeMark,
    /// When GC looks whether it is needed.
    pub trigger: Trigger,
    /// When GC works.
    #[serde(skip_serializing_if = "is_foreground")]
    #[schemars(extend("default" = "foreground"))]
    pub mode: GcMode,
    /// `background`: GC goes on in idle time while a pool has this many free blocks or fewer; more than `low_mark`. Unless
    /// given, a tenth more, at least 1 block. The higher, the less spare space is left to keep write amplification low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_mark: Option<FreeMark>,
    /// `preemptive`: page copies and erases before an operation, at most; at least 1. Enough for what GC must copy for each
    /// page written, or pools come down to their last free block.
    #[serde(skip_serializing_if = "is_default_steps")]
    #[schemars(extend("default" = STEPS_MAX))]
    pub steps_max: u32,
}

const STEPS_MAX: u32 = 8;

// Options at their defaults are left out, so that scenarios older than these options keep their hashes.

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_foreground(mode: &GcMode) -> bool {
    *mode == GcMode::Foreground
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_default_steps(steps: &u32) -> bool {
    *steps == STEPS_MAX
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_default_gap(gap: &u32) -> bool {
    *gap == WEAR_GAP
}

impl GcConfig {
    /// GC works in steps while a pool has this many free blocks or fewer, in whole victims at or under the second number.
    /// `reserve` blocks are enough to clean any victim.
    fn marks(&self, blocks_per_pool: u32, reserve: u32) -> Result<(u32, u32), (&'static str, String)> {
        let low = self.low_mark.of(blocks_per_pool);
        if low == 0 {
            let problem = format!("{} of {blocks_per_pool} blocks is none: at least 1 block", self.low_mark);
            return Err(("gc.low_mark", problem));
        }
        if low < reserve {
            let problem = format!(
                "{} of {blocks_per_pool} blocks is {low}: with this cooperation GC fills {reserve} blocks at once, so it \
                 needs at least {reserve}",
                self.low_mark
            );
            return Err(("gc.low_mark", problem));
        }
        match self.mode {
            GcMode::Foreground => Ok((low, low)),
            GcMode::Background => {
                let higher = low.saturating_add((low / 10).max(1));
                let mark = self.background_mark.map_or(higher, |mark| mark.of(blocks_per_pool));
                if mark <= low {
                    let problem = format!("{mark} blocks is not more than gc.low_mark ({low} blocks)");
                    return Err(("gc.background_mark", problem));
                }
                Ok((mark, low))
            }
            GcMode::Preemptive => {
                if self.steps_max == 0 {
                    return Err(("gc.steps_max", "0 was given; at least 1 is allowed".to_owned()));
                }
                let least = reserve + PREEMPTIVE_BLOCKS;
                if low < least {
                    let problem = format!(
                        "{} of {blocks_per_pool} blocks is {low}: preemptive GC needs at least {least}, one to copy into, \
                         one for writes in between, {reserve} in reserve",
                        self.low_mark
                    );
                    return Err(("gc.low_mark", problem));
                }
                Ok((low, reserve))
            }
        }
    }
}

/// Free blocks of a pool that preemptive GC needs beside those at which it gives way no longer.
const PREEMPTIVE_BLOCKS: u32 = 2;

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            victim: VictimConfig::default(),
            low_mark: FreeMark::Share(Share::percent(5)),
            trigger: Trigger::default(),
            mode: GcMode::default(),
            background_mark: None,
            steps_max: STEPS_MAX,
        }
    }
}

/// Which streams share an active block: each inner list does.
pub type StreamGroups = Vec<Vec<Stream>>;

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// How much of flash the host does not see.
    pub spare: Spare,
    /// How a write finds its die.
    pub chips: Chips,
    /// Which blocks share one allocation pool.
    pub pools: Pools,
    /// Which streams share an active block: a list of lists of "host", "evict", "gc" and "shadow"; a stream not
    /// named has its own, but "shadow" only where the cooperation keeps it apart.
    pub shared_streams: StreamGroups,
    /// Whether the last page of a block holds a summary of the others.
    pub summary: Summary,
    /// How free blocks are handed out, and whether cold data is moved.
    pub wear_levelling: WearLevelling,
    /// `static`: a block takes over cold data when it was erased more often than the least-erased sealed block of its pool
    /// by more than this.
    #[serde(skip_serializing_if = "is_default_gap")]
    #[schemars(extend("default" = WEAR_GAP))]
    pub wear_gap: u32,
    /// When data is rewritten so that it does not fade; never, unless told.
    #[serde(skip_serializing_if = "RefreshConfig::is_default")]
    pub refresh: RefreshConfig,
}

const WEAR_GAP: u32 = 16;

impl Default for FtlConfig {
    fn default() -> Self {
        Self {
            spare: Spare::default(),
            chips: Chips::default(),
            pools: Pools::default(),
            shared_streams: vec![vec![Stream::Host, Stream::Evict]],
            summary: Summary::default(),
            wear_levelling: WearLevelling::default(),
            wear_gap: WEAR_GAP,
            refresh: RefreshConfig::default(),
        }
    }
}

impl FtlConfig {
    /// Logical pages that the host sees (U), of a device so divided.
    #[must_use]
    pub fn logical_pages(&self, geometry: &Geometry) -> u32 {
        let data_pages = geometry.pages_per_block.saturating_sub(self.summary_pages());
        let per_die = u64::from(geometry.blocks_per_die()) * u64::from(data_pages);
        self.spare.logical_pages(per_die, u64::from(geometry.dies())) as u32
    }

    /// Pages of each block that hold no data.
    fn summary_pages(&self) -> u32 {
        u32::from(self.summary != Summary::Off)
    }
}

/// The FTL's configuration in numbers of this device, checked.
#[derive(Clone, Debug)]
pub(crate) struct Dimensions {
    pub(crate) logical_pages: u32,
    pub(crate) data_pages_per_block: u32,
    pub(crate) pools_per_die: u32,
    pub(crate) blocks_per_pool: u32,
    /// At this many free blocks or fewer, GC cleans whole victims before a pool is written.
    pub(crate) low_mark_blocks: u32,
    /// At this many free blocks or fewer, GC works in steps; not less than `low_mark_blocks`.
    pub(crate) step_mark_blocks: u32,
    /// The active block group of each stream.
    pub(crate) group_of: [u8; Stream::COUNT],
    pub(crate) groups: u32,
    /// Valid pages that a pool may hold so that GC always finds something to gain.
    pub(crate) valid_pages_max: u32,
}

impl Dimensions {
    pub(crate) fn new(
        geometry: &Geometry,
        ftl: &FtlConfig,
        gc: &GcConfig,
        demands: Demands,
    ) -> Result<Self, (&'static str, String)> {
        ftl.refresh.check()?;
        let summary_pages = ftl.summary_pages();
        if geometry.pages_per_block <= summary_pages {
            return Err((
                "flash.pages_per_block",
                "1 is too few: a block with a summary needs at least 2".to_owned(),
            ));
        }
        let data_pages_per_block = geometry.pages_per_block - summary_pages;
        let (pools_per_die, blocks_per_pool) = match ftl.pools {
            Pools::Plane => (geometry.planes_per_die, geometry.blocks_per_plane),
            Pools::Die => (1, geometry.blocks_per_die()),
        };
        let (group_of, groups) = group_streams(&ftl.shared_streams, demands.shadow_stream)?;
        // GC may find each block that it fills full when it begins, but not the same one twice.
        let copied_to: BTreeSet<_> = demands.copy_streams().map(|stream| group_of[stream as usize]).collect();
        let reserve = copied_to.len() as u32;
        let (step_mark_blocks, low_mark_blocks) = gc.marks(blocks_per_pool, reserve)?;
        if ftl.spare.share == Share::ZERO {
            return Err(("ftl.spare.share", "0% leaves GC no space to work in: more than 0%".to_owned()));
        }
        let dies = u64::from(geometry.dies());
        let logical_pages = u64::from(ftl.logical_pages(geometry));
        if logical_pages == 0 {
            return Err(("ftl.spare.share", format!("{} leaves no page to the host", ftl.spare.share)));
        }
        // Free blocks at the mark, the active blocks, and one to copy into: none of them may be needed for data.
        let kept_back = step_mark_blocks.saturating_add(groups + 1);
        let usable = u64::from(blocks_per_pool.saturating_sub(kept_back)) * u64::from(data_pages_per_block);
        let per_pool = logical_pages.div_ceil(dies * u64::from(pools_per_die));
        if per_pool > usable {
            return Err((
                "ftl.spare.share",
                format!(
                    "the device is too small: a pool of {blocks_per_pool} blocks must hold {per_pool} pages, but GC keeps \
                     {kept_back} blocks back ({} mark {step_mark_blocks}, {groups} active, 1 reserve), which leaves room \
                     for {usable}; more spare share, more blocks or a lower {}",
                    if gc.mode == GcMode::Background { "background" } else { "low" },
                    if gc.mode == GcMode::Background { "gc.background_mark" } else { "gc.low_mark" }
                ),
            ));
        }
        Ok(Self {
            logical_pages: ftl.logical_pages(geometry),
            data_pages_per_block,
            pools_per_die,
            blocks_per_pool,
            low_mark_blocks,
            step_mark_blocks,
            group_of,
            groups,
            valid_pages_max: usable as u32,
        })
    }
}

/// The group of each stream, and how many groups there are.
fn group_streams(
    shared: &StreamGroups,
    shadow_apart: bool,
) -> Result<([u8; Stream::COUNT], u32), (&'static str, String)> {
    let mut group_of = [u8::MAX; Stream::COUNT];
    let mut groups = 0;
    for group in shared {
        for &stream in group {
            let entry = &mut group_of[stream as usize];
            if *entry != u8::MAX {
                return Err(("ftl.shared_streams", format!("stream {stream:?} is named twice")));
            }
            *entry = groups;
        }
        groups += u8::from(!group.is_empty());
    }
    let [known @ .., shadow] = &mut group_of;
    for entry in known.iter_mut().filter(|entry| **entry == u8::MAX) {
        *entry = groups;
        groups += 1;
    }
    if *shadow == u8::MAX {
        *shadow = if shadow_apart { groups } else { known[Stream::Gc as usize] };
        groups += u8::from(shadow_apart);
    }
    Ok((group_of, u32::from(groups)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_definitions_of_spare() {
        let spare = |definition| Spare { share: Share::percent(25), definition };
        assert_eq!(spare(Provisioning::SpareOfPhysical).logical_pages(1000, 2), 1500);
        assert_eq!(spare(Provisioning::OverProvisioning).logical_pages(1000, 2), 1600);
    }

    #[test]
    fn streams_that_are_not_named_have_their_own_block() {
        use Stream::{Evict, Gc, Host, Shadow};
        let groups = |shared: &[&[Stream]], apart| {
            group_streams(&shared.iter().map(|group| group.to_vec()).collect(), apart).ok()
        };
        assert_eq!(groups(&[&[Host, Evict]], false), Some(([0, 0, 1, 1], 2)));
        assert_eq!(groups(&[&[Host, Evict]], true), Some(([0, 0, 1, 2], 3)));
        assert_eq!(groups(&[&[Host, Gc, Evict]], false), Some(([0, 0, 0, 0], 1)));
        assert_eq!(groups(&[&[Host, Shadow]], true), Some(([0, 1, 2, 0], 3)));
        assert_eq!(groups(&[], false), Some(([0, 1, 2, 2], 3)));
        assert_eq!(groups(&[&[Gc], &[Gc]], false), None);
    }
}
