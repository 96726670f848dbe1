//! Devices that keep up with the host and devices that do not, in each loop, and the notes on those that do
//! not.

use crate::Settings;
use coflash_sim::{Metrics, NoObserver, Scenario, run};

const SMALL: &str = r#"
    flash = { channels = 2, chips_per_channel = 2, blocks_per_plane = 64, pages_per_block = 32 }
    precondition = { fill = "random", random_passes = 1.0 }
    workload.synthetic = { requests = 20_000, read_share = "30%" }
"#;

/// The metrics and the notes on load.
fn load(settings: Settings<'_>) -> (Metrics, Vec<String>) {
    let scenario = Scenario::from_toml(SMALL).and_then(|small| small.set(settings)).expect("it is valid");
    let result = run(&scenario, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    let of_load = |note: &&String| note.contains("load.sustained_per_s");
    (result.metrics, result.notes.iter().filter(of_load).cloned().collect())
}

#[test]
fn the_limits_of_a_scenario_are_notes_of_its_result() {
    let scenario =
        Scenario::from_toml(SMALL).and_then(|small| small.set(&[("limits", "[\"one\", \"two\"]")]));
    let result = run(&scenario.expect("it is valid"), &mut NoObserver).expect("it runs");
    assert_eq!(result.notes[..2], ["one", "two"]);
}

fn poisson(mean: &str) -> String {
    format!("{{ name = \"poisson\", mean = \"{mean}\" }}")
}

const ARRIVAL: &str = "workload.synthetic.arrival";

#[test]
fn requests_that_all_arrive_at_once_wait_for_answers_unless_told_otherwise() {
    let mean = |requests, mode: Settings<'_>| {
        let (metrics, notes) = load(&[mode, &[("workload.synthetic.requests", requests)]].concat());
        (metrics.number("response_ns.all.mean").expect("there are requests"), notes.len())
    };
    let ((short, _), (long, notes)) = (mean("5000", &[]), mean("40000", &[]));
    assert!(long < 1.5 * short, "{short} {long}");
    assert_eq!(notes, 0);
    assert_eq!(mean("5000", &[("replay.mode", "closed")]).0, short);
    let open = [("replay.mode", "open")];
    let ((short, few), (long, many)) = (mean("5000", &open), mean("40000", &open));
    assert!(long > 5.0 * short, "{short} {long}");
    assert_eq!((few, many), (1, 1));
}

#[test]
fn a_trace_whose_requests_arrive_at_the_same_time_is_replayed_in_a_closed_loop() {
    let file = std::env::temp_dir().join(format!("coflash-without-times-{}.csv", std::process::id()));
    let replayed = |kind: &str, last_us: u64, settings: Settings<'_>| {
        let lines = (0..200_u64).map(|at| format!("{},W,{at},4096\n", at / 199 * last_us));
        std::fs::write(&file, lines.collect::<String>())
            .expect("the folder of temporary files can be written");
        let (device, _) = SMALL.split_once("workload").expect("it comes last");
        let options = r#"{ format = "columns", columns = "time:us,op,offset:pages,size:bytes" }"#;
        let scenario = format!("{device}{kind} = [{file:?}]\nworkload.trace_options = {options}");
        let scenario = Scenario::from_toml(&scenario);
        let scenario = scenario.and_then(|whole| whole.set(settings)).expect("it is valid");
        let result = run(&scenario, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
        let is_noted = result.to_json().contains("arrive at the same time");
        (result.metrics.number("response_ns.all.mean"), is_noted)
    };
    for kind in ["workload.trace", "workload.like"] {
        let (mean, is_noted) = replayed(kind, 0, &[]);
        assert!(is_noted, "{kind}");
        assert_eq!((mean, false), replayed(kind, 0, &[("replay.mode", "closed")]), "{kind}");
        assert!(mean < replayed(kind, 0, &[("replay.mode", "open")]).0, "{kind}");
        // No more than a closed loop has outstanding: both loops are the same.
        assert!(!replayed(kind, 0, &[("replay.queue_depth", "200")]).1, "{kind}");
    }
    assert!(!replayed("workload.trace", 1_000_000, &[]).1, "one later request gives times");
    std::fs::remove_file(file).expect("it was written");
}

#[test]
fn a_workload_has_times_if_a_part_of_it_has() {
    let closed = |workload: &str| {
        let scenario = Scenario::from_toml(workload).expect("it is valid");
        scenario.replay_mode() == coflash_sim::scenario::ReplayMode::Closed
    };
    for workload in ["", "workload.preset = \"jesd219-enterprise\"", "workload.phases = [{ synthetic = {} }]"]
    {
        assert!(closed(workload), "{workload}");
    }
    for workload in [
        "workload.trace = [\"t.csv\"]",
        "workload.like = [\"t.csv\"]",
        "workload.disksim = {}",
        "workload.preset = \"oltp-like\"",
        "workload.preset = { name = \"jesd219-enterprise\", arrival = \"poisson\" }",
        "workload.synthetic.arrival = \"poisson\"",
        "workload.phases = [{ synthetic = {} }, { synthetic = {}, delay = \"1s\" }]",
        "workload.tenants = [{ synthetic = {} }, { synthetic = { arrival = \"poisson\" } }]",
        "replay.mode = \"open\"",
    ] {
        assert!(!closed(workload), "{workload}");
    }
}

