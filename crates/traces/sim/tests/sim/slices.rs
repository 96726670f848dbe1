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

/// The keys of a random scenario, and their values.
fn draw(draws: &mut RandomStream) -> Vec<(&'static str, &'static str)> {
    const SETTINGS: &[(&str, &[&str])] = &[
        ("seed", &["1", "2", "3"]),
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
        ("gc.low_mark", &["8", "12%"]),
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
        ("workload.synthetic.read_share", &["0%", "30%", "90%"]),
        ("workload.synthetic.trim_share", &["0%", "10%"]),
        ("workload.synthetic.flush_share", &["0%", "3%"]),
        ("workload.synthetic.size", &["4KiB", "12KiB", "100KiB", "6KiB", "512B"]),
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
    let first =
        Scenario::default().set(&[("workload.synthetic.requests", "12_000"), ("replay.mode", "open")]);
    settings.iter().fold(first.expect("a scenario"), |scenario, setting| {
        let tried = scenario.set(&[*setting]);
        tried.ok().filter(|tried| coflash_engine::check(tried).is_ok()).unwrap_or(scenario)
    })
}

#[test]
fn any_number_of_threads_gives_the_same_documents() {
    let mut draws = Seed(11).stream("slices");
    let (mut apart, mut refused) = (0, 0);
    for case in 0..60 {
        let settings = draw(&mut draws);
        let scenario = scenario(&settings);
        let one = documents(&scenario, 1);
        refused += u32::from(!one.starts_with('{'));
        apart += u32::from(coupling(&scenario).is_none());
        for threads in [2, 3] {
            let several = documents(&scenario, threads);
            if several != one {
                fs::write("/tmp/one", &one).unwrap();
                fs::write("/tmp/several", &several).unwrap();
            }
            assert!(several == one, "case {case}, {threads} threads: {settings:?}");
        }
    }
    println!("{apart} apart, {refused} refused");
    assert!(apart > 30 && refused < 10, "{apart} apart, {refused} refused");
}
