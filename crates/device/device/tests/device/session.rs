//! A session serves bytes as a plain disk does, and its twin gives the same measures.

use crate::memory::MemoryDisk;
use coflash_base::seed::{RandomStream, Rng, RngExt};
use coflash_base::{Op, Seed, Time};
use coflash_device::{Cut, CutAt, Recorder, Restart, Restarts, Session, Side, servable, twin};
use coflash_engine::NoObserver;
use coflash_level::{Placement, Tower};
use coflash_media::Contents;
use coflash_scenario::{Requests, Scenario};
use coflash_store::{Disks, Format, Store, StoreError};
use std::path::{Path, PathBuf};

/// Schemes: assignments to a scenario.
const SCHEMES: &[&[(&str, &str)]] = &[
    &[("cooperation", "none")],
    &[("cooperation", "none"), ("cache.size", "10%"), ("cache.volatile", "true")],
    &[("cooperation", "cdm"), ("cache.size", "10%")],
    &[("cooperation", "cdm-consistent"), ("cache.size", "10%")],
    &[("cooperation", "none"), ("gc.mode", "background"), ("gc.mode.mark", "6")],
    &[("cooperation", "move-in"), CACHE],
    &[("cooperation", "expected-cost"), CACHE],
    &[("cooperation", "cdm"), CACHE, ("cache.policy", "cflru"), ("cache.policy.window", "100%")],
    &[("cooperation", "cdm"), CACHE, ("ftl.chips", "static"), BACKGROUND, LOW_MARK],
    &[("timing.channel", "shared"), ("cooperation", "cdm"), ("cache.size", "10%"), ("cache.fence", "500ns")],
    &[("timing.read_priority", "suspend"), ("gc.mode", "preemptive"), ("gc.low_mark", "3")],
    &[("controller.write_buffer", "64KiB"), ("controller.read_command", "3us"), ("controller.cores", "1")],
    &[
        ("flash.cell", "tlc"),
        ("flash.pages_per_block", "15"),
        ("ftl.slc_cache.blocks", "4"),
        ("gc.low_mark", "3"),
    ],
    &[("ftl.indirection_unit", "16KiB")],
    // In the host.
    &[HOST, CACHE, ("cooperation", "cdm-consistent")],
    &[
        HOST,
        CACHE,
        ("cooperation", "cdm-consistent"),
        ("host.notices", "each"),
        ("host.protecting", "grants"),
    ],
    &[HOST, CACHE, ("cooperation", "cdm-consistent"), ("host.notices", "batched"), BACKGROUND, LOW_MARK],
    &[HOST, CACHE, ("cooperation", "cdm"), BACKGROUND, LOW_MARK],
    &[HOST, CACHE, ("cooperation", "none"), ("timing.channel", "shared")],
    &[HOST, CACHE, ("cooperation", "none"), ("cache.volatile", "true")],
    &[HOST, CACHE, ("cooperation", "cdm"), ("ftl.indirection_unit", "8KiB")],
];

const HOST: (&str, &str) = ("cache.placement", "host");
const CACHE: (&str, &str) = ("cache.size", "10%");
const BACKGROUND: (&str, &str) = ("gc.mode", "background");
const LOW_MARK: (&str, &str) = ("gc.mode.mark", "6");

/// The schemes with their numbers, and whether the cache is in the host.
fn schemes() -> impl Iterator<Item = (usize, &'static [(&'static str, &'static str)], bool)> {
    SCHEMES.iter().enumerate().map(|(number, &scheme)| (number, scheme, scheme.contains(&HOST)))
}

fn scenario(scheme: &[(&str, &str)]) -> Scenario {
    let small = [
        ("flash.channels", "2"),
        ("flash.blocks_per_plane", "40"),
        ("flash.pages_per_block", "16"),
        ("ftl.spare.share", "40%"),
        ("timing.channel", "private"),
        ("gc.low_mark", "2"),
    ];
    let scenario = Scenario::default().set(&small).unwrap().set(scheme).unwrap();
    servable(&scenario, None).unwrap()
}

