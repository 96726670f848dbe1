//! A run that goes on from a checkpoint gives the result of one that was never interrupted, byte for byte.

use crate::Settings;
use crate::warm::all_of;
use coflash_cache::EvictionConfig;
use coflash_ftl::{PlacementConfig, VictimConfig};
use coflash_level::CooperationConfig;
use coflash_sim::{
    BUILT_IN, Cancelled, Checkpoints, Given, NoObserver, Observer, Phase, RunError, RunResult, Scenario,
    TRACES, run, run_with_checkpoints,
};
use std::fs;
use std::path::{Path, PathBuf};

const SMALL: Settings<'_> = &[
    ("flash.channels", "2"),
    ("flash.chips_per_channel", "2"),
    ("flash.blocks_per_plane", "64"),
    ("flash.pages_per_block", "16"),
    ("ftl.spare.share", "60%"),
    ("gc.low_mark", "16"),
    ("precondition.random_passes", "0.5"),
    ("workload.synthetic.requests", "20000"),
    ("workload.synthetic.read_share", "20%"),
    ("workload.synthetic.generator", "zipf"),
    ("cache.size", "5%"),
    ("cooperation", "cdm"),
];

/// Ends a run after a checkpoint was written at the end of this batch.
struct Interrupts(u32);

impl Observer for Interrupts {
    fn progress(&mut self, phase: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        if phase == Phase::Replay && self.0 == 0 { Err(Cancelled) } else { Ok(()) }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("coflash-checkpoint-{}-{name}", std::process::id()))
}

fn checked(
    scenario: &Scenario,
    file: &Path,
    observer: &mut dyn Observer,
) -> (Result<RunResult, RunError>, Checkpoints) {
    let mut checkpoints = Checkpoints { file: file.to_owned(), ..Checkpoints::default() };
    let result = run_with_checkpoints(scenario, &Given::only(TRACES), &mut checkpoints, observer);
    assert_eq!(checkpoints.unwritten, None, "{}", scenario.to_toml());
    (result, checkpoints)
}

/// Interrupt a run after some batches, go on, and compare with the whole. Returns 0 for a scenario that is refused, else 1.
fn assert_goes_on(scenario: &Scenario, batches: u32, what: &str) -> usize {
    let file = file(&what.replace(|c: char| !c.is_alphanumeric(), "-"));
    let (interrupted, _) = checked(scenario, &file, &mut Interrupts(batches));
    let error = interrupted.map(drop).unwrap_err();
    if let RunError::Scenario(_) = error {
        return 0;
    }
    assert!(matches!(error, RunError::Cancelled(_)), "{what}: {error}");
    let (result, checkpoints) = checked(scenario, &file, &mut NoObserver);
    fs::remove_file(&file).unwrap();
    assert!(checkpoints.resumed.is_some(), "{what}: {checkpoints:?}");
    let (whole, gone_on) = (all_of(&run(scenario, &mut NoObserver).unwrap()), all_of(&result.unwrap()));
    assert!(whole == gone_on, "{what} differs, {}", scenario.to_toml());
    1
}

fn scenario(settings: Settings<'_>) -> Option<Scenario> {
    // Some policies have parameters that must be given, or need what the others do not have.
    let scenario = Scenario::default().set(&[SMALL, settings].concat()).ok()?;
    coflash_sim::check(&scenario).is_ok().then_some(scenario)
}

#[test]
fn every_policy_goes_on() {
    let families = [
        ("gc.victim", VictimConfig::NAMES),
        ("ftl.placement", PlacementConfig::NAMES),
        ("cache.policy", EvictionConfig::NAMES),
        ("cooperation", CooperationConfig::NAMES),
    ];
    for (key, names) in families {
        let mut gone_on = 0;
        for name in names {
            if let Some(scenario) = scenario(&[(key, name)]) {
                gone_on += assert_goes_on(&scenario, 1, &format!("{key}={name}"));
            }
        }
        assert!(gone_on * 4 > names.len() * 3, "{key}: {gone_on} of {}", names.len());
    }
}

#[test]
fn every_kind_of_device_goes_on() {
    let cases: &[Settings<'_>] = &[
        &[("timing.channel", "shared"), ("timing.read_priority", "suspend")],
        &[("gc.mode", "background"), ("replay.mode", "open")],
        &[("gc.mode", "preemptive"), ("gc.steps_max", "3"), ("gc.low_mark", "3")],
        &[("ftl.chips", "least-busy"), ("ftl.wear_levelling", "static"), ("ftl.wear_gap", "1")],
        &[("cache.placement", "host"), ("host.notices", "each"), ("cooperation", "cdm-consistent")],
        &[("host_buffer.size", "256KiB"), ("cache.volatile", "true"), ("cooperation", "sgc")],
        &[("controller.write_buffer", "256KiB"), ("restart.at", "[\"1s\", \"4s\"]")],
        &[("flash.unit", "16KiB"), ("replay.mode", "closed"), ("replay.queue_depth", "7")],
        &[("workload.remap", "modulo")],
        &[("workload.remap", "dense")],
        &[("precondition.until_steady", "true"), ("timing.program_distribution", "exponential")],
    ];
    let mut gone_on = 0;
    for case in cases {
        if let Some(scenario) = scenario(case) {
            gone_on += assert_goes_on(&scenario, 1, &format!("{case:?}"));
        }
    }
    assert!(gone_on > 8, "{gone_on}");
}

#[test]
fn every_built_in_scenario_goes_on() {
    let mut gone_on = 0;
    for built_in in BUILT_IN {
        let Ok(scenario) =
            Scenario::built_in(built_in.name).unwrap().set(&[("workload.requests_max", "40000")])
        else {
            continue;
        };
        if scenario.flash.pages() < 1 << 22 && !scenario.workload.is_recorded() {
            gone_on += assert_goes_on(&scenario, 2, built_in.name);
        }
    }
    assert!(gone_on > 2, "{gone_on}");
}

#[test]
fn a_checkpoint_of_another_run_or_a_damaged_one_is_told_and_the_run_begins_anew() {
    let (file, one) = (file("other"), scenario(&[]).unwrap());
    let whole = all_of(&run(&one, &mut NoObserver).unwrap());
    let other = scenario(&[("seed", "9")]).unwrap();
    checked(&other, &file, &mut Interrupts(1)).0.map(drop).unwrap_err();
    let unusable = |expected: &str| {
        let (result, checkpoints) = checked(&one, &file, &mut NoObserver);
        assert_eq!(checkpoints.resumed, None);
        let told = checkpoints.unusable.unwrap_or_default();
        assert!(told.contains(expected), "{told}");
        assert!(all_of(&result.unwrap()) == whole);
    };
    unusable("belongs to another run");
    checked(&one, &file, &mut Interrupts(1)).0.map(drop).unwrap_err();
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 12) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 4;
        fs::write(&file, &flipped).unwrap();
        unusable("");
    }
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    unusable("");
    fs::remove_file(&file).unwrap();
}

#[test]
fn a_checkpoint_that_cannot_be_written_stops_no_run() {
    let one = scenario(&[]).unwrap();
    let mut checkpoints = Checkpoints { file: PathBuf::from("/dev/null/none"), ..Checkpoints::default() };
    struct Always;
    impl Observer for Always {
        fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
            Ok(())
        }
        fn wants_checkpoint(&mut self) -> bool {
            true
        }
    }
    let result = run_with_checkpoints(&one, &Given::only(TRACES), &mut checkpoints, &mut Always);
    assert!(result.is_ok() && checkpoints.unwritten.is_some());
}
