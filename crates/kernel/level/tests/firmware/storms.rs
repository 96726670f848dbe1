//! Random operations on every shape of stack, under every scheme and eviction policy, against an array of the
//! last written data; and the balances of all caches.

use crate::sole_copies::sole_copies;
use crate::support::{Checked, Look, Named, Setup, Stack, pick};
use coflash_base::measure::Report;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Amount, Bytes, Duration, Seed, Share};
use coflash_cache::{Cache, EvictionConfig};
use coflash_ftl::{RefreshConfig, Trigger};
use coflash_level::{CooperationConfig, Notices, Placement, Protecting};
use std::num::NonZeroU32;

const STEPS: u32 = 600;
const STEPS_BETWEEN_CHECKS: u32 = 16;

/// Every scheme, with the parameters that change its path.
const SCHEMES: &[&str] = &[
    r#""none""#,
    r#""cdm""#,
    r#"{"name": "cdm", "removable_weight": 0}"#,
    r#"{"name": "cdm", "removable_weight": 0.5, "rewrite_stream": "gc"}"#,
    r#"{"name": "cdm", "removable_weight": "adaptive"}"#,
    r#"{"name": "cdm", "removable_weight": "by-age"}"#,
    r#"{"name": "cdm", "removable_weight": 0, "sole_copies_max": "16B"}"#,
    r#"{"name": "cdm", "removable_weight": "adaptive", "rewrite_stream": "gc", "sole_copies_max": "64B"}"#,
    r#""cdm-overwrites""#,
    r#"{"name": "cdm-removable", "removable_weight": 0.5, "rewrite_stream": "gc"}"#,
    r#"{"name": "cdm-removable", "removable_weight": "adaptive", "sole_copies_max": "64B"}"#,
    r#""cdm-invalidate-on-cache""#,
    r#""cdm-hgc""#,
    r#"{"name": "cdm-consistent", "commit_interval": "1us", "deletions_max": 2}"#,
    r#"{"name": "cdm-consistent", "low_watermark": "40%", "high_watermark": "50%"}"#,
    r#""move-in""#,
    r#"{"name": "move-in", "removable_weight": 0, "rewrite_stream": "gc", "sole_copies_max": "64B"}"#,
    r#""expected-cost""#,
    r#"{"name": "expected-cost", "removable_weight": "by-age", "read_weight": 0.5}"#,
    r#"{"name": "expected-cost", "moves_in": false}"#,
    r#""ggc""#,
    r#"{"name": "separation", "shadows": "both"}"#,
    r#"{"name": "separation", "shadows": "device"}"#,
    r#"{"name": "delay", "shadows": "both", "lambda": 0.5}"#,
    r#"{"name": "delay", "shadows": "device", "lambda": 3}"#,
    r#""zgc""#,
    r#""hgc""#,
    r#""dgc""#,
    r#""hgc-dgc""#,
    r#""twin-discard""#,
    r#""sgc""#,
];

