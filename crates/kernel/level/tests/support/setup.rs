//! Everything that a stack is made of.

use super::checked::PAGE_BYTES;
use super::stack::{Device, device_of};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Amount, Bytes, Duration, Misfit, Seed, Share};
use coflash_cache::EvictionConfig;
use coflash_ftl::{
    Chips, FreeMark, Ftl, FtlConfig, GcConfig, GcMode, PlacementConfig, Pools, Provisioning, Spare, Summary,
    Trigger, VictimConfig, WearLevelling, WriteStream,
};
use coflash_level::nvm::Layout;
use coflash_level::{
    CacheConfig, ControllerConfig, Cooperates, CooperationConfig, DeviceConfig, DevicePort, Eviction,
    HostConfig, Levels, LinkCost, Linked, May, Placement, Protecting, StackConfig, Tower, WriteBack,
    WriteBufferConfig,
};
use coflash_media::{Geometry, Memory};
use coflash_testing::Image;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) cache: CacheConfig,
    pub(crate) cooperation: CooperationConfig,
    pub(crate) buffer: WriteBufferConfig,
    /// The messages between host and device, where the cache is in the host.
    pub(crate) host: HostConfig,
    pub(crate) cost: LinkCost,
    pub(crate) controller: ControllerConfig,
    pub(crate) pages_per_unit: u32,
    pub(crate) seed: Seed,
}

impl Setup {
    /// One plane of `blocks` blocks of 4 pages, GC at one free block; `spare_blocks` hold nothing of the host's. A
    /// message takes a microsecond, and a nanosecond a byte.
    pub(crate) fn tiny(blocks: u32, spare_blocks: u32) -> Self {
        let geometry = Geometry {
            channels: 1,
            blocks_per_plane: blocks,
            pages_per_block: 4,
            page_size: Bytes { count: PAGE_BYTES as u64 },
            sector_size: Bytes { count: 1 },
            ..Geometry::default()
        };
        Self {
            geometry,
            ftl: FtlConfig { spare: spare(spare_blocks, blocks), ..FtlConfig::default() },
            gc: GcConfig { low_mark: FreeMark::Blocks(1), ..GcConfig::default() },
            cache: CacheConfig::default(),
            cooperation: CooperationConfig::default(),
            buffer: WriteBufferConfig::default(),
            host: HostConfig::default(),
            cost: LinkCost::new(Duration { ns: 1000 }, 1.0),
            controller: ControllerConfig::default(),
            pages_per_unit: 1,
            seed: Seed(1),
        }
    }

    /// As `tiny`, with one open block and GC of the oldest block first: it is known which block goes when.
    pub(crate) fn oldest_first() -> Self {
        let mut setup = Self::tiny(8, 3);
        setup.ftl.shared_streams = vec![vec![WriteStream::Host, WriteStream::Evict, WriteStream::Gc]];
        setup.gc.victim = VictimConfig::by_name("fifo").expect("a policy");
        setup
    }

    pub(crate) fn with_slots(mut self, slots: u32) -> Self {
        self.cache.size = slots_of(slots);
        self
    }

    /// With a write buffer of `slots` slots in the host.
    pub(crate) fn with_buffer(mut self, slots: u32) -> Self {
        self.buffer.size = slots_of(slots);
        self
    }

    /// With the cooperation as a scenario writes it, and a cache that goes with it.
    pub(crate) fn with_scheme(mut self, json: &str) -> Self {
        let scheme: serde_json::Value = serde_json::from_str(json).expect("it is JSON");
        self.cooperation =
            coflash_base::read::read(&scheme).unwrap_or_else(|error| panic!("{json}: {error}"));
        self.cache.volatile = ["sgc", "twin-discard"].contains(&self.cooperation.name());
        self
    }

    /// With the cache in the host.
    pub(crate) fn in_host(mut self) -> Self {
        self.cache.placement = Placement::Host;
        self
    }

