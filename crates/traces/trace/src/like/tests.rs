//! Fits recover the parameters of a synthetic workload and match the statistics of a recorded trace.

use super::*;
use crate::TraceOptions;
use coflash_base::Seed;
use coflash_workload::Part;
use coflash_workload::synthetic::Synthetic;

const PAGE: Bytes = Bytes { count: 4096 };

/// A fitted workload, and the statistics of the original and of the workload.
#[derive(Debug)]
struct Fitted {
    config: SyntheticConfig,
    original: WorkloadInfo,
    fitted: WorkloadInfo,
}

fn fit_source(source: &mut dyn Source) -> Fitted {
    let (config, original) = fit(source, PAGE).unwrap();
    let space = config.space.expect("a fit has a space").count;
    let mut likeness = Synthetic::new(&config, space, Seed(1)).unwrap();
    let fitted = summarise(&mut likeness, InfoOptions::default()).unwrap();
    Fitted { config, original, fitted }
}

fn fitted(text: &str, device_bytes: u64) -> Fitted {
    let part: Part = coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap();
    fit_source(&mut part.open(device_bytes, Seed(1)).unwrap())
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
    let footprint = |info: &WorkloadInfo| info.footprint_pages.unwrap() as f64;
    assert_eq!(a.requests, b.requests);
    relative("footprint", footprint(a), footprint(b));
    let ops =
        |info: &WorkloadInfo| [info.read.clone(), info.write.clone(), info.trim.clone(), info.flush.clone()];
    for (a_op, b_op) in ops(a).iter().zip(&ops(b)) {
        let share = |requests: u64| requests as f64 / a.requests as f64;
        assert_near("share of an operation", share(b_op.requests), share(a_op.requests), bound);
        relative("bytes", a_op.bytes.max(1) as f64, b_op.bytes.max(1) as f64);
    }
    if let (Some(a), Some(b)) = (&a.interarrival_ns, &b.interarrival_ns)
        && a.max > 0
    {
        // Clustered gaps are fewer independent draws than there are gaps.
        let gap = |what: &str, a: f64, b: f64| assert_near(what, b / a, 1.0, 1.5 * bound);
        gap("mean gap", a.mean, b.mean);
        for (what, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            gap(what, a.max(1) as f64, b.max(1) as f64);
        }
    }
}

#[test]
fn parameters_of_a_synthetic_workload_are_recovered() {
    // Two thousand pages are written; half of them are read in runs of ten; those are written in the order of their reads.
    let text = r#"
        [synthetic]
        flush_share = "2%"
        requests = 4_081
        space = "256MiB"
        [synthetic.generator]
        name = "lru-stack"
        windows = 4
        rows = [[0, 1, 3, 0, 1, 2000], [1, 0, 1, 20, 100, 1000], [2, 1, 0, 15, 20, 1000]]
    "#;
    let fitted = fitted(text, 4 << 30);
    assert_alike(&fitted, 0.08);
    let GeneratorConfig::LruStack(likeness) = &fitted.config.generator else { panic!("{fitted:?}") };
    let sum = |at: usize, op: u32, last: u32| -> f64 {
        let rows = likeness.rows.iter().filter(|row| (row[1], row[2]) == (op, last));
        rows.map(|row| f64::from(row[at])).sum()
    };
    assert_near("requests to new pages", sum(5, 1, 3), 2000.0, 40.0);
    assert_near("reads of written pages", sum(5, 0, 1), 1000.0, 20.0);
    assert_near("writes of read pages", sum(5, 1, 0), 1000.0, 20.0);
    assert!((60.0..150.0).contains(&sum(4, 0, 1)), "{} runs of reads", sum(4, 0, 1));
    let text = toml::to_string(&fitted.config).unwrap();
    assert_eq!(
        coflash_base::read::read::<SyntheticConfig>(&text.parse::<toml::Table>().unwrap()).unwrap(),
        fitted.config,
        "{text}"
    );
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
        let Fitted { original, fitted, .. } = fitted(text, 4 << 30);
        assert_eq!(original.requests, fitted.requests, "{text}");
        assert_eq!(original.read.requests, fitted.read.requests, "{text}");
        let bytes = |info: &WorkloadInfo| (info.read.bytes + info.write.bytes) as f64;
        let ratio = (bytes(&fitted) + 1.0) / (bytes(&original) + 1.0);
        assert!((0.93..1.07).contains(&ratio), "{text}: {ratio}");
    }
    let text = "synthetic = { flush_share = \"100%\", requests = 10 }";
    let flushes: Part = coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap();
    let error = fit(&mut flushes.open(1 << 30, Seed(1)).unwrap(), PAGE);
    assert!(error.unwrap_err().to_string().contains("no request has an address"));
    let page = Bytes { count: 1000 };
    let error = fit(&mut flushes.open(1 << 30, Seed(1)).unwrap(), page).unwrap_err().to_string();
    assert!(error.contains("1KB was given; a power of two"), "{error}");
}

#[test]
fn the_recorded_trace_is_met() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/traces/pgbench-oltp-400k.iolog.zst")
        .to_owned();
    let mut source = crate::open(&[path], &TraceOptions::default()).unwrap();
    assert_alike(&fit_source(&mut source), 0.1);
}
