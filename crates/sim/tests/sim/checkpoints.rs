//! A run that goes on from a checkpoint gives the result of one that was never interrupted, byte for byte.

use crate::Settings;
use crate::warm::all_of;
use coflash_cache::EvictionConfig;
use coflash_ftl::{PlacementConfig, VictimConfig};
use coflash_level::CooperationConfig;
use coflash_sim::{
    BUILT_IN, Cancelled, CheckpointEvent, Checkpoints, NoObserver, Observer, Phase, RunError, RunInputs,
    RunResult, Scenario, TRACES, run, run_with_checkpoints,
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
        let is_next = self.0 == 1;
        self.0 = self.0.saturating_sub(1);
        is_next
    }
}

/// Hears what becomes of checkpoints. One is due after each batch.
#[derive(Default)]
struct Hears(Vec<CheckpointEvent>);

impl Observer for Hears {
    fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }

    fn wants_checkpoint(&mut self) -> bool {
        true
    }

    fn checkpoint(&mut self, event: CheckpointEvent) -> Result<(), Cancelled> {
        if event != CheckpointEvent::Written {
            self.0.push(event);
        }
        Ok(())
    }
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("coflash-checkpoint-{}-{name}", std::process::id()))
}

fn checked(scenario: &Scenario, file: &Path, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    let checkpoints = Checkpoints { file: file.to_owned(), ..Checkpoints::default() };
    run_with_checkpoints(scenario, &RunInputs::only(TRACES), &checkpoints, observer)
}

/// Interrupt a run after some batches, go on, and compare with the whole. Returns 0 for a scenario that is refused, else 1.
fn assert_goes_on(scenario: &Scenario, batches: u32, what: &str) -> usize {
    let file = file(&what.replace(|c: char| !c.is_alphanumeric(), "-"));
    let error = checked(scenario, &file, &mut Interrupts(batches)).map(drop).unwrap_err();
    if let RunError::Scenario(_) = error {
        return 0;
    }
    assert!(matches!(error, RunError::Cancelled(_)), "{what}: {error}");
    let mut hears = Hears::default();
    let result = checked(scenario, &file, &mut hears);
    fs::remove_file(&file).unwrap();
    assert!(matches!(hears.0[..], [CheckpointEvent::Resumed(1..)]), "{what}: {:?}", hears.0);
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
        &[("gc.mode", "preemptive"), ("gc.mode.steps_max", "3"), ("gc.low_mark", "3")],
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
fn a_damaged_checkpoint_is_told_and_the_run_begins_anew() {
    let (file, one) = (file("damaged"), scenario(&[]).unwrap());
    let whole = all_of(&run(&one, &mut NoObserver).unwrap());
    checked(&one, &file, &mut Interrupts(1)).map(drop).unwrap_err();
    let bytes = fs::read(&file).unwrap();
    let unusable = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let mut hears = Hears::default();
        assert!(all_of(&checked(&one, &file, &mut hears).unwrap()) == whole);
        assert!(matches!(hears.0[..], [CheckpointEvent::Unusable(_)]), "{:?}", hears.0);
    };
    for at in (8..bytes.len()).step_by(bytes.len() / 12) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 4;
        unusable(&flipped);
    }
    unusable(&bytes[..bytes.len() / 2]);
    fs::remove_file(&file).unwrap();
}

#[test]
fn what_is_no_checkpoint_of_the_run_is_refused_and_stays() {
    let (file, one) = (file("other"), scenario(&[]).unwrap());
    let refused = |expected: &str| {
        let before = fs::metadata(&file).is_ok_and(|about| about.is_file()).then(|| fs::read(&file).unwrap());
        let error = checked(&one, &file, &mut NoObserver).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("delete it"), "{error}");
        assert!(before.is_none_or(|before| before == fs::read(&file).unwrap()));
    };
    fs::create_dir(&file).unwrap();
    refused("is no regular file");
    fs::remove_dir(&file).unwrap();
    fs::write(&file, "my thesis").unwrap();
    refused("is not a checkpoint of coflash");
    fs::remove_file(&file).unwrap();
    let other = scenario(&[("seed", "9")]).unwrap();
    checked(&other, &file, &mut Interrupts(1)).map(drop).unwrap_err();
    refused("another run (seed is 9 in it and 0 in the scenario)");

    let checkpoints = Checkpoints { file: file.clone(), replaces_another: true };
    let mut hears = Hears::default();
    let result = run_with_checkpoints(&one, &RunInputs::only(TRACES), &checkpoints, &mut hears).unwrap();
    assert!(all_of(&result) == all_of(&run(&one, &mut NoObserver).unwrap()));
    assert!(matches!(hears.0[..], [CheckpointEvent::Unusable(_)]), "{:?}", hears.0);
    fs::remove_file(&file).unwrap();
}

/// Cancels a run at a call, and asks for a checkpoint then and at no other time.
struct Stops(u32);