    /// Draws everything that tests do not fix, with `slots` cache slots. The device is as full as allowed, or has up to
    /// two more blocks.
    pub(crate) fn draw(scheme: &str, slots: u32, stream: &mut RandomStream) -> Self {
        let mut setup = Self::tiny(8, 4).with_scheme(scheme);
        setup.seed = Seed(stream.random());
        setup.geometry.channels = stream.random_range(1..3);
        setup.geometry.planes_per_die = stream.random_range(1..3);
        setup.geometry.pages_per_block = stream.random_range(2..6);
        setup.ftl.pools = pick(stream, &[Pools::Plane, Pools::Die, Pools::Device]);
        if setup.ftl.pools != Pools::Device {
            setup.ftl.chips = pick(stream, &[Chips::Static, Chips::RoundRobin, Chips::LeastBusy]);
        }
        setup.ftl.summary = pick(stream, &[Summary::Off, Summary::On, Summary::FreeInGc]);
        setup.ftl.wear_levelling =
            pick(stream, &[WearLevelling::Off, WearLevelling::Dynamic, WearLevelling::Static { gap: 1 }]);
        if stream.random_range(0..3) == 0 {
            setup.ftl.placement =
                PlacementConfig::by_name(pick(stream, PlacementConfig::NAMES)).expect("a policy");
        }
        if setup.ftl.placement == PlacementConfig::default() {
            let shared = pick(stream, &["[]", r#"[["host","evict"]]"#, r#"[["host","evict","gc"]]"#]);
            setup.ftl.shared_streams = serde_json::from_str(shared).expect("streams");
        }
        setup.gc.victim = VictimConfig::by_name(pick(stream, VictimConfig::NAMES)).expect("a policy");
        setup.gc.trigger = pick(stream, &[Trigger::Write, Trigger::Operation]);
        let mode = stream.random_range(0..3);
        setup.gc.low_mark = FreeMark::Blocks(stream.random_range(1..3));
        let steps_max = stream.random_range(1..6);
        setup.gc.mode =
            [GcMode::Foreground, GcMode::Background { mark: None }, GcMode::Preemptive { steps_max }][mode];
        setup.cache.policy = EvictionConfig::by_name(pick(stream, EvictionConfig::NAMES)).expect("a policy");
        setup.cache.read_allocate = stream.random_range(0..4) > 0;
        let past_cache = stream.random_range(0..4) == 0 && setup.cooperation.name() != "cdm-consistent";
        setup.cache.write_allocate = !past_cache;
        setup.cache.eviction = pick(stream, &[Eviction::Foreground, Eviction::Background]);
        let (data_blocks, roomier) = (stream.random_range(4..8), stream.random_range(0..3));
        let setup = setup.fit(data_blocks, roomier);
        let slots = slots.min(setup.logical_pages());
        setup.with_slots(slots)
    }

    /// Size each plane for its data blocks, the blocks that GC keeps back, and `roomier` more.
    pub(crate) fn fit(mut self, data_blocks: u32, roomier: u32) -> Self {
        let planes = match self.ftl.pools {
            Pools::Plane | Pools::Device => 1,
            Pools::Die => self.geometry.planes_per_die,
        };
        let resize = |setup: &mut Self, blocks_per_plane: u32| {
            setup.geometry.blocks_per_plane = blocks_per_plane;
            setup.ftl.spare = spare(blocks_per_plane * planes - data_blocks, blocks_per_plane * planes);
        };
        let mut blocks_per_plane = data_blocks.div_ceil(planes) + 1;
        loop {
            resize(&mut self, blocks_per_plane);
            match (self.config().erased_flash(), self.gc.low_mark) {
                (Ok(_), _) => break,
                (Err(misfit), FreeMark::Blocks(mark)) if misfit.key == "gc.low_mark" => {
                    self.gc.low_mark = FreeMark::Blocks(mark + 1);
                }
                (Err(misfit), _) if blocks_per_plane > 3 * data_blocks + 20 => panic!("{misfit}\n{self:?}"),
                _ => blocks_per_plane += 1,
            }
        }
        resize(&mut self, blocks_per_plane + roomier);
        self
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.geometry.page_size.count
    }

    pub(crate) fn logical_pages(&self) -> u32 {
        self.ftl.logical_pages(&self.geometry)
    }

    fn slots(&self, size: Amount) -> u32 {
        size.pages(self.page_bytes(), self.logical_pages().into()) as u32
    }

    pub(crate) fn config(&self) -> DeviceConfig<'_> {
        let Self { geometry, ftl, gc, cache, cooperation, seed, .. } = self;
        DeviceConfig { geometry, ftl, gc, cache, cooperation, seed: *seed }
    }

    pub(crate) fn device(&self) -> Device {
        device_of(&self.stack())
    }

    pub(crate) fn flash(&self) -> Ftl {
        self.accepted(self.config().erased_flash())
    }

    pub(crate) fn stack_config(&self) -> StackConfig<'_> {
        StackConfig {
            device: self.config(),
            pages_per_unit: self.pages_per_unit,
            controller: &self.controller,
            link: self.cost.clone(),
            host: &self.host,
            buffer: &self.buffer,
        }
    }

