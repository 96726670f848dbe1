//! Fits recover the parameters of a synthetic workload and match the statistics of a recorded trace.

use super::*;
use coflash_workload::Part;

fn fitted(text: &str, device_bytes: u64) -> Fitted {
    let part: Part = toml::from_str(text).unwrap();
    fit_source(&mut part.open(device_bytes, Seed(1)).unwrap(), &FitOptions::default()).unwrap()
}

#[track_caller]
fn assert_near(what: &str, seen: f64, expected: f64, bound: f64) {
    assert!((seen - expected).abs() <= bound, "{what}: {seen} instead of {expected}");
}

/// Check the comparison within `bound`, relative for amounts and absolute for shares.
#[track_caller]
fn assert_alike(fitted: &Fitted, bound: f64) {
    let Comparison { original: a, fitted: b } = &fitted.comparison;
    let relative = |what: &str, a: f64, b: f64| assert_near(what, b / a, 1.0, bound);
    let share = |what: &str, a: Option<f64>, b: Option<f64>| {
        assert_near(what, b.unwrap_or(0.0), a.unwrap_or(0.0), bound);
    };
    assert_eq!(a.requests, b.requests);
    share("reads", a.read_share, b.read_share);
    share("trims", Some(a.trims as f64 / a.requests as f64), Some(b.trims as f64 / b.requests as f64));
    share("flushes", Some(a.flushes as f64 / a.requests as f64), Some(b.flushes as f64 / b.requests as f64));
    share("sequential", a.sequential_share, b.sequential_share);
    share("top 1%", a.top_1_percent_share, b.top_1_percent_share);
    share("top 10%", a.top_10_percent_share, b.top_10_percent_share);
    relative("footprint", a.footprint_bytes as f64, b.footprint_bytes as f64);
    let (a_sizes, b_sizes) = (a.size_bytes.as_ref().unwrap(), b.size_bytes.as_ref().unwrap());
    relative("mean size", a_sizes.mean, b_sizes.mean);
    if let (Some(a), Some(b)) = (&a.interarrival_ns, &b.interarrival_ns)
        && a.max > 0
    {
        relative("mean gap", a.mean, b.mean);
        for (what, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            relative(what, a.max(1) as f64, b.max(1) as f64);
        }
    }
}

#[test]
fn parameters_of_a_synthetic_workload_are_recovered() {
    let text = r#"
        [synthetic]
        read_share = "40%"
        trim_share = "5%"
        flush_share = "2%"
        requests = 500_000
        size = { name = "exponential", mean = "16KiB" }
        arrival = { name = "on-off", gap = "100us", on = "3ms" }

        [synthetic.generator]
        name = "runs"
        sequential_share = "30%"
        from = { name = "zipf", exponent = 0.9, footprint = "512MiB" }
    "#;
    let fitted = fitted(text, 4 << 30);
    assert_alike(&fitted, 0.08);
    let GeneratorConfig::Runs(runs) = &fitted.config.generator else { panic!("{:?}", fitted.config) };
    let GeneratorConfig::Zipf(zipf) = runs.from.as_ref() else { panic!("{:?}", fitted.config) };
    assert_near("sequential", runs.sequential_share.as_f64(), 0.3, 0.01);
    assert_near("exponent", zipf.exponent, 0.9, 0.05);
    assert_near("footprint", zipf.footprint.unwrap().count as f64 / f64::from(512 << 20), 1.0, 0.25);
    assert_eq!(fitted.config.align.count, 4096);
    let text = toml::to_string(&fitted.config).unwrap();
    assert_eq!(toml::from_str::<SyntheticConfig>(&text).unwrap(), fitted.config, "{text}");
    assert!(serde_json::to_string(&fitted).unwrap().contains("top_10_percent_share"));
}

#[test]
fn ends_of_the_range_can_be_fitted() {
    for text in [
        "synthetic = { generator = \"sequential\", requests = 20_000 }",
        "synthetic = { generator = \"uniform\", requests = 20_000, read_share = \"100%\" }",
        "synthetic = { requests = 1 }",
        "synthetic = { requests = 1000, space = \"4KiB\" }",
        "synthetic = { requests = 1000, align = \"1B\", size = { name = \"fixed\", size = \"1B\" } }",
        "synthetic = { requests = 1000, trim_share = \"100%\", size = { name = \"fixed\", size = \"1GiB\" } }",
        "synthetic = { requests = 5_000, size = { name = \"exponential\", max = \"8MiB\", mean = \"1MiB\" }, align = \"512B\" }",
    ] {
        let fitted = fitted(text, 4 << 30);
        assert_eq!(fitted.comparison.original.requests, fitted.comparison.fitted.requests, "{text}");
        assert_eq!(fitted.comparison.original.reads, fitted.comparison.fitted.reads, "{text}");
        let mean = |profile: &Profile| profile.size_bytes.as_ref().unwrap().mean;
        let ratio = mean(&fitted.comparison.fitted) / mean(&fitted.comparison.original);
        assert!((0.97..1.03).contains(&ratio), "{text}: {ratio}");
    }
    let flushes: Part = toml::from_str("synthetic = { flush_share = \"100%\", requests = 10 }").unwrap();
    let error = fit_source(&mut flushes.open(1 << 30, Seed(1)).unwrap(), &FitOptions::default());
    assert!(error.unwrap_err().to_string().contains("no request has an address"));
    let page = FitOptions { page: Bytes { count: 1000 }, ..FitOptions::default() };
    let error = fit_source(&mut flushes.open(1 << 30, Seed(1)).unwrap(), &page).unwrap_err().to_string();
    assert!(error.contains("1KB was given; a power of two"), "{error}");
}

#[test]
fn the_recorded_trace_is_met() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/pgbench-oltp-400k.iolog.zst").to_owned();
    let fitted = fit(&[path], &FitOptions::default()).unwrap();
    assert_alike(&fitted, 0.1);
}
