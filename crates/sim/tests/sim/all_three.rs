//! A write buffer in the host and a cache over a flash cache before disks.

use crate::{Settings, refused};
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_sim::{Metrics, NoObserver, Scenario, run};

const DEVICE: &str = r#"
[flash]
channels = 1
blocks_per_plane = 128
pages_per_block = 32
[timing]
channel = "private"
page_program_fast = "100us"
[ftl]
spare = { share = "10%", definition = "spare_of_physical" }
chips = "round-robin"
summary = "on"
[precondition]
fill = "none"
[cache]
size = "1MiB"
[hybrid]
scheme = { name = "fp-fcl", caching = "90%" }
segment = "1MiB"
period_requests = 2000
sequential_unit = "128KiB"
[hybrid.disks.model]
name = "constant"
capacity = "64MiB"
[workload.synthetic]
requests = 40_000
generator = { name = "zipf", exponent = 0.9 }
read_share = "40%"
arrival = { name = "poisson", mean = "4ms" }
"#;

const BUFFER: (&str, &str) = ("host_buffer.size", "512KiB");

fn scenario(settings: Settings<'_>) -> Scenario {
    let scenario = Scenario::from_toml(DEVICE).and_then(|scenario| scenario.set(settings));
    scenario.unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

fn with(settings: Settings<'_>) -> Metrics {
    let result = run(&scenario(settings), &mut NoObserver);
    result.unwrap_or_else(|error| panic!("{settings:?}: {error}")).metrics
}

/// A count, or zero where no level of the run has it.
fn count(metrics: &Metrics, path: &str) -> u64 {
    metrics.value(path).map_or(0, |_| metrics.count(path))
}

/// What flash has given up to a cache above; a cache that says nothing has no such count.
fn superseded(metrics: &Metrics) -> u64 {
    count(metrics, "hybrid.superseded_pages")
}

/// What enters flash is what leaves the levels above and what disks bring; what leaves them is what entered.
fn assert_accounted_for(metrics: &Metrics, what: &str) {
    let of = |path: &str| metrics.count(path);
    let entered = of("hybrid.write_hits_pages") + of("hybrid.write_misses_pages");
    assert_eq!(
        entered,
        of("programs_pages.host") + of("programs_pages.evict") - of("hybrid.fills_pages"),
        "{what}"
    );
    let written = of("hybrid.disk_writes_pages");
    let (past, groups) = (of("hybrid.bypassed_writes_pages"), of("hybrid.destages_pages"));
    assert!((past..=past + groups).contains(&written), "{what}: {written}");
    assert!(of("hybrid.fills_pages") <= of("hybrid.disk_reads_pages"), "{what}");
    // A page that GC drops dirty is written later, or overwritten before.
    assert!(of("drop_rewrites_pages") <= of("gc_drops_pages") + superseded(metrics), "{what}");
}

#[test]
fn each_scheme_runs_over_each_flash_cache_below_a_buffer_or_not() {
    let schemes = [
        "none",
        "cdm",
        "cdm-overwrites",
        "cdm-removable",
        "cdm-invalidate-on-cache",
        "cdm-hgc",
        "hgc",
        "dgc",
        "zgc",
    ];
    for scheme in schemes {
        for tier in ["op-fcl", "silent-eviction"] {
            for buffer in ["0B", BUFFER.1] {
                let settings = [
                    ("cooperation", scheme),
                    ("hybrid.scheme", tier),
                    (BUFFER.0, buffer),
                    ("workload.synthetic.requests", "15000"),
                ];
                let metrics = with(&settings);
                assert_accounted_for(&metrics, &format!("{settings:?}"));
                assert!(metrics.count("cache.hits_pages") > 0, "{settings:?}");
                assert!(metrics.count("erases_blocks") > 0, "{settings:?}: GC works");
            }
        }
    }
}

#[test]
fn a_cache_in_the_host_cooperates_across_the_link() {
    for protecting in ["request", "grants"] {
        for scheme in ["none", "cdm"] {
            let metrics = with(&[
                ("cache.placement", "host"),
                ("host.protecting", protecting),
                ("cooperation", scheme),
                BUFFER,
            ]);
            assert_accounted_for(&metrics, protecting);
            assert_eq!(superseded(&metrics) > 0, scheme == "cdm", "{protecting}");
        }
    }
}

/// What the disks are spared by knowing of newer data above. GC need not copy less: the room goes to other pages.
#[test]
fn what_a_cache_has_overwritten_is_not_destaged() {
    let [none, cdm] = ["none", "cdm"].map(|scheme| with(&[("cooperation", scheme)]));
    let destages = |metrics: &Metrics| metrics.count("hybrid.destages_pages");
    assert!(destages(&cdm) < destages(&none), "{} with cdm, {} without", destages(&cdm), destages(&none));
    assert_eq!(superseded(&none), 0);
    assert!(superseded(&cdm) > 0);
}

/// The disk has a clean page, so what becomes of the buffer does not matter.
#[test]
fn clean_pages_that_the_host_is_about_to_replace_are_dropped() {
    let [ggc, hgc] =
        ["ggc", "hgc"].map(|scheme| with(&[("cooperation", scheme), ("cache.size", "0B"), BUFFER]));
    assert_eq!(ggc.count("gc_drops_pages"), 0);
    assert!(hgc.count("gc_drops_pages") > 0, "clean ones");
    assert!(hgc.count("shadows.fast_pages") > 0, "dirty ones");
}

/// A sequential request goes past the cache above as well, and to the disk in one transfer.
#[test]
fn sequential_requests_go_past_both_caches() {
    let metrics = with(&[
        ("workload.synthetic.generator", "sequential"),
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"256KiB\" }"),
        ("workload.synthetic.requests", "500"),
    ]);
    assert!(metrics.count("hybrid.bypassed_writes_pages") > 0);
    assert_eq!(metrics.count("cache.dirty_evictions_pages"), 0);
    assert_eq!(metrics.count("programs_pages.evict"), 0);
}

