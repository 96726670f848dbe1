//! The statistics of bursts, quantiles and runs, and their invalid parameters.
//!
//! As in `tests`: bounds are wide enough for any seed, and the seeds are fixed.

use super::quantiles::{Quantile, QuantilesConfig};
use super::runs::RunsConfig;
use super::size::FixedConfig;
use super::tests::{assert_share, requests};
use super::zipf::ZipfConfig;
use super::*;
use coflash_base::Duration;

const GIB: u64 = 1 << 30;

fn ns(ns: u64) -> Duration {
    Duration { ns }
}

fn arrivals_ns(arrival: ArrivalConfig, count: u64) -> Vec<u64> {
    let config = SyntheticConfig { arrival, requests: count, ..SyntheticConfig::default() };
    requests(&config, GIB, Seed(1)).iter().map(|request| request.arrival.ns).collect()
}

/// Arrivals per interval of `interval_ns`; the last, incomplete interval is omitted.
fn counts(arrivals_ns: &[u64], interval_ns: u64) -> Vec<f64> {
    let intervals = (arrivals_ns.last().unwrap() / interval_ns) as usize;
    let mut counts = vec![0.0; intervals];
    arrivals_ns.iter().for_each(|at| {
        if let Some(count) = counts.get_mut((at / interval_ns) as usize) {
            *count += 1.0;
        }
    });
    counts
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64)
}

/// Variance over mean of the counts: 1 for independent requests.
fn dispersion(arrivals_ns: &[u64], interval_ns: u64) -> f64 {
    let (mean, variance) = mean_and_variance(&counts(arrivals_ns, interval_ns));
    variance / mean
}

/// The Hurst parameter: the variance of mean counts falls with the length of intervals as length^(2H - 2).
fn hurst(arrivals_ns: &[u64], shortest_ns: u64, doublings: u32) -> f64 {
    let points: Vec<(f64, f64)> = (0..=doublings)
        .map(|doubling| {
            let (mean, variance) = mean_and_variance(&counts(arrivals_ns, shortest_ns << doubling));
            (f64::from(doubling), libm::log2(variance / mean / mean))
        })
        .collect();
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
    1.0 + slope / 2.0
}

#[test]
fn independent_requests_are_not_bursty() {
    let poisson = arrivals_ns(ArrivalConfig::by_name("poisson").unwrap(), 1_000_000);
    assert!((dispersion(&poisson, 500_000_000) - 1.0).abs() < 0.2, "{}", dispersion(&poisson, 500_000_000));
    assert!((hurst(&poisson, 5_000_000, 6) - 0.5).abs() < 0.03, "{}", hurst(&poisson, 5_000_000, 6));
}

#[test]
fn gaps_have_their_quantiles() {
    let arrivals = arrivals_ns(ArrivalConfig::by_name("quantiles").unwrap(), 1_000_000);
    let mut gaps = vec![arrivals[0]];
    gaps.extend(arrivals.windows(2).map(|pair| pair[1] - pair[0]));
    for (gap_us, share) in [(100, 0.5), (1000, 0.9), (55, 0.25), (10_000, 1.0)] {
        let seen = gaps.iter().filter(|&&gap| gap <= gap_us * 1000).count();
        assert_share(&format!("{gap_us}us"), seen, gaps.len(), share);
    }
    assert!(gaps.iter().all(|&gap| gap >= 10_000));
    // Ten equal gaps of one value: a distribution without width.
    let quantile = |percent, gap| Quantile { share: Share::percent(percent), gap: ns(gap) };
    let one = ArrivalConfig::Quantiles(QuantilesConfig {
        gaps: vec![quantile(0, 7), quantile(100, 7)],
        clustering: Vec::new(),
    });
    assert!(arrivals_ns(one, 100).iter().zip(1..).all(|(&at, index)| at == index * 7));
}