fn store(scenario: &Scenario) -> Store<MemoryDisk> {
    let in_host = scenario.cache.placement == Placement::Host;
    let layout = Tower::erased(scenario.stack_config()).unwrap().layout().expect("a cache");
    let pages = layout.logical_pages;
    let format = Format {
        geometry: scenario.flash.clone(),
        logical_bytes: u64::from(pages) * scenario.flash.page_size.count,
        slots: scenario.cache.size.pages(scenario.flash.page_size.count, pages.into()) as u32,
        volatile: scenario.cache.volatile,
        in_host,
        words: layout.words(),
        ..Format::default()
    };
    Store::create(Disks { data: MemoryDisk::default(), metadata: MemoryDisk::default() }, &format).unwrap()
}

/// A device and the expected contents, as of a plain disk.
struct Driven {
    session: Session<Store<MemoryDisk>>,
    expected: Vec<u8>,
    now: u64,
    stream: RandomStream,
}

impl Driven {
    fn write(&mut self, offset: usize, length: usize) {
        let mut data = vec![0; length];
        self.stream.fill_bytes(&mut data);
        let now = self.time();
        self.session.write(offset as u64, &data, now).unwrap();
        self.expected[offset..offset + length].copy_from_slice(&data);
    }

    fn time(&mut self) -> Time {
        self.now += self.stream.random_range(0..3_000_000);
        Time { ns: self.now }
    }

    fn step(&mut self) {
        let size = self.expected.len();
        let length = self.stream.random_range(1..20_000);
        let offset = self.stream.random_range(0..size - length);
        match self.stream.random_range(0..12) {
            0..=5 => self.write(offset, length),
            6..=7 => {
                let mut data = vec![0xee; length];
                let now = self.time();
                self.session.read(offset as u64, &mut data, now).unwrap();
                assert!(data == self.expected[offset..offset + length], "{length} bytes at {offset}");
            }
            8 => {
                let now = self.time();
                self.session.trim(offset as u64, length as u64, now).unwrap();
                let (first, last) = (offset.next_multiple_of(4096), (offset + length) / 4096 * 4096);
                if first < last {
                    self.expected[first..last].fill(0);
                }
            }
            9 => {
                let now = self.time();
                let keep_space = self.stream.random();
                self.session.write_zeroes(offset as u64, length as u64, keep_space, now).unwrap();
                self.expected[offset..offset + length].fill(0);
            }
            10 => {
                let now = self.time();
                self.session.flush(now).unwrap();
            }
            _ => {
                let now = self.time();
                self.session.pass_time(now).unwrap();
            }
        }
    }

