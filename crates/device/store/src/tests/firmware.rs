//! Devices of every scheme over a container: their guarantees when the process ends, when the host loses
//! power, and when their own power is cut.
#![cfg(unix)]

use super::lossy::{HostPower, LossyDisk};
use super::memory::MemoryDisk;
use crate::{DeviceBytes, Disk, Disks, Format, Store, StoreError};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Amount, Bytes, Lpn, Seed, Share};
use coflash_ftl::{
    CopyAll, Coverage, FreeMark, Ftl, FtlConfig, GcConfig, Io, PageRead, PageWrite, Provisioning, Spare,
};
use coflash_level::{
    CacheConfig, Command, ControllerConfig, CooperationConfig, Crossing, DeviceConfig, HostConfig, Level,
    LinkConfig, Op, StackConfig, Tower, WriteBufferConfig,
};
use coflash_media::{Contents, Geometry, HostPage};

const PAGE_BYTES: usize = 32;
const BLOCKS: u32 = 12;

/// How a device stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Process,
    HostPower,
    DevicePower,
}

/// A scheme and its guarantees.
#[derive(Clone, Copy, Debug)]
struct Scheme {
    cooperation: &'static str,
    slots: u32,
    volatile: bool,
    /// Each answered write is there after the end of the process and after a cut of the device's power.
    keeps_answered: bool,
}

const NONE: &str = "\"none\"";
const SCHEMES: [Scheme; 8] = [
    Scheme { cooperation: NONE, slots: 0, volatile: false, keeps_answered: true },
    Scheme { cooperation: NONE, slots: 3, volatile: true, keeps_answered: false },
    Scheme { cooperation: "\"sgc\"", slots: 3, volatile: true, keeps_answered: false },
    Scheme { cooperation: NONE, slots: 3, volatile: false, keeps_answered: true },
    Scheme { cooperation: "\"cdm\"", slots: 3, volatile: false, keeps_answered: true },
    Scheme { cooperation: "\"move-in\"", slots: 3, volatile: false, keeps_answered: true },
    Scheme { cooperation: "\"expected-cost\"", slots: 3, volatile: false, keeps_answered: true },
    Scheme { cooperation: "\"cdm-consistent\"", slots: 4, volatile: false, keeps_answered: false },
];

/// The parts of a configuration.
struct Setup {
    scheme: Scheme,
    geometry: Geometry,
    ftl: FtlConfig,
    gc: GcConfig,
    cache: CacheConfig,
    cooperation: CooperationConfig,
    controller: ControllerConfig,
    host: HostConfig,
    buffer: WriteBufferConfig,
}

impl Setup {
    fn new(scheme: Scheme) -> Self {
        let share = Share { ppb: Share::ONE.ppb / 2 };
        let spare = Spare { share, definition: Provisioning::SpareOfPhysical };
        let slots_bytes = u64::from(scheme.slots) * PAGE_BYTES as u64;
        Self {
            scheme,
            geometry: Geometry {
                channels: 1,
                blocks_per_plane: BLOCKS,
                pages_per_block: 4,
                page_size: Bytes { count: PAGE_BYTES as u64 },
                sector_size: Bytes { count: 1 },
                ..Geometry::default()
            },
            ftl: FtlConfig { spare, ..FtlConfig::default() },
            gc: GcConfig { low_mark: FreeMark::Blocks(2), ..GcConfig::default() },
            cache: CacheConfig {
                size: Amount::Bytes(Bytes { count: slots_bytes }),
                volatile: scheme.volatile,
                ..CacheConfig::default()
            },
            cooperation: coflash_base::read::read(
                &serde_json::from_str::<serde_json::Value>(scheme.cooperation).unwrap(),
            )
            .expect("a scheme"),
            controller: ControllerConfig::default(),
            host: HostConfig::default(),
            buffer: WriteBufferConfig::default(),
        }
    }

    /// Nothing is before or above the device.
    fn config(&self) -> StackConfig<'_> {
        let Self { geometry, ftl, gc, cache, cooperation, controller, host, buffer, .. } = self;
        let device = DeviceConfig { geometry, ftl, gc, cache, cooperation, seed: Seed(1) };
        StackConfig {
            device,
            pages_per_unit: 1,
            controller,
            link: LinkConfig::default().cost(),
            host,
            buffer,
        }
    }

    fn pages(&self) -> u32 {
        self.ftl.logical_pages(&self.geometry)
    }

    fn format(&self) -> Format {
        let device = Tower::erased(self.config()).expect("it fits");
        Format {
            geometry: self.geometry.clone(),
            logical_bytes: u64::from(self.pages()) * PAGE_BYTES as u64,
            slots: self.scheme.slots,
            volatile: self.scheme.volatile,
            in_host: false,
            words: device.layout().expect("over flash there is a cache").words(),
            scenario: String::new(),
            uuid: 1,
        }
    }
}

