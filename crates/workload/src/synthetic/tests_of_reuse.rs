//! The LRU stack model gives back the reuse distances, kinds and runs that it was given, and clustered gaps keep their
//! distribution. The order of last use is kept here as a plain list.

use super::lru_stack::{Accesses, Again, LastOp, LruStackConfig, OfSize};
use super::quantiles::{Quantile, QuantilesConfig, kept_requests};
use super::size::FixedConfig;
use super::tests::requests;
use super::*;
use coflash_base::Duration;
use proptest::prelude::*;

const PAGE: u64 = 4096;

/// A request's first page: `None` if new, or the pages since, whether it was written last, and its accesses.
type Before = Option<(usize, bool, u32)>;

/// The history of each request's page, and the number of accessed pages.
fn found(requests: &[Request]) -> (Vec<Before>, usize) {
    // The page used last is at the end.
    let mut pages: Vec<(u64, bool, u32)> = Vec::new();
    let found = requests.iter().map(|request| {
        let (first, last) = (request.offset / PAGE, (request.offset + request.length - 1) / PAGE);
        let place = |pages: &[(u64, bool, u32)], page| pages.iter().rposition(|known| known.0 == page);
        let before = place(&pages, first).map(|at| (pages.len() - 1 - at, pages[at].1, pages[at].2));
        for page in (first..=last).filter(|_| request.op != Op::Trim) {
            let uses = place(&pages, page).map_or(0, |at| pages.remove(at).2);
            pages.push((page, request.op == Op::Write, uses + 1));
        }
        before
    });
    (found.collect(), pages.len())
}

fn of_any_size(new: u32, again: impl Iterator<Item = Again>) -> Accesses {
    Accesses { sizes: vec![OfSize { pages: 1, new, again: again.collect() }], ..Accesses::default() }
}

fn stack(pages: u64, count: u64, config: LruStackConfig) -> SyntheticConfig {
    SyntheticConfig {
        generator: GeneratorConfig::LruStack(config),
        requests: count,
        read_share: Share::percent(40),
        space: Some(Bytes { count: pages * PAGE }),
        ..SyntheticConfig::default()
    }
}

/// The same depths for pages of any number of accesses.
fn again(after: LastOp, depths: &[u32]) -> impl Iterator<Item = Again> {
    Again::classes().filter(move |class| class.0 == after).map(|(after, uses)| Again {
        after,
        uses,
        depths: depths.to_vec(),
    })
}

#[test]
fn requests_find_pages_at_the_depths_given_for_their_kind() {
    const PAGES: u64 = 2048;
    // Reads go to pages read 512 to 1024 pages ago, or written 64 to 90 ago; writes to those written 16 to 22 ago, or read
    // 181 to 256 ago. As many pages become written ones as read ones, so that none runs out.
    let depths = |bin: usize, weight: u32| [vec![0; bin], vec![weight]].concat();
    let read = of_any_size(10, again(LastOp::Read, &[0, 0, 6, 6]).chain(again(LastOp::Write, &depths(9, 6))));
    let write =
        of_any_size(10, again(LastOp::Write, &depths(13, 15)).chain(again(LastOp::Read, &depths(6, 3))));
    let config = LruStackConfig { read, write, ..LruStackConfig::default() };
    let requests = requests(&stack(PAGES, 60_000, config), GIB, Seed(3));
    let (found, pages) = found(&requests);
    assert_eq!(pages as u64, PAGES);
    // Once there are enough pages: depths were drawn, and the nearest page of the kind was taken.
    let late = || requests.iter().zip(&found).skip(30_000);
    let share = |op, kind: &dyn Fn(&Before) -> bool| {
        let all: Vec<_> = late().filter(|(request, _)| request.op == op).collect();
        all.iter().filter(|(_, before)| kind(before)).count() as f64 / all.len() as f64
    };
    let assert_near =
        |seen: f64, wanted: f64| assert!((seen - wanted).abs() < 0.06, "{seen} instead of {wanted}");
    let at = |range: std::ops::Range<usize>, written| {
        move |before: &Before| {
            before.is_some_and(|(others, by_write, _)| range.contains(&others) && by_write == written)
        }
    };
    assert_near(share(Op::Read, &at(256..2040, false)), 0.6);
    assert_near(share(Op::Read, &at(31..182, true)), 0.3);
    assert_near(share(Op::Write, &at(7..46, true)), 0.75);
    assert_near(share(Op::Write, &at(90..514, false)), 0.15);
    // The rest is new, and the least recently used page when all are used.
    assert_near(
        share(Op::Write, &|before| before.is_some_and(|(others, ..)| others as u64 == PAGES - 1)),
        0.1,
    );
}

