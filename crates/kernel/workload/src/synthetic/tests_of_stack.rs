//! Pages of an LRU stack come back at their depth and in their order, and clustered gaps keep their distribution.

use super::lru_stack::{LruStackConfig, NEVER, class_of};
use super::quantiles::{Quantile, QuantilesConfig, kept_requests};
use super::size::{ByOpConfig, ChoiceConfig, FixedConfig, WeightedSize};
use super::tests::requests;
use super::*;
use coflash_base::Duration;
use proptest::prelude::*;
use std::collections::BTreeSet;

const PAGE: u64 = 4096;
const GIB: u64 = 1 << 30;

fn workload(pages: u64, count: u64, stack: LruStackConfig) -> SyntheticConfig {
    SyntheticConfig {
        generator: GeneratorConfig::LruStack(stack),
        requests: count,
        space: Some(Bytes { count: pages * PAGE }),
        ..SyntheticConfig::default()
    }
}

/// The same sizes, in pages, for all operations.
fn sizes(weighted: &[(u64, u32)]) -> ByOpConfig {
    let entry = |&(pages, weight): &(u64, u32)| WeightedSize { size: Bytes { count: pages * PAGE }, weight };
    let sizes = ChoiceConfig { sizes: weighted.iter().map(entry).collect() };
    ByOpConfig { read: sizes.clone(), write: sizes.clone(), trim: sizes }
}

#[test]
fn pages_of_a_run_are_used_again_in_the_order_of_their_use() {
    // Pairs are written, then all of them read, then written again, each in one run.
    let rows = vec![
        [0, 1, NEVER, 0, 1, 1000],
        [1, 0, 1, class_of(1999), 1, 1000],
        [2, 1, 0, class_of(1999), 1, 1000],
    ];
    let stack = LruStackConfig { windows: 3, rows, reused: sizes(&[(2, 1)]), ..LruStackConfig::default() };
    let pairs = SizeConfig::Fixed(FixedConfig { size: Bytes { count: 2 * PAGE } });
    let config = SyntheticConfig { size: pairs, ..workload(2000, 6000, stack) };
    for seed in 0..5 {
        let all = requests(&config, GIB, Seed(seed));
        for (part, op) in [(0..1000, Op::Write), (1000..2000, Op::Read), (2000..3000, Op::Write)] {
            let part = &all[part];
            assert!(part.iter().all(|request| request.op == op && request.length == 2 * PAGE), "seed {seed}");
            let descents = part.windows(2).filter(|pair| pair[0].offset > pair[1].offset).count();
            assert!(descents < 20, "seed {seed}: {descents} of 1000");
        }
        let places = |part: &[Request]| part.iter().map(|request| request.offset).collect::<BTreeSet<_>>();
        assert_eq!(places(&all[..1000]).len(), 1000, "seed {seed}: each page is new once");
        assert_eq!(
            places(&all[..1000]),
            places(&all[3000..4000]),
            "seed {seed}: the next round begins with the same"
        );
    }
}

#[test]
fn a_page_is_used_again_after_as_many_others_as_given() {
    let rows = vec![[0, 1, NEVER, 0, 1, 1000], [1, 1, 1, class_of(16), 1000, 1000]];
    let stack = LruStackConfig { windows: 2, rows, ..LruStackConfig::default() };
    let all = requests(&workload(1000, 2000, stack), GIB, Seed(1));
    let mut order: Vec<u64> = all[..1000].iter().map(|request| request.offset).collect();
    for request in &all[1000..] {
        let at = order.iter().rposition(|&offset| offset == request.offset).expect("it was written");
        let depth = (order.len() - 1 - at) as u32;
        assert_eq!(class_of(depth), class_of(16), "{depth}");
        let offset = order.remove(at);
        order.push(offset);
    }
}

#[test]
fn classes_are_half_octaves_without_gaps() {
    let classes: Vec<u32> = (0..8).map(class_of).collect();
    assert_eq!(classes, [0, 2, 3, 4, 4, 5, 5, 6]);
    assert!((0..100_000).all(|depth| class_of(depth + 1) - class_of(depth) <= 2));
    assert_eq!(class_of(u32::MAX), 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the rows, requests lie in the space.
    #[test]
    fn any_rows_give_requests_in_the_space(
        windows in 1_u32..4,
        rows in prop::collection::vec((0_u32..4, 0_u32..3, 0_u32..4, 0_u32..20, 1_u32..20, 0_u32..100), 1..12),
        length in 1_u64..9,
        reused in 1_u64..9,
        pages in 9_u64..3000,
        seed: u64,
    ) {
        let mut rows: Vec<[u32; 6]> = rows
            .into_iter()
            .map(|(window, op, last, class, runs, more)| [window % windows, op, last, class, runs, runs + more])
            .collect();
        rows.sort_unstable();
        let stack = LruStackConfig { windows, rows, reused: sizes(&[(1, 1), (reused, 2)]), ..LruStackConfig::default() };
        let size = SizeConfig::Fixed(FixedConfig { size: Bytes { count: length * PAGE } });
        let requests = requests(&SyntheticConfig { size, ..workload(pages, 5000, stack) }, GIB, Seed(seed));
        prop_assert_eq!(requests.len(), 5000);
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
    let stack = |keys: &str| message(&format!("generator = {{ name = \"lru-stack\", {keys} }}"));
    for (keys, expected) in [
        ("page = \"6000B\"", "6KB was given; a multiple of align, 4KiB"),
        ("windows = 65", "65 was given; from 1 to 64"),
        ("reused.write.sizes = []", "generator.reused.write.sizes: no size of weight above 0"),
        ("reused.write.sizes = [{ size = \"2GiB\", weight = 1 }]", "generator.reused: 2GiB was given"),
        ("rows = [[2, 1, 1, 0, 1, 8]]", "a window below 2"),
        ("rows = [[0, 3, 1, 0, 1, 8]]", "an operation from 0 to 2"),
        ("rows = [[0, 1, 1, 0, 9, 8]]", "at least one run and as many requests"),
        ("rows = [[1, 1, 3, 0, 1, 8], [0, 1, 3, 0, 1, 8]]", "not in the order of windows"),
        ("rows = []", "no rows were given"),
    ] {
        assert!(stack(keys).contains(expected), "{keys}: {}", stack(keys));
    }
    let clustering = "arrival = { name = \"quantiles\", clustering = [\"60%\", \"50%\"] }";
    assert!(message(clustering).contains("2 shares that sum to 110% were given"), "{}", message(clustering));
}
