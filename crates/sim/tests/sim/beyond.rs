//! What a drive can carry, and the note on a run beyond its measurements.

use crate::{Settings, measured};
use coflash_sim::{NoObserver, Scenario, run};

/// Four fast dies, in a closed loop that keeps them busy.
const FAST: &str = r#"
    flash = { channels = 4, blocks_per_plane = 64, pages_per_block = 32 }
    timing = { channel = "private", page_read = "2us", page_program = "4us", sector_transfer = "0ns" }
    workload.synthetic = { generator = "uniform", requests = 4000, read_share = "50%" }
"#;

fn fast(settings: Settings<'_>) -> Scenario {
    Scenario::from_toml(FAST).and_then(|fast| fast.set(settings)).expect("it is valid")
}

#[test]
fn requests_on_a_shared_link_have_its_bandwidth_together_in_each_direction() {
    for (size, tolerance) in [("4KiB", 0.02), ("64KiB", 0.05)] {
        let size = format!("{{ name = \"fixed\", size = \"{size}\" }}");
        let on = |sharing: &str, share: &str| {
            measured(&fast(&[
                ("link.lane_rate", "200MB"),
                ("link.sharing", sharing),
                ("timing.block_erase", "0ns"),
                ("workload.synthetic.generator", "sequential"),
                ("workload.synthetic.size", &size),
                ("workload.synthetic.read_share", share),
            ]))
        };
        let bandwidth = |sharing, share, way: &str| {
            on(sharing, share).number(&format!("throughput.{way}_bandwidth")).expect("it has one")
        };
        for (share, way) in [("100%", "read"), ("0%", "write")] {
            let (private, shared) = (bandwidth("private", share, way), bandwidth("shared", share, way));
            assert!(private > 300e6, "{way}, {size}: {private}");
            assert!(shared <= 200e6, "{way}, {size}: {shared}");
            assert!(shared > 200e6 * (1.0 - tolerance), "{way}, {size}: {shared}");
        }
        // The directions do not share: half reads and half writes have more than one direction carries.
        let both = on("shared", "50%");
        let total = both.number("throughput.bandwidth").expect("it has one");
        assert!(total > 220e6 && total <= 400e6, "{size}: {total}");
    }
}

#[test]
fn a_shared_link_that_is_idle_costs_what_a_private_one_does() {
    let alone = |sharing| {
        let single = [
            ("link.lane_rate", "200MB"),
            ("link.sharing", sharing),
            ("replay.queue_depth", "1"),
            ("workload.synthetic.requests", "500"),
        ];
        measured(&fast(&single))
    };
    assert_eq!(alone("shared"), alone("private"));
}

#[test]
fn a_cache_in_the_host_shares_the_link_page_by_page() {
    let read = |sharing| {
        let settings = [
            ("link.lane_rate", "200MB"),
            ("link.sharing", sharing),
            ("cache.placement", "host"),
            ("cache.size", "64KiB"),
            ("workload.synthetic.read_share", "100%"),
            ("workload.synthetic.size", "{ name = \"fixed\", size = \"16KiB\" }"),
        ];
        measured(&fast(&settings)).number("throughput.read_bandwidth").expect("it has one")
    };
    let hits = 1.05; // a small part of the pages is in the cache
    assert!(read("private") > 300e6);
    assert!(read("shared") <= 200e6 * hits);
}

#[test]
fn cores_of_the_firmware_limit_the_rate_of_reads() {
    let rate = |cores| {
        let settings = [
            ("controller.read_command", "50us"),
            ("controller.cores", cores),
            ("workload.synthetic.read_share", "100%"),
        ];
        measured(&fast(&settings)).number("throughput.read_iops").expect("it has one")
    };
    for (cores, most) in [("1", 20_000.0), ("8", 160_000.0)] {
        assert!((0.98 * most..=most).contains(&rate(cores)), "{cores}: {}", rate(cores));
    }
}

#[test]
fn a_run_beyond_the_measurements_of_its_scenario_says_so() {
    let notes = |settings: Settings<'_>| {
        let result = run(&fast(settings), &mut NoObserver).expect("it runs");
        result.notes.iter().filter(|note| note.contains("(measured)")).cloned().collect::<Vec<_>>()
    };
    let within: Settings<'_> = &[
        ("measured.reads_per_s", "10_000_000"),
        ("measured.writes_per_s", "10_000_000"),
        ("measured.read_share", "51%"),
        ("measured.request_size", "4KiB"),
        ("measured.used", "100%"),
    ];
    assert_eq!(notes(&[]), [""; 0]);
    assert_eq!(notes(within), [""; 0]);
    for (key, value, part) in [
        ("measured.reads_per_s", "1000", " reads per second, where at most 1000 were measured"),
        ("measured.writes_per_s", "1000", " writes per second, where at most 1000 were measured"),
        ("measured.read_share", "20%", "50% reads, where at most 20% were measured"),
        (
            "workload.synthetic.size",
            "{ name = \"fixed\", size = \"8KiB\" }",
            "reads of 8192 bytes on average, where those measured have 4KiB; writes of 8192 bytes on average",
        ),
        ("precondition.fill", "none", "% of the capacity in use, where it was measured from 100% on"),
    ] {
        let found = notes(&[within, &[(key, value)]].concat());
        let [note] = &found[..] else { panic!("{key}: {found:?}") };
        assert!(note.contains(part), "{key}: {note}");
        assert_eq!(note.matches(';').count(), part.matches(';').count(), "{key}: {note}");
    }
}
