//! The contracts of phases, tenants and presets, with configurations as users write them.

use super::*;
use crate::synthetic::GeneratorConfig;
use crate::{BATCH_REQUESTS, Op, Request, Source};
use std::collections::BTreeSet;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn part(text: &str) -> Part {
    coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// All requests, checked against the contract of a [`Source`].
fn requests(part: &Part, device_bytes: u64, seed: u64) -> (Vec<Request>, Vec<String>) {
    let mut source = part.open(device_bytes, Seed(seed)).unwrap_or_else(|error| panic!("{error}"));
    let (mut all, mut batch, mut before): (Vec<Request>, _, _) = (Vec::new(), Vec::new(), 0.0);
    assert_eq!(source.progress(), Some(0.0));
    loop {
        source.next_batch(&mut batch).unwrap();
        let progress = source.progress().unwrap();
        assert!((before..=1.0 + 1e-12).contains(&progress), "{progress} after {before}");
        before = progress;
        if batch.is_empty() {
            break;
        }
        assert!(batch.len() <= BATCH_REQUESTS);
        all.extend_from_slice(&batch);
    }
    assert!(before > 1.0 - 1e-9, "{before} at the end");
    source.next_batch(&mut batch).unwrap();
    assert!(batch.is_empty() && all.len() as u64 <= source.requests());
    assert!(all.is_sorted_by_key(|request| request.arrival));
    assert!(all.iter().all(|request| request.offset + request.length <= device_bytes));
    (all, source.remarks())
}

fn of(text: &str) -> Vec<Request> {
    requests(&part(text), GIB, 1).0
}

#[test]
fn every_preset_keeps_the_contract() {
    for name in PresetConfig::NAMES {
        let preset = part(&format!("preset = \"{name}\"\nrequests_max = 50_000"));
        let text = toml::to_string(&preset).unwrap();
        assert_eq!(part(&text), preset, "{text}");
        let (first, _) = requests(&preset, 64 * GIB, 1);
        assert_eq!(first.len(), 50_000);
        assert_eq!(first, requests(&preset, 64 * GIB, 1).0);
        assert_ne!(first, requests(&preset, 64 * GIB, 2).0);
        // A description names the substitute as such.
        assert!(preset.description().starts_with(name));
        assert_eq!(preset.description().contains("substitute"), *name == "jedec-client");
    }
    for info in PresetConfig::table() {
        assert!(info.summary.ends_with('.') && !info.source.is_empty(), "{info:?}");
        assert!(info.parameters.iter().all(|parameter| !parameter.meaning.is_empty()), "{info:?}");
    }
}

fn share(requests: &[Request], matches: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|request| matches(request)).count() as f64 / requests.len() as f64
}

#[track_caller]
fn assert_near(seen: f64, expected: f64, bound: f64) {
    assert!((seen - expected).abs() < bound, "{seen} instead of {expected}");
}

#[test]
fn the_enterprise_workload_is_that_of_the_standard() {
    let requests = of("preset = { name = \"jesd219-enterprise\", scatter_block = \"64KiB\" }");
    assert_near(share(&requests, |r| r.op == Op::Write), 0.6, 0.003);
    for (bytes, expected) in
        [(512, 0.04), (1024, 0.01), (4096, 0.67), (8192, 0.1), (16_384, 0.07), (65_536, 0.03)]
    {
        assert_near(share(&requests, |r| r.length == bytes), expected, 0.003);
    }
    assert!(requests.iter().all(|request| request.offset % 4096 == 0));
    // The zones, recovered by sorting the 16,384 blocks by their accesses.
    let mut blocks = vec![0_u32; 16_384];
    requests.iter().for_each(|request| blocks[(request.offset >> 16) as usize] += 1);
    let front: u32 = blocks[..819].iter().sum();
    assert_near(f64::from(front) / 1e6, 0.05, 0.02);
    blocks.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
    let zone = |range: std::ops::Range<usize>| f64::from(blocks[range].iter().sum::<u32>()) / 1e6;
    assert_near(zone(0..819), 0.5, 0.01);
    assert_near(zone(819..3277), 0.3, 0.01);
}

#[test]
fn the_client_workload_says_that_it_is_a_substitute() {
    let (requests, remarks) =
        requests(&part("preset = \"jedec-client\"\nrequests_max = 500_000"), 64 * GIB, 1);
    for (op, expected) in [(Op::Write, 0.89), (Op::Trim, 0.06), (Op::Flush, 0.05), (Op::Read, 0.0)] {
        assert_near(share(&requests, |request| request.op == op), expected, 0.003);
    }
    assert!(requests.iter().all(|request| request.offset + request.length <= 31_200_000_000));
    assert!(remarks.len() == 1 && remarks[0].contains("substitute"), "{remarks:?}");
    let too_small = part("preset = \"jedec-client\"").open(GIB, Seed(1)).err().unwrap().to_string();
    assert!(too_small.starts_with("workload.preset.space: 31200MB is set; at most"), "{too_small}");
}

