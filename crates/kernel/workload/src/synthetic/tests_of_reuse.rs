//! Flows of pages are given back in their numbers and their order, and clustered gaps keep their distribution.

use super::quantiles::{Quantile, QuantilesConfig, kept_requests};
use super::reuse_flows::ReuseFlowsConfig;
use super::size::{ByOpConfig, ChoiceConfig, FixedConfig, WeightedSize};
use super::tests::requests;
use super::*;
use coflash_base::Duration;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: u64 = 4096;
const GIB: u64 = 1 << 30;

fn workload(pages: u64, count: u64, flows: ReuseFlowsConfig) -> SyntheticConfig {
    SyntheticConfig {
        generator: GeneratorConfig::ReuseFlows(flows),
        requests: count,
        space: Some(Bytes { count: pages * PAGE }),
        ..SyntheticConfig::default()
    }
}

/// Sizes, in pages.
fn sizes(weighted: &[(u64, u32)]) -> ChoiceConfig {
    let entry = |&(pages, weight): &(u64, u32)| WeightedSize { size: Bytes { count: pages * PAGE }, weight };
    ChoiceConfig { sizes: weighted.iter().map(entry).collect() }
}

/// Requests of two pages, written in the first of four windows. A half is read in the second one, then written in the
/// last one, the other half is written in the third one.
fn three_ways() -> ReuseFlowsConfig {
    ReuseFlowsConfig {
        windows: 4,
        flows: vec![
            [0, 1, 4, 1, 0, 100, 1000, 0, 1000],
            [0, 1, 4, 2, 1, 100, 1000, 0, 1000],
            [1, 0, 0, 3, 1, 100, 1000, 0, 1000],
            [2, 1, 0, 4, 0, 100, 1000, 0, 1000],
            [3, 1, 1, 4, 0, 100, 1000, 0, 1000],
        ],
        ..ReuseFlowsConfig::default()
    }
}

fn pages_of(request: &Request) -> std::ops::RangeInclusive<u64> {
    request.offset / PAGE..=(request.offset + request.length - 1) / PAGE
}

#[test]
fn pages_of_a_flow_are_used_again_in_the_order_of_their_use() {
    let pairs = SizeConfig::Fixed(FixedConfig { size: Bytes { count: 2 * PAGE } });
    let config = SyntheticConfig { size: pairs, ..workload(2000, 10_000, three_ways()) };
    for seed in 0..5 {
        let requests = requests(&config, GIB, Seed(seed));
        let accesses: Vec<(Op, u64)> = requests
            .iter()
            .flat_map(|request| pages_of(request).map(move |page| (request.op, page)))
            .collect();
        let written = &accesses[..2000];
        assert!(written.iter().all(|&(op, _)| op == Op::Write), "seed {seed}");
        let place: BTreeMap<u64, usize> =
            written.iter().enumerate().map(|(at, &(_, page))| (page, at)).collect();
        assert_eq!(place.len(), 2000, "seed {seed}: each page is new once");
        let round = |number: usize| &accesses[number * 5000..(number + 1) * 5000];
        for (part, op) in [(2000..3000, Op::Read), (3000..4000, Op::Write), (4000..5000, Op::Write)] {
            let part = &round(0)[part];
            assert!(part.iter().all(|&(by, _)| by == op), "seed {seed}");
            let places: Vec<usize> = part.iter().map(|(_, page)| place[page]).collect();
            let descents = places.windows(2).filter(|pair| pair[0] > pair[1]).count();
            assert!(descents < 20, "seed {seed}: {descents} of 1000");
        }
        let pages = |part: std::ops::Range<usize>| -> BTreeSet<u64> {
            round(0)[part].iter().map(|&(_, page)| page).collect()
        };
        assert_eq!(pages(2000..3000), pages(4000..5000), "seed {seed}: what was read is written last");
        // The next round begins with the same pages.
        let again: BTreeSet<u64> = round(1)[..2000].iter().map(|&(_, page)| page).collect();
        assert!(again.iter().eq(place.keys()), "seed {seed}");
        // The last run of a flow may divide a pair.
        let pairs = requests.iter().filter(|request| request.length == 2 * PAGE).count();
        assert!(pairs as f64 > 0.95 * requests.len() as f64, "seed {seed}: {pairs} of {}", requests.len());
    }
}

