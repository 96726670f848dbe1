//! A write buffer in the host and a cache over a flash cache before disks.

use crate::{Settings, refused};
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
    result.unwrap_or_else(|error| panic!("{settings:?}: {error}")).metrics().clone()
}

/// What flash has given up to a cache above; a cache that says nothing has no such count.
fn superseded(metrics: &Metrics) -> u64 {
    metrics.value("hybrid.superseded_pages").map_or(0, |_| metrics.count("hybrid.superseded_pages"))
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
    let cases: [(Settings<'_>, &str); 9] = [
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
        (&[("cache.policy", "gcar")], "cache.policy: \"gcar\" was given"),
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