    fn check_everything(&mut self) {
        let mut data = vec![0xee; self.expected.len()];
        let now = self.time();
        self.session.read(0, &mut data, now).unwrap();
        assert!(data == self.expected);
        let mut at = 0;
        for (length, hole) in self.session.runs(0, data.len() as u64) {
            let run = at..at + length as usize;
            assert!(!hole || data[run.clone()].iter().all(|byte| *byte == 0), "a hole at {run:?}");
            at = run.end;
        }
        assert_eq!(at, data.len());
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("coflash-session-{}-{name}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn trace(&self) -> PathBuf {
        self.0.join("trace.csv")
    }

    /// A recorder of a trace of this name.
    fn recorder(&self, trace: &Path) -> Recorder {
        Recorder::create(trace, &self.0).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check_twin(
    scenario: &Scenario,
    found: Option<&Contents>,
    trace: &Path,
    restarts: &[Restart],
    end: Time,
    result: &coflash_engine::RunResult,
) {
    let restarts = Restarts { list: restarts.to_vec(), folder: trace.parent().unwrap().to_owned() };
    let mut scenario = scenario.clone();
    scenario.workload.requests = Requests::Trace(vec![trace.to_str().unwrap().to_owned()]);
    let twin = twin(&scenario, found, restarts, end, &mut NoObserver).unwrap();
    assert_eq!(
        serde_json::to_string_pretty(&twin.metrics).unwrap(),
        serde_json::to_string_pretty(&result.metrics).unwrap()
    );
}

/// Sectors as they were at the last flush, and the writes since then.
struct Allowed {
    flushed: Vec<u8>,
    since: Vec<Vec<u8>>,
}

impl Allowed {
    /// Whether each sector of `found` has one of its contents; that of the write under way may be torn, as non-volatile
    /// memory may, between words of eight bytes.
    fn check(&self, found: &[u8], scheme: &[(&str, &str)]) {
        let versions: Vec<_> = std::iter::once(&self.flushed).chain(&self.since).collect();
        let last = versions[versions.len() - 1];
        for (number, sector) in found.chunks(512).enumerate() {
            let at = number * 512;
            let is =
                |version: &[u8], word: usize| version[at + word..at + word + 8] == sector[word..word + 8];
            let is_one = |version: &Vec<u8>| {
                version[at..at + sector.len()] == *sector
                    || (0..sector.len()).step_by(8).all(|word| is(version, word) || is(last, word))
            };
            assert!(
                versions.iter().any(|version| is_one(version)),
                "{scheme:?}: sector {number} has neither its flushed data nor any later"
            );
        }
    }
}

/// Whether each answered write survives a power cut.
fn keeps_answered(scenario: &Scenario) -> bool {
    !scenario.cache.volatile && scenario.cooperation.name() != "cdm-consistent"
}

#[test]
fn a_host_goes_on_through_power_cuts_of_its_device() {
    for (number, scheme, _) in schemes().filter(|&(_, _, in_host)| in_host) {
        for seed in 0..4 {
            let folder = Folder::new(&format!("device-{number}-{seed}"));
            let scenario = scenario(scheme);
            let at = CutAt { op: Op::Write, number: 300 + seed };
            let cut = Some(Cut { at, side: Side::Device, seed });
            let recorder = folder.recorder(&folder.trace());
            let session = Session::start(scenario.clone(), store(&scenario), None, recorder, cut).unwrap();
            let expected = vec![0; session.size_bytes() as usize];
            let stream = Seed(seed).stream("test");
            let mut driven = Driven { session, expected, now: 0, stream };
            for _ in 0..8 {
                for _ in 0..150 {
                    driven.step();
                }
                let now = driven.time();
                driven.session.cut_device(now).unwrap();
                driven.check_everything();
            }
            let restarts = driven.session.restarts().to_vec();
            assert_eq!(restarts.iter().filter(|restart| restart.armed.is_some()).count(), 1, "in a request");
            assert_eq!(restarts.len(), 9);
            let ended = driven.session.end().unwrap();
            assert!(ended.result.metrics.count("erases_blocks") > 20, "{scheme:?}: GC has work");
            check_twin(&scenario, None, &folder.trace(), &restarts, ended.end, &ended.result);
        }
    }
}

#[test]
fn flushed_data_survives_a_power_cut_and_every_session_has_a_twin() {
    for (number, scheme, in_host) in schemes() {
        for seed in 0..4 {
            let folder = Folder::new(&format!("cut-{number}-{seed}"));
            let scenario = scenario(scheme);
            let (op, number) = if seed % 2 == 0 { (Op::Write, 400 + seed) } else { (Op::Flush, 30 + seed) };
            let at = CutAt { op, number };
            let recorder = folder.recorder(&folder.trace());
            let side = if in_host && seed % 3 > 0 { Side::Host } else { Side::Both };
            let cut = Some(Cut { at, side, seed });
            let session = Session::start(scenario.clone(), store(&scenario), None, recorder, cut).unwrap();
            let expected = vec![0; session.size_bytes() as usize];
            let stream = Seed(seed).stream("test");
            let mut driven = Driven { session, expected: expected.clone(), now: 0, stream };
            let mut allowed = Allowed { flushed: expected, since: Vec::new() };
            loop {
                let length = driven.stream.random_range(1..20_000);
                let offset = driven.stream.random_range(0..driven.expected.len() - length);
                let now = driven.time();
                let is_flush = driven.stream.random_bool(0.1);
                let done = if is_flush {
                    driven.session.flush(now)
                } else {
                    let mut data = vec![0; length];
                    driven.stream.fill_bytes(&mut data);
                    driven.expected[offset..offset + length].copy_from_slice(&data);
                    driven.session.write(offset as u64, &data, now)
                };
                match done {
                    Ok(_) if is_flush => {
                        allowed = Allowed { flushed: driven.expected.clone(), since: Vec::new() };
                    }
                    Ok(_) if keeps_answered(&scenario) => {
                        let written = offset..offset + length;
                        allowed.flushed[written.clone()].copy_from_slice(&driven.expected[written]);
                    }
                    Ok(_) => allowed.since.push(driven.expected.clone()),
                    Err(failure) => {
                        allowed.since.push(driven.expected.clone());
                        assert_eq!(failure, StoreError::PowerCut.into(), "seed {seed}");
                        break;
                    }
                }
            }
            assert!(driven.session.is_off());
            let ended = driven.session.end().unwrap();
            check_twin(&scenario, None, &folder.trace(), &[], ended.end, &ended.result);

            let mut store = ended.store;
            let mut stream = Seed(seed).stream("survivors");
            store.restart(|_| stream.random()).unwrap();
            let found = store.contents().unwrap();
            let again = folder.0.join("again.csv");
            let recorder = folder.recorder(&again);
            let session = Session::start(scenario.clone(), store, Some(&found), recorder, None).unwrap();
            let mut data = vec![0xee; allowed.flushed.len()];
            let mut driven = Driven { session, expected: Vec::new(), now: 0, stream };
            driven.session.read(0, &mut data, Time::ZERO).unwrap();
            allowed.check(&data, scheme);
            driven.expected = data;
            for _ in 0..500 {
                driven.step();
            }
            driven.check_everything();
            let ended = driven.session.end().unwrap();
            check_twin(&scenario, Some(&found), &again, &[], ended.end, &ended.result);
        }
    }
}

#[test]
fn a_session_is_a_disk_and_has_a_twin() {
    for (number, scheme, _) in schemes() {
        let folder = Folder::new(&number.to_string());
        let scenario = scenario(scheme);
        let recorder = folder.recorder(&folder.trace());
        let session = Session::start(scenario.clone(), store(&scenario), None, recorder, None).unwrap();
        let expected = vec![0; session.size_bytes() as usize];
        let mut driven = Driven { session, expected, now: 0, stream: Seed(number as u64).stream("test") };
        for _ in 0..2_000 {
            driven.step();
        }
        driven.check_everything();
        let ended = driven.session.end().unwrap();
        assert!(ended.result.metrics.count("erases_blocks") > 20, "{scheme:?}: GC has work");
        check_twin(&scenario, None, &folder.trace(), &[], ended.end, &ended.result);
    }
}

#[test]
fn a_planned_power_cut_comes_although_the_device_has_nothing_to_do() {
    let scenario = scenario(&[HOST, CACHE, ("cooperation", "cdm-consistent")]);
    for (seed, side) in (0..4).flat_map(|seed| Side::ALL.map(|side| (seed, side))) {
        let cut = Some(Cut { at: CutAt { op: Op::Write, number: 1 }, side, seed });
        let recorder = Recorder::to(std::io::sink());
        let mut session = Session::start(scenario.clone(), store(&scenario), None, recorder, cut).unwrap();
        let mut data = [1; 4096];
        // The cache in the host serves all of them.
        let mut done = session.write(0, &data, Time::ZERO);
        for ns in 1..=64 {
            done = done.and_then(|_| session.read(0, &mut data, Time { ns }));
        }
        let has_restarted = session.restarts().len() == 1;
        assert_eq!(
            (has_restarted, session.is_off()),
            (side == Side::Device, side != Side::Device),
            "{seed}, {side}"
        );
        assert_eq!(done.is_ok(), side == Side::Device);
    }
}
