//! The contract and the statistics of every registered choice, and invalid parameters.
//!
//! Statistical bounds are about four standard deviations wide; with fixed seeds, the outcome is deterministic.

use super::hot_cold::{HotColdConfig, Zone};
use super::*;
use arrival::{FixedGapConfig, PoissonConfig, UniformGapConfig};
use coflash_base::{Duration, PolicyInfo};
use mixed::MixedConfig;
use proptest::prelude::*;
use size::{ChoiceConfig, ExponentialConfig, FixedConfig, WeightedSize};
use zipf::ZipfConfig;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn bytes(count: u64) -> Bytes {
    Bytes { count }
}

fn ns(ns: u64) -> Duration {
    Duration { ns }
}

/// All requests, checked against the configuration and the contract of a [`Source`].
pub(super) fn requests(config: &SyntheticConfig, device_bytes: u64, seed: Seed) -> Vec<Request> {
    let mut source = Synthetic::new(config, device_bytes, seed).unwrap();
    let space = config.space.map_or(device_bytes, |space| space.count);
    let (mut all, mut batch): (Vec<Request>, _) = (Vec::new(), Vec::new());
    assert_eq!(source.progress(), Some(0.0));
    loop {
        source.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        assert!(batch.len() <= BATCH_REQUESTS);
        all.extend_from_slice(&batch);
        let progress = all.len() as f64 / config.requests as f64;
        assert!((source.progress().unwrap() - progress).abs() < 1e-9);
    }
    source.next_batch(&mut batch).unwrap();
    assert!(batch.is_empty(), "the end is the end");
    assert_eq!(all.len() as u64, config.requests);
    assert!(all.is_sorted_by_key(|request| request.arrival));
    for request in &all {
        if request.op == Op::Flush {
            assert_eq!((request.offset, request.length), (0, 0));
        } else {
            assert!(request.length > 0 && request.offset.is_multiple_of(config.align.count));
            assert!(request.offset + request.length <= space, "{request:?} leaves {space}");
        }
    }
    all
}

fn every_generator() -> impl Iterator<Item = GeneratorConfig> {
    GeneratorConfig::NAMES.iter().map(|name| GeneratorConfig::by_name(name).unwrap())
}

fn every_size() -> impl Iterator<Item = SizeConfig> {
    SizeConfig::NAMES.iter().map(|name| SizeConfig::by_name(name).unwrap())
}

fn every_arrival() -> impl Iterator<Item = ArrivalConfig> {
    ArrivalConfig::NAMES.iter().map(|name| ArrivalConfig::by_name(name).unwrap())
}

fn every_combination() -> impl Iterator<Item = SyntheticConfig> {
    every_generator().flat_map(|generator| {
        every_size().flat_map(move |size| {
            let generator = generator.clone();
            every_arrival().map(move |arrival| SyntheticConfig {
                generator: generator.clone(),
                size: size.clone(),
                arrival,
                requests: 10_000,
                read_share: Share::percent(30),
                trim_share: Share::percent(10),
                flush_share: Share::percent(5),
                ..SyntheticConfig::default()
            })
        })
    })
}

#[test]
fn every_combination_keeps_the_contract() {
    for config in every_combination() {
        let first = requests(&config, 64 * MIB, Seed(1));
        assert_eq!(first, requests(&config, 64 * MIB, Seed(1)), "{config:?}");
        assert_ne!(first, requests(&config, 64 * MIB, Seed(2)), "{config:?}");
    }
}

#[test]
fn every_combination_reads_back_from_toml() {
    for config in every_combination() {
        let text = toml::to_string(&config).unwrap();
        assert_eq!(
            coflash_base::read::read::<SyntheticConfig>(&text.parse::<toml::Table>().unwrap()).unwrap(),
            config,
            "{text}"
        );
    }
}

#[test]
fn every_choice_is_documented() {
    let tables = [GeneratorConfig::table(), SizeConfig::table(), ArrivalConfig::table()];
    for PolicyInfo { name, summary, source, parameters, .. } in tables.into_iter().flatten() {
        assert!(summary.ends_with('.') && !source.is_empty(), "{name}");
        for parameter in parameters {
            assert!(!parameter.meaning.is_empty(), "{name}: {parameter:?}");
        }
    }
}

