//! Devices to test on.

use crate::media::PAGE_BYTES;
use crate::stack::Stack;
use coflash_base::{Amount, Bytes, Duration, Seed, Share};
use coflash_cache::EvictionConfig;
use coflash_ftl::{
    Chips, FreeMark, FtlConfig, GcConfig, GcMode, Pools, Provisioning, Spare, Summary, Trigger,
};
use coflash_hybrid::{ActiveBlocks, Hybrid, HybridConfig, PartialWrites, SchemeConfig, WritePolicy};
use coflash_level::{
    CacheConfig, ControllerConfig, CooperationConfig, DeviceConfig, HostConfig, LinkCost, Notices, Placement,
    Protecting, StackConfig, WriteBufferConfig,
};
use coflash_media::disk::{Disks, SECTOR_BYTES};
use coflash_media::{Geometry, Timing};
use serde_json::json;
use std::num::NonZeroU32;

/// The schemes of a non-volatile cache, wherever it is.
const SCHEMES: [&str; 7] = [
    r#""none""#,
    r#""cdm""#,
    r#"{ "name": "cdm", "removable_weight": 0 }"#,
    r#"{ "name": "cdm", "removable_weight": "adaptive" }"#,
    r#""cdm-overwrites""#,
    r#""cdm-removable""#,
    r#""cdm-invalidate-on-cache""#,
];

