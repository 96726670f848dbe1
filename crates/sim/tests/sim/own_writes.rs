//! Preconditioning by the run's own writes.

use crate::warm::run_from;
use coflash_base::seed::{RngExt, Seed};
use coflash_sim::{NoObserver, RunResult, Scenario, TRACES, WarmDevice, run, warm};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// A device without a cache, whose flash does not depend on time.
const DEVICE: [(&str, &str); 4] = [
    ("flash.channels", "2"),
    ("flash.blocks_per_plane", "96"),
    ("flash.pages_per_block", "32"),
    ("replay.mode", "closed"),
];

fn small(assignments: &[(&str, &str)]) -> Scenario {
    let workload = [
        ("workload.synthetic.requests", "1500"),
        ("workload.synthetic.read_share", "20%"),
        ("workload.synthetic.trim_share", "5%"),
        ("workload.synthetic.generator", "hot-cold"),
    ];
    Scenario::default().set(&[&DEVICE[..], &workload, assignments].concat()).expect("a scenario")
}

fn result(scenario: &Scenario) -> RunResult {
    run(scenario, &mut NoObserver).expect("it runs")
}

fn programs(result: &RunResult) -> Vec<u64> {
    ["host", "gc"].map(|cause| result.metrics.count(&format!("programs_pages.{cause}"))).to_vec()
}

fn remarks(result: &RunResult) -> Vec<String> {
    let document: Value = serde_json::from_str(&result.to_reproducible_json()).expect("a document");
    serde_json::from_value(document["workload"]["remarks"].clone()).expect("sentences")
}

fn passes(result: &RunResult) -> u64 {
    let remarks = remarks(result);
    let remark = remarks.iter().find(|remark| remark.contains("own writes")).expect("a remark");
    let (_, rest) = remark.split_once(", in ").expect(remark);
    rest.split_once(" passes").expect(remark).0.parse().expect(remark)
}

/// A folder with a trace of writes, reads and trims at places of two temperatures.
struct Trace(PathBuf);

impl Trace {
    /// Writes in order, and then as many at random: each pass has this course.
    fn with_a_course(name: &str) -> Self {
        let mut stream = Seed(7).stream("trace");
        let pages = (0..20_000).map(|at| if at < 10_000 { at % 5000 } else { stream.random_range(0..5000) });
        let lines = pages.enumerate().map(|(at, page)| format!("{at},write,{},4096\n", page * 4096));
        Self::written(name, &lines.collect::<String>())
    }

