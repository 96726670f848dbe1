//! Devices to cut power to: the smallest, and any.

use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Bytes, Seed, Share};
use coflash_cache::EvictionConfig;
use coflash_controller::nvm::Layout;
use coflash_controller::{CacheConfig, CacheSize, Controller, CooperationConfig};
use coflash_flash::Geometry;
use coflash_ftl::{
    Chips, FreeMark, FtlConfig, GcConfig, GcMode, Pools, Provisioning, Spare, Summary, Trigger, VictimConfig,
    WearLevelling,
};

/// Everything a device is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) cache: CacheConfig,
    pub(crate) cooperation: CooperationConfig,
    pub(crate) layout: Layout,
}

impl Setup {
    /// One plane of `blocks` blocks of `pages_per_block` pages, four blocks of them spare, and so many slots.
    pub(crate) fn new(
        blocks: u32,
        pages_per_block: u32,
        slots: u32,
        deletions: u32,
        trigger: Trigger,
    ) -> Self {
        let geometry = Geometry {
            channels: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_size: Bytes { count: 16 },
            sector_size: Bytes { count: 8 },
            ..Geometry::default()
        };
        let ftl = FtlConfig { spare: spare(4, blocks), ..FtlConfig::default() };
        let cache = CacheConfig {
            size: CacheSize::Bytes(Bytes { count: u64::from(slots) * 16 }),
            ..CacheConfig::default()
        };
        Self {
            layout: Layout { slots, deletions, logical_pages: ftl.logical_pages(&geometry) },
            gc: GcConfig { low_mark: FreeMark::Blocks(1), trigger, ..GcConfig::default() },
            cooperation: cooperation(deletions, (5, 10)),
            geometry,
            ftl,
            cache,
        }
    }

    /// The same with GC of this mode, which needs so many blocks more of spare.
    pub(crate) fn with_mode(mut self, mode: GcMode) -> Self {
        self.gc.mode = mode;
        match mode {
            GcMode::Foreground => {}
            GcMode::Background => self.gc.background_mark = Some(FreeMark::Blocks(2)),
            GcMode::Preemptive => (self.gc.low_mark, self.gc.steps_max) = (FreeMark::Blocks(3), 1),
        }
        let more = match mode {
            GcMode::Foreground => 0,
            GcMode::Background => 1,
            GcMode::Preemptive => 2,
        };
        // As many pages for the host as before.
        self.geometry.blocks_per_plane += more;
        self.ftl.spare = spare(4 + more, self.geometry.blocks_per_plane);
        assert_eq!(self.ftl.logical_pages(&self.geometry), self.layout.logical_pages);
        self
    }

    /// A device of the stream's choice; the number goes through all pairs of eviction and victim policies.
    pub(crate) fn draw(number: usize, stream: &mut Stream) -> Self {
        let below = |stream: &mut Stream, of: u32| stream.random_range(0..of) as usize;
        let evictions = EvictionConfig::NAMES.len();
        let victims = VictimConfig::NAMES.len();
        let mut geometry = Geometry {
            channels: stream.random_range(1..3),
            dies_per_chip: stream.random_range(1..3),
            planes_per_die: stream.random_range(1..3),
            pages_per_block: stream.random_range(2..9),
            page_size: Bytes { count: 16 },
            sector_size: Bytes { count: 8 },
            ..Geometry::default()
        };
        let (shared_streams, groups) =
            [("[]", 3), (r#"[["host","evict"]]"#, 2), (r#"[["host","evict","gc"]]"#, 1)][below(stream, 3)];
        let pools = [Pools::Plane, Pools::Die][below(stream, 2)];
        // As tight as may be, or roomier: the low mark, the open blocks and the reserve.
        let low_mark = stream.random_range(1..4);
        let mode = [GcMode::Foreground, GcMode::Background, GcMode::Preemptive][below(stream, 3)];
        let mode = if mode == GcMode::Preemptive && low_mark < 3 { GcMode::Background } else { mode };
        let step_mark = low_mark + if mode == GcMode::Background { stream.random_range(1..3) } else { 0 };
        let kept_back = step_mark + groups + 1 + stream.random_range(0..3) / 2;
        geometry.blocks_per_plane = kept_back + stream.random_range(2..8);
        let pool_blocks = match pools {
            Pools::Plane => geometry.blocks_per_plane,
            Pools::Die => geometry.blocks_per_die(),
        };
        let ftl = FtlConfig {
            spare: spare(kept_back, pool_blocks),
            chips: [Chips::Static, Chips::RoundRobin, Chips::LeastBusy][below(stream, 3)],
            pools,
            shared_streams: serde_json::from_str(shared_streams).expect("streams"),
            summary: [Summary::Off, Summary::On, Summary::FreeInGc][below(stream, 3)],
            wear_levelling: [WearLevelling::Off, WearLevelling::Dynamic, WearLevelling::Static]
                [below(stream, 3)],
            wear_gap: 1,
            ..FtlConfig::default()
        };
        let gc = GcConfig {
            victim: VictimConfig::by_name(VictimConfig::NAMES[number / evictions % victims])
                .expect("a policy"),
            low_mark: FreeMark::Blocks(low_mark),
            trigger: [Trigger::Write, Trigger::Operation][below(stream, 2)],
            mode,
            background_mark: (mode == GcMode::Background).then_some(FreeMark::Blocks(step_mark)),
            steps_max: stream.random_range(1..6),
        };
        let logical_pages = ftl.logical_pages(&geometry);
        let slots = stream.random_range(1..24).min(logical_pages);
        let cache = CacheConfig {
            size: CacheSize::Bytes(Bytes { count: u64::from(slots) * 16 }),
            policy: EvictionConfig::by_name(EvictionConfig::NAMES[number % evictions]).expect("a policy"),
            read_allocate: below(stream, 4) > 0,
            ..CacheConfig::default()
        };
        let deletions = stream.random_range(1..6);
        let cooperation = cooperation(deletions, [(5, 10), (5, 100), (30, 60)][below(stream, 3)]);
        let layout = Layout { slots, deletions, logical_pages };
        Self { geometry, ftl, gc, cache, cooperation, layout }
    }

    pub(crate) fn controller(&self) -> Controller {
        Controller::new(&self.geometry, &self.ftl, &self.gc, &self.cache, &self.cooperation, Seed(1))
            .unwrap_or_else(|(key, problem)| panic!("{key}: {problem}"))
    }
}

/// The share that leaves `spare` of `blocks` blocks unused by the host.
fn spare(spare: u32, blocks: u32) -> Spare {
    let share = Share { ppb: u64::from(spare) * Share::ONE.ppb / u64::from(blocks) };
    Spare { share, definition: Provisioning::SpareOfPhysical }
}

/// The scheme with its watermarks in percent.
fn cooperation(deletions: u32, (low, high): (u32, u32)) -> CooperationConfig {
    let json = serde_json::json!({
        "name": "cdm-consistent", "deletions_max": deletions, "commit_interval": "1us",
        "low_watermark": format!("{low}%"), "high_watermark": format!("{high}%"),
    });
    serde_json::from_value(json).expect("a configuration")
}
