//! Slices of a device on several threads: the result is that of one thread, and what couples the dies is named.

use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_engine::{Given, coupling, run as run_given};
use coflash_sim::{NoObserver, RunResult, Scenario, TRACES};
use std::fs;

/// The whole documents of a run: JSON, series, histograms, erases. An error is one, too.
fn documents(scenario: &Scenario, threads: u32) -> String {
    let given = Given { threads, ..Given::only(TRACES) };
    let text = |result: RunResult| {
        let histograms = ["all", "read", "write"].map(|kind| result.histogram(kind));
        let series = result.series();
        // NaN differs from itself.
        let means: Vec<_> = series.response_mean_ns.iter().map(|mean| mean.to_bits()).collect();
        let parts = (series.window_ns, &series.columns, means, histograms, result.erase_counts());
        format!("{}\n{parts:?}", result.to_reproducible_json())
    };
    run_given(scenario, &given, &mut NoObserver).map_or_else(|error| error.to_string(), text)
}

const SIZES: &[&str] = &[
    "{ name = \"fixed\", size = \"4KiB\" }",
    "{ name = \"fixed\", size = \"12KiB\" }",
    "{ name = \"fixed\", size = \"100KiB\" }",
    "{ name = \"exponential\", mean = \"6KiB\" }",
    "{ name = \"fixed\", size = \"512B\" }",
];

/// The keys of a random scenario, and their values.
fn draw(draws: &mut RandomStream) -> Vec<(&'static str, &'static str)> {
    const SETTINGS: &[(&str, &[&str])] = &[
        ("seed", &["1", "2", "3"]),
        ("workload.synthetic.requests", &["100", "6000", "20_000", "40_000"]),
        ("flash.channels", &["2", "3", "5", "8"]),
        ("flash.chips_per_channel", &["1", "2", "3"]),
        ("flash.planes_per_die", &["1", "2"]),
        ("flash.blocks_per_plane", &["64", "96"]),
        ("flash.pages_per_block", &["16", "24"]),
        ("timing.channel", &["private", "shared"]),
        ("timing.planes", &["serial", "parallel"]),
        ("timing.copy_back", &["true", "false"]),
        ("timing.read_priority", &["none", "none", "overtake", "suspend"]),
        ("ftl.pools", &["plane", "die"]),
        ("ftl.placement", &["none", "none", "sepgc"]),
        ("ftl.summary", &["off", "on", "free-in-gc"]),
        ("ftl.wear_levelling", &["off", "dynamic", "static"]),
        ("ftl.wear_gap", &["2", "8"]),
        ("gc.victim", &["greedy", "fifo", "random", "d-choices", "windowed-greedy"]),
        ("gc.mode", &["foreground", "background", "preemptive", "lazy"]),
        ("gc.low_mark", &["6", "10%"]),
        ("gc.trigger", &["write", "operation"]),
        ("link.lane_rate", &["0B", "1GB"]),
        ("link.sharing", &["private", "shared"]),
        ("controller.read_command", &["0us", "5us"]),
        ("controller.cores", &["1", "4"]),
        ("energy.page_read", &["0nJ", "9nJ"]),
        ("precondition.fill", &["none", "sequential", "random", "mapped"]),
        ("precondition.random_passes", &["0", "0.7"]),
        ("workload.remap", &["none", "modulo", "dense"]),
        ("workload.synthetic.generator", &["uniform", "zipf", "sequential"]),
        ("workload.synthetic.read_share", &["0%", "30%", "80%"]),
        ("ftl.spare.share", &["60%", "100%"]),
        ("workload.synthetic.trim_share", &["0%", "10%"]),
        ("workload.synthetic.flush_share", &["0%", "3%"]),
        ("workload.synthetic.size", SIZES),
        ("workload.synthetic.align", &["512B", "4KiB"]),
        (
            "workload.synthetic.arrival",
            &["{ name = \"poisson\", mean = \"20us\" }", "{ name = \"poisson\", mean = \"900us\" }"],
        ),
        ("replay.time_scale", &["1.0", "0.3"]),
    ];
    SETTINGS.iter().map(|(key, values)| (*key, values[draws.random_range(0..values.len())])).collect()
}

/// The scenario of settings; those that do not fit it are left out.
fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let first = Scenario::default().set(&[("replay.mode", "open")]);
    settings.iter().fold(first.expect("a scenario"), |scenario, setting| {
        let tried = scenario.set(&[*setting]);
        tried.ok().filter(|tried| coflash_engine::check(tried).is_ok()).unwrap_or(scenario)
    })
}

#[test]
fn any_number_of_threads_gives_the_same_documents() {
    let mut draws = Seed(11).stream("slices");
    let (mut apart, mut refused) = (0, 0);
    for case in 0..40 {
        let settings = draw(&mut draws);
        let scenario = scenario(&settings);
        let one = documents(&scenario, 1);
        refused += u32::from(!one.starts_with('{'));
        apart += u32::from(coupling(&scenario).is_none());
        for threads in [2, 3] {
            assert!(documents(&scenario, threads) == one, "case {case}, {threads} threads: {settings:?}");
        }
    }
    assert!(apart == 40 && refused == 0, "{apart} apart, {refused} refused");
}

