//! The statistics of bursts, quantiles and runs, and their invalid parameters.
//!
//! As in `tests`: bounds are wide enough for any seed, and the seeds are fixed.

use super::on_off::OnOffConfig;
use super::quantiles::{Quantile, QuantilesConfig};
use super::runs::RunsConfig;
use super::self_similar::SelfSimilarConfig;
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
    slope(arrivals_ns, shortest_ns, doublings, 0.0)
}

/// The same from (variance / mean^2 + `more`).
fn slope(arrivals_ns: &[u64], shortest_ns: u64, doublings: u32, more: f64) -> f64 {
    let points: Vec<(f64, f64)> = (0..=doublings)
        .map(|doubling| {
            let (mean, variance) = mean_and_variance(&counts(arrivals_ns, shortest_ns << doubling));
            (f64::from(doubling), libm::log2(variance / mean / mean + more))
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
fn bursts_have_their_rate_and_their_dispersion() {
    // The limit of variance over mean for long intervals: 1 + 2 (1 / gap) (1 / on) / (1 / on + 1 / off)^2.
    for (gap, on, off) in [(50e-6, 10e-3, 90e-3), (1e-3, 20e-3, 20e-3), (100e-6, 1e-3, 30e-3_f64)] {
        let config = OnOffConfig {
            gap: ns((gap * 1e9) as u64),
            on: ns((on * 1e9) as u64),
            off: ns((off * 1e9) as u64),
            ..OnOffConfig::default()
        };
        let arrivals = arrivals_ns(ArrivalConfig::OnOff(config), 2_000_000);
        let expected = 1.0 + 2.0 / gap / on / (1.0 / on + 1.0 / off).powi(2);
        let interval = (20.0 * (on + off) * 1e9) as u64;
        let seen = dispersion(&arrivals, interval);
        assert!((seen / expected - 1.0).abs() < 0.2, "{seen} instead of {expected}");
        let mean = *arrivals.last().unwrap() as f64 / 2e6 / 1e9;
        let expected_mean = gap * (on + off) / on;
        let bound = 4.0 * (expected / 2e6_f64).sqrt();
        assert!((mean / expected_mean - 1.0).abs() < bound, "{mean} instead of {expected_mean}");
    }
}

#[test]
fn pareto_periods_are_bursty_over_longer_times() {
    let of = |pareto_shape| {
        let config = OnOffConfig { pareto_shape, ..OnOffConfig::default() };
        arrivals_ns(ArrivalConfig::OnOff(config), 2_000_000)
    };
    let (exponential, pareto) = (of(None), of(Some(1.4)));
    // Over ten periods, exponential periods average out; those of Pareto do not.
    let (short, long) = (hurst(&exponential, 1_000_000_000, 5), hurst(&pareto, 1_000_000_000, 5));
    assert!((short - 0.5).abs() < 0.1 && long > 0.65, "{short} and {long}");
    // With infinite variance, the mean converges slowly.
    let mean_ns = *pareto.last().unwrap() as f64 / 2e6;
    assert!((350_000.0..650_000.0).contains(&mean_ns), "{mean_ns}");
}

#[test]
fn the_b_model_has_its_hurst_parameter_and_its_rate() {
    for given in [0.6, 0.7, 0.8, 0.9] {
        let config = SelfSimilarConfig { mean: ns(1 << 19), hurst: given };
        let arrivals = arrivals_ns(ArrivalConfig::SelfSimilar(config), 1 << 20);
        // The time of all is 2^39 ns, so that intervals of 2^k ns are halves of halves.
        // The mean square is the variance and the square of the mean.
        let seen = slope(&arrivals, 1 << 29, 6, 1.0);
        assert!((seen - given).abs() < 0.03, "{seen} instead of {given}");
        // Bursts far above random ones (a dispersion of 1); the lower the Hurst parameter, the higher the
        // bursts.
        assert!(dispersion(&arrivals, 1 << 29) > 100.0);
        // The last request is in the last of the intervals that have one.
        let end = *arrivals.last().unwrap() as f64 / (1_u64 << 39) as f64;
        assert!((0.9..1.0).contains(&end), "{end}");
    }
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
    let on_off = |gap, on, off, pareto_shape| {
        ArrivalConfig::OnOff(OnOffConfig { gap: ns(gap), on: ns(on), off: ns(off), pareto_shape })
    };
    let similar = |mean, hurst| ArrivalConfig::SelfSimilar(SelfSimilarConfig { mean: ns(mean), hurst });
    let quantiles = |points: &[(u64, u64)]| {
        let quantile = |&(percent, gap)| Quantile { share: Share::percent(percent), gap: ns(gap) };
        ArrivalConfig::Quantiles(QuantilesConfig {
            gaps: points.iter().map(quantile).collect(),
            clustering: Vec::new(),
        })
    };
    let cases = [
        (on_off(0, 10, 10, None), "arrival.gap", "0ns was given", "from 1ns"),
        (on_off(1000, 999, 10, None), "arrival.on", "999ns was given", "at least arrival.gap, 1us"),
        (on_off(10, 10, 0, None), "arrival.off", "0ns was given", "from 1ns"),
        (on_off(10, 10, 1 << 62, None), "arrival.off", "1000000 requests", "to 9223372036850ns"),
        (on_off(10, 10, 10, Some(1.0)), "arrival.pareto_shape", "1 was given", "above 1"),
        (on_off(10, 10, 10, Some(f64::NAN)), "arrival.pareto_shape", "NaN was given", "above 1"),
        (similar(0, 0.8), "arrival.mean", "0ns was given", "from 1ns"),
        (similar(10, 0.5), "arrival.hurst", "0.5 was given", "above 0.5 and below 1"),
        (similar(10, 1.0), "arrival.hurst", "1 was given", "above 0.5 and below 1"),
        (similar(10, f64::NAN), "arrival.hurst", "NaN was given", "above 0.5 and below 1"),
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
