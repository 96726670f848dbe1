//! Devices to test on.

use coflash_base::{Bytes, Duration, Seed, Share};
use coflash_cache::EvictionConfig;
use coflash_flash::Geometry;
use coflash_ftl::{Chips, FreeMark, Ftl, FtlConfig, GcConfig, Pools, Provisioning, Spare, Summary, Trigger};
use coflash_hybrid::costmodel::{Costs, DiskCosts, FlashCosts};
use coflash_hybrid::{ActiveBlocks, HybridConfig, PartialWrites, SchemeConfig, Tier};
use serde_json::json;

/// A device to test on.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) hybrid: HybridConfig,
    pub(crate) disk_pages: u32,
}

const PAGE_BYTES: u64 = 64;

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
        let trigger = if variant % 2 == 1 { Trigger::Operation } else { Trigger::Write };
        let low_mark = FreeMark::Blocks(1 + u32::from(active_blocks == ActiveBlocks::ByClass));
        let gc = GcConfig { low_mark, trigger, ..GcConfig::default() };
        let hybrid = HybridConfig {
            scheme: SchemeConfig::by_name(scheme).expect("a scheme"),
            segment: Bytes { count: PAGE_BYTES * u64::from(blocks * pages_per_block / 8) },
            period_requests: 20,
            sequential_unit: Bytes { count: 4 * PAGE_BYTES },
            sequential_streams: 2,
            destage_pages: 3,
            active_blocks,
            ..HybridConfig::default()
        };
        let name = format!("{scheme} on {blocks} blocks, variant {variant}");
        Self { name, geometry, ftl, gc, hybrid, disk_pages }
    }

    /// With parts of pages that are not cached going to the disk.
    fn with_parts_to_disk(mut self) -> Self {
        self.hybrid.partial_writes = PartialWrites::Disk;
        self.name += ", parts to the disk";
        self
    }

    fn under(mut self, policy: &str) -> Self {
        let by_blocks = EvictionConfig::by_name(policy).is_some_and(|policy| policy.unit_pages() > 1);
        let config = if by_blocks { json!({ "name": policy, "block_pages": 4 }) } else { json!(policy) };
        self.hybrid.policy = serde_json::from_value(config).expect("a policy");
        self.name = format!("{} under {policy}", self.name);
        self
    }

    pub(crate) fn all() -> Vec<Self> {
        let policies = ["fifo", "clock", "pt-lru", "fab"];
        let schemes = SchemeConfig::NAMES.iter().zip(policies).enumerate();
        schemes
            .flat_map(|(number, (scheme, policy))| {
                let one = Self::new(scheme, 24, 5, 48, number);
                let other = Self::new(scheme, 20, 6, 80, number + 1).under(policy);
                if number % 2 == 0 {
                    [one, other.with_parts_to_disk()]
                } else {
                    [one.with_parts_to_disk(), other]
                }
            })
            .collect()
    }

    pub(crate) fn large() -> Self {
        Self::new("op-fcl", 256, 16, 6000, 1)
    }

    pub(crate) fn tier(&self) -> Tier {
        let ftl = Ftl::new(&self.geometry, &self.ftl, &self.gc, self.hybrid.active_blocks.demands(), Seed(1))
            .expect("a device that fits");
        let us = |us: u64| Duration { ns: us * 1000 };
        let costs = Costs {
            flash: FlashCosts {
                pages_per_block: self.geometry.pages_per_block,
                page_program: us(300),
                page_read: us(125),
                page_copy: us(225),
                block_erase: us(1500),
            },
            disk: DiskCosts {
                read_positioning: us(4500),
                write_positioning: us(4900),
                bandwidth_bytes_per_s: 72_000_000,
                page_bytes: PAGE_BYTES,
            },
        };
        Tier::new(ftl, &self.geometry, self.ftl.summary, &self.hybrid, costs, self.disk_pages)
            .expect("a tier that fits")
    }
}
