//! Devices to test on.

use crate::media::PAGE_BYTES;
use crate::moments::When;
use coflash_base::{Bytes, Seed, Share};
use coflash_cache::EvictionConfig;
use coflash_ftl::{
    Chips, FreeMark, FtlConfig, GcConfig, GcMode, Pools, Provisioning, Requirements, Spare, Summary, Trigger,
};
use coflash_hybrid::{
    ActiveBlocks, Hybrid, HybridConfig, HybridParts, PartialWrites, SchemeConfig, WritePolicy,
};
use coflash_level::cooperation::Setting;
use coflash_level::{CacheConfig, CooperationConfig, MayCache, WriteBack};
use coflash_media::disk::{Disks, SECTOR_BYTES};
use coflash_media::{Geometry, Memory, Timing};
use serde_json::json;

/// A device to test on.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) hybrid: HybridConfig,
    pub(crate) disk_pages: u32,
    /// A cache above: its slots, its scheme, and whether it survives a cut.
    pub(crate) above: Option<(u32, CooperationConfig, bool)>,
}

impl Setup {
    fn new(scheme: &str, blocks: u32, pages_per_block: u32, disk_pages: u32, variant: usize) -> Self {
        let geometry = Geometry {
            channels: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_size: Bytes { count: PAGE_BYTES },
            sector_size: Bytes { count: PAGE_BYTES },
            ..Geometry::default()
        };
        let ftl = FtlConfig {
            spare: Spare { share: Share::percent(30), definition: Provisioning::SpareOfPhysical },
            chips: Chips::RoundRobin,
            pools: Pools::Die,
            summary: if variant.is_multiple_of(2) { Summary::On } else { Summary::Off },
            shared_streams: if variant.is_multiple_of(3) {
                vec![]
            } else {
                FtlConfig::default().shared_streams
            },
            ..FtlConfig::default()
        };
        // Where streams have blocks of their own, classes have, too.
        let active_blocks =
            if variant.is_multiple_of(3) { ActiveBlocks::ByClass } else { ActiveBlocks::Mixed };
        let mode = [GcMode::Foreground, GcMode::Background, GcMode::Preemptive][variant % 3];
        let reserve = 1 + u32::from(active_blocks == ActiveBlocks::ByClass);
        let gc = GcConfig {
            low_mark: FreeMark::Blocks(if mode == GcMode::Preemptive { reserve + 2 } else { reserve }),
            trigger: if variant % 2 == 1 { Trigger::Operation } else { Trigger::Write },
            mode,
            ..GcConfig::default()
        };
        let hybrid = HybridConfig {
            disks: serde_json::from_value(json!({ "model": {
                "name": "constant",
                "capacity": format!("{}B", u64::from(disk_pages) * SECTOR_BYTES),
            }}))
            .expect("disks"),
            scheme: SchemeConfig::by_name(scheme).expect("a scheme"),
            segment: Bytes { count: PAGE_BYTES * u64::from(blocks * pages_per_block / 8) },
            period_requests: 20,
            sequential_unit: Bytes { count: 4 * PAGE_BYTES },
            sequential_streams: 2,
            destage_pages: 3,
            active_blocks,
            ..HybridConfig::default()
        };
        Self { geometry, ftl, gc, hybrid, disk_pages, above: None }
    }

    /// With parts of pages that are not cached going to the disk.
    fn with_parts_to_disk(mut self) -> Self {
        self.hybrid.partial_writes = PartialWrites::Disk;
        self
    }

    fn under(mut self, policy: &str) -> Self {
        let by_blocks = EvictionConfig::by_name(policy).is_some_and(|policy| policy.unit_pages() > 1);
        let config = if by_blocks { json!({ "name": policy, "block_pages": 4 }) } else { json!(policy) };
        self.hybrid.policy = serde_json::from_value(config).expect("a policy");
        self
    }

    /// With writes that go to the disk as well.
    fn writing_through(mut self) -> Self {
        self.hybrid.write_policy = WritePolicy::WriteThrough;
        self
    }

    pub(crate) fn writes_through(&self) -> bool {
        self.hybrid.write_policy == WritePolicy::WriteThrough
    }

