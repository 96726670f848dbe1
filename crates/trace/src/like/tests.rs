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
    relative("footprint", a.footprint_bytes as f64, b.footprint_bytes as f64);
    let sizes = |profile: &Profile| [profile.read_size_bytes.clone(), profile.write_size_bytes.clone()];
    for (a, b) in sizes(a).into_iter().zip(sizes(b)).filter_map(|(a, b)| a.zip(b)) {
        relative("mean size", a.mean, b.mean);
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

/// The reuse of a workload, as `trace info` measures it.
fn reuse(config: &SyntheticConfig) -> crate::info::Reuse {
    let mut source = Synthetic::new(config, config.space.unwrap().count, Seed(2)).unwrap();
    crate::info::summarise(&mut source, Bytes { count: 4096 }).unwrap().reuse.unwrap()
}

#[test]
fn parameters_of_a_synthetic_workload_are_recovered() {
    let text = r#"
        [synthetic]
        read_share = "40%"
        trim_share = "5%"
        flush_share = "2%"
        requests = 300_000
        space = "256MiB"
        size = { name = "by-op", read = { sizes = [{ size = "4KiB", weight = 1 }] }, write = { sizes = [{ size = "4KiB", weight = 1 }] } }
        arrival = { name = "quantiles", clustering = ["30%", "40%"] }

        [synthetic.generator]
        name = "lru-stack"
        read_first = "50%"
        read.sizes = [{ pages = 1, new = 200, again = [{ after = "read", uses = 1, depths = [0, 0, 0, 0, 500] }, { after = "write", uses = 2, depths = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 300] }] }]
        write.sizes = [{ pages = 1, new = 100, again = [{ after = "write", uses = 1, depths = [0, 0, 500, 0, 0, 0, 0, 0, 0, 0, 400] }] }]
    "#;
    let fitted = fitted(text, 4 << 30);
    assert_alike(&fitted, 0.08);
    let part: Part = toml::from_str(text).unwrap();
    let (original, likeness) = (part.synthetic.unwrap(), &fitted.config);
    // Miss ratios of LRU caches for reads and for writes, as exact as bins of half an octave allow.
    let [a, b] = [&original, likeness].map(|config| reuse(config).curve);
    let at = |curve: &crate::info::MissRatioCurve, pages: f64| {
        let row = curve.cache_pages.partition_point(|&size| size as f64 <= pages) - 1;
        [&curve.read_miss_ratio, &curve.write_miss_ratio].map(|ratios| ratios.as_ref().unwrap()[row])
    };
    for pages in (8..=15).map(|log2| f64::from(1 << log2)) {
        let half_octave = std::f64::consts::SQRT_2;
        let (seen, most, least) = (at(&b, pages), at(&a, pages / half_octave), at(&a, pages * half_octave));
        for op in 0..2 {
            let allowed = least[op] - 0.03..=most[op] + 0.03;
            assert!(
                allowed.contains(&seen[op]),
                "misses of {pages} pages: {} instead of {allowed:?}",
                seen[op]
            );
        }
    }
    let ArrivalConfig::Quantiles(quantiles) = &likeness.arrival else { panic!("{likeness:?}") };
    let shares: Vec<f64> = quantiles.clustering.iter().map(|share| share.as_f64()).collect();
    for (part, (seen, expected)) in shares.iter().zip([0.3, 0.4]).enumerate() {
        assert_near(&format!("clustering over 8^{}", part + 1), *seen, expected, 0.08);
    }
    assert!(shares.iter().skip(2).all(|&share| share < 0.05), "{shares:?}");
    assert_eq!(likeness.align.count, 4096);
    let text = toml::to_string(likeness).unwrap();
    assert_eq!(toml::from_str::<SyntheticConfig>(&text).unwrap(), *likeness, "{text}");
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
        let bytes = |profile: &Profile| (profile.read_bytes + profile.written_bytes) as f64;
        let ratio = (bytes(&fitted.comparison.fitted) + 1.0) / (bytes(&fitted.comparison.original) + 1.0);
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