/// A device to test on.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) hybrid: HybridConfig,
    pub(crate) disk_pages: u32,
    /// What lies above: a cache with its scheme, and the host's write buffer; both of no slots if there is none.
    pub(crate) cache: CacheConfig,
    pub(crate) cooperation: CooperationConfig,
    pub(crate) buffer: WriteBufferConfig,
    host: HostConfig,
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
        let mode =
            [GcMode::Foreground, GcMode::Background { mark: None }, GcMode::Preemptive { steps_max: 8 }]
                [variant % 3];
        let reserve = 1 + u32::from(active_blocks == ActiveBlocks::ByClass);
        let gc = GcConfig {
            low_mark: FreeMark::Blocks(if matches!(mode, GcMode::Preemptive { .. }) {
                reserve + 2
            } else {
                reserve
            }),
            trigger: if variant % 2 == 1 { Trigger::Operation } else { Trigger::Write },
            mode,
            ..GcConfig::default()
        };
        let hybrid = HybridConfig {
            disks: coflash_base::read::read(&json!({ "model": {
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
        Self {
            geometry,
            ftl,
            gc,
            hybrid,
            disk_pages,
            cache: CacheConfig::default(),
            cooperation: CooperationConfig::default(),
            buffer: WriteBufferConfig::default(),
            host: HostConfig::default(),
        }
    }

    /// With parts of pages that are not cached going to the disk.
    fn with_parts_to_disk(mut self) -> Self {
        self.hybrid.partial_writes = PartialWrites::Disk;
        self
    }

    fn under(mut self, policy: &str) -> Self {
        let by_blocks = EvictionConfig::by_name(policy).is_some_and(|policy| policy.unit_pages() > 1);
        let config = if by_blocks { json!({ "name": policy, "block_pages": 4 }) } else { json!(policy) };
        self.hybrid.policy = coflash_base::read::read(&config).expect("a policy");
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
        let policies = ["fifo", "clock", "pt-lru", "bplru"];
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

    /// The same with a cache in the device under each scheme.
    pub(crate) fn all_below_caches() -> Vec<Self> {
        let durable = SCHEMES.map(|scheme| (scheme, true)).into_iter().chain(
            [r#"{ "name": "cdm", "removable_weight": "by-age" }"#, r#""cdm-hgc""#, r#""dgc""#]
                .map(|scheme| (scheme, true)),
        );
        let volatile = [r#""none""#, r#""sgc""#, r#"{ "name": "delay", "shadows": "both" }"#];
        let all = durable.chain(volatile.map(|scheme| (scheme, false))).enumerate();
        all.flat_map(|(number, (scheme, is_durable))| Self::some_below(number, scheme, is_durable)).collect()
    }

    /// The same with memories in the host: a cache under each scheme, a write buffer, or both; or the buffer above a cache in the
    /// device. Notices are late, and overtake each other.
    pub(crate) fn all_below_hosts(protecting: Protecting) -> Vec<Self> {
        let in_host = SCHEMES.map(|scheme| (scheme, true, Placement::Host)).into_iter();
        let in_host = in_host.chain([(r#""none""#, false, Placement::Host)]);
        let in_device = [
            (r#""none""#, true),
            (r#""cdm""#, true),
            (r#""cdm-hgc""#, true),
            (r#""dgc""#, true),
            (r#""hgc""#, true),
            (r#""sgc""#, false),
            (r#"{ "name": "delay", "shadows": "both" }"#, false),
        ];
        let in_device = in_device.map(|(scheme, is_durable)| (scheme, is_durable, Placement::InStorage));
        let of = |(number, (scheme, is_durable, placement)): (usize, (&'static str, bool, Placement))| {
            let somes = Self::some_below(number, scheme, is_durable).enumerate();
            let all = somes.flat_map(move |(index, mut setup)| {
                setup.cache.placement = placement;
                let number = number + index;
                setup.host = HostConfig {
                    notices: [
                        Notices::Each,
                        Notices::Batched {
                            max: NonZeroU32::new(1 + 3 * (number as u32 % 4)).expect("not zero"),
                            wait: Duration { ns: 40 },
                        },
                        Notices::default(),
                    ][number % 3],
                    jitter: Duration { ns: [0, 30][number % 2] },
                    protecting,
                    ..HostConfig::default()
                };
                setup.buffer.dirty_age_max = Duration { ns: 200 };
                let mut buffered = setup.clone();
                buffered.buffer.size = slots(6);
                let mut alone = buffered.clone();
                alone.cache.size = slots(0);
                let has_slots = scheme == r#""none""# || scheme == r#""hgc""#;
                [
                    (placement == Placement::Host).then_some(setup),
                    Some(buffered),
                    (has_slots && is_durable).then_some(alone),
                ]
            });
            all.flatten()
        };
        in_host.chain(in_device).enumerate().flat_map(of).collect()
    }

    /// Some of all below a cache that holds a part of what the flash cache does. Each scheme meets some of the flash caches, and each of these some of
    /// the schemes.
    fn some_below(number: usize, scheme: &str, is_durable: bool) -> impl Iterator<Item = Self> + use<> {
        let scheme: CooperationConfig =
            coflash_base::read::read(&serde_json::from_str::<serde_json::Value>(scheme).unwrap())
                .expect("a scheme");
        let mut setups = Self::all();
        // A cache above writes back.
        setups.retain(|setup| !setup.writes_through());
        (0..3).map(move |index| {
            let mut setup = setups[(number + 3 * index) % setups.len()].clone();
            // Some schemes have GC fill one more block.
            if let FreeMark::Blocks(blocks) = &mut setup.gc.low_mark
                && scheme.requirements().shadow_stream
            {
                setup.geometry.blocks_per_plane += 12;
                *blocks += 1;
            }
            setup.cache = CacheConfig { size: slots(8), volatile: !is_durable, ..CacheConfig::default() };
            Self { cooperation: scheme.clone(), ..setup }
        })
    }

    /// Whether a memory above does not survive a cut.
    pub(crate) fn is_volatile(&self) -> bool {
        self.buffer.exists() || self.cache.volatile
    }

    /// Whether a memory is above.
    pub(crate) fn has_above(&self) -> bool {
        self.buffer.exists() || self.cache.size != slots(0)
    }

    pub(crate) fn large() -> Self {
        Self::new("op-fcl", 256, 16, 6000, 1)
    }

    pub(crate) fn level(&self) -> Stack {
        let Self { geometry, ftl, gc, cache, cooperation, hybrid, .. } = self;
        let device = DeviceConfig { geometry, ftl, gc, cache, cooperation, seed: Seed(1) };
        let config = StackConfig {
            device,
            pages_per_unit: 1,
            controller: &ControllerConfig::default(),
            link: LinkCost::new(Duration::ZERO, 0.0),
            host: &self.host,
            buffer: &self.buffer,
        };
        // A page here is smaller than a sector of a disk.
        let disks = Disks::new(&hybrid.disks, SECTOR_BYTES).expect("disks of whole sectors");
        let hybrid = Hybrid::new(&device, &Timing::default(), hybrid, &disks).expect("a hybrid that fits");
        config.levels(self.disk_pages).expect("levels that fit").over_cache(hybrid)
    }
}

fn slots(slots: u64) -> Amount {
    Amount::Bytes(Bytes { count: slots * PAGE_BYTES })
}
