//! The level over simulated flash and disks: the waits of answers, and the transfers of the disks.

use coflash_base::measure::{Report, Value};
use coflash_base::{Duration, Lpn, Misfit, Seed, Time};
use coflash_ftl::{CopyAll, Coverage, FreeMark, FtlConfig, GcConfig, Io, PageRead, PageWrite};
use coflash_hybrid::{Hybrid, HybridConfig};
use coflash_level::{CacheConfig, Command, CooperationConfig, Crossing, DeviceConfig, Level, Op};
use coflash_media::disk::Disks;
use coflash_media::{CacheTimings, Finished, Geometry, Tag, Timeline, Timing, When};
use serde_json::json;

const PAGE_BYTES: u64 = 4096;

/// A page from flash, and to it.
const READ: u64 = 125_000;
const WRITE: u64 = 300_000;
/// A page from disk and to disk, and each more of the same transfer.
const FETCH: u64 = 4_500_000 + MORE;
const DESTAGE: u64 = 4_900_000 + MORE;
const MORE: u64 = 56_888;

/// A request: its microsecond, its kind, its first page, and how many; whole pages, but where `Coverage` says otherwise.
type Request = (u64, Op, u32, u32);

struct Rig {
    level: Hybrid<When>,
    media: Timeline,
    /// Of each request: when it came, the latest of its parts, those to come.
    requests: Vec<(Time, Time, u32)>,
}

impl Rig {
    /// A small hybrid of a fixed partition, with these keys beside or instead.
    fn new(keys: serde_json::Value) -> Self {
        Self::on(keys, "private")
    }

    fn on(keys: serde_json::Value, channel: &str) -> Self {
        Self::with(keys, channel, &FtlConfig::default(), &GcConfig::default()).expect("it fits")
    }

    fn with(keys: serde_json::Value, channel: &str, ftl: &FtlConfig, gc: &GcConfig) -> Result<Self, Misfit> {
        let geometry =
            Geometry { channels: 1, blocks_per_plane: 256, pages_per_block: 32, ..Geometry::default() };
        let ns = |ns| Duration { ns };
        let timing = Timing {
            page_read: ns(25_000),
            page_program: ns(200_000),
            sector_transfer: ns(12_500),
            channel: serde_json::from_value(json!(channel)).expect("a channel"),
            ..Timing::default()
        };
        let mut config = json!({
            "scheme": "fp-fcl",
            "segment": "2MiB",
            "disks": { "model": { "name": "constant", "capacity": "128MiB" } },
        });
        config.as_object_mut().expect("keys").extend(keys.as_object().expect("keys").clone());
        let hybrid: HybridConfig = coflash_base::read::read(&config).expect("a hybrid");
        let disks = Disks::new(&hybrid.disks, PAGE_BYTES).expect("disks");
        let device = DeviceConfig {
            geometry: &geometry,
            ftl,
            gc,
            cache: &CacheConfig::default(),
            cooperation: &CooperationConfig::default(),
            seed: Seed(1),
        };
        let media = Timeline::new(&geometry, &timing, CacheTimings::default()).with_disks(disks.clone());
        Ok(Self { level: Hybrid::new(&device, &timing, &hybrid, &disks)?, media, requests: Vec::new() })
    }

    /// Serves requests to the end; how long each has taken.
    fn serve(&mut self, requests: &[Request]) -> Vec<u64> {
        self.serve_parts(requests, Coverage::Full)
    }

    fn serve_parts(&mut self, requests: &[Request], coverage: Coverage) -> Vec<u64> {
        let first = self.requests.len();
        for &(us, op, page, pages) in requests {
            let now = Time { ns: us * 1000 };
            let mut finished = Vec::new();
            while !self.media.advance(now, &mut finished) {
                self.settle(&mut finished);
            }
            self.issue(now, op, page, pages, coverage);
        }
        let mut finished = Vec::new();
        while self.media.step(&mut finished) {
            self.settle(&mut finished);
        }
        let answered = self.requests[first..].iter().map(|&(arrival, latest, to_come)| {
            assert_eq!(to_come, 0, "it is answered");
            latest.since(arrival).ns
        });
        answered.collect()
    }