#[test]
fn what_has_no_meaning_is_refused_with_the_reason() {
    let cases: [(Settings<'_>, &str); 8] = [
        (
            &[("cooperation", "cdm-consistent")],
            "cooperation: \"cdm-consistent\" was given, whose checkpoints",
        ),
        (
            &[("cooperation", "{ name = \"cdm\", sole_copies_max = \"10%\" }")],
            "cooperation.sole_copies_max: a bound was given",
        ),
        (
            &[("cooperation", "{ name = \"cdm-removable\", sole_copies_max = \"1MiB\" }")],
            "cooperation.sole_copies_max: a bound was given",
        ),
        (
            &[("cache.size", "0B"), ("cache.placement", "host")],
            "cache.placement: \"host\" was given, and there is no",
        ),
        (&[("cooperation", "move-in")], "cooperation: \"move-in\" was given, which takes pages"),
        (&[("cooperation", "expected-cost")], "cooperation: \"expected-cost\" was given, which takes pages"),
        (
            &[("hybrid.write_policy", "write-through")],
            "hybrid.write_policy: \"write-through\" was given, and the cache above",
        ),
        (&[("cache.volatile", "true"), ("cooperation", "cdm")], "cache.volatile: true was given; with cdm"),
    ];
    for (settings, expected) in cases {
        let found = Scenario::from_toml(DEVICE).and_then(|scenario| scenario.set(settings));
        let error = found.map_or_else(|error| error.to_string(), |scenario| refused(&scenario));
        assert!(error.starts_with(expected), "{error}");
    }
}

/// Draws one of the values of each key.
fn draw(stream: &mut RandomStream) -> Vec<(&'static str, &'static str)> {
    const KEYS: [(&str, &[&str]); 30] = [
        ("hybrid.scheme", &["op-fcl", "rw-fcl", "fp-fcl", "silent-eviction", "drop-evict"]),
        ("hybrid.policy", &["lru", "fifo", "clock", "pt-lru", "arc"]),
        ("hybrid.active_blocks", &["mixed", "by-class"]),
        ("hybrid.resizing", &["steady", "yielding"]),
        ("hybrid.destaging", &["foreground", "background"]),
        ("hybrid.partial_writes", &["whole", "disk"]),
        ("hybrid.destage_pages", &["1", "16", "64"]),
        ("hybrid.sequential_unit", &["0B", "16KiB", "128KiB"]),
        ("hybrid.period_requests", &["300", "2000"]),
        ("hybrid.segment", &["256KiB", "1MiB"]),
        ("cache.size", &["0B", "64KiB", "1MiB"]),
        ("cache.placement", &["in-storage", "host"]),
        ("cache.volatile", &["false", "true"]),
        ("cache.policy", &["lru", "clock", "lfu"]),
        ("cache.read_allocate", &["true", "false"]),
        ("cache.write_allocate", &["true", "true", "false"]),
        ("cache.eviction", &["foreground", "background"]),
        (
            "cooperation",
            &["none", "none", "cdm", "cdm-overwrites", "cdm-removable", "cdm-hgc", "hgc", "dgc", "sgc"],
        ),
        ("host.protecting", &["request", "grants"]),
        ("host.notices", &["each", "batched", "piggybacked"]),
        ("host.jitter", &["0ns", "1ms"]),
        ("host_buffer.size", &["0B", "64KiB", "512KiB"]),
        ("host_buffer.read_allocate", &["false", "true"]),
        ("host_buffer.dirty_age_max", &["100ms", "30s"]),
        ("timing.channel", &["private", "shared"]),
        ("gc.mode", &["foreground", "background", "preemptive"]),
        ("ftl.shared_streams", &["[]", r#"[["host", "gc"]]"#, r#"[["host", "evict"]]"#]),
        ("workload.synthetic.read_share", &["10%", "40%"]),
        ("workload.synthetic.size", &["4KiB", "64KiB", "2560B"]),
        ("workload.synthetic.arrival", &["back-to-back", r#"{ name = "poisson", mean = "1ms" }"#]),
    ];
    let of =
        |(key, values): (&'static str, &[&'static str])| (key, values[stream.random_range(0..values.len())]);
    let mut drawn: Vec<_> = KEYS.map(of).into();
    for (_, size) in drawn.iter_mut().filter(|(key, _)| *key == "workload.synthetic.size") {
        *size = match *size {
            "4KiB" => r#"{ name = "fixed", size = "4KiB" }"#,
            "64KiB" => {
                r#"{ name = "choice", sizes = [{ size = "4KiB", weight = 8 }, { size = "64KiB", weight = 1 }] }"#
            }
            _ => {
                r#"{ name = "choice", sizes = [{ size = "2560B", weight = 1 }, { size = "4KiB", weight = 1 }] }"#
            }
        };
    }
    drawn.extend([
        ("workload.synthetic.requests", "6000"),
        ("workload.synthetic.trim_share", "4%"),
        ("workload.synthetic.flush_share", "1%"),
        ("workload.synthetic.align", "512B"),
    ]);
    drawn
}

/// Each page that comes to a tier is found there, or goes on to the next one; each version ends in one way; each program and
/// each erase has its cause.
fn assert_conserved(metrics: &Metrics, what: &str) {
    let of = |path: &str| count(metrics, path);
    let sum = |section: &str, names: &[&str]| {
        names.iter().map(|name| of(&format!("{section}.{name}"))).sum::<u64>()
    };
    assert_eq!(of("response_ns.all.count"), of("requests"), "{what}: each request is answered once");
    let (mut reads, mut writes) = (of("host_reads_pages"), of("host_writes_pages"));
    let written =
        |section| sum(section, &["dirty_evictions_pages", "aged_pages", "crowded_pages", "flushed_pages"]);
    let ended = |section| sum(section, &["absorbed_pages", "dropped_pages", "dirty_pages"]);
    if of("host_buffer.capacity_pages") > 0 {
        let found =
            ["read", "write"].map(|op| sum("host_buffer", &[&format!("{op}_hits"), &format!("{op}_misses")]));
        assert_eq!(found, [reads, writes], "{what}: the host's write buffer");
        assert_eq!(writes, written("host_buffer") + ended("host_buffer"), "{what}: versions in it");
        reads = sum("host_buffer", &["read_misses", "merged_pages"]);
        writes = written("host_buffer");
    }
    let has_cache = of("cache.capacity_pages") > 0 && of("cache.nvm_writes_pages") > 0;
    let come = sum("hybrid", &["write_hits_pages", "write_misses_pages", "bypassed_writes_pages"]);
    if has_cache {
        let found =
            ["read", "write"].map(|op| sum("cache", &[&format!("{op}_hits"), &format!("{op}_misses")]));
        assert_eq!(found, [reads, writes], "{what}: the cache");
        reads = sum("cache", &["read_misses", "merged_pages"]);
        let past = come - written("cache");
        // A page that GC drops becomes a version of its own.
        let ends = past
            + written("cache")
            + ended("cache")
            + sum("shadows", &["from_buffer_pages", "discarded_twins_pages"]);
        let most = writes + of("gc_drops_pages");
        assert!((writes..=most).contains(&ends), "{what}: {ends} versions end, {writes} to {most} begin");
    } else {
        assert_eq!(come, writes, "{what}: writes");
    }
    let found = sum(
        "hybrid",
        &["read_hits_clean_pages", "read_hits_dirty_pages", "read_misses_pages", "bypassed_reads_pages"],
    );
    assert_eq!(found, reads, "{what}: reads");
    let (missed, joined) = (of("hybrid.read_misses_pages"), of("hybrid.joined_reads_pages"));
    let most = missed + of("hybrid.bypassed_reads_pages");
    assert!(
        (missed - joined.min(missed)..=most).contains(&of("hybrid.disk_reads_pages")),
        "{what}: reads of the disks"
    );
    assert_accounted_for(metrics, what);
    assert!(
        of("hybrid.destages_pages") <= of("hybrid.write_misses_pages"),
        "{what}: a version is destaged once"
    );
    let causes = ["host", "evict", "gc", "refresh", "wear_levelling", "destage", "metadata"];
    let programs = causes.map(|cause| of(&format!("programs_pages.{cause}"))).iter().sum::<u64>();
    assert_eq!(programs, of("operations.programs_pages"), "{what}: programs");
    let erases = of("erases_blocks");
    assert_eq!(erases, of("operations.erases_blocks"), "{what}: erases");
    // A block is erased when all of it is programmed.
    assert!(
        (erases * 32..=(erases + 128) * 32).contains(&programs),
        "{what}: {programs} programs, {erases} erases"
    );
    assert!(of("mapped_pages") <= of("hybrid.flash_pages"), "{what}: pages of flash");
}

/// `COFLASH_SCENARIOS` asks for more; the message of a failure has the seed.
#[test]
fn of_any_three_tiers_no_page_is_lost_or_counted_twice() {
    let all = std::env::var("COFLASH_SCENARIOS").ok().and_then(|all| all.parse().ok()).unwrap_or(48);
    let first = std::env::var("COFLASH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut ran = 0;
    for seed in first..first + all {
        let settings = draw(&mut Seed(seed).stream("three tiers"));
        let drawn = Scenario::from_toml(DEVICE).and_then(|scenario| scenario.set(&settings));
        // What goes with nothing is refused before it runs.
        let Ok(scenario) = drawn else { continue };
        let Ok(result) = run(&scenario, &mut NoObserver) else { continue };
        ran += 1;
        assert_conserved(&result.metrics, &format!("seed {seed}: {settings:?}"));
    }
    assert!(ran > all / 4, "{ran} of {all} scenarios are allowed");
}

#[test]
fn a_read_of_several_pages_is_one_transfer_of_the_disk_below_memories_in_the_host_too() {
    let reads = [
        ("workload.synthetic.requests", "2000"),
        ("workload.synthetic.read_share", "100%"),
        ("workload.synthetic.size.name", "fixed"),
        ("workload.synthetic.size.size", "32KiB"),
    ];
    let memories: [Settings<'_>; 3] =
        [&[("cache.size", "0B")], &[("cache.size", "0B"), BUFFER], &[("cache.placement", "host")]];
    for memory in memories {
        let metrics = with(&[&reads[..], memory].concat());
        let (pages, transfers) =
            (metrics.count("hybrid.disk_reads_pages"), metrics.count("hybrid.disk_read_transfers"));
        assert!(pages > 4000 && 4 * transfers < pages, "{memory:?}: {pages} pages in {transfers} transfers");
    }
}
