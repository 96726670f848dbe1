//! Devices to test: tiny ones, drawn from a seed or made by hand.

use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Bytes, Lpn, Misfit, Share};
use coflash_ftl::placement::{Classes, Copies, FdpConfig, Isolation};
use coflash_ftl::{
    Chips, Coverage, FreeMark, Ftl, FtlConfig, GcConfig, GcMode, PageWrite, PlacementConfig, Pools,
    Provisioning, Requirements, Spare, Summary, Trigger, VictimConfig, WearLevelling, WriteStream,
};
use coflash_media::{Cause, Cell, Geometry, Memory, Place, Slot};

/// Everything an FTL is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) fractional: bool,
    pub(crate) seed: u64,
}

/// The cache slot of the tests.
pub(crate) const SLOT: Slot = Slot { memory: Memory::Device, number: 0 };

/// A whole page in the stream of its cause.
pub(crate) fn page_write(lpn: Lpn, from: Place, cause: Cause) -> PageWrite {
    PageWrite {
        lpn,
        coverage: Coverage::Full,
        from,
        cause,
        stream: WriteStream::by_cause(cause),
        placement: None,
    }
}

/// One of several, all alike.
pub(crate) fn pick<T: Clone>(stream: &mut RandomStream, choices: &[T]) -> T {
    choices[stream.random_range(0..choices.len())].clone()
}

impl Setup {
    /// A small device with four handles, persistently isolated.
    pub(crate) fn of_handles(copies: Copies, fdp: FdpConfig) -> Self {
        let mut setup = Self::small();
        setup.geometry.blocks_per_plane = 60;
        setup.ftl.pools = Pools::Device;
        let isolation = Isolation::Persistently { copies };
        setup.ftl.placement = PlacementConfig::Fdp(FdpConfig { handles: 4, isolation, ..fdp });
        setup.gc.low_mark = FreeMark::Blocks(4);
        setup.ftl.spare.share = Share::percent(60);
        setup
    }

