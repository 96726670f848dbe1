//! Fits recover the parameters of a synthetic workload and match the statistics of a recorded trace.

use super::*;
use crate::TraceOptions;
use coflash_workload::Part;

const PAGE: Bytes = Bytes { count: 4096 };

/// A fitted workload, the statistics of the original, and those of the workload.
#[derive(Debug)]
struct Fitted {
    config: SyntheticConfig,
    original: WorkloadInfo,
    fitted: WorkloadInfo,
}

fn fit_and_describe(source: &mut dyn Source) -> Fitted {
    let (config, original) = fit(source, PAGE, |_| {}).unwrap();
    let space = config.space.expect("a fitted workload has a space").count;
    let likeness = describe(&mut Synthetic::new(&config, space, Seed(1)).unwrap(), PAGE, |_| {}).unwrap();
    Fitted { config, original: original.info, fitted: likeness.info }
}

fn fitted(text: &str, device_bytes: u64) -> Fitted {
    let part: Part = coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap();
    fit_and_describe(&mut part.open(device_bytes, Seed(1)).unwrap())
}

#[track_caller]
fn assert_near(what: &str, seen: f64, expected: f64, bound: f64) {
    assert!((seen - expected).abs() <= bound, "{what}: {seen} instead of {expected}");
}

/// Check the comparison within `bound`, relative for amounts and absolute for shares.
#[track_caller]
fn assert_alike(fitted: &Fitted, bound: f64) {
    let Fitted { original: a, fitted: b, .. } = fitted;
    let relative = |what: &str, a: f64, b: f64| assert_near(what, b / a, 1.0, bound);
    relative("requests", a.requests as f64, b.requests as f64);
    let footprint = |info: &WorkloadInfo| info.footprint_pages.unwrap() as f64;
    relative("footprint", footprint(a), footprint(b));
    let ops = |info: &WorkloadInfo| [&info.read, &info.write, &info.trim, &info.flush].map(Clone::clone);
    for (a_op, b_op) in ops(a).iter().zip(&ops(b)) {
        let share = |requests: u64, info: &WorkloadInfo| requests as f64 / info.requests as f64;
        assert_near("share of an operation", share(b_op.requests, b), share(a_op.requests, a), bound);
    }
    for (a_op, b_op) in [(&a.read, &b.read), (&a.write, &b.write)] {
        relative("bytes", a_op.bytes.max(1) as f64, b_op.bytes.max(1) as f64);
    }
    if let (Some(a), Some(b)) = (&a.interarrival_ns, &b.interarrival_ns)
        && a.max > 0
    {
        // Clustered gaps are fewer independent draws than there are gaps; more requests have shorter ones.
        let more = fitted.fitted.requests as f64 / fitted.original.requests as f64;
        let gap = |what: &str, a: f64, b: f64| assert_near(what, b * more / a, 1.0, 1.5 * bound);
        gap("mean gap", a.mean, b.mean);
        for (what, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            gap(what, a.max(1) as f64, b.max(1) as f64);
        }
    }
}

#[test]
fn parameters_of_a_synthetic_workload_are_recovered() {
    // One round: 4,000 accesses, and two flushes in a hundred requests.
    let text = r#"
        [synthetic]
        flush_share = "2%"
        requests = 4_081
        space = "256MiB"
        [synthetic.generator]
        name = "reuse-flows"
        windows = 16
        ranks = [3, 1]
        flows = [
            [0, 0, 16, 8, 1, 100, 1000, 0, 1000],
            [0, 1, 16, 8, 1, 100, 1000, 0, 1000],
            [8, 1, 0, 16, 0, 20, 2000, 0, 1000],
        ]
    "#;
    let fitted = fitted(text, 4 << 30);
    assert_alike(&fitted, 0.08);
    let GeneratorConfig::ReuseFlows(likeness) = &fitted.config.generator else { panic!("{fitted:?}") };
    let new = likeness.windows;
    let pages = |is_counted: &dyn Fn(&[u32; 9]) -> bool| -> f64 {
        likeness.flows.iter().filter(|flow| is_counted(flow)).map(|flow| f64::from(flow[6])).sum()
    };
    assert_near("new pages read", pages(&|flow| flow[2] == new && flow[1] == 0), 1000.0, 20.0);
    assert_near("new pages written", pages(&|flow| flow[2] == new && flow[1] == 1), 1000.0, 20.0);
    assert_near("pages written again", pages(&|flow| flow[2] < new / 2 && flow[0] >= new / 2), 2000.0, 40.0);
    assert_near("pages written after a read", pages(&|flow| flow[1] == 0 && flow[4] == 1), 1000.0, 20.0);
    let runs: u32 = likeness.flows.iter().filter(|flow| flow[2] == new).map(|flow| flow[5]).sum();
    assert!((150..250).contains(&runs), "{runs} runs of new pages");
    let text = toml::to_string(&fitted.config).unwrap();
    assert_eq!(
        coflash_base::read::read::<SyntheticConfig>(&text.parse::<toml::Table>().unwrap()).unwrap(),
        fitted.config,
        "{text}"
    );
}