    fn issue(&mut self, now: Time, op: Op, first: u32, pages: u32, coverage: Coverage) {
        let command = Command {
            op,
            bytes: u64::from(pages) * PAGE_BYTES,
            first: Some(Lpn::new(first)),
            pages,
            crossing: Crossing::Whole,
        };
        let mut io = Io { media: &mut self.media, hook: CopyAll, start: When::at(now) };
        let Ok(()) = self.level.pass_time(now, &mut io);
        let start = self.level.begin(&command, &mut io);
        let mut parts = Vec::new();
        for page in (first..first + pages).map(Lpn::new) {
            let Ok(done) = match op {
                Op::Read => self.level.read(PageRead::host(page), start, &mut io),
                Op::Write => self.level.write(PageWrite::host(page, coverage), start, &mut io).map(Some),
                Op::Trim => self.level.trim(page, start, &mut io).map(Some),
                Op::Flush => unreachable!("data in flash are safe"),
            };
            parts.push(done.expect("the disks have every page"));
        }
        let Ok(Duration::ZERO) = self.level.end(&mut io) else { panic!("nothing comes after the last part") };
        let (tag, mut latest, mut to_come) = (self.requests.len() as u32, now, 0);
        for part in parts {
            match part.known() {
                Some(at) => latest = latest.max(at),
                None => {
                    self.media.tell(part, tag);
                    to_come += 1;
                }
            }
        }
        self.requests.push((now, latest, to_come));
        Level::<Timeline>::assert_invariants(&self.level);
    }

    fn settle(&mut self, finished: &mut Vec<Finished>) {
        for Finished { tag, at } in finished.drain(..) {
            match tag {
                Tag::Part(request) => {
                    let (_, latest, to_come) = &mut self.requests[request as usize];
                    (*latest, *to_come) = ((*latest).max(at), *to_come - 1);
                }
                Tag::Level(tag) => {
                    let mut io = Io { media: &mut self.media, hook: CopyAll, start: When::at(at) };
                    let Ok(()) = self.level.notify(tag, at, &mut io);
                }
            }
        }
    }

    fn report(&self) -> Report {
        let last = self.requests.iter().map(|request| request.1).max().expect("there were requests");
        let mut report = Report::until(last);
        Level::<Timeline>::report(&self.level, &mut report);
        self.media.report(&mut report);
        report
    }

    /// Counters of the hybrid.
    fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        let report = self.report();
        names.map(|name| match report.value(&format!("hybrid.{name}")) {
            Some(Value::Count(count)) => count,
            other => panic!("hybrid.{name} is {other:?}"),
        })
    }
}

#[test]
fn an_answer_takes_what_its_operations_take() {
    let mut rig = Rig::new(json!({}));
    let requests = [
        (0, Op::Read, 0, 1),
        (100_000, Op::Read, 0, 1),
        (200_000, Op::Write, 9, 1),
        (300_000, Op::Read, 9, 1),
        (400_000, Op::Trim, 9, 1),
        (500_000, Op::Read, 9, 1),
        // Past the cache.
        (600_000, Op::Read, 100, 32),
        (700_000, Op::Write, 100, 32),
    ];
    let past = 31 * MORE;
    let times = [FETCH, READ, WRITE, READ, 0, FETCH, FETCH + past, DESTAGE + past];
    for (took, expected) in rig.serve(&requests).into_iter().zip(times) {
        // A byte takes no whole number of nanoseconds.
        assert!(took.abs_diff(expected) <= 32, "{took} ns, but {expected} was expected");
    }
    let counts =
        ["read_hits_clean_pages", "read_hits_dirty_pages", "read_misses_pages", "bypassed_reads_pages"];
    assert_eq!(rig.counts(counts), [1, 1, 2, 32]);
    assert_eq!(rig.counts(["fills_pages", "bypassed_writes_pages", "journal_pages"]), [2, 32, 1]);
}