    fn written(name: &str, lines: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("coflash-own-writes-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("trace.csv"), format!("ns,op,offset,size\n{lines}")).expect("a trace");
        Self(folder)
    }

    fn new(name: &str) -> Self {
        let mut stream = Seed(7).stream("trace");
        let mut lines = String::new();
        for at in 0..2000 {
            let place = if stream.random_range(0..4) == 0 { 9000 } else { 900 };
            let page = stream.random_range(0..place);
            let op = ["write", "write", "write", "read", "trim"][stream.random_range(0..5)];
            writeln!(lines, "{at},{op},{},{}", page * 4096, stream.random_range(1..4) * 4096)
                .expect("memory");
        }
        Self::written(name, &lines)
    }

    /// A scenario that replays it.
    fn replayed(&self, assignments: &[(&str, &str)]) -> Scenario {
        let file = format!("['{}']", self.0.join("trace.csv").display());
        let trace = [("workload.trace", file.as_str()), ("workload.remap", "modulo")];
        Scenario::default().set(&[&DEVICE[..], &trace, assignments].concat()).expect("a scenario")
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("it is there");
    }
}

/// The oracle replays the trace as often as it was written before, and once more.
#[test]
fn a_run_of_a_trace_goes_on_from_its_own_passes() {
    let cases: [&[(&str, &str)]; 4] = [
        &[],
        &[("precondition.fill", "none")],
        &[("ftl.indirection_unit", "16KiB")],
        &[("workload.remap", "dense"), ("gc.victim", "d-choices"), ("precondition.random_passes", "0.5")],
    ];
    let trace = Trace::new("oracle");
    for case in cases {
        let steady = result(&trace.replayed(&[case, &[("precondition.until_steady", "true")]].concat()));
        let before = passes(&steady);
        assert!(before >= 5, "five rounds: {before}");
        let repeated = |rounds: u64| {
            programs(&result(&trace.replayed(&[case, &[("workload.repeat", &rounds.to_string())]].concat())))
        };
        let (with, without) = (repeated(before + 1), repeated(before));
        let own: Vec<u64> = std::iter::zip(with, without).map(|(with, without)| with - without).collect();
        assert_eq!(programs(&steady), own, "{case:?}");
    }
}

/// Passes with the same draws would write the same few pages in turn.
#[test]
fn short_passes_of_a_generated_workload_lead_to_the_state_of_a_long_run() {
    let uniform = |assignments: &[(&str, &str)]| {
        let settings = [("workload.synthetic.generator", "uniform"), ("workload.synthetic.trim_share", "0%")];
        result(&small(&[&settings, assignments].concat())).metrics.number("waf_host").expect("writes")
    };
    let long = uniform(&[("precondition.random_passes", "8"), ("workload.synthetic.requests", "30000")]);
    let steady = [("precondition.until_steady", "true"), ("workload.synthetic.requests", "3000")];
    let short = uniform(&steady);
    assert!((short / long - 1.0).abs() < 0.05, "{short} after short passes, {long} in a long run");
}

#[test]
fn what_is_still_not_steady_and_what_writes_nothing_say_so() {
    // A round frees so few blocks that its write amplification is a matter of chance.
    let few = small(&[
        ("flash.channels", "1"),
        ("flash.chips_per_channel", "1"),
        ("flash.blocks_per_plane", "12"),
        ("flash.pages_per_block", "4096"),
        ("gc.low_mark", "1"),
        ("gc.victim", "{ name = 'd-choices', d = 1 }"),
        ("ftl.spare.share", "60%"),
        ("precondition.until_steady", "true"),
        ("workload.synthetic.requests", "2000"),
    ]);
    let told = remarks(&result(&few)).concat();
    assert!(told.contains("still not steady then: ") && told.contains("of 25 rounds"), "{told}");
    let reads = small(&[
        ("precondition.until_steady", "true"),
        ("workload.synthetic.read_share", "100%"),
        ("workload.synthetic.trim_share", "0%"),
    ]);
    let told = ["The workload writes nothing: precondition.until_steady has no effect."];
    assert_eq!(remarks(&result(&reads)), told);
}

/// The hot pages alone are steady soon, and what is cold fills the device for long.
#[test]
fn a_device_that_still_fills_is_not_steady() {
    let erased = small(&[
        ("precondition.fill", "none"),
        ("precondition.until_steady", "true"),
        ("workload.synthetic.trim_share", "0%"),
        ("workload.synthetic.generator", "{ name = \"zipf\", exponent = 1.5 }"),
    ]);
    let told = remarks(&result(&erased)).concat();
    assert!(
        told.contains("still not steady then: ") && told.contains("the pages with data went from "),
        "{told}"
    );
}

#[test]
fn a_device_that_a_trace_wrote_serves_this_trace_alone() {
    let trace = Trace::new("file");
    let scenario = trace.replayed(&[("precondition.until_steady", "true")]);
    let file = trace.0.join("device.warm");
    warm(&scenario, TRACES, &mut NoObserver).expect("it warms up").save(&file).expect("a file");
    let device = WarmDevice::load(&file).expect("it reads back");
    let from = |device| run_from(device, &scenario, &mut NoObserver);
    assert_eq!(
        from(&device).expect("it fits").to_reproducible_json(),
        result(&scenario).to_reproducible_json()
    );
    let csv = trace.0.join("trace.csv");
    let lines = std::fs::read_to_string(&csv).expect("it is there");
    std::fs::write(&csv, lines + "9999,write,0,4096\n").expect("it is ours");
    let refused = from(&device).map(drop).expect_err("the trace is another one").to_string();
    assert!(refused.contains("trace.csv with another content"), "{refused}");
}

/// The counts of a run from warm caches are those that the same round adds to a longer run, whose caches begin empty: the requests
/// before it, and those of the rounds through the caches, are the same.
#[test]
fn a_run_goes_on_from_its_own_requests_through_the_cache() {
    let cached: [&[(&str, &str)]; 7] = [
        &[("cache.size", "256KiB"), ("cooperation", "none")],
        &[("cache.size", "512KiB"), ("cooperation", "cdm"), ("cache.policy", "s3-fifo")],
        &[("cache.size", "256KiB"), ("cooperation", "expected-cost"), ("precondition.random_passes", "0.5")],
        &[("cache.size", "512KiB"), ("cache.placement", "host"), ("cooperation", "none")],
        &[("cache.size", "512KiB"), ("cache.placement", "host"), ("cooperation", "cdm")],
        &[("cache.size", "512KiB"), ("host_buffer.size", "256KiB"), ("cooperation", "none")],
        &[("host_buffer.size", "256KiB")],
    ];
    let trace = Trace::new("through");
    for case in cached {
        let warm = result(&trace.replayed(&[case, &[("precondition.through_caches", "true")]].concat()));
        let remark = remarks(&warm).into_iter().find(|one| one.contains("through caches")).expect("a remark");
        assert!(remark.contains("were steady at the end"), "{remark}");
        let rest = remark.split_once("buffers in ").expect("passes").1;
        let before: u64 = rest.split_once(" passes").expect("passes").0.parse().expect("a number");
        let counts = |result: &RunResult| {
            let paths = [
                "cache.read_hits",
                "cache.write_hits",
                "cache.dirty_evictions_pages",
                "gc_drops_pages",
                "erases_blocks",
            ];
            let own = paths.map(|path| result.metrics.count(path));
            [&own[..], &programs(result)].concat()
        };
        let repeated = |rounds: u64| {
            let rounds = rounds.to_string();
            result(&trace.replayed(&[case, &[("workload.repeat", rounds.as_str())]].concat()))
        };
        let (with, without) = (repeated(before + 1), repeated(before));
        let own: Vec<u64> =
            std::iter::zip(counts(&with), counts(&without)).map(|(with, without)| with - without).collect();
        assert_eq!(counts(&warm), own, "{case:?}");
        for state in ["cache.dirty_pages", "cache.capacity_pages", "mapped_pages"] {
            assert_eq!(warm.metrics.count(state), with.metrics.count(state), "{state}");
        }
        let hits = |result: &RunResult| result.metrics.number("cache.hit_ratio");
        let far = hits(&warm).zip(hits(&with)).map(|(warm, with)| (warm - with).abs());
        assert!(far.is_none_or(|far| far < 0.2), "derived anew: {far:?}");
        assert_eq!(far.is_none(), case.iter().all(|(key, _)| *key != "cache.size"));
    }
}

/// The flash of this device copies nothing, so that its write amplification is that of the round before from the second one on, while
/// S3-FIFO has hits only from then on.
#[test]
fn rounds_through_a_cache_go_on_while_its_hits_change() {
    let read = (0..200).map(|page| ("read", page));
    let requests = read.chain((2000..3500).map(|page| ("write", page)));
    let lines = requests.enumerate().map(|(at, (op, page))| format!("{at},{op},{},4096\n", page * 4096));
    let trace = Trace::written("hits", &lines.collect::<String>());
    let cache =
        [("cache.size", "512KiB"), ("cache.policy", "s3-fifo"), ("precondition.through_caches", "true")];
    let told = remarks(&result(&trace.replayed(&cache))).pop().expect("a remark");
    assert!(told.contains("cache hits 0.0, 6.8, 6.8, 6.8 %, in 4 rounds"), "{told}");
}

#[test]
fn a_device_without_a_cache_is_as_before() {
    let through = ("precondition.through_caches", "true");
    let without = [("cache.size", "0B")];
    let (plain, warm) = (result(&small(&without)), result(&small(&[without[0], through])));
    assert_eq!((programs(&plain), remarks(&plain)), (programs(&warm), remarks(&warm)));
}

fn notes(result: &RunResult) -> String {
    let document: Value = serde_json::from_str(&result.to_reproducible_json()).expect("a document");
    document["notes"].to_string()
}

/// The quarters of such a run differ whatever went before it; its passes are alike.
#[test]
fn a_workload_with_a_course_is_steady_where_its_passes_are_alike() {
    let trace = Trace::with_a_course("course");
    let caches: [&[(&str, &str)]; 2] =
        [&[], &[("cache.size", "64KiB"), ("precondition.through_caches", "true")]];
    for cache in caches {
        let steady = trace.replayed(&[cache, &[("precondition.until_steady", "true")]].concat());
        let of_steady = result(&steady);
        let told = notes(&of_steady);
        assert!(told.contains("As a whole it is steady: ") && !told.contains("not steady"), "{told}");
        // Warm devices and whole runs say the same.
        let device = warm(&steady, TRACES, &mut NoObserver).expect("it warms up");
        let again = run_from(&device, &steady, &mut NoObserver).expect("it fits");
        assert_eq!(again.to_reproducible_json(), of_steady.to_reproducible_json());
    }
    let begins_empty = [("cache.size", "64KiB"), ("precondition.until_steady", "true")];
    for before in [&begins_empty[..], &[("precondition.random_passes", "1")]] {
        let told = notes(&result(&trace.replayed(before)));
        assert!(told.contains("was not steady"), "{told}");
    }
}
