//! Devices small enough to reason about, and how tests act on them.

use coflash_base::seed::{self, RngExt};
use coflash_base::{Bytes, Lpn, Seed, Share};
use coflash_controller::{CacheConfig, CacheSize, Controller, CooperationConfig, Extent};
use coflash_flash::image::Image;
use coflash_flash::{Cause, Geometry, Media, Place};
use coflash_ftl::{
    Chips, CopyAll, FreeMark, FtlConfig, GcConfig, Io, Pools, Provisioning, Spare, Stream, Summary,
    VictimConfig, WearLevelling,
};
use std::ops::Range;

/// Bytes of a page: as few as partial writes need to overlap in every way.
pub(crate) const PAGE_BYTES: usize = 8;
pub(crate) type Page = [u8; PAGE_BYTES];

/// Everything a controller is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    pub(crate) ftl: FtlConfig,
    pub(crate) gc: GcConfig,
    pub(crate) cache: CacheConfig,
    pub(crate) cooperation: CooperationConfig,
    pub(crate) seed: Seed,
}

impl Setup {
    /// One plane of `blocks` blocks of 4 pages, GC at one free block; `spare_blocks` hold nothing of the host's.
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
            seed: Seed(1),
        }
    }

    /// As `tiny`, with one open block and GC of the oldest block first: it is known which block goes when.
    pub(crate) fn oldest_first() -> Self {
        let mut setup = Self::tiny(8, 3);
        setup.ftl.shared_streams = vec![vec![Stream::Host, Stream::Evict, Stream::Gc]];
        setup.gc.victim = VictimConfig::by_name("fifo").expect("a policy");
        setup
    }

    pub(crate) fn with_slots(mut self, slots: u32) -> Self {
        self.cache.size = CacheSize::Bytes(Bytes { count: u64::from(slots) * self.geometry.page_size.count });
        self
    }

    pub(crate) fn with_cooperation(mut self, cooperation: &CooperationConfig) -> Self {
        self.cooperation = cooperation.clone();
        self
    }

    /// Draws what lies below the cache, its pools and planes given; spare blocks as few as may be, or up to `roomier` - 1 more.
    pub(crate) fn draw_ftl(&mut self, roomier: u32, stream: &mut seed::Stream) {
        let pick = |stream: &mut seed::Stream, of: u32| stream.random_range(0..of) as usize;
        self.ftl.chips = [Chips::Static, Chips::RoundRobin, Chips::LeastBusy][pick(stream, 3)];
        self.ftl.summary = [Summary::Off, Summary::On, Summary::FreeInGc][pick(stream, 3)];
        self.ftl.wear_levelling = [WearLevelling::Off, WearLevelling::Dynamic][pick(stream, 2)];
        let (streams, groups) =
            [("[]", 3), (r#"[["host","evict"]]"#, 2), (r#"[["host","evict","gc"]]"#, 1)][pick(stream, 3)];
        self.ftl.shared_streams = serde_json::from_str(streams).expect("streams");
        let pool_blocks = match self.ftl.pools {
            Pools::Plane => self.geometry.blocks_per_plane,
            Pools::Die => self.geometry.blocks_per_die(),
        };
        // The low mark, the open blocks and the reserve.
        self.ftl.spare = spare(1 + groups + 1 + stream.random_range(0..roomier), pool_blocks);
    }

    pub(crate) fn controller(&self) -> Controller {
        Controller::new(&self.geometry, &self.ftl, &self.gc, &self.cache, &self.cooperation, self.seed)
            .unwrap_or_else(|(key, problem)| panic!("{key}: {problem}\n{self:?}"))
    }
}

/// The share that leaves `spare` of `blocks` blocks unused by the host.
pub(crate) fn spare(spare: u32, blocks: u32) -> Spare {
    // Rounded down: the pages of the other blocks are all the host's.
    let ppb = u64::from(spare) * Share::ONE.ppb / u64::from(blocks);
    Spare { share: Share { ppb }, definition: Provisioning::SpareOfPhysical }
}

/// A cooperation scheme as a scenario writes it.
pub(crate) fn cooperation(json: &str) -> CooperationConfig {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

pub(crate) fn none() -> CooperationConfig {
    cooperation("\"none\"")
}

pub(crate) fn cdm() -> CooperationConfig {
    cooperation("\"cdm\"")
}

pub(crate) fn lpn(index: u32) -> Lpn {
    Lpn::new(index)
}

/// Writes a page past the cache, as warming up does.
pub(crate) fn write_past_cache<M: Media>(
    controller: &mut Controller,
    page: Lpn,
    media: &mut M,
    start: M::When,
) {
    let io = &mut Io { media, advisor: &mut CopyAll, start };
    controller.ftl_mut().write(page, Place::Host, Cause::Host, start, io);
}

/// The page that stories are told of, pages that are overwritten to get on, and pages that help.
pub(crate) const X: Lpn = Lpn::new(0);
pub(crate) const FILLERS: [Lpn; 3] = [Lpn::new(1), Lpn::new(2), Lpn::new(3)];
pub(crate) const Y: Lpn = Lpn::new(4);
pub(crate) const Z: Lpn = Lpn::new(5);
pub(crate) const W: Lpn = Lpn::new(6);

/// Fills three blocks so that X lies in the first, alone with invalid pages; Y, Z and W lie in later ones.
pub(crate) fn set_the_scene(mut write: impl FnMut(Lpn)) {
    let [f, g, h] = FILLERS;
    for page in [X, f, g, h, f, g, h, Y, Z, W, f, g] {
        write(page);
    }
}

/// Overwrites fillers until there is but one free block, so that whatever looks next runs GC.
pub(crate) fn use_up_free_blocks<M: Media<When = ()>>(controller: &mut Controller, media: &mut M) {
    let mut fillers = FILLERS.iter().cycle();
    while !controller.ftl().pools_have_at_most(FreeMark::Blocks(1)) {
        write_past_cache(controller, *fillers.next().expect("a cycle"), media, ());
    }
}

/// What the host may ask for.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Read(Lpn),
    /// These bytes of the page become a function of the stamp.
    Write(Lpn, Range<usize>, u64),
    Trim(Lpn),
    Flush,
}

impl Operation {
    /// Mostly writes; half of all accesses go to an eighth of the pages, so that a small cache hits.
    pub(crate) fn draw(stream: &mut seed::Stream, pages: u32, stamp: u64) -> Self {
        let hot = stream.random_range(0..2) == 0;
        let page = lpn(stream.random_range(0..if hot { pages.div_ceil(8) } else { pages }));
        match stream.random_range(0..32) {
            0..10 => Self::Read(page),
            10..23 => Self::Write(page, 0..PAGE_BYTES, stamp),
            23..29 => {
                let start = stream.random_range(0..PAGE_BYTES as u32) as usize;
                let end = stream.random_range(start as u32 + 1..=PAGE_BYTES as u32) as usize;
                Self::Write(page, start..end, stamp)
            }
            29..31 => Self::Trim(page),
            _ => Self::Flush,
        }
    }

    pub(crate) fn extent(bytes: &Range<usize>) -> Extent {
        if bytes.len() == PAGE_BYTES { Extent::Whole } else { Extent::Part }
    }

    /// Hands the operation to the controller; flash and host bytes are the media's affair.
    pub(crate) fn apply<M: Media>(
        &self,
        controller: &mut Controller,
        start: M::When,
        media: &mut M,
    ) -> M::When {
        match self {
            Self::Read(page) => controller.read(*page, start, media),
            Self::Write(page, bytes, _) => controller.write(*page, Self::extent(bytes), start, media),
            Self::Trim(page) => {
                controller.trim(*page, media);
                start
            }
            Self::Flush => {
                controller.flush(start, media, &mut Vec::new());
                start
            }
        }
    }
}

/// Prints what a storm was when it fails.
pub(crate) struct Named<T: std::fmt::Debug>(pub(crate) T);

impl<T: std::fmt::Debug> Drop for Named<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the storm was {:#?}", self.0);
        }
    }
}