    /// One die of one plane with 12 blocks of 4 pages, 4 sectors each, low mark 1, as full as it may be.
    pub(crate) fn small() -> Self {
        let geometry = Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 12,
            pages_per_block: 4,
            page_size: Bytes { count: 16 },
            sector_size: Bytes { count: 4 },
            exported: None,
            cell: Cell::Slc,
        };
        let gc = GcConfig { low_mark: FreeMark::Blocks(1), ..GcConfig::default() };
        Self { geometry, ftl: FtlConfig::default(), gc, fractional: false, seed: 1 }.with_least_spare()
    }

    /// Any shape and any options, as full as they allow or somewhat less.
    pub(crate) fn draw(stream: &mut RandomStream, victim: VictimConfig) -> Self {
        use WriteStream::{Evict, Gc, Host};
        let pages_per_block = pick(stream, &[2, 3, 4, 65]);
        let geometry = Geometry {
            channels: stream.random_range(1..=3),
            planes_per_die: if pages_per_block == 65 { 1 } else { stream.random_range(1..=3) },
            blocks_per_plane: stream.random_range(8..14),
            pages_per_block,
            ..Self::small().geometry
        };
        let shared =
            [vec![], vec![vec![Host, Evict]], vec![vec![Host, Gc], vec![Evict]], vec![vec![Host, Evict, Gc]]];
        let pools = pick(stream, &[Pools::Plane, Pools::Die, Pools::Device]);
        let ftl = FtlConfig {
            spare: Spare { definition: pick(stream, &PROVISIONING), ..Spare::default() },
            chips: if pools == Pools::Device { Chips::Static } else { pick(stream, &CHIPS) },
            pools,
            shared_streams: pick(stream, &shared),
            summary: pick(stream, &[Summary::Off, Summary::On, Summary::FreeInGc]),
            wear_levelling: {
                let chosen = stream.random_range(0..3);
                let gap = stream.random_range(1..4);
                [WearLevelling::Off, WearLevelling::Dynamic, WearLevelling::Static { gap }][chosen]
            },
            ..FtlConfig::default()
        };
        let mode = stream.random_range(0..3);
        let low_mark = if mode == 2 { 3 } else { stream.random_range(1..=2) };
        let trigger = pick(stream, &[Trigger::Write, Trigger::Operation]);
        let mark = stream.random::<bool>().then_some(FreeMark::Blocks(3));
        let steps_max = stream.random_range(1..10);
        let gc = GcConfig {
            victim,
            low_mark: FreeMark::Blocks(low_mark),
            trigger,
            mode: [GcMode::Foreground, GcMode::Background { mark }, GcMode::Preemptive { steps_max }][mode],
            copy_buffer: None,
        };
        let fractional = stream.random();
        let setup = Self { geometry, ftl, gc, fractional, seed: stream.random() };
        let placement =
            if stream.random() { PlacementConfig::default() } else { pick(stream, &placements()) };
        let mut setup = setup.with_placement(placement).with_least_spare();
        if stream.random() {
            setup.ftl.spare.share.ppb += stream.random_range(0..100_000_000);
        }
        setup
    }

    /// The device, or why not.
    pub(crate) fn build(&self) -> Result<Ftl, Misfit> {
        let requirements =
            Requirements { fractional_costs: self.fractional, age_classes: true, ..Requirements::NONE };
        Ftl::new(&self.geometry, &self.ftl, &self.gc, requirements, Seed(self.seed))
    }

    /// With the smallest spare share that is accepted.
    pub(crate) fn with_least_spare(mut self) -> Self {
        let accepted = |setup: &mut Self, ppb| {
            setup.ftl.spare.share = Share { ppb };
            setup.build().is_ok()
        };
        // Too much is refused too: then no page is left to the host.
        let shares = (1..200).map(|step| step * 50_000_000);
        let mut enough =
            shares.into_iter().find(|&ppb| accepted(&mut self, ppb)).expect("some share is enough");
        let mut refused = enough - 50_000_000;
        while enough - refused > 1 {
            let middle = refused.midpoint(enough);
            *(if accepted(&mut self, middle) { &mut enough } else { &mut refused }) = middle;
        }
        self.ftl.spare.share = Share { ppb: enough };
        self
    }

    pub(crate) fn low_mark(&self) -> usize {
        blocks(self.gc.low_mark)
    }

    /// Free blocks at which a write waits for whole victims.
    pub(crate) fn reserve(&self) -> usize {
        if matches!(self.gc.mode, GcMode::Preemptive { .. }) {
            self.copied_to() as usize
        } else {
            self.low_mark()
        }
    }

    /// Free blocks at which GC begins to clean a victim.
    pub(crate) fn high_mark(&self) -> usize {
        match self.gc.mode {
            GcMode::Background { mark: Some(mark) } => blocks(mark),
            GcMode::Background { mark: None } => self.low_mark() + 1,
            _ => self.low_mark(),
        }
    }

    /// The flash in blocks, or superblocks, as the FTL erases it.
    pub(crate) fn units(&self) -> Geometry {
        self.ftl.erase_units(&self.geometry)
    }

    /// Blocks that are erased together.
    pub(crate) fn blocks_per_erase(&self) -> u32 {
        self.ftl.blocks_per_erase(&self.geometry)
    }

    /// The classes of the placement policy.
    pub(crate) fn classes(&self) -> Classes {
        self.ftl.placement.classes().expect("the setup is accepted")
    }

    /// Groups of pages that GC copies to.
    pub(crate) fn copied_to(&self) -> u32 {
        match self.classes() {
            Classes::Streams => 1,
            Classes::Own { .. } => self.ftl.placement.targets(),
        }
    }

    /// With a placement policy, and the blocks that it needs.
    pub(crate) fn with_placement(mut self, placement: PlacementConfig) -> Self {
        self.ftl.placement = placement;
        if let Classes::Own { count, .. } = self.classes() {
            let above = if matches!(self.gc.mode, GcMode::Preemptive { .. }) { 2 } else { 0 };
            let low_mark = (self.low_mark() as u32).max(self.copied_to() + above);
            self.gc.low_mark = FreeMark::Blocks(low_mark);
            if let GcMode::Background { mark: Some(mark) } = &mut self.gc.mode {
                *mark = FreeMark::Blocks(low_mark + 1);
            }
            self.ftl.shared_streams = FtlConfig::default().shared_streams;
            self.geometry.blocks_per_plane += low_mark + count;
        }
        self
    }

    /// Blocks that share a free list.
    pub(crate) fn blocks_per_pool(&self) -> u32 {
        match self.ftl.pools {
            Pools::Plane | Pools::Device => self.geometry.blocks_per_plane,
            Pools::Die => self.geometry.blocks_per_die(),
        }
    }

    /// Pages of a block that hold data.
    pub(crate) fn data_pages(&self) -> u32 {
        self.units().pages_per_block - u32::from(self.ftl.summary != Summary::Off)
    }
}

fn blocks(mark: FreeMark) -> usize {
    match mark {
        FreeMark::Blocks(blocks) => blocks as usize,
        FreeMark::Share(_) => panic!("these tests count in blocks"),
    }
}

const CHIPS: [Chips; 3] = [Chips::Static, Chips::RoundRobin, Chips::LeastBusy];

pub(crate) const PROVISIONING: [Provisioning; 2] =
    [Provisioning::OverProvisioning, Provisioning::SpareOfPhysical];

/// Every registered victim policy with its default parameters.
pub(crate) fn victims() -> impl Iterator<Item = VictimConfig> {
    let named = |name: &&str| VictimConfig::by_name(name).expect("it is registered");
    VictimConfig::NAMES.iter().map(named).chain([any_block()])
}

/// Any sealed block: the only policy whose victims may be full of valid pages.
pub(crate) fn any_block() -> VictimConfig {
    coflash_base::read::read(&serde_json::json!({ "name": "d-choices", "d": 1 })).expect("it is registered")
}

/// Every registered placement policy with its default parameters.
pub(crate) fn placements() -> Vec<PlacementConfig> {
    PlacementConfig::NAMES
        .iter()
        .map(|name| PlacementConfig::by_name(name).expect("it is registered"))
        .chain([quick_midas()])
        .collect()
}

/// MiDAS with queues after a few passes.
fn quick_midas() -> PlacementConfig {
    coflash_base::read::read(&serde_json::json!({"name": "midas", "groups": 4, "sampling": 1, "epoch": 1}))
        .expect("it is valid")
}

/// Says which setup failed.
pub(crate) struct Reproduce<'a>(pub(crate) &'a Setup);

impl Drop for Reproduce<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:?}", self.0);
        }
    }
}