/// Where a policy is not named as a coupling, it keeps nothing that dies share.
#[test]
fn each_policy_is_apart_or_couples_under_its_key() {
    let base = [
        ("flash.channels", "4"),
        ("flash.blocks_per_plane", "64"),
        ("flash.pages_per_block", "16"),
        ("gc.low_mark", "16"),
        ("ftl.spare.share", "60%"),
        ("replay.mode", "open"),
        ("precondition.random_passes", "0.5"),
        ("workload.synthetic.requests", "9000"),
        ("workload.synthetic.generator", "zipf"),
        ("workload.synthetic.arrival", "{ name = \"poisson\", mean = \"90us\" }"),
    ];
    let of_family =
        |key: &'static str, names: &[&'static str]| names.iter().map(|name| (key, *name)).collect::<Vec<_>>();
    let victims = of_family("gc.victim", coflash_ftl::VictimConfig::NAMES);
    let placements = of_family("ftl.placement", coflash_ftl::PlacementConfig::NAMES);
    let mut apart = Vec::new();
    for (key, name) in victims.into_iter().chain(placements) {
        // Some have parameters that must be given.
        let Ok(scenario) = Scenario::default().set(&[&base[..], &[(key, name)]].concat()) else { continue };
        match coupling(&scenario) {
            Some(told) => assert!(told.starts_with(&format!("{key}: ")), "{name}: {told}"),
            None => {
                apart.push(name);
                assert!(documents(&scenario, 1) == documents(&scenario, 4), "{name}");
            }
        }
    }
    let expected = ["greedy", "random", "fifo", "d-choices", "windowed-greedy", "none", "sepgc"];
    assert_eq!(apart, expected);
}

#[test]
fn the_key_that_couples_dies_is_named() {
    let apart = [("flash.channels", "4"), ("replay.mode", "open")];
    let told = |setting| {
        let scenario = Scenario::default().set(&[&apart[..], &[setting]].concat()).expect("a scenario");
        coupling(&scenario).map(|told| told.split(':').next().expect("a key").to_owned())
    };
    assert_eq!(told(("seed", "1")), None);
    for (key, value) in [
        ("replay.mode", "closed"),
        ("cache.size", "1MiB"),
        ("cache.placement", "host"),
        ("cache.volatile", "true"),
        ("host_buffer.size", "1MiB"),
        ("cooperation", "cdm"),
        ("controller.write_buffer", "1MiB"),
        ("ftl.chips", "round-robin"),
        ("ftl.pools", "device"),
        ("ftl.indirection_unit", "16KiB"),
        ("timing.program_distribution", "exponential"),
        ("precondition.until_free", "5%"),
        ("precondition.random_passes", "steady"),
        ("precondition.until_steady", "true"),
        ("restart.at", "[\"1s\"]"),
    ] {
        assert_eq!(told((key, value)).as_deref(), Some(key));
    }
    assert_eq!(told(("ftl.refresh.retention", "1h")).as_deref(), Some("ftl.refresh"));
    assert_eq!(told(("flash.channels", "1")).as_deref(), Some("flash.channels"));
}

const COLUMNS: &str = "\"time:us,op,offset:bytes,size:bytes\"";

/// Whether a trace has times shows only when it is read.
#[test]
fn a_trace_is_open_or_closed_by_its_times_on_any_number_of_threads() {
    let folder = std::env::temp_dir().join(format!("coflash-slices-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for (name, gap) in [("timed", 40), ("untimed", 0)] {
        let file = folder.join(format!("{name}.csv"));
        let line = |number: u64| {
            format!("{},W,{},{}\n", number * gap, number * 7919 % 3000 * 4096, 4096 * (1 + number % 5))
        };
        fs::write(&file, (0..5000).map(line).collect::<String>()).expect("a file");
        let file = format!("[{:?}]", file.display().to_string());
        let settings = [
            ("flash.channels", "4"),
            ("flash.blocks_per_plane", "64"),
            ("workload.trace", &file),
            ("workload.trace_options.columns", COLUMNS),
        ];
        let scenario = Scenario::default().set(&settings).expect("a scenario");
        let one = documents(&scenario, 1);
        assert_eq!(one.contains("arrive at the same time"), gap == 0, "{one}");
        assert!(one == documents(&scenario, 2), "{name}");
    }
    // Beyond the device, the error tells the whole need, also of requests that were read ahead.
    let long = folder.join("long.csv");
    let line = |number: u64| format!("{number},W,{},4096\n", number * 4096);
    fs::write(&long, (0..90_000).map(line).collect::<String>()).expect("a file");
    let small = [
        ("flash.channels", "4"),
        ("flash.blocks_per_plane", "12"),
        ("flash.pages_per_block", "16"),
        ("ftl.spare.share", "200%"),
    ];
    let long = format!("[{:?}]", long.display().to_string());
    for remap in ["none", "dense"] {
        let more = [
            ("workload.trace", long.as_str()),
            ("workload.remap", remap),
            ("gc.low_mark", "1"),
            ("workload.trace_options.columns", COLUMNS),
        ];
        let scenario = Scenario::default().set(&[&small[..], &more].concat()).expect("a scenario");
        let one = documents(&scenario, 1);
        assert!(one.contains("the device exports"), "{one}");
        assert_eq!(one, documents(&scenario, 3));
    }
    fs::remove_dir_all(&folder).expect("it was there");
}