/// Draws a stack of a shape. Some schemes are refused in the host.
fn draw(
    scheme: &str,
    policy: &str,
    placement: Placement,
    buffered: bool,
    stream: &mut RandomStream,
) -> Option<Setup> {
    let slots = pick(stream, &[0, 1, 2, 5, 9, 18]);
    let consistent = scheme.contains("consistent");
    let mut setup = Setup::draw(scheme, if consistent { slots.max(1) } else { slots }, stream);
    setup.cache.policy = EvictionConfig::by_name(policy).expect("a policy");
    setup.cache.placement = placement;
    let moves_in = ["move-in", "expected-cost"].contains(&setup.cooperation.name());
    let is_for_buffers = !moves_in && !setup.cooperation.name().starts_with("cdm");
    setup.cache.volatile |= is_for_buffers && stream.random();
    let in_host = placement == Placement::Host;
    let in_device_only = is_for_buffers && setup.cooperation.name() != "none"
        || moves_in
        || ["hgc", "by-age"].iter().any(|part| scheme.contains(part));
    if in_host && in_device_only {
        return None;
    }
    if buffered {
        let most = setup.logical_pages();
        setup = setup.with_buffer(pick(stream, &[1, 4, 9, 16]).min(most));
        setup.buffer.policy = setup.cache.policy.clone();
        let _ = pick(stream, &WAYS);
        setup.buffer.read_allocate = stream.random();
        setup.buffer.dirty_age_max = Duration { ns: pick(stream, &[300, 5_000, u64::MAX >> 8]) };
        setup.buffer.dirty_share_max = Share::percent(pick(stream, &[40, 100]));
    }
    setup.host.notices = pick(stream, &WAYS);
    let grants = pick(stream, &[false, true]) && !scheme.contains("sole_copies");
    let share = Share::percent(pick(stream, &[20, 50, 100]));
    setup.host.protecting = if grants { Protecting::Grants { share } } else { Protecting::default() };
    let max = NonZeroU32::new(pick(stream, &[1, 3, 40])).expect("not zero");
    let wait = Duration { ns: pick(stream, &[0, 500, 50_000]) };
    if let Notices::Batched { .. } = setup.host.notices {
        setup.host.notices = Notices::Batched { max, wait };
    }
    let bytes_max = Bytes { count: pick(stream, &[8, 64]) };
    if let Notices::Piggybacked { .. } = setup.host.notices {
        setup.host.notices = Notices::Piggybacked { bytes_max };
    }
    setup.host.jitter = Duration { ns: pick(stream, &[0, 1000, 20_000]) };
    let retention =
        |stream: &mut RandomStream| pick(stream, &[None, None, None, Some(Duration { ns: 40_000 })]);
    setup.ftl.refresh = RefreshConfig {
        fast_retention: retention(stream),
        retention: retention(stream),
        power_off: Duration { ns: 2000 },
    };
    if in_host {
        setup.pages_per_unit = pick(stream, &[1, 1, 1, 2, 4]);
    }
    Some(setup)
}

const BATCHED: Notices = Notices::Batched { max: NonZeroU32::MIN, wait: Duration::ZERO };
const WAYS: [Notices; 3] = [Notices::Each, BATCHED, Notices::Piggybacked { bytes_max: Bytes { count: 64 } }];

/// Conservation: each access of the host is a hit or a miss, each cached version of a page ends in one way,
/// and every program has a cause. A write in larger units is several accesses.
fn assert_conserved(setup: &Setup, storm: &Checked<Stack>) {
    if setup.pages_per_unit > 1 {
        return;
    }
    let report = storm.report();
    let count = |path: &str| report.count(path);
    let (mut reads, mut writes) = (storm.seen.reads, storm.seen.writes);
    if setup.buffer.exists() {
        assert_requests(&report, "host_buffer", reads, writes);
        let written = written(&report, "host_buffer");
        assert_eq!(writes, written + ended(&report, "host_buffer"), "versions in the host's buffer");
        reads = count("host_buffer.read_misses") + storm.seen.part_misses;
        writes = written;
    }
    assert_requests(&report, "cache", reads, writes);
    let enters = setup.cache.write_allocate && count("cache.capacity_pages") > 0;
    let past = if enters { 0 } else { count("cache.write_misses") };
    let drops = count("gc_drops_pages") + count("sole_copies.from_reads_pages");
    let written = written(&report, "cache") + count("sole_copies.cleaned_pages");
    let taken = count("shadows.from_buffer_pages") + count("shadows.discarded_twins_pages");
    let ended = past + written + taken + ended(&report, "cache");
    if count("host.grants_pages") == 0 {
        // If the notice of a page was still on its way, the cache already had a newer version.
        let begun = writes + drops - count("host.protect_obsolete_pages");
        assert_eq!(begun, ended, "versions in the cache");
    } else {
        // One drop may be taken for two, where the page has left and come back before the notice.
        let most = writes + drops + count("host.revoke.refused_pages");
        assert!((writes..=most).contains(&ended), "versions in the cache: {ended}, from {writes} to {most}");
    }
    assert_eq!(count("programs_pages.host"), past, "programs past the cache");
    assert_eq!(count("programs_pages.evict"), written, "programs of cached pages");
    let is_orphan = |cache: &Cache| cache.occupied().filter(|&slot| cache.is_orphan(slot)).count() as u64;
    let open = storm.level.caches().into_iter().map(|(_, cache)| is_orphan(cache)).sum::<u64>();
    let left = count("drop_rewrites_pages") + open;
    assert!(left <= drops + count("host.revoke.refused_pages"), "drops rewritten and open");
    // An orphan that is committed has a successor beside it.
    if !setup.buffer.exists() && count("host.grants_pages") + count("consistency.commits") == 0 {
        let saved = storm.seen.orphans_saved + count("host.protect_obsolete_pages");
        assert_eq!(left + saved, drops, "drops rewritten, open and saved");
    }
}