#[test]
fn pages_used_often_are_used_again() {
    // Of the same depths, pages that were accessed once, or often.
    let kind = |uses: std::ops::Range<u32>| {
        of_any_size(1, again(LastOp::Write, &[1; 12]).filter(move |again| uses.contains(&again.uses)))
    };
    let [once, often] = [kind(1..2), kind(8..129)];
    let hottest = |write| {
        let config = LruStackConfig { write, read_first: Share::ZERO, ..LruStackConfig::default() };
        let workload = SyntheticConfig { read_share: Share::ZERO, ..stack(1000, 40_000, config) };
        let mut counts = vec![0_u32; 1000];
        requests(&workload, GIB, Seed(1))
            .iter()
            .for_each(|request| counts[(request.offset / PAGE) as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        f64::from(counts[..10].iter().sum::<u32>()) / 40_000.0
    };
    assert!(hottest(often) > 3.0 * hottest(once));
}

#[test]
fn new_requests_continue_at_new_pages_while_others_come_between() {
    let kind = |continued_new| Accesses {
        continued_new,
        overlapping: Share::percent(100),
        ..of_any_size(1, std::iter::empty())
    };
    let config = LruStackConfig {
        read: kind(Share::percent(80)),
        write: kind(Share::ZERO),
        offsets: vec![0, 1, 0, 3],
        ..LruStackConfig::default()
    };
    let workload = SyntheticConfig {
        align: Bytes { count: 512 },
        size: SizeConfig::Fixed(FixedConfig { size: Bytes { count: 4096 } }),
        ..stack(400_000, 50_000, config)
    };
    let requests = requests(&workload, 2 * GIB, Seed(1));
    let mut ends = [u64::MAX; 2];
    let (mut continued, mut starts) = ([0.0_f64; 2], [[0.0_f64; 8]; 2]);
    for request in &requests {
        let op = request.op as usize;
        if ends[op] == request.offset {
            continued[op] += 1.0;
        } else {
            starts[op][(request.offset % PAGE / 512) as usize] += 1.0;
        }
        ends[op] = request.offset + request.length;
    }
    let reads = requests.iter().filter(|request| request.op == Op::Read).count() as f64;
    assert!((continued[0] / reads - 0.8).abs() < 0.01 && continued[1] == 0.0, "{continued:?} of {reads}");
    let [_, first, _, third, ..] = starts[1];
    assert!(
        (third / first - 3.0).abs() < 0.2 && starts[1].iter().sum::<f64>() == first + third,
        "{starts:?}"
    );
    // No write begins in a page of another request.
    let (found, _) = found(&requests[..5000]);
    assert!(
        requests
            .iter()
            .zip(&found)
            .filter(|(request, _)| request.op == Op::Write)
            .all(|(_, before)| before.is_none())
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the weights, requests lie in the space, and no page is used but the accessed ones at the front of a part.
    #[test]
    fn any_weights_give_requests_in_the_space(
        pages in 1_u64..300,
        length in 1_u64..5,
        read_first in 0_u64..=100,
        shares in prop::array::uniform4(0_u64..=100),
        weights in prop::collection::vec((0..10_usize, prop::collection::vec(0_u32..5, 0..12)), 0..6),
        new in 0_u32..3,
        seed: u64,
    ) {
        let classes: Vec<(LastOp, u32)> = Again::classes().collect();
        let again: Vec<Again> =
            weights.into_iter().map(|(class, depths)| Again { after: classes[class].0, uses: classes[class].1, depths }).collect();
        let kind = |from: usize| Accesses {
            continued_new: Share::percent(shares[from]),
            continued: Share::percent(shares[from + 1]),
            ..of_any_size(new + 1, again.clone().into_iter())
        };
        let config = LruStackConfig {
            read_first: Share::percent(read_first),
            read: kind(0),
            write: kind(1),
            trim: kind(2),
            ..LruStackConfig::default()
        };
        let length = length.min(pages);
        let workload = SyntheticConfig {
            trim_share: Share::percent(10),
            size: SizeConfig::Fixed(FixedConfig { size: Bytes { count: length * PAGE } }),
            ..stack(pages, 3000, config)
        };
        let requests = requests(&workload, GIB, Seed(seed));
        prop_assert!(requests.iter().all(|request| request.offset + request.length <= pages * PAGE));
        let (_, used) = found(&requests);
        prop_assert!(used as u64 <= pages);
    }
}

const GIB: u64 = 1 << 30;

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
        (mean * std::f64::consts::FRAC_PI_2).sin()
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
        let config: SyntheticConfig = toml::from_str(text).unwrap();
        Synthetic::new(&config, GIB, Seed(1)).err().unwrap().to_string()
    };
    for (text, expected) in [
        (
            "generator = { name = \"lru-stack\", page = \"6000B\" }",
            "6KB was given; a multiple of align, 4KiB",
        ),
        ("generator = { name = \"lru-stack\", page = \"5000B\" }\nalign = \"3B\"", "5KB was given"),
        (
            "generator = { name = \"lru-stack\", offsets = [1, 1] }",
            "2 weights were given; none, or up to one for each of the 1",
        ),
        (
            "generator = { name = \"lru-stack\", read = { sizes = [{ pages = 1, new = 0 }] } }",
            "no weight above 0",
        ),
        (
            "generator = { name = \"lru-stack\", read = { sizes = [{ pages = 1, new = 1, again = [{ after = \"read\", uses = 3, depths = [1] }] }] } }",
            "uses = 3 and 1 depths were given; 1, 2, 8, 32 or 128",
        ),
        (
            "generator = { name = \"lru-stack\", trim = { sizes = [{ pages = 3, new = 1 }] } }",
            "sizes from [3] pages were given; 1, 2 and 5",
        ),
        (
            "arrival = { name = \"quantiles\", clustering = [\"60%\", \"50%\"] }",
            "2 shares that sum to 110% were given",
        ),
    ] {
        assert!(message(text).contains(expected), "{text}: {}", message(text));
    }
}
