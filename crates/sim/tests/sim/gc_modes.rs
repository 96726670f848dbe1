//! GC in idle time and in steps, from outside: its use, its cost, and that it is the same everywhere.

use crate::{Settings, measured};
use coflash_sim::{Metrics, Scenario};

/// Four dies, full and written over at random, then written at random at a moderate load.
fn scenario(settings: Settings<'_>) -> Scenario {
    let common = [
        ("flash.channels", "2"),
        ("flash.chips_per_channel", "2"),
        ("flash.blocks_per_plane", "256"),
        ("timing.channel", "private"),
        ("ftl.spare", "{ share = \"28%\", definition = \"over_provisioning\" }"),
        ("gc.low_mark", "5%"),
        ("precondition.random_passes", "2.0"),
        ("workload.synthetic.generator", "uniform"),
        ("workload.synthetic.requests", "60_000"),
        ("workload.synthetic.read_share", "30%"),
        ("workload.synthetic.arrival", "{ name = \"poisson\", mean = \"700us\" }"),
    ];
    let scenario = Scenario::default().set(&common).expect("a scenario");
    scenario.set(settings).expect("settings")
}

fn of(path: &str, metrics: &Metrics) -> f64 {
    metrics.number(path).unwrap_or_else(|| panic!("there is no {path}"))
}

const FOREGROUND: Settings<'_> = &[("gc.mode", "foreground")];
const BACKGROUND: Settings<'_> = &[("gc.mode", "background")];
const PREEMPTIVE: Settings<'_> = &[("gc.mode", "preemptive")];

#[test]
fn idle_time_and_steps_make_responses_even() {
    for seed in ["1", "2", "3"] {
        for channel in ["private", "shared"] {
            let common = [("seed", seed), ("timing.channel", channel)];
            let metrics = |settings: Settings<'_>| measured(&scenario(&[&common, settings].concat()));
            let [foreground, background, preemptive] = [FOREGROUND, BACKGROUND, PREEMPTIVE].map(metrics);
            assert_eq!(foreground.count("gc_steps"), 0);
            for (metrics, most) in [(&background, 0.2), (&preemptive, 0.4)] {
                let ratio = |path| of(path, metrics) / of(path, &foreground);
                let deviation = ratio("response_ns.all.stddev");
                assert!(deviation < most, "deviation {deviation:.2} of foreground");
                let waf = ratio("waf_host");
                assert!((0.9..1.1).contains(&waf), "write amplification {waf:.3} of foreground");
                assert!(metrics.count("gc_steps") > 1000);
            }
        }
    }
}

/// One chip per channel: nothing waits for a bus, so private and shared channels are the same, idle time
/// included.
#[test]
fn one_chip_to_a_channel_is_the_same_shared_or_private() {
    for mode in [BACKGROUND, PREEMPTIVE] {
        for replay in ["{ mode = \"open\" }", "{ mode = \"closed\", queue_depth = 3 }"] {
            for cooperation in ["none", "cdm", "cdm-consistent"] {
                let metrics = |channel| {
                    let settings = [
                        ("timing.channel", channel),
                        ("flash.channels", "4"),
                        ("flash.chips_per_channel", "1"),
                        ("replay", replay),
                        ("cooperation", cooperation),
                        ("cache.size", "5%"),
                        ("workload.synthetic.requests", "20_000"),
                    ];
                    // The remaining work of a die is known to the nanosecond only if its bus is private.
                    crate::without(&["load"], &measured(&scenario(&[&settings, mode].concat())))
                };
                assert_eq!(metrics("private"), metrics("shared"), "{mode:?}, {replay}, {cooperation}");
            }
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_result() {
    for mode in [BACKGROUND, PREEMPTIVE] {
        for channel in ["private", "shared"] {
            let settings = [
                ("timing.channel", channel),
                ("cooperation", "cdm"),
                ("cache.size", "5%"),
                ("ftl.wear_levelling", "static"),
                ("workload.synthetic.requests", "20_000"),
            ];
            let metrics = || measured(&scenario(&[&settings, mode].concat()));
            assert_eq!(metrics(), metrics());
        }
    }
}

/// Options at their defaults are not written, so older scenarios keep their hashes.
#[test]
fn the_hash_does_not_know_of_defaults() {
    let hash = |settings| Scenario::default().set(settings).expect("a scenario").hash();
    let default = Scenario::default().hash();
    assert_eq!(hash(FOREGROUND), default);
    let preemptive = hash(&[("gc.mode", "preemptive")]);
    assert_eq!(hash(&[("gc.mode", "preemptive"), ("gc.mode.steps_max", "8")]), preemptive);
    assert_ne!(hash(BACKGROUND), default);
    assert_ne!(hash(&[("gc.mode", "preemptive"), ("gc.mode.steps_max", "9")]), preemptive);
}