/// With `cdm-consistent` every eviction is a checkpoint, and every commit has a reason.
fn assert_commits_have_reasons(setup: &Setup, storm: &Checked<Stack>) {
    let CooperationConfig::CdmConsistent(config) = &setup.cooperation else { return };
    let report = storm.report();
    let count = |path: &str| report.count(path);
    assert_eq!(count("cache.dirty_evictions_pages"), count("consistency.checkpoints_pages"));
    let (commits, early) = (count("consistency.commits"), count("consistency.early_commits"));
    let in_time = storm.now.ns / config.commit_interval.ns;
    assert!(
        (early..=early + storm.seen.flushes + in_time).contains(&commits),
        "{commits} commits, {early} early"
    );
    assert!(count("consistency.copies_on_write_pages") <= count("cache.write_hits"), "copies on write");
}

/// The most sole copies that there may be.
fn bound(setup: &Setup) -> Option<u64> {
    let scheme = serde_json::to_value(&setup.cooperation).expect("it is JSON");
    let max = scheme["sole_copies_max"].as_str()?.parse::<Amount>().expect("a size");
    Some(max.pages(setup.page_bytes(), 0))
}

/// There are never more. One that has left makes room for another, so that none is cleaned beside it.
fn assert_bounded(max: u64, before: &Report, storm: &Checked<Stack>) {
    assert!(sole_copies(&storm.level) as u64 <= max && storm.count("sole_copies.peak_pages") <= max);
    let rose = |path| storm.count(path) > before.count(path);
    let is_one_write = storm.level.caches().len() == 1;
    let both = rose("sole_copies.cleaned_pages") && rose("cache.dirty_evictions_pages");
    assert!(!(is_one_write && both), "a page is cleaned though one has left");
}

fn assert_requests(report: &Report, cache: &str, reads: u64, writes: u64) {
    let sum = |what| {
        report.count(&format!("{cache}.{what}_hits")) + report.count(&format!("{cache}.{what}_misses"))
    };
    assert_eq!((sum("read"), sum("write")), (reads, writes), "{cache}: reads and writes");
}

/// Dirty pages that a cache has written below.
fn written(report: &Report, cache: &str) -> u64 {
    let of = |reason| report.count(&format!("{cache}.{reason}_pages"));
    ["dirty_evictions", "aged", "crowded", "flushed"].map(of).iter().sum()
}

/// Versions that ended in it otherwise, or have not ended.
fn ended(report: &Report, cache: &str) -> u64 {
    let of = |reason| report.count(&format!("{cache}.{reason}_pages"));
    ["absorbed", "dropped", "dirty"].map(of).iter().sum()
}

/// Runs a storm; its report.
fn storm(setup: &Setup, seed: u64) -> Report {
    let stream = &mut Seed(seed).stream("operations");
    let mut storm = Checked::stack(setup);
    storm.pace = Duration { ns: pick(stream, &[0, 200, 10_000]) };
    if stream.random() {
        storm.fill().expect("flash is sound");
    }
    let bound = bound(setup);
    for step in 1..=STEPS {
        let before = bound.map(|max| (max, storm.report()));
        storm.apply_drawn(stream).expect("flash is sound");
        if let Some((max, before)) = before {
            assert_bounded(max, &before, &storm);
        }
        if step % STEPS_BETWEEN_CHECKS == 0 {
            storm.assert_invariants();
            storm.assert_map_can_be_rebuilt();
            storm.assert_nothing_is_lost();
            assert_conserved(setup, &storm);
            assert_commits_have_reasons(setup, &storm);
        }
    }
    storm.read_all().expect("flash is sound");
    storm.assert_invariants();
    assert_conserved(setup, &storm);
    storm.report()
}

/// Setups of all shapes with their seeds, the same number for each scheme and eviction policy.
pub(crate) fn setups(times: u64) -> impl Iterator<Item = (u64, Setup)> {
    SHAPES.into_iter().flat_map(move |(placement, buffered)| setups_of(placement, buffered, times))
}

const SHAPES: [(Placement, bool); 4] = [
    (Placement::InStorage, false),
    (Placement::InStorage, true),
    (Placement::Host, false),
    (Placement::Host, true),
];