#[test]
fn a_page_is_used_again_in_its_window_after_the_distance_given() {
    let flows = vec![[0, 1, 1, 0, 1, 500, 1000, 0, 1000], [0, 1, 0, 1, 0, 500, 1000, 0, 1000]];
    let within = vec![0, 0, 0, 0, 1];
    let config = ReuseFlowsConfig { windows: 1, flows, within, ..ReuseFlowsConfig::default() };
    let requests = requests(&workload(1000, 2000, config), GIB, Seed(1));
    let mut last = BTreeMap::new();
    let distances: Vec<usize> = requests
        .iter()
        .enumerate()
        .filter_map(|(at, request)| Some(at - last.insert(request.offset, at)?))
        .collect();
    assert_eq!(distances.len(), 1000);
    let near = distances.iter().filter(|&&distance| (15..40).contains(&distance)).count();
    assert!(near > 900, "{near} of 1000");
}

#[test]
fn requests_gather_pages_of_several_earlier_ones() {
    // New pages are written one by one; a run of them that lie side by side is some ten pages long, and bounds requests.
    for (weighted, expected) in [(&[(1, 1)][..], 1000), (&[(4, 1)], 250), (&[(1, 1), (3, 1)], 500)] {
        for seed in 0..3 {
            let one = sizes(&[(1, 1)]);
            let by_op = ByOpConfig { read: sizes(weighted), write: one.clone(), trim: one };
            let size = SizeConfig::ByOp(by_op);
            let config = SyntheticConfig { size, ..workload(2000, 10_000, three_ways()) };
            let all = requests(&config, GIB, Seed(seed));
            let mut pages = 0;
            let round = all.iter().take_while(|request| {
                pages += pages_of(request).count();
                pages <= 5000
            });
            let reads = round.filter(|request| request.op == Op::Read).count();
            let error = reads as f64 / f64::from(expected) - 1.0;
            assert!(error.abs() < 0.2, "{weighted:?}, {seed}: {reads} instead of {expected}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the flows, requests lie in the space.
    #[test]
    fn any_flows_give_requests_in_the_space(
        windows in 1_u32..4,
        flows in prop::collection::vec((0_u32..4, 0_u32..3, 0_u32..5, 0_u32..5, 0_u32..3, 1_u32..20, 0_u32..100), 0..12),
        length in 1_u64..9,
        ranks in prop::collection::vec(0_u32..3, 0..4),
        aligned in 0_u64..=100,
        seed: u64,
    ) {
        let mut flows: Vec<[u32; 9]> = flows
            .into_iter()
            .map(|(window, op, from, to, next_op, runs, more)| {
                let window = window % windows;
                let from = if from > window { windows } else { from };
                [window, op, from, (window + to).min(windows), next_op, runs, runs + more, 0, 1000]
            })
            .chain([[0, 1, windows, windows, 0, 1, 8, 0, 1000]])
            .collect();
        flows.sort_unstable();
        let config = ReuseFlowsConfig {
            windows,
            flows,
            ranks: ranks.into_iter().chain([1]).collect(),
            aligned_share: Share::percent(aligned),
            ..ReuseFlowsConfig::default()
        };
        let pages = config.pages_bytes() / PAGE;
        let size = SizeConfig::Fixed(FixedConfig { size: Bytes { count: length.min(pages) * PAGE } });
        let requests = requests(&SyntheticConfig { size, ..workload(pages, 2000, config) }, GIB, Seed(seed));
        prop_assert_eq!(requests.len(), 2000);
        prop_assert!(requests.iter().all(|request| request.length > 0 && request.offset + request.length <= pages * PAGE));
    }
}

#[test]
fn clustered_gaps_keep_their_distribution_and_their_parts_last_as_long_as_given() {
    let gap = |percent, us: u64| Quantile { share: Share::percent(percent), gap: Duration { ns: us * 1000 } };
    let gaps = vec![gap(0, 10), gap(50, 100), gap(90, 1000), gap(100, 10_000)];
    let drawn = |clustering: Vec<Share>| {
        let arrival = ArrivalConfig::Quantiles(QuantilesConfig { gaps: gaps.clone(), clustering });
        let config = SyntheticConfig { arrival, requests: 1_000_000, ..SyntheticConfig::default() };
        let times: Vec<u64> =
            requests(&config, GIB, Seed(5)).iter().map(|request| request.arrival.ns).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<u64>>()
    };
    let correlation = |gaps: &[u64], distance: usize| {
        // Whether a gap is above the median: arcsine law, 2/π asin(r).
        let above: Vec<f64> = gaps.iter().map(|&gap| if gap > 100_000 { 1.0 } else { -1.0 }).collect();
        let pairs = above.len() - distance;
        let mean = (0..pairs).map(|at| above[at] * above[at + distance]).sum::<f64>() / pairs as f64;
        libm::sin(mean * std::f64::consts::FRAC_PI_2)
    };
    for clustering in [vec![0, 0], vec![60], vec![0, 0, 80], vec![30, 30, 30]] {
        let gaps = drawn(clustering.iter().map(|&percent| Share::percent(percent)).collect());
        let share = |us: u64| gaps.iter().filter(|&&gap| gap <= us * 1000).count() as f64 / gaps.len() as f64;
        let parts = |distance: usize| -> f64 {
            let part = |(index, &percent): (usize, &u64)| {
                percent as f64 / 100.0 * (1.0 - 1.0 / kept_requests(index) as f64).powi(distance as i32)
            };
            clustering.iter().enumerate().map(part).sum()
        };
        for (us, wanted) in [(100, 0.5), (550, 0.7), (1000, 0.9)] {
            assert!((share(us) - wanted).abs() < 0.03, "{clustering:?}: {} instead of {wanted}", share(us));
        }
        for distance in [1, 8, 64] {
            let seen = correlation(&gaps, distance);
            assert!(
                (seen - parts(distance)).abs() < 0.05,
                "{clustering:?}, {distance}: {seen} instead of {}",
                parts(distance)
            );
        }
    }
}

#[test]
fn invalid_parameters_are_refused() {
    let message = |text: &str| {
        let config: SyntheticConfig =
            coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap();
        Synthetic::new(&config, GIB, Seed(1)).err().unwrap().to_string()
    };
    let flows = |keys: &str| message(&format!("generator = {{ name = \"reuse-flows\", {keys} }}"));
    for (keys, expected) in [
        ("page = \"6000B\"", "6KB was given; a multiple of align, 4KiB"),
        ("windows = 65", "65 was given; from 1 to 64"),
        ("ranks = [0]", "generator.ranks: 1 weights were given; up to 64, and not all 0"),
        ("within = []", "generator.within: 0 weights were given"),
        ("flows = [[0, 1, 1, 2, 0, 1, 8, 0, 1000]]", "an earlier window or 2"),
        ("flows = [[1, 1, 2, 0, 0, 1, 8, 0, 1000]]", "a window that is not earlier or 2"),
        ("flows = [[0, 1, 2, 2, 0, 9, 8, 0, 1000]]", "at least one run and as many pages"),
        ("flows = [[1, 1, 2, 2, 0, 1, 8, 0, 9], [0, 1, 2, 2, 0, 1, 8, 0, 9]]", "not in the order of windows"),
        (
            "flows = [[0, 1, 2, 2, 0, 1, 300000, 0, 1000]]",
            "flows with 300000 new pages were given; from 1 to",
        ),
        ("flows = []", "flows with 0 new pages"),
    ] {
        assert!(flows(keys).contains(expected), "{keys}: {}", flows(keys));
    }
    let clustering = "arrival = { name = \"quantiles\", clustering = [\"60%\", \"50%\"] }";
    assert!(message(clustering).contains("2 shares that sum to 110% were given"), "{}", message(clustering));
}