#[test]
fn an_open_loop_is_noted_above_the_rate_of_the_device_and_told_that_rate() {
    for (channel, seed) in
        [("private", "1"), ("private", "2"), ("shared", "1"), ("shared", "2"), ("shared", "3")]
    {
        let of = |settings: Settings<'_>| {
            load(&[&[("timing.channel", channel), ("seed", seed)], settings].concat())
        };
        let capacity =
            of(&[("replay.queue_depth", "256")]).0.number("throughput.iops").expect("it takes time");
        for (load_percent, is_noted) in
            [(30.0, false), (70.0, false), (90.0, false), (120.0, true), (300.0, true)]
        {
            let mean = poisson(&format!("{}ns", (1e11 / capacity / load_percent).round()));
            let (metrics, notes) = of(&[(ARRIVAL, &mean)]);
            let at = format!("{channel} {seed} {load_percent}: {notes:?}");
            assert_eq!(notes.len(), usize::from(is_noted), "{at}");
            let sustained = metrics.number("load.sustained_per_s");
            assert_eq!(sustained.is_some(), is_noted, "{at}");
            if let Some(sustained) = sustained {
                assert!((sustained / capacity - 1.0).abs() < 0.1, "{at} of {capacity}");
                assert!(notes[0].contains(&format!("{sustained:.0} requests/s")), "{at}");
            }
        }
    }
}

#[test]
fn turns_of_gc_in_a_short_run_are_no_backlog_that_grows() {
    let drive = |requests: &str, seed: &str, settings: Settings<'_>| {
        let own = [("workload.synthetic.requests", requests), ("seed", seed)];
        let drive = Scenario::built_in("tlc-enterprise").expect("there is one");
        let result = run(&drive.set(&[&own, settings].concat()).expect("it is valid"), &mut NoObserver);
        result.unwrap_or_else(|error| panic!("{error}"))
    };
    for (requests, mean) in [("20000", "20us"), ("100000", "20us"), ("100000", "10us")] {
        for seed in ["1", "2", "3"] {
            let result = drive(requests, seed, &[(ARRIVAL, &poisson(mean))]);
            // Cleaning a block takes a fifth of that: GC gains a block from several.
            assert!(result.metrics.count("load.behind_ns") > 250_000_000);
            let behind = result.notes.iter().find(|note| note.contains("fell"));
            assert_eq!(behind, None, "{requests} {mean} {seed}");
            assert_eq!(result.metrics.number("load.sustained_per_s"), None);
        }
    }
    let closed = drive("500000", "1", &[("replay.mode", "closed"), ("replay.queue_depth", "1024")]);
    let capacity = closed.metrics.number("throughput.iops").expect("it takes time");
    let open = drive("500000", "1", &[(ARRIVAL, &poisson("4us"))]);
    let sustained = open.metrics.number("load.sustained_per_s").expect("it is far behind");
    assert!((sustained / capacity - 1.0).abs() < 0.1, "{sustained} of {capacity}");
    assert!(open.notes[0].contains("ever further behind"), "{:?}", open.notes);
    // Flash of two turns of GC has no rate yet.
    let short = drive("100000", "1", &[(ARRIVAL, &poisson("1us"))]);
    assert!(short.notes[0].contains("too short to tell the rate"), "{:?}", short.notes);
}

#[test]
fn a_burst_that_the_device_works_off_later_is_noted() {
    let burst = r#"[
        { synthetic = { requests = 5000, arrival = { name = "poisson", mean = "5ms" } } },
        { synthetic = { requests = 20000, arrival = { name = "poisson", mean = "10us" } } },
        { synthetic = { requests = 5000, arrival = { name = "poisson", mean = "5ms" } } },
    ]"#;
    let scenario = format!("workload.phases = {burst}\n{}", SMALL.replace("workload.synthetic", "# "));
    let result = run(&Scenario::from_toml(&scenario).expect("it is valid"), &mut NoObserver);
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.notes.len(), 1);
    let (behind, run_ns) = (result.metrics.count("load.behind_ns"), result.metrics.count("simulated_ns"));
    assert!(behind > run_ns / 20 && behind < run_ns / 2, "{behind} of {run_ns}");
    assert!(result.notes[0].contains("for a time behind"), "{:?}", result.notes);
}

#[test]
fn writes_answered_before_flash_has_them_are_noted_in_either_loop() {
    let consistent =
        [("cooperation", "cdm-consistent"), ("cache.size", "1MiB"), ("workload.synthetic.read_share", "0%")];
    let (metrics, notes) = load(&consistent);
    assert_eq!(notes.len(), 1, "{:?}", metrics.number("load.behind_ns"));
    assert!(notes[0].contains("answered before flash"), "{notes:?}");
    for (mean, is_noted) in [("30us", true), ("5ms", false)] {
        let (metrics, notes) = load(&[consistent.as_slice(), &[(ARRIVAL, &poisson(mean))]].concat());
        assert_eq!(
            notes.len(),
            usize::from(is_noted),
            "{mean}: {notes:?} {:?}",
            metrics.number("load.behind_ns")
        );
    }
    let waits = [("cooperation", "cdm"), ("cache.size", "1MiB")];
    assert_eq!(load(&waits).1, Vec::<String>::new());
}
