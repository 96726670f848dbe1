//! Devices small enough to reason about, with their cache in the host.

use crate::{HostCache, HostConfig, Toll};
use coflash_base::seed::{self, RngExt};
use coflash_base::{Bytes, Duration, Lpn, Seed, Share, Time};
use coflash_controller::{CacheConfig, CacheSize, CooperationConfig, Extent};
use coflash_flash::image::Image;
use coflash_flash::{Access, Cause, Geometry, Media, Place};
use coflash_ftl::{CopyAll, FreeMark, Ftl, FtlConfig, GcConfig, Io, Provisioning, Spare};
use std::ops::Range;

pub(super) const PAGE_BYTES: usize = 8;
pub(super) type Page = [u8; PAGE_BYTES];

/// What crosses takes a microsecond and a nanosecond a byte.
pub(super) fn toll() -> Toll {
    Toll::new(Duration { ns: 1000 }, 1.0)
}

pub(super) fn free_of_charge() -> Toll {
    Toll::new(Duration::ZERO, 0.0)
}

/// Everything a host cache is made of.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) geometry: Geometry,
    pub(super) ftl: FtlConfig,
    pub(super) gc: GcConfig,
    pub(super) cache: CacheConfig,
    pub(super) cooperation: CooperationConfig,
    pub(super) host: HostConfig,
    pub(super) toll: Toll,
    pub(super) seed: Seed,
}

impl Setup {
    /// One plane of `blocks` blocks of 4 pages, GC at one free block; `spare_blocks` hold nothing of the host's.
    pub(super) fn tiny(blocks: u32, spare_blocks: u32, slots: u32) -> Self {
        let geometry = Geometry {
            channels: 1,
            blocks_per_plane: blocks,
            pages_per_block: 4,
            page_size: Bytes { count: PAGE_BYTES as u64 },
            sector_size: Bytes { count: 1 },
            ..Geometry::default()
        };
        // Rounded down: the pages of the other blocks are all the host's.
        let ppb = u64::from(spare_blocks) * Share::ONE.ppb / u64::from(blocks);
        let spare = Spare { share: Share { ppb }, definition: Provisioning::SpareOfPhysical };
        let size = CacheSize::Bytes(Bytes { count: u64::from(slots) * PAGE_BYTES as u64 });
        Self {
            geometry,
            ftl: FtlConfig { spare, ..FtlConfig::default() },
            gc: GcConfig { low_mark: FreeMark::Blocks(1), ..GcConfig::default() },
            cache: CacheConfig { size, ..CacheConfig::default() },
            cooperation: cooperation("\"cdm\""),
            host: HostConfig::default(),
            toll: toll(),
            seed: Seed(1),
        }
    }

    pub(super) fn ftl(&self) -> Ftl {
        let demands = self.cooperation.demands();
        Ftl::new(&self.geometry, &self.ftl, &self.gc, demands, self.seed)
            .unwrap_or_else(|(key, problem)| panic!("{key}: {problem}\n{self:?}"))
    }

    pub(super) fn host_cache(&self) -> HostCache {
        let Self { geometry, cache, cooperation, host, toll, seed, .. } = self;
        HostCache::over(self.ftl(), geometry, cache, cooperation, host, toll, *seed)
            .unwrap_or_else(|(key, problem)| panic!("{key}: {problem}\n{self:?}"))
    }
}