#[test]
fn reads_of_what_is_under_way_wait_for_it() {
    let serve = |requests: &[Request]| {
        let mut rig = Rig::new(json!({}));
        let took = rig.serve(requests);
        let names = ["joined_reads_pages", "disk_read_transfers", "disk_reads_pages", "fills_pages"];
        (rig.counts(names), took)
    };
    // The others come one and two milliseconds later, and are answered with the first.
    let three = [0, 1000, 2000].map(|us| (us, Op::Read, 0, 1));
    assert_eq!(serve(&three), ([2, 1, 1, 1], vec![FETCH, FETCH - 1_000_000, FETCH - 2_000_000]));
    // The page that is not under way is a transfer of its own, served when the disk has done the other. One page of the
    // second request joins; the request is answered with the last of its pages.
    let (counts, took) = serve(&[(0, Op::Read, 0, 2), (1000, Op::Read, 1, 2)]);
    assert_eq!((counts, took[1]), ([1, 2, 3, 3], took[0] + FETCH - 1_000_000));
    // Data written meanwhile are in flash, and the page from the disk is not cached.
    let (counts, took) = serve(&[(0, Op::Read, 0, 1), (1000, Op::Write, 0, 1), (2000, Op::Read, 0, 1)]);
    assert_eq!((counts, took), ([0, 1, 1, 0], vec![FETCH, WRITE, READ]));
    // A page that was trimmed meanwhile is asked for again.
    let (counts, _) = serve(&[(0, Op::Read, 0, 1), (1000, Op::Trim, 0, 1), (2000, Op::Read, 0, 1)]);
    assert_eq!(counts, [0, 2, 2, 1]);
    // Past the cache goes one transfer.
    let (counts, _) = serve(&[(0, Op::Read, 3, 1), (1000, Op::Read, 0, 32)]);
    assert_eq!(counts, [0, 2, 33, 1]);
}

#[test]
fn neighbours_that_the_disk_serves_are_one_transfer() {
    let transfers = |keys, requests: &[Request]| {
        let mut rig = Rig::new(keys);
        rig.serve(requests);
        rig.counts(["disk_read_transfers", "disk_reads_pages", "disk_write_transfers", "disk_writes_pages"])
    };
    assert_eq!(transfers(json!({}), &[(0, Op::Read, 5, 8)]), [1, 8, 0, 0]);
    // One in between is cached.
    assert_eq!(transfers(json!({}), &[(0, Op::Write, 7, 1), (1000, Op::Read, 5, 8)]), [2, 7, 0, 0]);
    // A fetch has 64 pages at most; a request past the cache is one transfer of any length.
    let never = json!({ "sequential_unit": "0B" });
    assert_eq!(transfers(never, &[(0, Op::Read, 0, 70)]), [2, 70, 0, 0]);
    assert_eq!(transfers(json!({}), &[(0, Op::Write, 0, 100)]), [0, 0, 1, 100]);
    assert_eq!(transfers(json!({}), &[(0, Op::Read, 0, 100)]), [1, 100, 0, 0]);
}

/// No page may stay, but a group of three may.
fn groups_of_three(more: serde_json::Value) -> serde_json::Value {
    let mut keys = json!({ "scheme": { "name": "fp-fcl", "caching": "0%" }, "destage_pages": 3 });
    keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
    keys
}

const FOUR_WRITES: [Request; 4] =
    [(0, Op::Write, 10, 1), (1000, Op::Write, 30, 1), (2000, Op::Write, 11, 1), (3000, Op::Write, 50, 1)];

#[test]
fn a_write_waits_for_the_group_that_it_sends_only_in_the_foreground() {
    for (destaging, waits) in [("foreground", true), ("background", false)] {
        let mut rig = Rig::new(groups_of_three(json!({ "destaging": destaging })));
        let took = rig.serve(&FOUR_WRITES);
        assert_eq!(took[..3], [WRITE; 3], "a cache of no pages holds a group");
        // Two transfers: pages 10 and 11, and 30. Three pages are read behind the program first.
        let group = WRITE + 3 * READ + 2 * DESTAGE + MORE;
        let expected = if waits { group } else { WRITE };
        assert!(took[3].abs_diff(expected) <= 2 * READ, "{destaging}: {} ns", took[3]);
        let names = ["destage_groups", "destages_pages", "disk_write_transfers", "disk_writes_pages"];
        assert_eq!(rig.counts(names), [1, 3, 2, 3], "{destaging}");
    }
}