impl Observer for Stops {
    fn progress(&mut self, phase: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        self.0 -= u32::from(phase == Phase::Replay);
        if self.0 == 0 { Err(Cancelled) } else { Ok(()) }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_run_that_is_cancelled_keeps_what_it_has_become_within_a_batch_too() {
    let mut kept = 0;
    // Long requests: the observer is called within batches, too.
    let long = [
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"1MiB\" }"),
        ("workload.synthetic.requests", "17000"),
        ("cooperation", "none"),
    ];
    for (name, settings, most) in [("short", &[][..], 4), ("long", &long[..], 8)] {
        let one = scenario(settings).unwrap();
        let whole = all_of(&run(&one, &mut NoObserver).unwrap());
        for calls in 1..=most {
            let file = file(&format!("cancelled-{name}-{calls}"));
            let Err(RunError::Cancelled(_)) = checked(&one, &file, &mut Stops(calls)) else { continue };
            assert!(file.exists(), "{name} {calls}");
            kept += 1;
            assert!(all_of(&checked(&one, &file, &mut NoObserver).unwrap()) == whole, "{name} {calls}");
            fs::remove_file(&file).unwrap();
        }
    }
    assert!(kept > 9, "{kept}");
}

/// What is read of a file goes by the key that names it, and by how its name ends.
#[test]
fn the_same_file_read_otherwise_is_another_run() {
    let names = ["read.csv", "read.CSV"].map(file);
    let lines: String = (0..30_000).map(|i| format!("{i},W,{},4096\n", i * 37 % 4000 * 4096)).collect();
    names.iter().for_each(|name| fs::write(name, &lines).unwrap());
    let columns = [
        ("workload.trace_options.columns", "\"time:us,op,offset:bytes,size:bytes\""),
        ("workload.remap", "modulo"),
    ];
    let reads = |key, name: &Path| scenario(&columns).unwrap().set(&[(key, &format!("[{name:?}]"))]).unwrap();
    let file = file("otherwise");
    checked(&reads("workload.trace", &names[0]), &file, &mut Interrupts(1)).map(drop).unwrap_err();
    for other in [reads("workload.like", &names[0]), reads("workload.trace", &names[1])] {
        let error = checked(&other, &file, &mut NoObserver).map(drop).unwrap_err().to_string();
        assert!(error.contains("another run (workload."), "{error}");
    }
    names.iter().chain([&file]).for_each(|file| fs::remove_file(file).unwrap());
}

#[test]
fn a_run_with_checkpoints_reads_no_further_than_one_without() {
    let trace = file("lines").with_extension("csv");
    let good = (0..20_000).map(|i| format!("{i},W,{},4096\n", i * 37 % 4000 * 4096));
    fs::write(&trace, good.chain(["rubbish\n".to_owned()]).collect::<String>()).unwrap();
    let columns = [
        ("workload.trace_options.columns", "\"time:us,op,offset:bytes,size:bytes\""),
        ("workload.remap", "modulo"),
    ];
    let one = scenario(&columns).unwrap().set(&[("workload.trace", &format!("[{trace:?}]"))]).unwrap();
    for requests_max in ["8192", "9000", "16384"] {
        let one = one.set(&[("workload.requests_max", requests_max)]).unwrap();
        let whole = all_of(&run(&one, &mut NoObserver).unwrap());
        assert!(all_of(&checked(&one, &file("lines"), &mut NoObserver).unwrap()) == whole);
    }
    fs::remove_file(&trace).unwrap();
}

#[test]
fn a_trace_by_another_name_is_the_same_run() {
    let names = ["one", "two"].map(|name| file(name).with_extension("csv"));
    let lines: String = (0..30_000).map(|i| format!("{i},W,{},4096\n", i * 37 % 4000 * 4096)).collect();
    let columns = [
        ("workload.trace_options.columns", "\"time:us,op,offset:bytes,size:bytes\""),
        ("workload.remap", "modulo"),
    ];
    let [one, two] = names.each_ref().map(|name| {
        fs::write(name, &lines).unwrap();
        scenario(&columns).unwrap().set(&[("workload.trace", &format!("[{name:?}]"))]).unwrap()
    });
    let (file, mut hears) = (file("moved"), Hears::default());
    checked(&one, &file, &mut Interrupts(1)).map(drop).unwrap_err();
    checked(&two, &file, &mut hears).unwrap();
    assert!(matches!(hears.0[..], [CheckpointEvent::Resumed(1..)]), "{:?}", hears.0);
    fs::remove_file(&file).unwrap();
    checked(&one, &file, &mut Interrupts(1)).map(drop).unwrap_err();
    fs::write(&names[1], lines.replacen("4096", "8192", 1)).unwrap();
    let error = checked(&two, &file, &mut NoObserver).map(drop).unwrap_err().to_string();
    assert!(error.contains("another content"), "{error}");
    names.iter().chain([&file]).for_each(|file| fs::remove_file(file).unwrap());
}

#[test]
fn a_checkpoint_that_cannot_be_written_stops_no_run() {
    let mut hears = Hears::default();
    checked(&scenario(&[]).unwrap(), Path::new("/proc/none/none"), &mut hears).unwrap();
    assert!(
        !hears.0.is_empty() && hears.0.iter().all(|event| matches!(event, CheckpointEvent::Unwritten(_)))
    );
}