/// A cooperation scheme as a scenario writes it.
pub(super) fn cooperation(json: &str) -> CooperationConfig {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// The bytes that a write with this stamp puts into a page, wherever it writes.
pub(super) fn content(stamp: u64) -> Page {
    stamp.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

/// What may be asked for.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Read(Lpn),
    /// These bytes of the page become a function of the stamp.
    Write(Lpn, Range<usize>, u64),
    Trim(Lpn),
}

impl Operation {
    /// Half of all accesses go to an eighth of the pages, so that a small cache hits.
    pub(super) fn draw(stream: &mut seed::Stream, pages: u32, stamp: u64) -> Self {
        let hot = stream.random_range(0..2) == 0;
        let page = Lpn::new(stream.random_range(0..if hot { pages.div_ceil(8) } else { pages }));
        match stream.random_range(0..32) {
            0..13 => Self::Read(page),
            13..24 => Self::Write(page, 0..PAGE_BYTES, stamp),
            24..30 => {
                let start = stream.random_range(0..PAGE_BYTES as u32) as usize;
                let end = stream.random_range(start as u32 + 1..=PAGE_BYTES as u32) as usize;
                Self::Write(page, start..end, stamp)
            }
            _ => Self::Trim(page),
        }
    }

    pub(super) fn extent(bytes: &Range<usize>) -> Extent {
        if bytes.len() == PAGE_BYTES { Extent::Whole } else { Extent::Part }
    }
}

/// A host cache over flash that keeps bytes, and what it should hold.
pub(super) struct Subject {
    pub(super) host: HostCache,
    pub(super) image: Image,
    pub(super) model: Vec<Page>,
    pub(super) now: Time,
}

impl Subject {
    pub(super) fn new(setup: &Setup) -> Self {
        let host = setup.host_cache();
        let image = Image::new(&setup.geometry, host.cache().capacity());
        let pages = host.remote().ftl().logical_pages() as usize;
        Self { host, image, model: vec![[0; PAGE_BYTES]; pages], now: Time::ZERO }
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = Lpn> + use<> {
        (0..self.model.len() as u32).map(Lpn::new)
    }

    pub(super) fn pass(&mut self, ns: u64) {
        self.now += Duration { ns };
        self.host.pass_time(self.now);
    }

    /// Applies an operation to the cache and to the model, and checks what is read.
    pub(super) fn apply(&mut self, operation: &Operation) {
        self.host.begin_request();
        match operation {
            Operation::Read(page) => {
                // Flash is not asked for a page that is nowhere: the host finds what it put there before.
                self.image.host_writes(0, &[0; PAGE_BYTES]);
                self.host.read(*page, (), &mut self.image);
                assert_eq!(self.image.host_reads(), self.model[page.get() as usize], "{operation:?}");
            }
            Operation::Write(page, bytes, stamp) => {
                let data = &content(*stamp)[bytes.clone()];
                self.image.host_writes(bytes.start, data);
                self.host.write(*page, Operation::extent(bytes), (), &mut self.image);
                self.model[page.get() as usize][bytes.clone()].copy_from_slice(data);
            }
            Operation::Trim(page) => {
                self.host.trim(*page, (), &mut self.image);
                self.model[page.get() as usize] = [0; PAGE_BYTES];
            }
        }
    }

    /// Writes a page past cache and link, as warming up does.
    pub(super) fn write_past_cache(&mut self, page: Lpn, stamp: u64) {
        self.image.host_writes(0, &content(stamp));
        let io = &mut Io { media: &mut self.image, advisor: &mut CopyAll, start: () };
        self.host.ftl_mut().write(page, Place::Host, Cause::Host, (), io);
        self.model[page.get() as usize] = content(stamp);
    }

    /// Every page is somewhere at this moment: in its slot if it is cached, else where the map says.
    pub(super) fn assert_nothing_is_lost(&mut self) {
        for page in self.pages() {
            self.image.host_writes(0, &[0; PAGE_BYTES]);
            if let Some(slot) = self.host.cache().lookup(page) {
                self.image.access(slot.get(), Access::Read, ());
            } else if let Some(at) = self.host.remote().ftl().lookup(page) {
                self.image.read(at, Place::Host, Cause::Host, ());
            }
            assert_eq!(self.image.host_reads(), self.model[page.get() as usize], "{page:?} as it lies");
        }
    }

    /// Everything said arrives.
    pub(super) fn settle(&mut self) {
        for _ in 0..3 {
            self.host.remote.send_all();
            self.pass(1_000_000_000);
        }
    }
}