#[test]
fn a_read_waits_for_the_group_that_makes_room_for_it_only_in_the_foreground() {
    for channel in ["private", "shared"] {
        for (destaging, waits) in [("foreground", true), ("background", false)] {
            let scheme = json!({ "name": "fp-fcl", "caching": "0.03%" });
            let keys = json!({ "destaging": destaging, "scheme": scheme });
            let mut rig = Rig::on(groups_of_three(keys), channel);
            let took = rig.serve(&[&FOUR_WRITES[..3], &[(3000, Op::Read, 50, 1)]].concat());
            let group = 3 * READ + 2 * DESTAGE + MORE;
            let expected = if waits { FETCH + group } else { FETCH };
            assert!(took[3].abs_diff(expected) <= 2 * READ, "{destaging}, {channel}: {} ns", took[3]);
            let names = ["destage_groups", "destages_pages", "fills_pages", "disk_write_transfers"];
            assert_eq!(rig.counts(names), [1, 3, 1, 2], "{destaging}");
        }
    }
}

#[test]
fn a_write_through_waits_for_the_disk_and_what_leaves_does_not() {
    let mut rig = Rig::new(groups_of_three(json!({ "write_policy": "write-through" })));
    let apart = FOUR_WRITES.map(|(us, op, page, pages)| (us * 100, op, page, pages));
    for took in rig.serve(&apart) {
        assert!(took.abs_diff(WRITE + DESTAGE) <= 32, "{took} ns");
    }
    // Three gave way to the fourth, and the disk had them.
    let names = ["written_through_pages", "destages_pages", "clean_evictions_pages", "disk_writes_pages"];
    assert_eq!(rig.counts(names), [4, 0, 3, 4]);
    // A read of the remaining page, and a write of neighbours in one transfer.
    let took = rig.serve(&[(600_000, Op::Read, 50, 1), (700_000, Op::Write, 80, 2)]);
    assert_eq!(took[0], READ);
    assert!(took[1].abs_diff(2 * WRITE + DESTAGE + MORE) <= 32, "{} ns", took[1]);
    assert_eq!(rig.counts(["disk_write_transfers", "disk_writes_pages"]), [5, 6]);
    assert_eq!(rig.counts(["read_hits_dirty_pages", "destage_groups"]), [1, 0]);
    assert_eq!(rig.report().count("cache.clean_evictions_pages"), 3);
}

#[test]
fn writes_through_reach_the_disk_in_their_order() {
    for channel in ["private", "shared"] {
        let mut rig = Rig::on(json!({ "write_policy": "write-through" }), channel);
        let twice = [(0, Op::Write, 7, 1), (1, Op::Write, 7, 1)];
        let took = rig.serve(&twice);
        assert!(took[1] > took[0] + DESTAGE - 10_000, "{channel}: {took:?}");
        assert_eq!(rig.counts(["write_hits_pages", "disk_write_transfers"]), [1, 2], "{channel}");
    }
}

#[test]
fn what_is_overwritten_or_trimmed_before_its_turn_is_not_destaged() {
    for channel in ["private", "shared"] {
        for (op, page) in [Op::Write, Op::Trim].into_iter().flat_map(|op| [30, 31].map(|page| (op, page))) {
            let mut rig = Rig::on(groups_of_three(json!({ "destaging": "background" })), channel);
            // While page 10 is written the neighbours 30 and 31 wait.
            let writes = [10, 30, 31, 50].map(|page| (u64::from(page) * 50, Op::Write, page, 1));
            rig.serve(&[&writes[..], &[(5000, op, page, 1)]].concat());
            let counts = rig.counts(["destages_pages", "disk_writes_pages"]);
            assert_eq!(counts, [3, 2], "{channel}, {op:?} of page {page}");
        }
    }
}