#[test]
fn every_preset_and_every_generator_keeps_to_its_space() {
    let presets =
        PresetConfig::NAMES.iter().map(|name| format!("preset = {{ name = \"{name}\", space = \"64MiB\" }}"));
    let generators = GeneratorConfig::NAMES
        .iter()
        .map(|name| format!("synthetic = {{ generator = \"{name}\", space = \"64MiB\" }}"));
    for workload in presets.chain(generators) {
        let all = of(&format!("requests_max = 50_000\n{workload}"));
        let end = all.iter().map(|request| request.offset + request.length).max().unwrap();
        // The default flows have a thousand pages.
        let least = if workload.contains("reuse-flows") { 1000 * 4096 } else { 48 * MIB };
        assert!((least..=64 * MIB).contains(&end), "{workload}: {end}");
    }
}

#[test]
fn the_transactions_have_the_published_shape() {
    let part = part("preset = \"oltp-like\"");
    let (requests, _) = requests(&part, 8 * GIB, 1);
    assert_eq!(requests.len(), 1_000_000);
    assert_near(share(&requests, |request| request.op == Op::Write), 0.77, 0.005);
    let mean = requests.iter().map(|request| request.length).sum::<u64>() as f64 / 1e6 / 1024.0;
    assert!((3.4..4.0).contains(&mean), "{mean} KiB");
    let span_ns = requests[999_999].arrival.ns - requests[0].arrival.ns;
    assert_near(span_ns as f64 / 999_999.0 / 8_190_000.0, 1.0, 0.01);
    assert_near(share(&requests, |request| request.length <= 8192), 0.985, 0.01);
    let mut starts: Vec<u64> = requests.iter().map(|request| request.offset).collect();
    starts.sort_unstable();
    let mut counts: Vec<usize> = starts.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
    let hot: usize = counts[..counts.len() / 10].iter().sum();
    assert!(hot > 500_000, "a tenth of the places has {hot} of a million requests");
}

#[test]
fn the_transactions_have_the_share_of_reads_that_is_asked_for() {
    for percent in [0, 10, 23, 52, 100] {
        let requests = of(&format!(
            "preset = {{ name = \"oltp-like\", requests = 200_000, read_share = \"{percent}%\" }}"
        ));
        assert_eq!(requests.len(), 200_000);
        let reads = share(&requests, |request| request.op == Op::Read);
        assert_near(reads + 1.0, f64::from(percent) / 100.0 + 1.0, 0.004);
    }
}

#[test]
fn phases_follow_each_other_in_time() {
    let text = r#"
        [[phases]]
        synthetic = { requests = 100, generator = "sequential", arrival = { name = "fixed", interval = "1ms" } }

        [[phases]]
        delay = "50ms"
        duration = "20ms"
        offset = "50%"
        synthetic = { read_share = "100%", arrival = { name = "fixed", interval = "2ms" } }

        [[phases]]
        requests_max = 3
        space = "16MiB"
        synthetic = { trim_share = "100%", arrival = { name = "fixed", interval = "1ms" } }
    "#;
    let requests = of(text);
    let ms = |request: &Request| request.arrival.ns as f64 / 1e6;
    // The second phase begins at 100 + 50 ms and its requests at 2, 4, ... 18 ms of it; the third at 170 ms.
    assert_eq!(requests.len(), 100 + 9 + 3);
    assert_eq!((ms(&requests[0]), ms(&requests[99])), (1.0, 100.0));
    assert_eq!((ms(&requests[100]), ms(&requests[108])), (152.0, 168.0));
    assert_eq!((ms(&requests[109]), ms(&requests[111])), (171.0, 173.0));
    assert!(requests[100..109].iter().all(|r| r.op == Op::Read && r.offset >= GIB / 2));
    assert!(requests[109..].iter().all(|r| r.op == Op::Trim && r.offset + r.length <= 16 * MIB));
    assert_eq!(
        part(text).description(),
        "(synthetic, sequential, then synthetic, uniform, then synthetic, uniform)"
    );
}

#[test]
fn a_phase_that_ends_before_its_time_says_so() {
    let text = r#"
        [[phases]]
        name = "short"
        duration = "1s"
        synthetic = { requests = 10, arrival = { name = "fixed", interval = "1ms" } }

        [[phases]]
        synthetic = { requests = 10 }
    "#;
    let (requests, remarks) = requests(&part(text), GIB, 1);
    assert_eq!(
        requests[10].arrival.ns, 1_000_000_000,
        "the second begins after the time of the first all the same"
    );
    assert_eq!(remarks, ["workload.phases.short: all its 10 requests came within 10ms of its 1s."]);
}