#[test]
fn runs_have_their_length_and_begin_at_positions_of_the_other_generator() {
    let of = |share| SyntheticConfig {
        generator: GeneratorConfig::Runs(RunsConfig {
            sequential_share: Share::percent(share),
            ..RunsConfig::default()
        }),
        size: SizeConfig::Fixed(FixedConfig { size: Bytes { count: 12_288 } }),
        ..SyntheticConfig::default()
    };
    let all = requests(&of(30), 1 << 50, Seed(1));
    let sequential = all.windows(2).filter(|pair| pair[0].offset + pair[0].length == pair[1].offset).count();
    assert_share("sequential", sequential, all.len() - 1, 0.3);
    let alone = SyntheticConfig { generator: GeneratorConfig::by_name("zipf").unwrap(), ..of(0) };
    let hottest = |requests: &[Request]| {
        let mut starts: Vec<u64> = requests.iter().map(|request| request.offset).collect();
        starts.sort_unstable();
        starts.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap()
    };
    let (runs, alone) = (hottest(&requests(&of(0), GIB, Seed(1))), hottest(&requests(&alone, GIB, Seed(1))));
    assert!(runs.abs_diff(alone) < alone / 10, "{runs} and {alone}");
}

#[test]
fn no_access_leaves_the_footprint() {
    let generator =
        ZipfConfig { exponent: 0.5, footprint: Some(Bytes { count: 4096 * 500 }), ..ZipfConfig::default() };
    let config =
        SyntheticConfig { generator: GeneratorConfig::Zipf(generator), ..SyntheticConfig::default() };
    let mut units: Vec<u64> = requests(&config, GIB, Seed(1)).iter().map(|r| r.offset / 4096).collect();
    units.sort_unstable();
    units.dedup();
    assert_eq!(units.len(), 500);
    assert!(units.last().unwrap() - units[0] > 200_000, "spread over all of the 262144");
}

#[test]
fn an_invalid_parameter_is_refused_with_its_key() {
    let quantiles = |points: &[(u64, u64)]| {
        let quantile = |&(percent, gap)| Quantile { share: Share::percent(percent), gap: ns(gap) };
        ArrivalConfig::Quantiles(QuantilesConfig {
            gaps: points.iter().map(quantile).collect(),
            clustering: Vec::new(),
        })
    };
    let cases = [
        (quantiles(&[]), "arrival.gaps", "another was given", "from the gap of 0% to that of 100%"),
        (quantiles(&[(0, 1), (90, 1)]), "arrival.gaps", "another was given", "from the gap of 0%"),
        (
            quantiles(&[(0, 9), (100, 8)]),
            "arrival.gaps",
            "8ns at 100% was given after 9ns at 0%",
            "ascending",
        ),
        (
            quantiles(&[(0, 1), (70, 1), (60, 2), (100, 3)]),
            "arrival.gaps",
            "2ns at 60% was given",
            "ascending",
        ),
        (quantiles(&[(0, 0), (100, u64::MAX)]), "arrival.gaps", "a mean of", "at most 9223372036854ns"),
    ];
    let refused = |config: &SyntheticConfig| match Synthetic::new(config, GIB, Seed(1)).err() {
        Some(error @ (WorkloadError::Parameters { .. } | WorkloadError::Part { .. })) => {
            // Keys with a path are keys of a scenario.
            error.to_string().trim_start_matches("workload.").to_owned()
        }
        other => panic!("{config:?} was accepted or refused otherwise: {other:?}"),
    };
    for (arrival, key, given, allowed) in cases {
        let error = refused(&SyntheticConfig { arrival, ..SyntheticConfig::default() });
        assert!(error.starts_with(&format!("{key}: ")), "{error}");
        assert!(error.contains(given) && error.contains(allowed), "{error}");
    }
    let generator = |sequential, exponent, footprint| {
        let from =
            Box::new(GeneratorConfig::Zipf(ZipfConfig { exponent, footprint, ..ZipfConfig::default() }));
        GeneratorConfig::Runs(RunsConfig { sequential_share: Share::percent(sequential), from })
    };
    for (generator, key, given, allowed) in [
        (generator(10, -1.0, None), "generator.from.exponent", "-1 was given", "above 0"),
        (
            generator(10, 1.0, Some(Bytes { count: 4097 })),
            "generator.from.footprint",
            "4097B",
            "multiple of align",
        ),
        (
            generator(10, 1.0, Some(Bytes { count: 2 << 30 })),
            "generator.from.footprint",
            "2GiB",
            "up to the space, 1GiB",
        ),
    ] {
        let error = refused(&SyntheticConfig { generator, ..SyntheticConfig::default() });
        assert!(error.starts_with(&format!("{key}: ")), "{error}");
        assert!(error.contains(given) && error.contains(allowed), "{error}");
    }
}