#[test]
fn a_group_takes_clean_pages_along_that_have_waited_as_long() {
    // Two pages of 8192.
    let two = json!({ "scheme": { "name": "fp-fcl", "caching": "0.03%" } });
    let mut rig = Rig::new(groups_of_three(two));
    let requests = [(10, Op::Write), (20, Op::Read), (30, Op::Write), (40, Op::Write)];
    rig.serve(&requests.map(|(page, op)| (u64::from(page) * 1000, op, page, 1)));
    assert_eq!(rig.counts(["destages_pages", "clean_evictions_pages"]), [3, 1]);
}

#[test]
fn a_read_cache_of_no_pages_is_not_filled() {
    let initial_read = |share| json!({ "scheme": { "name": "op-fcl", "initial_read": share } });
    for (share, fills) in [("0%", 0), ("50%", 1)] {
        let mut rig = Rig::new(initial_read(share));
        rig.serve(&[(0, Op::Read, 0, 1), (100_000, Op::Read, 0, 1)]);
        assert_eq!(rig.counts(["fills_pages", "disk_reads_pages"]), [fills, 2 - fills], "{share}");
    }
}

#[test]
fn parts_of_pages_that_are_not_cached_go_where_they_are_said_to() {
    for (partial_writes, passed) in [("whole", 0), ("disk", 1)] {
        let mut rig = Rig::new(json!({ "partial_writes": partial_writes }));
        let part = [(0, Op::Write, 10, 1)];
        let took = rig.serve_parts(&part, Coverage::Partial)[0];
        assert_eq!(took > WRITE, passed == 1, "{partial_writes}: {took} ns");
        // One that is cached is merged in flash either way.
        rig.serve(&[(100_000, Op::Write, 20, 1)]);
        rig.serve_parts(&[(200_000, Op::Write, 20, 1)], Coverage::Partial);
        assert_eq!(
            rig.counts(["bypassed_writes_pages", "disk_writes_pages"]),
            [passed, passed],
            "{partial_writes}"
        );
    }
}

#[test]
fn invalid_pages_are_told_of_full_blocks() {
    let mut rig = Rig::new(json!({}));
    rig.serve(&[0; 40].map(|us| (us, Op::Write, 9, 1)));
    let invalid = Level::<Timeline>::ftl(&rig.level).invalid_pages();
    assert_eq!(invalid.filter(|&pages| pages > 0).collect::<Vec<_>>(), [32]);
}

#[test]
fn gc_keeps_a_free_block_for_each_class_of_pages() {
    for (active_blocks, needed) in [("mixed", 1), ("by-class", 2)] {
        for low_mark in [1, 2] {
            let ftl = FtlConfig { shared_streams: Vec::new(), ..FtlConfig::default() };
            let gc = GcConfig { low_mark: FreeMark::Blocks(low_mark), ..GcConfig::default() };
            let rig = Rig::with(json!({ "active_blocks": active_blocks }), "private", &ftl, &gc);
            assert_eq!(rig.is_ok(), low_mark >= needed, "{active_blocks}, {low_mark}");
        }
    }
}

#[test]
fn a_report_names_the_cache_as_other_caches_are() {
    let mut rig = Rig::new(groups_of_three(json!({})));
    rig.serve(&FOUR_WRITES);
    rig.serve(&[(100_000, Op::Read, 50, 1), (200_000, Op::Read, 30, 1), (300_000, Op::Write, 50, 1)]);
    let report = rig.report();
    let cache = ["read_hits", "read_misses", "write_hits", "write_misses", "dirty_evictions_pages"];
    assert_eq!(cache.map(|name| report.count(&format!("cache.{name}"))), [1, 1, 1, 4, 3]);
    assert!(report.count("cache.capacity_pages") > 1000);
    assert_eq!(report.count("drop_rewrites_pages"), 0);
    assert!(report.count("hybrid.flash_pages") >= report.count("cache.capacity_pages"));
    assert!(Level::<Timeline>::ftl(&rig.level).erase_counts().eq([0; 256]));
    let (_, sizes) = report.lists().next().expect("sizes over time");
    let [_, clean, dirty, read, write] = sizes.last().expect("the last")[..] else { panic!("five columns") };
    assert_eq!([clean, dirty, read, write], [0_u32, 1, 0, 0].map(Value::from));
}