fn setups_of(placement: Placement, buffered: bool, times: u64) -> impl Iterator<Item = (u64, Setup)> {
    let policies = EvictionConfig::NAMES.iter().flat_map(move |policy| (0..times).map(move |_| policy));
    let all = SCHEMES.iter().flat_map(move |scheme| policies.clone().map(move |policy| (scheme, policy)));
    (0..).zip(all).filter_map(move |(seed, (scheme, policy))| {
        Some((seed, draw(scheme, policy, placement, buffered, &mut Seed(seed).stream("setup"))?))
    })
}

/// Storms of one shape; every one of these counts must reach its minimum.
fn storms(placement: Placement, buffered: bool, times: u64, reached: &[(&str, u64)]) {
    let mut sums = vec![0; reached.len()];
    for (seed, setup) in setups_of(placement, buffered, times) {
        let _named = Named((seed, &setup));
        let report = storm(&setup, seed);
        for (sum, (path, _)) in std::iter::zip(&mut sums, reached) {
            *sum += report.count(path);
        }
    }
    for (sum, (path, least)) in std::iter::zip(sums, reached) {
        eprintln!("{path}: {sum}");
        assert!(sum >= *least, "{path}: {sum}, the storms reach {least}");
    }
}

#[test]
fn pages_read_back_from_a_device() {
    let reached = [
        ("gc_drops_pages", 300),
        ("moving.moved_in_pages", 50),
        ("drop_rewrites_pages", 300),
        ("sole_copies.cleaned_pages", 3000),
        ("consistency.copies_on_write_pages", 1500),
        ("consistency.early_commits", 4000),
        ("shadows.from_buffer_pages", 150),
        ("shadows.moved_device_pages", 1500),
        ("programs_pages.refresh", 40000),
        ("programs_pages.wear_levelling", 3000),
    ];
    storms(Placement::InStorage, false, 9, &reached);
}

#[test]
fn pages_read_back_from_a_device_under_a_write_buffer() {
    let reached = [
        ("gc_drops_pages", 300),
        ("host.notices.announced", 50000),
        ("shadows.moved_twin_pages", 3),
        ("shadows.discarded_twins_pages", 20),
        ("shadows.fast_pages", 40),
        ("host_buffer.dirty_evictions_pages", 15000),
        ("host_buffer.aged_pages", 30000),
        ("host_buffer.crowded_pages", 40000),
        ("host_buffer.flushed_pages", 9000),
        ("host_buffer.dropped_pages", 2000),
    ];
    storms(Placement::InStorage, true, 8, &reached);
}

const CACHE_IN_HOST: [(&str, u64); 7] = [
    ("gc_drops_pages", 300),
    ("host.protect.refused_pages", 80),
    ("host.protect_obsolete_pages", 60),
    ("host.grants_used_pages", 200),
    ("host.revoke.refused_pages", 30),
    ("host.to_device.withdrawn", 10000),
    ("host.notices.weights", 2000),
];

#[test]
fn pages_read_back_from_a_cache_in_the_host() {
    storms(Placement::Host, false, 12, &CACHE_IN_HOST);
}

#[test]
fn pages_read_back_from_a_cache_in_the_host_under_a_write_buffer() {
    storms(Placement::Host, true, 12, &CACHE_IN_HOST);
}

/// The weights need a thousand pages or so, longer than the storms above.
#[test]
fn the_less_a_removable_page_counts_the_more_are_dropped() {
    let drops = ["1", "0.5", "0", "\"adaptive\"", "\"by-age\""].map(|weight| {
        let scheme = format!(r#"{{"name": "cdm", "removable_weight": {weight}, "rewrite_stream": "gc"}}"#);
        let mut setup = Setup::tiny(20, 4).with_slots(24).with_scheme(&scheme);
        setup.gc.trigger = Trigger::Operation;
        let mut storm = Checked::stack(&setup);
        let mut stream = Seed(1).stream("operations");
        for _ in 0..200_000 {
            storm.apply_drawn(&mut stream).expect("flash is sound");
        }
        storm.count("gc_drops_pages")
    });
    assert!(drops.windows(2).take(2).all(|pair| pair[0] < pair[1]), "{drops:?} for 1, 0.5, 0 and estimates");
    for estimated in &drops[3..] {
        assert!((drops[0] + 1..drops[2]).contains(estimated), "{drops:?}: the estimate lies between");
    }
}

#[test]
fn every_scheme_is_met() {
    let named = |name: &&str| SCHEMES.iter().any(|scheme| scheme.contains(&format!("\"{name}\"")));
    assert!(CooperationConfig::NAMES.iter().all(named), "a new scheme needs storms, and a table");
}