/// The contents of the pages: the number of the write, twice in each page.
type Pages = Vec<[u64; 2]>;

/// A device in its container, and the contents of its pages.
struct Served<'a, D: Disk> {
    setup: &'a Setup,
    device: Tower<Ftl>,
    store: Store<D>,
}

impl<'a, D: Disk> Served<'a, D> {
    fn open(setup: &'a Setup, disks: Disks<D>) -> Result<Self, String> {
        let (store, contents) = Store::open(disks).map_err(|error| error.to_string())?;
        Self::recover(setup, store, &contents)
    }

    fn recover(setup: &'a Setup, mut store: Store<D>, contents: &Contents) -> Result<Self, String> {
        let io = &mut Io { media: &mut store, hook: CopyAll, start: () };
        let device = Tower::recover(setup.config(), contents, io).map_err(|error| format!("{error:?}"))?;
        device.lowest().assert_invariants();
        Ok(Self { setup, device, store })
    }

    fn request(&mut self, op: Op, page: Option<(Lpn, Coverage)>) -> Result<(), StoreError> {
        let (bytes, pages) = if page.is_some() { (PAGE_BYTES as u64, 1) } else { (0, 0) };
        let command = Command { op, bytes, first: page.map(|page| page.0), pages, crossing: Crossing::Whole };
        let io = &mut Io { media: &mut self.store, hook: CopyAll, start: () };
        self.device.begin(&command, io);
        match (op, page) {
            (Op::Read, Some((lpn, _))) => {
                if self.device.read(PageRead::host(lpn), (), io)?.is_none() {
                    io.media.host_writes(0, &[0; PAGE_BYTES]);
                }
            }
            (Op::Write, Some((lpn, coverage))) => {
                self.device.write(PageWrite::host(lpn, coverage), (), io)?;
            }
            (Op::Trim, Some((lpn, _))) => self.device.trim(lpn, (), io)?,
            _ => self.device.flush((), io, &mut Vec::new())?,
        }
        self.device.end(io)?;
        self.store.failure().cloned().map_or(Ok(()), Err)
    }

    fn look(&mut self) -> Result<Pages, StoreError> {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        (0..self.setup.pages())
            .map(|page| {
                self.store.host_writes(0, &[0; PAGE_BYTES]);
                self.request(Op::Read, Some((Lpn::new(page), Coverage::Full)))?;
                Ok([0, PAGE_BYTES / 2].map(|start| word(&self.store.host_reads()[start..])))
            })
            .collect()
    }
}

/// The states allowed after a restart: each of these moments. The write of the last one may not have been
/// answered.
struct Oracle {
    moments: Vec<Pages>,
    /// The moments up to the last answer.
    answered: usize,
    stamp: u64,
}

impl Oracle {
    fn now(&mut self) -> Pages {
        self.moments.last().expect("there is always a moment").clone()
    }

    /// Do something that a stream draws, and answer it.
    fn act<D: Disk>(
        &mut self,
        served: &mut Served<'_, D>,
        stream: &mut RandomStream,
    ) -> Result<(), StoreError> {
        let mut pages = self.now();
        let page = stream.random_range(0..pages.len());
        let half = PAGE_BYTES / 2;
        self.stamp += 1;
        let bytes = [self.stamp.to_le_bytes(); PAGE_BYTES / 8].concat();
        let (op, coverage) = match stream.random_range(0..40) {
            0 => (Op::Flush, Coverage::Full),
            1..6 => (Op::Trim, Coverage::Full),
            6..20 => (Op::Write, Coverage::Partial),
            _ => (Op::Write, Coverage::Full),
        };
        match (op, coverage) {
            (Op::Write, Coverage::Partial) => {
                served.store.host_writes(half, &bytes[half..]);
                pages[page][1] = self.stamp;
            }
            (Op::Write, _) => {
                served.store.host_writes(0, &bytes);
                pages[page] = [self.stamp; 2];
            }
            (Op::Trim, _) => pages[page] = [0; 2],
            _ => {}
        }
        if op != Op::Flush {
            self.moments.push(pages);
        }
        served.request(op, (op != Op::Flush).then_some((Lpn::new(page as u32), coverage)))?;
        if served.store.is_off() {
            return Err(StoreError::PowerCut);
        }
        if op == Op::Flush {
            served.store.sync_point()?;
            self.moments.drain(..self.moments.len() - 1);
        } else {
            served.store.write_out()?;
        }
        self.answered = self.moments.len() - 1;
        Ok(())
    }