#[test]
fn tenants_are_merged_by_time_each_in_its_range() {
    let text = r#"
        [[tenants]]
        name = "fast"
        space = "25%"
        synthetic = { requests = 3000, arrival = { name = "poisson", mean = "100us" } }

        [[tenants]]
        name = "slow"
        synthetic = { requests = 1000, read_share = "100%", arrival = { name = "poisson", mean = "300us" } }

        [[tenants]]
        name = "log"
        delay = "100ms"
        synthetic = { requests = 10, trim_share = "100%", arrival = { name = "fixed", interval = "1ms" } }
    "#;
    let requests = of(text);
    assert_eq!(requests.len(), 4010);
    let of_op = |op| requests.iter().filter(move |request| request.op == op);
    // A quarter, then two equal shares of the rest.
    let rounded = (GIB / 4 * 3 / 2) >> 16 << 16;
    assert!(of_op(Op::Write).all(|r| r.offset < GIB / 4));
    assert!(of_op(Op::Read).all(|r| (GIB / 4..GIB / 4 + rounded).contains(&r.offset)));
    assert!(of_op(Op::Trim).all(|r| r.offset >= GIB / 4 + rounded && r.arrival.ns > 100_000_000));
    assert_eq!((of_op(Op::Write).count(), of_op(Op::Read).count()), (3000, 1000));
}

#[test]
fn a_part_draws_as_if_it_were_alone_whatever_is_beside_it() {
    let tenant = |name: &str, more: &str| {
        format!(
            "[[tenants]]\nname = \"{name}\"\noffset = \"0B\"\nspace = \"100%\"\n[tenants.synthetic]\nrequests = 1000\n{more}\n"
        )
    };
    let reads = |text: &str| of(text).into_iter().filter(|r| r.op == Op::Read).collect::<Vec<_>>();
    let reader = tenant("reader", "read_share = \"100%\"\narrival = \"poisson\"");
    let alone = reads(&reader);
    assert_eq!(alone.len(), 1000);
    let writer = tenant("writer", "arrival = \"poisson\"\ngenerator = \"zipf\"");
    assert_eq!(reads(&format!("{writer}{reader}")), alone, "before it");
    assert_eq!(reads(&format!("{reader}{writer}")), alone, "after it");
    let twin = tenant("twin", "read_share = \"100%\"\narrival = \"poisson\"");
    assert_ne!(reads(&twin), alone, "another name, other streams");
    // A single workload at the top equals the same workload without parts.
    let config = SyntheticConfig { requests: 1000, ..SyntheticConfig::default() };
    let mut batch = Vec::new();
    Synthetic::new(&config, GIB, Seed(1)).unwrap().next_batch(&mut batch).unwrap();
    assert_eq!(requests(&Part::from(config), GIB, 1).0, batch);
}

#[test]
fn tenants_without_times_take_turns() {
    let text = r#"
        tenants = [
            { synthetic = { requests = 20_000 } },
            { synthetic = { requests = 30_000, read_share = "100%" } },
        ]
    "#;
    let requests = of(text);
    assert!(requests[..40_000].chunks(2).all(|pair| pair[0].op == Op::Write && pair[1].op == Op::Read));
    assert!(requests[40_000..].iter().all(|request| request.op == Op::Read));
}

#[test]
fn parts_of_parts_stay_inside_and_repeat() {
    let text = r#"
        [[phases]]
        space = "50%"
        synthetic = { generator = "sequential", requests = 20_000 }

        [[phases]]
        duration = "1s"

        [[phases.tenants]]
        preset = { name = "jesd219-enterprise", requests = 9_000, scatter_block = "64KiB", arrival = "poisson" }

        [[phases.tenants]]
        space = "64MiB"
        preset = { name = "oltp-like", requests = 9_000, interarrival = "100us" }

        [[phases.tenants]]
        phases = [
            { synthetic = { requests = 5_000, arrival = "fixed" } },
            { delay = "1ms", synthetic = { requests = 5_000, arrival = "poisson" } },
        ]
    "#;
    let (first, remarks) = requests(&part(text), GIB, 1);
    assert_eq!(first, requests(&part(text), GIB, 1).0);
    assert_ne!(first, requests(&part(text), GIB, 2).0);
    assert!(first[20_000..].iter().all(|request| request.arrival.ns < 1_000_000_000));
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert_eq!(part(&toml::to_string(&part(text)).unwrap()), part(text));
}