    /// Flash behind the port of the device, below a link.
    pub(crate) fn port(&self, flash: Ftl) -> DevicePort<Ftl> {
        self.stack_config().port(May::Lack(flash), None)
    }

    /// A cache in the host over a level that `between` makes of the link over flash.
    pub(crate) fn host_cache<L: Cooperates>(
        &self,
        flash: Ftl,
        between: impl FnOnce(Linked<DevicePort<Ftl>>) -> L,
    ) -> WriteBack<L> {
        let grants = matches!(self.host.protecting, Protecting::Grants { .. });
        let cache = self.config().cache(Memory::Host, self.logical_pages(), grants);
        let (setting, scheme) = self.accepted(cache);
        let link = Linked::new(self.port(flash), &setting, &self.host, &self.cost, self.seed);
        WriteBack::with_scheme(between(link), &self.cache, &setting, scheme)
    }

    /// The levels above flash.
    pub(crate) fn levels(&self) -> Levels<'_> {
        self.accepted(self.stack_config().levels(self.logical_pages()))
    }

    /// The levels over erased flash.
    pub(crate) fn stack(&self) -> Tower<Ftl> {
        self.levels().over(self.flash())
    }

    fn accepted<T>(&self, result: Result<T, Misfit>) -> T {
        result.unwrap_or_else(|misfit| panic!("{misfit}\n{self:?}"))
    }

    /// Flash and caches as bytes.
    pub(crate) fn image(&self) -> Image {
        let memory = match self.cache.placement {
            Placement::InStorage => Memory::Device,
            Placement::Host => Memory::Host,
        };
        Image::new(&self.ftl.erase_units(&self.geometry), 0)
            .with_slots(memory, self.slots(self.cache.size))
            .with_slots(Memory::HostBuffer, self.slots(self.buffer.size))
    }

    /// The layout of the cache's metadata.
    pub(crate) fn layout(&self) -> Layout {
        self.stack().layout().expect("over flash there is a cache")
    }
}

fn slots_of(slots: u32) -> Amount {
    Amount::Bytes(Bytes { count: u64::from(slots) * PAGE_BYTES as u64 })
}

/// The share that leaves `spare` of `blocks` blocks unused by the host.
pub(crate) fn spare(spare: u32, blocks: u32) -> Spare {
    // Rounded down: the pages of the other blocks are all the host's.
    let ppb = u64::from(spare) * Share::ONE.ppb / u64::from(blocks);
    Spare { share: Share { ppb }, definition: Provisioning::SpareOfPhysical }
}

/// One of several, all alike.
pub(crate) fn pick<T: Copy>(stream: &mut RandomStream, choices: &[T]) -> T {
    choices[stream.random_range(0..choices.len())]
}