    /// Check the contents found.
    fn check(&mut self, found: Pages, scheme: Scheme, end: End) -> Result<(), String> {
        let first = if scheme.keeps_answered && end != End::HostPower { self.answered } else { 0 };
        let moments = &self.moments[first..];
        let any = |of: &dyn Fn(&Pages) -> bool| moments.iter().any(of);
        let is_one = if scheme.volatile {
            (0..found.len()).all(|page| any(&|moment| moment[page] == found[page]))
        } else if scheme.keeps_answered && end == End::DevicePower {
            // Of the request under way each word is old or new.
            (0..found.len())
                .all(|page| [0, 1].iter().all(|&half| any(&|moment| moment[page][half] == found[page][half])))
        } else {
            any(&|moment| *moment == found)
        };
        if !is_one {
            return Err(format!("{end:?}: {found:?}\nis none of {moments:?}"));
        }
        self.moments = vec![found];
        self.answered = 0;
        Ok(())
    }
}

/// Run a device through some ends; tells the number of states that were looked at.
fn storm(scheme: Scheme, end: End, seed: u64, ends: u32) -> Result<u64, String> {
    let setup = Setup::new(scheme);
    let mut stream = Seed(seed).stream("storm");
    let memory = Disks::<MemoryDisk>::default();
    Store::create(Disks { data: &memory.data, metadata: &memory.metadata }, &setup.format())
        .expect("it fits");
    let power = HostPower::default();
    let lossy = Disks {
        data: LossyDisk::new(&memory.data, &power),
        metadata: LossyDisk::new(&memory.metadata, &power),
    };
    let disks = || Disks { data: &lossy.data, metadata: &lossy.metadata };
    let lose = |stream: &mut RandomStream| {
        let share = HostPower::SHARES[stream.random_range(0..HostPower::SHARES.len())];
        for disk in [&lossy.data, &lossy.metadata] {
            disk.lose(share, stream).expect("memory does not fail");
        }
        power.cut_after(u64::MAX);
    };
    let mut oracle = Oracle { moments: vec![vec![[0; 2]; setup.pages() as usize]], answered: 0, stamp: 0 };
    let mut served = Served::open(&setup, disks())?;
    let mut states = 0;
    for number in 0..ends {
        let describe = |problem| format!("{scheme:?}, storm {seed}, end {number}: {problem}");
        match end {
            End::Process => {
                for _ in 0..stream.random_range(0..80) {
                    oracle.act(&mut served, &mut stream).map_err(|error| describe(error.to_string()))?;
                }
                drop(served);
            }
            End::HostPower => {
                power.cut_after(stream.random_range(1..200));
                while oracle.act(&mut served, &mut stream).is_ok() {}
                drop(served);
                lose(&mut stream);
                while stream.random() {
                    power.cut_after(stream.random_range(1..40));
                    drop(Served::open(&setup, disks()));
                    lose(&mut stream);
                    states += 1;
                }
            }
            End::DevicePower => {
                served.store.cut_after(stream.random_range(0..300));
                while oracle.act(&mut served, &mut stream).is_ok() {}
                let Served { mut store, .. } = served;
                loop {
                    store.restart(|_| stream.random()).map_err(|error| describe(error.to_string()))?;
                    if stream.random() {
                        break;
                    }
                    // Recovery is cut, too.
                    let contents = store.contents().map_err(|error| describe(error.to_string()))?;
                    store.cut_after(stream.random_range(0..20));
                    let io = &mut Io { media: &mut store, hook: CopyAll, start: () };
                    let _ = Tower::recover(setup.config(), &contents, io);
                    states += 1;
                }
                store.write_out().map_err(|error| describe(error.to_string()))?;
            }
        }
        served = Served::open(&setup, disks()).map_err(describe)?;
        let found = served.look().map_err(|error| describe(error.to_string()))?;
        oracle.check(found, scheme, end).map_err(describe)?;
        states += 1;
    }
    Ok(states)
}

const ENDS_PER_STORM: u32 = 40;

/// Ends of each kind for each scheme. `COFLASH_STORM_CUTS` asks for another number in all.
fn ends() -> u64 {
    let cuts = std::env::var("COFLASH_STORM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(28_800);
    cuts / (3 * SCHEMES.len() as u64)
}

/// Run a device of every scheme through ends of a kind.
fn every_scheme(end: End) {
    for scheme in SCHEMES {
        let storms = ends() / u64::from(ENDS_PER_STORM);
        let states = (0..storms).map(|seed| storm(scheme, end, seed, ENDS_PER_STORM));
        let states: u64 = states.map(|states| states.unwrap_or_else(|problem| panic!("{problem}"))).sum();
        let is_cut_too = 2 * states > 3 * storms * u64::from(ENDS_PER_STORM);
        assert!(
            is_cut_too || end == End::Process,
            "{states} states in {storms} storms: recovery is cut, too"
        );
    }
}

#[test]
fn the_end_of_the_process() {
    every_scheme(End::Process);
}

#[test]
fn loss_of_the_hosts_power() {
    every_scheme(End::HostPower);
}

#[test]
fn a_cut_of_the_devices_power() {
    every_scheme(End::DevicePower);
}
