//! A run from a warm device gives the same result as a run that warms its own, byte for byte.

use coflash_ftl::VictimConfig;
use coflash_sim::{
    Cancelled, NoObserver, Observer, Phase, Records, RunError, RunResult, Scenario, TRACES, WarmDevice, run,
    run_recorded, warm, warm_key,
};
use std::path::{Path, PathBuf};

fn small(assignments: &[(&str, &str)]) -> Scenario {
    let small = [
        ("flash.channels", "2"),
        ("flash.planes_per_die", "2"),
        ("flash.blocks_per_plane", "48"),
        ("flash.pages_per_block", "32"),
        ("precondition.random_passes", "1.5"),
        ("workload.synthetic.requests", "8000"),
        ("workload.synthetic.read_share", "30%"),
        ("seed", "5"),
    ];
    Scenario::default().set(&[&small, assignments].concat()).unwrap()
}

/// Run a scenario on a warm device.
pub(crate) fn run_from(
    device: &WarmDevice,
    scenario: &Scenario,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    run_recorded(scenario, Some(device), &Records::default(), None, observer)
}

/// Everything of a result that does not say how fast it came.
pub(crate) fn all_of(result: &RunResult) -> String {
    let histograms = ["all", "read", "write"].map(|kind| result.histogram(kind));
    format!("{} {histograms:?} {:?} {:?}", result.to_reproducible_json(), result.series, result.erases)
}

fn assert_same(scenario: &Scenario) {
    let cold = all_of(&run(scenario, &mut NoObserver).unwrap());
    let device = warm(scenario, TRACES, &mut NoObserver).unwrap();
    assert_eq!(device.key(), warm_key(scenario));
    let thread = format!("coflash-{}-{:?}.warm", std::process::id(), std::thread::current().id());
    let file = std::env::temp_dir().join(thread);
    let saved = |device: &WarmDevice| {
        device.save(&file).unwrap();
        std::fs::read(&file).unwrap()
    };
    let bytes = saved(&device);
    let kept = WarmDevice::from_bytes(&bytes).unwrap();
    assert!(saved(&kept) == bytes);
    std::fs::remove_file(&file).unwrap();
    for (name, device) in [("shared", &device), ("kept", &kept), ("shared once more", &device)] {
        let result = run_from(device, scenario, &mut NoObserver).unwrap();
        assert!(all_of(&result) == cold, "{name} device, {}", scenario.to_toml());
    }
}

#[test]
fn every_victim_policy_with_and_without_wear_levelling() {
    for victim in VictimConfig::NAMES {
        for wear_levelling in ["off", "dynamic", "static"] {
            assert_same(&small(&[("gc.victim.name", victim), ("ftl.wear_levelling", wear_levelling)]));
        }
    }
}

#[test]
fn every_way_to_fill_and_every_kind_of_device() {
    let cases: &[&[(&str, &str)]] = &[
        &[("precondition.fill", "none"), ("precondition.random_passes", "0")],
        &[("precondition.fill", "mapped"), ("precondition.random_passes", "0.3")],
        &[("precondition.until_free", "10%"), ("precondition.random_passes", "0")],
        &[("precondition.random_passes", "steady")],
        &[("precondition.until_steady", "true"), ("workload.synthetic.generator", "zipf")],
        &[("ftl.chips", "round-robin"), ("ftl.pools", "die"), ("ftl.summary", "on")],
        &[("ftl.chips", "least-busy"), ("ftl.shared_streams", "[]"), ("timing.channel", "shared")],
        &[("gc.mode", "background"), ("flash.chips_per_channel", "2"), ("timing.channel", "shared")],
        &[
            ("gc.mode", "preemptive"),
            ("gc.low_mark", "3"),
            ("gc.mode.steps_max", "3"),
            ("cooperation", "cdm"),
        ],
        &[
            ("gc.mode", "preemptive"),
            ("gc.low_mark", "3"),
            ("ftl.wear_levelling", "static"),
            ("ftl.wear_gap", "1"),
        ],
        &[("gc.mode", "background"), ("ftl.wear_levelling", "static"), ("ftl.wear_gap", "1")],
        &[
            ("ftl.wear_levelling", "static"),
            ("ftl.wear_gap", "1"),
            ("ftl.summary", "on"),
            ("workload.synthetic.requests", "30000"),
        ],
        &[("gc.victim.name", "greedy"), ("gc.victim.tie", "highest-block"), ("gc.trigger", "operation")],
        &[("cache.size", "5%"), ("cooperation", "cdm")],
        &[("cache.size", "5%"), ("cooperation", "cdm-consistent")],
        &[("cache.size", "5%"), ("cooperation", "cdm"), ("cooperation.removable_weight", "adaptive")],
        &[
            ("cache.size", "5%"),
            ("gc.victim.name", "d-choices"),
            ("gc.victim.d", "3"),
            ("cooperation", "cdm"),
        ],
    ];
    for case in cases {
        assert_same(&small(case));
    }
}

#[test]
fn the_golden_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut scenarios: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scenarios.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    assert!(!scenarios.is_empty());
    for path in scenarios {
        assert_same(&Scenario::load(path.to_str().unwrap()).unwrap());
    }
}

#[test]
fn one_device_serves_all_that_its_key_does() {
    let device = warm(&small(&[]), TRACES, &mut NoObserver).unwrap();
    for assignments in [
        [("cache.size", "5%"), ("cooperation", "none")],
        [("cache.size", "2%"), ("cooperation", "cdm")],
        [("timing.page_read", "1us"), ("replay.mode", "closed")],
    ] {
        let scenario = small(&assignments);
        let from = run_from(&device, &scenario, &mut NoObserver).unwrap();
        assert_eq!(all_of(&from), all_of(&run(&scenario, &mut NoObserver).unwrap()));
    }
    let other = small(&[("gc.victim", "fifo"), ("seed", "6")]);
    let error = run_from(&device, &other, &mut NoObserver).map(drop).unwrap_err().to_string();
    assert!(error.contains("gc.victim.name is \"greedy\" in it and \"fifo\" in the scenario"), "{error}");
    assert!(error.contains("seed is 5 in it and 6 in the scenario"), "{error}");
}

/// The shares and pages that were reported.
#[derive(Default)]
struct Course(Vec<(Option<f64>, u64)>);

impl Observer for Course {
    fn progress(&mut self, _: Phase, share: Option<f64>, pages: u64) -> Result<(), Cancelled> {
        self.0.push((share, pages));
        Ok(())
    }
}

#[test]
fn filling_and_random_writes_are_one_course() {
    let many = ("flash.blocks_per_plane", "192");
    for assignments in [
        vec![],
        vec![("precondition.fill", "random")],
        vec![("precondition.fill", "mapped")],
        vec![("precondition.until_free", "10%")],
        vec![("precondition.random_passes", "steady")],
    ] {
        let mut course = Course::default();
        warm(&small(&[&[many], &*assignments].concat()), TRACES, &mut course).unwrap();
        assert!(course.0.len() > 4 && course.0.is_sorted(), "{assignments:?}: {:?}", course.0);
        assert!(course.0.iter().all(|(share, _)| share.is_none_or(|share| share <= 1.0)));
    }
}