#[test]
fn a_scenario_reads_as_the_documentation_shows_it() {
    let text = r#"
        generator = { name = "zipf", exponent = 1 }
        read_share = "30%"
        size = { name = "exponential", mean = "8KiB" }
        arrival = { name = "poisson", mean = "100us" }
    "#;
    let expected = SyntheticConfig {
        generator: GeneratorConfig::Zipf(ZipfConfig { exponent: 1.0, ..ZipfConfig::default() }),
        read_share: Share::percent(30),
        size: SizeConfig::Exponential(ExponentialConfig { mean: bytes(8192), max: bytes(MIB) }),
        arrival: ArrivalConfig::Poisson(PoissonConfig { mean: ns(100_000) }),
        ..SyntheticConfig::default()
    };
    assert_eq!(
        coflash_base::read::read::<SyntheticConfig>(&text.parse::<toml::Table>().unwrap()).unwrap(),
        expected
    );
    for wrong in ["reads = \"30%\"", "generator = { name = \"zipf\", skew = 1.0 }", "size = \"large\""] {
        assert!(
            coflash_base::read::read::<SyntheticConfig>(&wrong.parse::<toml::Table>().unwrap()).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn the_client_workload_of_jedec_can_be_expressed() {
    let text = r#"
        trim_share = "6%"
        flush_share = "5%"
        size = "choice"

        [generator]
        name = "hot-cold"
        scatter_block = "1MiB"
        zones = [
            { traffic = "50%", space = "5%" },
            { traffic = "30%", space = "15%" },
            { traffic = "20%", space = "80%" },
        ]
    "#;
    let config: SyntheticConfig = coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap();
    let requests = requests(&config, 32 * GIB, Seed(1));
    let writes = requests.iter().filter(|request| request.op == Op::Write);
    assert_share("writes", writes.clone().count(), requests.len(), 0.89);
    // 1,638 of the 32,768 blocks are in the first zone and get half of the requests.
    let mut blocks = vec![0_usize; 32_768];
    requests.iter().filter(|r| r.op != Op::Flush).for_each(|r| blocks[(r.offset / MIB) as usize] += 1);
    blocks.sort_unstable_by_key(|&seen| std::cmp::Reverse(seen));
    let ranged = blocks.iter().sum();
    assert_share("first zone", blocks[..1638].iter().sum(), ranged, 0.5);
}

/// The streams are part of every result: a change here belongs under "Results changed" in the changelog.
#[test]
fn the_first_requests_never_change() {
    let config = || SyntheticConfig { requests: 6, ..SyntheticConfig::default() };
    let units = |generator: &str| -> Vec<u64> {
        let generator = GeneratorConfig::by_name(generator).unwrap();
        let requests = requests(&SyntheticConfig { generator, ..config() }, GIB, Seed(1));
        requests.iter().map(|request| request.offset / 4096).collect()
    };
    assert_eq!(units("uniform"), [8779, 178245, 115362, 203119, 54873, 202078]);
    assert_eq!(units("sequential"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(units("mixed"), [0, 115362, 54873, 50361, 233601, 1]);
    assert_eq!(units("zipf"), [245420, 202057, 220220, 86284, 214845, 1080]);
    assert_eq!(units("hot-cold"), [18593, 78534, 154409, 56015, 195735, 218692]);
    assert_eq!(units("runs"), [190308, 200857, 200858, 230625, 230626, 230627]);
    let sizes = |size: &str| -> Vec<u64> {
        let size = SizeConfig::by_name(size).unwrap();
        let requests = requests(&SyntheticConfig { size, ..config() }, GIB, Seed(1));
        requests.iter().map(|request| request.length).collect()
    };
    assert_eq!(sizes("fixed"), [4096; 6]);
    assert_eq!(sizes("exponential"), [4096, 4096, 8192, 4096, 4096, 4096]);
    assert_eq!(sizes("choice"), [8192, 4096, 4096, 8192, 8192, 8192]);
    assert_eq!(sizes("jesd219"), sizes("choice"));
    let times = |arrival: &str| -> Vec<u64> {
        let arrival = ArrivalConfig::by_name(arrival).unwrap();
        let requests = requests(&SyntheticConfig { arrival, ..config() }, GIB, Seed(1));
        requests.iter().map(|request| request.arrival.ns).collect()
    };
    assert_eq!(times("back-to-back"), [0; 6]);
    assert_eq!(times("uniform"), [551878, 1463021, 1954927, 2257849, 2343270, 2446381]);
    assert_eq!(times("poisson"), [297214, 343741, 698475, 1295616, 2525703, 3661678]);
    assert_eq!(times("fixed"), [500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000]);
    assert_eq!(times("quantiles"), [92003, 464632, 483912, 560448, 707301, 746893]);
    let share = Share::percent(25);
    let config = SyntheticConfig { read_share: share, trim_share: share, flush_share: share, ..config() };
    let ops: Vec<Op> = requests(&config, GIB, Seed(1)).iter().map(|request| request.op).collect();
    assert_eq!(ops, [Op::Read, Op::Write, Op::Read, Op::Flush, Op::Read, Op::Trim]);
}

#[test]
fn changing_one_choice_changes_no_other() {
    let what = |requests: &[Request]| -> Vec<_> { requests.iter().map(|r| (r.op, r.length)).collect() };
    let place = |requests: &[Request]| -> Vec<_> { requests.iter().map(|r| r.offset).collect() };
    let when = |requests: &[Request]| -> Vec<_> { requests.iter().map(|r| r.arrival).collect() };
    let run = |config: &SyntheticConfig| requests(config, GIB, Seed(1));
    let base = SyntheticConfig {
        requests: 5000,
        read_share: Share::percent(30),
        arrival: ArrivalConfig::by_name("poisson").unwrap(),
        size: SizeConfig::by_name("choice").unwrap(),
        ..SyntheticConfig::default()
    };
    let before = run(&base);
    // The flows of `reuse-flows` say the operations and sizes, too.
    let has_flows = |generator: &GeneratorConfig| matches!(generator, GeneratorConfig::ReuseFlows(_));
    for generator in every_generator().skip(1).filter(|generator| !has_flows(generator)) {
        let after = run(&SyntheticConfig { generator, ..base.clone() });
        assert_ne!(place(&before), place(&after));
        assert_eq!((what(&before), when(&before)), (what(&after), when(&after)));
    }
    for arrival in every_arrival().filter(|arrival| *arrival != base.arrival) {
        let after = run(&SyntheticConfig { arrival, ..base.clone() });
        assert_ne!(when(&before), when(&after));
        assert_eq!((what(&before), place(&before)), (what(&after), place(&after)));
    }
    let after = run(&SyntheticConfig { read_share: Share::percent(60), ..base.clone() });
    assert_eq!((place(&before), when(&before)), (place(&after), when(&after)));
    assert!(before.iter().zip(&after).all(|(before, after)| before.length == after.length));
    // A size moves a ranked position only where the request would leave the space: rare in one this large.
    let zipf = SyntheticConfig { generator: GeneratorConfig::by_name("zipf").unwrap(), ..base };
    let fixed = SyntheticConfig { size: SizeConfig::default(), ..zipf.clone() };
    let moved = place(&run(&zipf)).into_iter().zip(place(&run(&fixed))).filter(|(a, b)| a != b).count();
    assert!(moved < 10, "{moved}");
}

/// Check that `seen` of `draws` agrees with `probability`, within four standard deviations.
#[track_caller]
pub(super) fn assert_share(what: &str, seen: usize, draws: usize, probability: f64) {
    let expected = draws as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    assert!((seen as f64 - expected).abs() <= 4.0 * deviation, "{what}: {seen} instead of {expected}");
}

#[test]
fn operations_come_in_their_shares() {
    let config = SyntheticConfig {
        read_share: Share::percent(30),
        trim_share: Share::percent(6),
        flush_share: Share::percent(5),
        ..SyntheticConfig::default()
    };
    let requests = requests(&config, GIB, Seed(1));
    for (op, share) in [(Op::Read, 0.30), (Op::Trim, 0.06), (Op::Flush, 0.05), (Op::Write, 0.59)] {
        let seen = requests.iter().filter(|request| request.op == op).count();
        assert_share(&format!("{op:?}"), seen, requests.len(), share);
    }
    let only = SyntheticConfig { read_share: Share::ONE, requests: 100_000, ..SyntheticConfig::default() };
    assert!(self::requests(&only, GIB, Seed(1)).iter().all(|request| request.op == Op::Read));
}

/// The number of requests that begin at each unit of the space.
fn starts(generator: GeneratorConfig, units: usize) -> Vec<usize> {
    let config = SyntheticConfig { generator, ..SyntheticConfig::default() };
    let mut starts = vec![0; units];
    for request in requests(&config, units as u64 * 4096, Seed(1)) {
        starts[(request.offset / 4096) as usize] += 1;
    }
    starts
}

#[test]
fn uniform_reaches_every_position_equally() {
    let starts = starts(GeneratorConfig::by_name("uniform").unwrap(), 500);
    let chi: f64 = starts.iter().map(|&seen| (seen as f64 - 2000.0).powi(2) / 2000.0).sum();
    assert!((chi - 499.0).abs() < 4.0 * (2.0_f64 * 499.0).sqrt(), "{chi}");
}

#[test]
fn sequential_wraps_where_a_request_would_leave_the_space() {
    let config = SyntheticConfig {
        generator: GeneratorConfig::by_name("sequential").unwrap(),
        size: SizeConfig::Fixed(FixedConfig { size: bytes(3 * 4096) }),
        space: Some(bytes(10 * 4096)),
        requests: 5,
        ..SyntheticConfig::default()
    };
    let units: Vec<u64> = requests(&config, GIB, Seed(1)).iter().map(|r| r.offset / 4096).collect();
    assert_eq!(units, [0, 3, 6, 0, 3]);
    // A size need not be a multiple of the unit; a flush does not advance the stream.
    let config = SyntheticConfig {
        size: SizeConfig::Fixed(FixedConfig { size: bytes(4097) }),
        flush_share: Share::percent(50),
        requests: 1000,
        ..config
    };
    let units: Vec<u64> = requests(&config, GIB, Seed(1))
        .iter()
        .filter(|request| request.op == Op::Write)
        .map(|request| request.offset / 4096)
        .collect();
    assert!(units.iter().copied().eq((0..units.len() as u64).map(|index| index % 5 * 2)));
}

#[test]
fn mixed_interrupts_its_sequential_stream_by_its_share() {
    let of = |random_share| SyntheticConfig {
        generator: GeneratorConfig::Mixed(MixedConfig { random_share }),
        requests: 100_000,
        ..SyntheticConfig::default()
    };
    // In a space this large, a random request never continues the sequential stream.
    let requests = requests(&of(Share::percent(20)), 1 << 50, Seed(1));
    let mut next = 0;
    for request in &requests {
        next += u64::from(request.offset == next * 4096);
    }
    assert_share("sequential", next as usize, requests.len(), 0.8);
    let none = self::requests(&of(Share::ZERO), 1 << 50, Seed(1));
    assert!((0..).zip(&none).all(|(index, request)| request.offset == index * 4096));
}

#[test]
fn zipf_frequencies_are_exact_whether_scattered_or_not() {
    let of =
        |scattered| GeneratorConfig::Zipf(ZipfConfig { exponent: 1.0, scattered, ..ZipfConfig::default() });
    let clustered = starts(of(false), 100);
    let harmonic: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, &seen) in (1..).zip(&clustered) {
        assert_share(&format!("rank {rank}"), seen, 1_000_000, 1.0 / f64::from(rank) / harmonic);
    }
    let mut scattered = starts(of(true), 100);
    assert_ne!(scattered, clustered);
    scattered.sort_unstable_by_key(|&seen| std::cmp::Reverse(seen));
    assert_share("first rank, scattered", scattered[0], 1_000_000, 1.0 / harmonic);
    assert_share("second rank, scattered", scattered[1], 1_000_000, 0.5 / harmonic);
}

#[test]
fn zones_get_their_traffic() {
    let zone = |traffic, space| Zone { traffic: Share::percent(traffic), space: Share::percent(space) };
    let zones = vec![zone(50, 5), zone(30, 15), zone(20, 80)];
    let of = |scattered| {
        GeneratorConfig::HotCold(HotColdConfig { zones: zones.clone(), scattered, scatter_block: None })
    };
    let clustered = starts(of(false), 1000);
    for (range, share) in [(0..50, 0.5), (50..200, 0.3), (200..1000, 0.2)] {
        let seen = clustered[range.clone()].iter().sum();
        assert_share(&format!("units {range:?}"), seen, 1_000_000, share);
    }
    // Scattering permutes the frequencies: 10,000 for each of the first zone's units, 2000 and 250.
    let scattered = starts(of(true), 1000);
    assert_eq!(scattered.iter().filter(|&&seen| seen > 5000).count(), 50);
    assert_eq!(scattered.iter().filter(|&&seen| (1000..5000).contains(&seen)).count(), 150);
    let gathered = scattered[..50].iter().filter(|&&seen| seen > 5000).count();
    assert!(gathered < 10, "{gathered} of the 50 hottest are still in front");
}

#[test]
fn sizes_have_their_means_and_frequencies() {
    let of = |size| {
        let config = SyntheticConfig { size, ..SyntheticConfig::default() };
        requests(&config, GIB, Seed(1)).iter().map(|request| request.length).collect::<Vec<_>>()
    };
    // Rounding up makes the exponential geometric, with a mean of 1 / (1 - e^(-unit / mean)) units.
    for mean_units in [1.0_f64, 4.0] {
        let mean = bytes(mean_units as u64 * 4096);
        let sizes = of(SizeConfig::Exponential(ExponentialConfig { mean, max: bytes(MIB) }));
        let once = 1.0 - libm::exp(-1.0 / mean_units);
        let seen = sizes.iter().map(|&size| size as f64 / 4096.0).sum::<f64>() / 1e6;
        let bound = 4.0 * (1.0 - once).sqrt() / once / 1e3;
        assert!((seen - 1.0 / once).abs() < bound, "{seen} instead of {}", 1.0 / once);
        assert_share("one unit", sizes.iter().filter(|&&size| size == 4096).count(), 1_000_000, once);
    }
    let cut = of(SizeConfig::Exponential(ExponentialConfig { mean: bytes(8192), max: bytes(8192) }));
    assert_eq!(cut.iter().max(), Some(&8192));
    let choice = of(SizeConfig::by_name("choice").unwrap());
    for (size, share) in [(512, 0.04), (3584, 0.01), (4096, 0.67), (65_536, 0.03)] {
        assert_share("size", choice.iter().filter(|&&seen| seen == size).count(), 1_000_000, share);
    }
}

#[test]
fn gaps_have_their_means() {
    let mean = |arrival| {
        let config = SyntheticConfig { arrival, ..SyntheticConfig::default() };
        requests(&config, GIB, Seed(1)).last().unwrap().arrival.ns as f64 / 1e6
    };
    let uniform = mean(ArrivalConfig::Uniform(UniformGapConfig { max: ns(1_000_000) }));
    assert!((uniform - 500_000.0).abs() < 4.0 * 288.7, "{uniform}");
    let poisson = mean(ArrivalConfig::Poisson(PoissonConfig { mean: ns(500_000) }));
    assert!((poisson - 500_000.0).abs() < 4.0 * 500.0, "{poisson}");
    // A mean of a few nanoseconds survives the rounding to whole ones.
    let short = mean(ArrivalConfig::Poisson(PoissonConfig { mean: ns(10) }));
    assert!((short - 10.0).abs() < 4.0 * 0.01, "{short}");
}

fn any_share() -> impl Strategy<Value = Share> {
    (0_u64..=100).prop_map(Share::percent)
}

fn any_generator(align: u64) -> impl Strategy<Value = GeneratorConfig> {
    let zones = |traffic: u64, space: u64| {
        let zone = |traffic, space| Zone { traffic: Share::percent(traffic), space: Share::percent(space) };
        vec![zone(traffic, space), zone(100 - traffic, 100 - space)]
    };
    let scattering = || {
        prop_oneof![
            Just((false, None)),
            Just((true, None)),
            (1_u64..20).prop_map(move |units| (true, Some(bytes(units * align)))),
        ]
    };
    prop_oneof![
        Just(GeneratorConfig::by_name("uniform").unwrap()),
        Just(GeneratorConfig::by_name("sequential").unwrap()),
        any_share().prop_map(|random_share| GeneratorConfig::Mixed(MixedConfig { random_share })),
        (0.01..10.0, scattering()).prop_map(|(exponent, (scattered, scatter_block))| {
            GeneratorConfig::Zipf(ZipfConfig { exponent, scattered, scatter_block, ..ZipfConfig::default() })
        }),
        (0_u64..=100, 1_u64..=99, scattering()).prop_map(
            move |(traffic, space, (scattered, scatter_block))| {
                let zones = zones(traffic, space);
                GeneratorConfig::HotCold(HotColdConfig { zones, scattered, scatter_block })
            }
        ),
    ]
}

fn any_size(align: u64) -> impl Strategy<Value = SizeConfig> {
    let sizes = prop::collection::vec((1..=20 * align, 0_u32..100), 1..6);
    prop_oneof![
        (1..=20 * align).prop_map(|size| SizeConfig::Fixed(FixedConfig { size: bytes(size) })),
        (1..=align, 1_u64..=20).prop_map(move |(mean, max)| {
            SizeConfig::Exponential(ExponentialConfig { mean: bytes(mean), max: bytes(max * align) })
        }),
        sizes.prop_map(|sizes| {
            let entry = |(size, weight)| WeightedSize { size: bytes(size), weight: weight + 1 };
            SizeConfig::Choice(ChoiceConfig { sizes: sizes.into_iter().map(entry).collect() })
        }),
    ]
}

proptest! {
    /// `requests` asserts that every request lies inside the space and on its alignment.
    #[test]
    fn every_request_lies_inside_the_space(
        (align, size, generator) in (1_u64..10_000)
            .prop_flat_map(|align| (Just(align), any_size(align), any_generator(align))),
        units in prop_oneof![20_u64..200, Just((1 << 63) / 10_000)],
        whole_device: bool,
        [read_share, trim_share, flush_share] in [0_u64..=33, 0..=33, 0..=33].prop_map(|s| s.map(Share::percent)),
        seed: u64,
    ) {
        prop_assume!(units >= 100 || generator.name() != "hot-cold");
        let space = units * align;
        let config = SyntheticConfig {
            generator,
            requests: 300,
            read_share,
            trim_share,
            flush_share,
            size,
            align: bytes(align),
            space: (!whole_device).then(|| bytes(space)),
            arrival: ArrivalConfig::default(),
        };
        let device = if whole_device { space + align / 2 } else { 1 << 63 };
        requests(&config, device, Seed(seed));
    }
}

#[test]
fn an_invalid_parameter_is_refused_with_its_key() {
    let zones = |shares: &[(u64, u64)]| {
        let zone =
            |&(traffic, space)| Zone { traffic: Share::percent(traffic), space: Share::percent(space) };
        let zones = shares.iter().map(zone).collect();
        GeneratorConfig::HotCold(HotColdConfig { zones, scattered: false, scatter_block: None })
    };
    let zipf = |exponent| GeneratorConfig::Zipf(ZipfConfig { exponent, ..ZipfConfig::default() });
    let exponential =
        |mean, max| SizeConfig::Exponential(ExponentialConfig { mean: bytes(mean), max: bytes(max) });
    let choice = |size, weight| {
        let small = WeightedSize { size: bytes(4096), weight: 0 };
        SizeConfig::Choice(ChoiceConfig { sizes: vec![WeightedSize { size: bytes(size), weight }, small] })
    };
    let blocks = |scattered, block| {
        let scatter_block = Some(bytes(block));
        GeneratorConfig::Zipf(ZipfConfig { scattered, scatter_block, ..ZipfConfig::default() })
    };
    type Change<'a> = &'a dyn Fn(&mut SyntheticConfig);
    let cases: &[(Change<'_>, &str, &str, &str)] = &[
        (&|c| c.requests = 0, "requests", "0 was given", "at least 1"),
        (&|c| c.read_share = Share::percent(101), "read_share", "101%", "at most 100%"),
        (
            &|c| {
                (c.read_share, c.trim_share, c.flush_share) =
                    (Share::percent(60), Share::percent(30), Share::percent(20))
            },
            "flush_share",
            "20%",
            "at most 10%",
        ),
        (&|c| c.align = bytes(0), "align", "0B", "from 1B"),
        (&|c| c.align = bytes(2 * GIB), "align", "2GiB", "1GiB"),
        (&|c| c.space = Some(bytes(4097)), "space", "4097B", "multiple of align, 4KiB"),
        (&|c| c.space = Some(bytes(0)), "space", "0B", "multiple of align"),
        (&|c| c.space = Some(bytes(2 * GIB)), "space", "2GiB", "1GiB"),
        (
            &|c| (c.space, c.size) = (Some(bytes(8192)), choice(12_288, 1)),
            "space",
            "8KiB",
            "at least the largest request, 12KiB",
        ),
        (&|c| c.size = SizeConfig::Fixed(FixedConfig { size: bytes(0) }), "size.size", "0B", "at least 1B"),
        (&|c| c.size = exponential(0, MIB), "size.mean", "0B", "from 1B to size.max, 1MiB"),
        (&|c| c.size = exponential(2 * MIB, MIB), "size.mean", "2MiB", "size.max, 1MiB"),
        (&|c| c.size = exponential(4096, 10_000), "size.max", "10KB", "multiple of align, 4KiB"),
        (&|c| c.size = choice(0, 1), "size.sizes", "0B", "at least 1B"),
        (&|c| c.size = choice(4096, 0), "size.sizes", "no size of weight above 0", "at least one"),
        (&|c| c.generator = zipf(0.0), "generator.exponent", "0 was given", "above 0"),
        (&|c| c.generator = zipf(-1.0), "generator.exponent", "-1 was given", "above 0"),
        (&|c| c.generator = zipf(f64::NAN), "generator.exponent", "NaN was given", "above 0"),
        (&|c| c.generator = zipf(f64::INFINITY), "generator.exponent", "inf was given", "above 0"),
        (
            &|c| c.generator = blocks(false, 8192),
            "generator.scatter_block",
            "8KiB",
            "with scattered = false none",
        ),
        (&|c| c.generator = blocks(true, 6000), "generator.scatter_block", "6KB", "multiple of align, 4KiB"),
        (&|c| c.generator = blocks(true, 0), "generator.scatter_block", "0B", "multiple of align, 4KiB"),
        (
            &|c| c.generator = blocks(true, 2 * GIB),
            "generator.scatter_block",
            "2GiB",
            "up to the space, 1GiB",
        ),
        (&|c| c.generator = zones(&[(90, 10), (20, 90)]), "generator.zones", "traffic", "110%"),
        (&|c| c.generator = zones(&[(90, 10), (10, 80)]), "generator.zones", "space", "90%"),
        (&|c| c.generator = zones(&[]), "generator.zones", "0%", "exactly 100%"),
        (
            &|c| c.generator = zones(&[(90, 0), (10, 100)]),
            "generator.zones",
            "0% of the space",
            "at least one",
        ),
        (
            &|c| c.arrival = ArrivalConfig::Uniform(UniformGapConfig { max: ns(1) }),
            "arrival.max",
            "1ns was given",
            "from 2ns",
        ),
        (
            &|c| c.arrival = ArrivalConfig::Poisson(PoissonConfig { mean: ns(0) }),
            "arrival.mean",
            "0ns was given",
            "from 1ns",
        ),
        (
            &|c| c.arrival = ArrivalConfig::Fixed(FixedGapConfig { interval: ns(1 << 62) }),
            "arrival.interval",
            "1000000 requests",
            "9223372036854ns",
        ),
    ];
    for (index, (change, key, given, allowed)) in cases.iter().enumerate() {
        let mut config = SyntheticConfig::default();
        change(&mut config);
        match Synthetic::new(&config, GIB, Seed(1)).err() {
            Some(WorkloadError::Parameters { key: found, problem }) => {
                assert_eq!(found, *key, "case {index}: {problem}");
                assert!(problem.contains(given) && problem.contains(allowed), "case {index}: {problem}");
            }
            other => panic!("case {index}: {key} was accepted or refused otherwise: {other:?}"),
        }
    }
}