#[test]
fn short_and_long_runs_stay_apart() {
    // Long runs of pages that are written again later, and single pages that are not, in turn.
    let text = r#"
        [synthetic]
        requests = 56_000
        space = "256MiB"
        [synthetic.generator]
        name = "reuse-flows"
        windows = 32
        ranks = [1]
        flows = [
            [0, 1, 32, 16, 1, 8_000, 8_000, 0, 1000],
            [0, 1, 32, 16, 1, 32, 16_000, 0, 1000],
            [0, 1, 32, 32, 0, 8_000, 8_000, 0, 1000],
            [16, 1, 0, 32, 0, 8_000, 24_000, 0, 1000],
        ]
    "#;
    let GeneratorConfig::ReuseFlows(likeness) = fitted(text, 4 << 30).config.generator else { panic!() };
    let again = likeness.flows.iter().filter(|flow| flow[1] == 1 && flow[2] == 32 && flow[3] < 32);
    let (mut short, mut long) = (0, 0);
    for &[.., runs, pages, _, _] in again {
        *if pages >= 16 * runs { &mut long } else { &mut short } += pages;
    }
    assert!(long > 10_000 && short > 5_000, "{short} pages in short runs, {long} in long ones");
}

#[test]
fn ends_of_the_range_can_be_fitted() {
    for text in [
        "synthetic = { generator = \"sequential\", requests = 20_000 }",
        "synthetic = { generator = \"uniform\", requests = 20_000, read_share = \"100%\" }",
        "synthetic = { requests = 1 }",
        "synthetic = { requests = 1000, space = \"4KiB\" }",
        "synthetic = { requests = 1000, align = \"1B\", size = { name = \"fixed\", size = \"1B\" } }",
        "synthetic = { requests = 20, trim_share = \"100%\", size = { name = \"fixed\", size = \"1GiB\" } }",
        "synthetic = { requests = 5_000, size = { name = \"exponential\", max = \"8MiB\", mean = \"1MiB\" }, align = \"512B\" }",
    ] {
        let fitted = fitted(text, 4 << 30);
        let requests = |info: &WorkloadInfo| info.requests as f64;
        let Fitted { original, fitted: likeness, .. } = &fitted;
        // Large requests at random gather pages of many earlier ones.
        let more = requests(likeness) / requests(original);
        assert!((0.9..3.5).contains(&more), "{text}: {more}");
        let ops_of = |info: &WorkloadInfo| (info.read.requests > 0, info.write.requests > 0);
        assert_eq!(ops_of(original), ops_of(likeness), "{text}");
        let bytes = |info: &WorkloadInfo| (info.read.bytes + info.write.bytes) as f64;
        let ratio = (bytes(likeness) + 1.0) / (bytes(original) + 1.0);
        assert!((0.93..1.07).contains(&ratio), "{text}: {ratio}");
    }
    let flushes: Part = coflash_base::read::read(
        &"synthetic = { flush_share = \"100%\", requests = 10 }".parse::<toml::Table>().unwrap(),
    )
    .unwrap();
    let error = fit(&mut flushes.open(1 << 30, Seed(1)).unwrap(), PAGE, |_| {});
    assert!(error.unwrap_err().to_string().contains("no request has an address"));
    let page = Bytes { count: 1000 };
    let error = fit(&mut flushes.open(1 << 30, Seed(1)).unwrap(), page, |_| {}).unwrap_err().to_string();
    assert!(error.contains("1KB was given; a power of two"), "{error}");
}

#[test]
fn the_recorded_trace_is_met() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/traces/pgbench-oltp-400k.iolog.zst")
        .to_owned();
    let mut source = crate::open(&[path], &TraceOptions::default()).unwrap();
    assert_alike(&fit_and_describe(&mut source), 0.13);
}