/// The bytes that a write with this stamp puts into a page, wherever it writes.
pub(crate) fn content(stamp: u64) -> Page {
    stamp.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

/// A controller over flash that keeps bytes.
pub(crate) struct Device {
    pub(crate) controller: Controller,
    pub(crate) image: Image,
}

impl Device {
    pub(crate) fn new(setup: &Setup) -> Self {
        let controller = setup.controller();
        let image = Image::new(&setup.geometry, controller.cache().capacity());
        Self { controller, image }
    }

    /// Applies an operation; a read leaves its bytes in the image's host buffer.
    pub(crate) fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Write(_, bytes, stamp) => {
                self.image.host_writes(bytes.start, &content(*stamp)[bytes.clone()]);
            }
            // Flash is not asked for a page that is nowhere: the host finds what it put there before.
            Operation::Read(_) => self.image.host_writes(0, &[0; PAGE_BYTES]),
            Operation::Trim(_) | Operation::Flush => {}
        }
        operation.apply(&mut self.controller, (), &mut self.image);
    }

    /// What lies beside the pages of flash says where each mapped page is.
    pub(crate) fn assert_map_can_be_rebuilt(&self) {
        let ftl = self.controller.ftl();
        let rebuilt = self.image.rebuild_map(ftl.logical_pages() as usize);
        for page in ftl.mapped() {
            assert_eq!(ftl.lookup(page), rebuilt[page.get() as usize], "{page:?} as rebuilt");
        }
    }

    /// Conservation, whatever the scheme: every program has a cause, every page that the host read or wrote is a hit or a
    /// miss, every page written to flash left the cache or was cleaned. Tells how many drops are open: orphans.
    pub(crate) fn assert_conserved(&self, reads: u64, writes: u64) -> u64 {
        let (cache, tally) = (self.controller.cache(), self.controller.tally());
        let ftl = self.controller.ftl().tally();
        let of = |cause| ftl.programs_for(cause);
        assert_eq!(tally.read_hits + tally.read_misses, reads, "reads");
        assert_eq!(tally.write_hits + tally.write_misses, writes, "writes");
        let written_back = tally.dirty_evictions_pages + tally.cleaned_pages;
        assert_eq!(of(Cause::Evict), written_back, "programs of what was cached");
        let causes = [Cause::Host, Cause::Evict, Cause::Gc, Cause::Metadata].map(of);
        assert_eq!(causes.iter().sum::<u64>(), ftl.programs(), "programs by cause");
        let orphans = cache.occupied().filter(|&slot| cache.is_orphan(slot)).count() as u64;
        assert!(tally.drop_rewrites_pages + orphans <= ftl.gc_drops_pages, "drops rewritten and open");
        orphans
    }

    pub(crate) fn read(&mut self, page: Lpn) -> Page {
        self.apply(&Operation::Read(page));
        self.image.host_reads().try_into().expect("a page")
    }

    pub(crate) fn write(&mut self, page: Lpn, bytes: Range<usize>, stamp: u64) {
        self.apply(&Operation::Write(page, bytes, stamp));
    }

    pub(crate) fn write_past_cache(&mut self, page: Lpn, stamp: u64) {
        self.image.host_writes(0, &content(stamp));
        write_past_cache(&mut self.controller, page, &mut self.image, ());
    }
}