    pub(crate) fn all() -> Vec<Self> {
        let policies = ["fifo", "clock", "pt-lru", "fab"];
        let schemes = SchemeConfig::NAMES.iter().zip(policies).enumerate();
        schemes
            .flat_map(|(number, (scheme, policy))| {
                let one = Self::new(scheme, 24, 5, 48, number);
                let other = Self::new(scheme, 20, 6, 80, number + 1).under(policy);
                let through = Self::new(scheme, 24, 5, 48, number + 2).writing_through();
                if number % 2 == 0 {
                    [one, other.with_parts_to_disk(), through.under(policy)]
                } else {
                    [one.with_parts_to_disk(), other, through.with_parts_to_disk()]
                }
            })
            .collect()
    }

    /// The same with a cache above under each scheme, of a size that holds a part of what the flash cache does.
    pub(crate) fn all_below_caches() -> Vec<Self> {
        let durable = [
            json!("none"),
            json!("cdm"),
            json!({ "name": "cdm", "removable_weight": 0 }),
            json!({ "name": "cdm", "removable_weight": "by-age" }),
            json!("cdm-overwrites"),
            json!("cdm-removable"),
            json!("cdm-invalidate-on-cache"),
            json!("cdm-hgc"),
            json!("dgc"),
        ];
        let volatile = [json!("none"), json!("sgc"), json!({ "name": "delay", "shadows": "both" })];
        let all =
            durable.map(|scheme| (scheme, true)).into_iter().chain(volatile.map(|scheme| (scheme, false)));
        let over = |(number, (scheme, is_durable)): (usize, (serde_json::Value, bool))| {
            let scheme: CooperationConfig = serde_json::from_value(scheme).expect("a scheme");
            let mut setups = Self::all();
            // A cache above writes back.
            setups.retain(|setup| !setup.writes_through());
            // Each scheme meets some of the flash caches, and each of these some of the schemes.
            let some = (0..3).map(move |index| setups[(number + 3 * index) % setups.len()].clone());
            some.map(move |mut setup| {
                // Some schemes have GC fill one more block.
                if let FreeMark::Blocks(blocks) = &mut setup.gc.low_mark
                    && scheme.requirements().shadow_stream
                {
                    setup.geometry.blocks_per_plane += 12;
                    *blocks += 1;
                }
                Self { above: Some((8, scheme.clone(), is_durable)), ..setup }
            })
        };
        all.enumerate().flat_map(over).collect()
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.above.as_ref().is_some_and(|above| !above.2)
    }

    pub(crate) fn large() -> Self {
        Self::new("op-fcl", 256, 16, 6000, 1)
    }

    pub(crate) fn level(&self) -> MayCache<Hybrid<When>> {
        let Some((slots, scheme, is_durable)) = &self.above else {
            return MayCache::Bare(self.hybrid(Requirements::NONE));
        };
        let cache = CacheConfig { volatile: !is_durable, ..CacheConfig::default() };
        let setting = Setting {
            slots: *slots,
            page_bytes: PAGE_BYTES,
            logical_pages: self.disk_pages,
            memory: Memory::Device,
            is_volatile: cache.volatile,
            write_allocate: true,
            grants: false,
        };
        let built = scheme.build(&setting).expect("a scheme that fits");
        MayCache::Cached(WriteBack::with_scheme(self.hybrid(scheme.requirements()), &cache, &setting, built))
    }

    /// The words of the cache above.
    pub(crate) fn words(&self) -> u32 {
        match self.level() {
            MayCache::Cached(cache) => cache.layout().words(),
            MayCache::Bare(_) => 0,
        }
    }

    fn hybrid(&self, cooperation: Requirements) -> Hybrid<When> {
        let Self { geometry, ftl, gc, hybrid, .. } = self;
        let parts =
            HybridParts { geometry, timing: &Timing::default(), ftl, gc, hybrid, cooperation, seed: Seed(1) };
        // A page here is smaller than a sector of a disk.
        let disks = Disks::new(&hybrid.disks, SECTOR_BYTES).expect("disks of whole sectors");
        Hybrid::new(&parts, &disks).expect("a hybrid that fits")
    }
}