#[test]
fn an_invalid_part_is_refused_with_its_full_key() {
    let cases = [
        ("", "synthetic: 0 of synthetic, preset, phases and tenants were given"),
        ("preset = \"oltp-like\"\nsynthetic = {}", "synthetic: 2 of synthetic, preset"),
        (
            "[[phases]]\n[[phases.tenants]]\nsynthetic = { requests = 0 }",
            "phases.0.tenants.0.synthetic.requests: 0 was given",
        ),
        ("duration = \"0s\"\nsynthetic = {}", "duration: 0ns was given; at least 1ns"),
        (
            "offset = \"1GiB\"\nsynthetic = {}",
            "offset: it begins at 1GiB; less than the parent's space, 1GiB",
        ),
        ("space = \"2GiB\"\nsynthetic = {}", "space: it is 2GiB; from 1B to the rest of the space, 1GiB"),
        ("offset = \"50%\"\nspace = \"60%\"\nsynthetic = {}", "space: it is "),
        (
            "[[tenants]]\nspace = \"100%\"\nsynthetic = {}\n[[tenants]]\nsynthetic = {}",
            "tenants.1.offset: it begins at 1GiB",
        ),
        (
            "[[tenants]]\nname = \"a\"\nsynthetic = {}\n[[tenants]]\nname = \"a\"",
            "tenants.1.name: \"a\" was given twice",
        ),
        (
            "[[tenants]]\nsynthetic = { generator = { name = \"runs\", from = { name = \"zipf\", exponent = 0 } } }",
            "tenants.0.synthetic.generator.from.exponent: 0 was given",
        ),
        (
            "preset = { name = \"jesd219-enterprise\", space = \"2GiB\" }",
            "preset.space: 2GiB was given; at most",
        ),
        (
            "preset = { name = \"jesd219-enterprise\", scatter_block = \"5KiB\" }",
            "preset.scatter_block: 5KiB was given",
        ),
        (
            "preset = { name = \"jesd219-enterprise\", requests = 0 }",
            "preset.requests: 0 was given; at least 1",
        ),
        ("preset = { name = \"jesd219-enterprise\", align = \"0B\" }", "preset.align: 0B was given"),
        ("preset = { name = \"oltp-like\", requests = 10 }", "preset.requests: 10 was given; at least 1000"),
        (
            "preset = { name = \"oltp-like\", space = \"1MiB\" }",
            "preset.space: 1MiB was given; from 64MiB to",
        ),
        (
            "preset = { name = \"oltp-like\", interarrival = \"0s\" }",
            "preset.interarrival: 0ns was given; from 1ns",
        ),
        (
            "[[tenants]]\npreset = { name = \"jedec-client\", space = \"1GiB\", align = \"0B\" }",
            "tenants.0.preset.align: 0B was given",
        ),
    ];
    for (text, expected) in cases {
        let error = part(text).open(GIB, Seed(1)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&format!("workload.{expected}")), "{text}\ngives {error}\nnot {expected}");
    }
    for text in [
        "tenant = []",
        "preset = \"oltp\"",
        "[[phases]]\nspace = 5",
        "space = \"5\"",
        "[[phases]]\nrequests_max = 0",
    ] {
        assert!(coflash_base::read::read::<Part>(&text.parse::<toml::Table>().unwrap()).is_err(), "{text}");
    }
}

#[test]
fn writes_have_the_placement_hint_of_the_outermost_part_that_gives_one() {
    let found = |text: &str| {
        let (requests, _) = requests(&part(text), GIB, 1);
        let hint = |request: &Request| (request.offset < GIB / 2, request.placement.map(PlacementId::get));
        let of = |op| requests.iter().filter(|request| request.op == op).map(hint).collect::<BTreeSet<_>>();
        assert_eq!(of(Op::Read).into_iter().filter_map(|(_, hint)| hint).count(), 0, "reads have no hint");
        of(Op::Write).into_iter().collect::<Vec<_>>()
    };
    let tenants = |outer: &str| {
        let own = "synthetic = { generator = \"uniform\", requests = 100, read_share = \"50%\" }\n";
        format!("{outer}\n[[tenants]]\n{own}[[tenants]]\nplacement = 7\n{own}")
    };
    assert_eq!(found(&tenants("")), [(false, Some(7)), (true, None)]);
    assert_eq!(found(&tenants("placement = 2")), [(false, Some(2)), (true, Some(2))]);
    assert_eq!(part(&tenants("placement = 2")).highest_placement().map(PlacementId::get), Some(7));
    let error = coflash_base::read::read::<Part>(&"placement = 255".parse::<toml::Table>().unwrap())
        .expect_err("it is too large")
        .to_string();
    assert!(error.contains("255 was given; from 0 to 254 is allowed"), "{error}");
}
