//! Throughput, utilisation, endurance and energy, each against its definition.

use crate::{Settings, measured};
use coflash_base::measure::Assumption;
use coflash_sim::Scenario;

/// One die, one page after the other: programs of 200 + 100 us, and no GC.
const ONE_DIE: &str = r#"
    flash = { channels = 1, chips_per_channel = 1, blocks_per_plane = 64, pages_per_block = 32 }
    timing = { sector_transfer = "12500ns", copy_back = false }
    precondition.fill = "none"
    replay.queue_depth = 1
    workload.synthetic = { generator = "sequential", requests = 1000 }
"#;

fn numbers(settings: Settings<'_>, paths: &[&str]) -> Vec<Option<f64>> {
    let scenario = Scenario::from_toml(ONE_DIE).and_then(|one| one.set(settings)).expect("it is valid");
    let metrics = measured(&scenario);
    paths.iter().map(|path| metrics.number(path)).collect()
}

#[track_caller]
fn assert_near(found: &[Option<f64>], expected: &[f64]) {
    for (at, (found, expected)) in std::iter::zip(found, expected).enumerate() {
        let found = found.unwrap_or_else(|| panic!("{at} has no value"));
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{at}: {found}, not {expected}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn throughput_and_utilisation_are_over_the_time_of_the_run() {
    let paths = [
        "throughput.iops",
        "throughput.write_iops",
        "throughput.read_iops",
        "throughput.write_bandwidth",
        "throughput.bandwidth",
    ];
    let rate = 1e6 / 300.0;
    assert_near(&numbers(&[], &paths), &[rate, rate, 0.0, rate * 4096.0, rate * 4096.0]);
    assert_near(&numbers(&[], &["die_utilisation", "channel_utilisation"]), &[1.0, 1.0 / 3.0]);
    // Twice the dies on one channel, served one after the other: half of their time.
    let two = [("flash.chips_per_channel", "2")];
    assert_near(&numbers(&two, &["die_utilisation", "channel_utilisation"]), &[0.5, 1.0 / 3.0]);
    let private = [("flash.chips_per_channel", "2"), ("timing.channel", "private")];
    assert_near(&numbers(&private, &["die_utilisation", "channel_utilisation"]), &[0.5, 1.0 / 6.0]);
}

#[test]
fn endurance_follows_from_rated_cycles_write_amplification_and_rate() {
    let paths = ["endurance.tbw_bytes", "endurance.drive_writes_per_day", "endurance.life_years"];
    let settings = [
        ("endurance.rated_cycles", "3000"),
        ("endurance.warranty_years", "4"),
        ("workload.synthetic.requests", "20000"),
    ];
    let scenario = Scenario::from_toml(ONE_DIE).and_then(|one| one.set(&settings)).expect("it is valid");
    let metrics = measured(&scenario);
    let number = |path| metrics.number(path).expect("it has a value");
    let (physical, page) = (f64::from(scenario.flash.pages()) * 4096.0, 4096.0);
    let tbw = 3000.0 * physical / number("waf_host");
    let exported = f64::from(scenario.erased_flash().expect("it is valid").logical_pages()) * page;
    let years = 3000.0 * physical / (metrics.programs_pages() as f64 * page) * number("simulated_ns")
        / (365.0 * 86_400e9);
    assert!(number("waf_host") >= 1.0);
    assert_near(&numbers(&settings, &paths), &[tbw, tbw / exported / (4.0 * 365.0), years]);
    let reads = [("workload.synthetic.read_share", "100%")];
    assert_eq!(numbers(&reads, &paths), [None; 3]);
}

#[test]
fn what_endurance_takes_for_granted_is_told_and_what_of_it_is_a_default() {
    let assumed = |settings: Settings<'_>| {
        let scenario = Scenario::from_toml(ONE_DIE).and_then(|one| one.set(settings)).expect("it is valid");
        let metrics = measured(&scenario);
        let of_one =
            |one: &Assumption| format!("{}: {} {} ({})", one.section, one.label, one.value, one.origin);
        metrics.assumptions().iter().map(of_one).collect::<Vec<_>>().join("; ")
    };
    let (rated, years) = ("endurance: rated erases of a block", "endurance: years of warranty");
    assert_eq!(
        assumed(&[]),
        format!("{rated} 100000 (default of SLC, itself a default); {years} 5 (default)")
    );
    assert_eq!(
        assumed(&[("flash.cell", "qlc"), ("endurance.warranty_years", "3")]),
        format!("{rated} 1000 (default of QLC); {years} 3 (given)")
    );
    assert_eq!(
        assumed(&[("flash.cell", "tlc"), ("endurance.rated_cycles", "5000")]),
        format!("{rated} 5000 (given, for TLC); {years} 5 (default)")
    );
}

#[test]
fn cells_of_more_bits_bear_fewer_erases_unless_the_scenario_says_how_many() {
    let written =
        |settings: &[(&str, &str)]| numbers(settings, &["endurance.tbw_bytes"])[0].expect("it writes");
    let slc = written(&[]);
    for (cell, part) in [("slc", 1.0), ("mlc", 0.1), ("tlc", 0.03), ("qlc", 0.01)] {
        assert_near(&[Some(written(&[("flash.cell", cell)]))], &[slc * part]);
        let rated = written(&[("flash.cell", cell), ("endurance.rated_cycles", "100000")]);
        assert_near(&[Some(rated)], &[slc]);
    }
}

#[test]
fn energy_is_the_sum_over_operations_and_only_where_a_table_is_given() {
    assert_eq!(numbers(&[], &["energy.total"]), [None]);
    let table = [
        ("energy.page_read", "1uJ"),
        ("energy.page_program", "10uJ"),
        ("energy.block_erase", "100uJ"),
        ("energy.page_transfer", "500nJ"),
    ];
    let settings = [
        table.as_slice(),
        &[("workload.synthetic.requests", "20000"), ("workload.synthetic.generator", "uniform")],
    ]
    .concat();
    let operations = [
        "gc_copies_pages",
        "operations.programs_pages",
        "operations.erases_blocks",
        "erases_blocks",
        "operations.transfers_pages",
    ];
    let counts: Vec<f64> = numbers(&settings, &operations).into_iter().flatten().collect();
    let [copies, programs, erases, erased, transfers] = counts[..] else { panic!("five counts") };
    assert!(copies > 0.0);
    assert_eq!(programs, 20_000.0 + copies, "every program is the host's or a copy");
    assert_eq!(erases, erased);
    assert_eq!(transfers, 20_000.0 + 2.0 * copies, "copies cross the bus twice");
    let expected = [copies * 1e-6, programs * 1e-5, erases * 1e-4, transfers * 5e-7];
    let total = expected.iter().sum();
    let paths = ["energy.reads", "energy.programs", "energy.erases", "energy.transfers", "energy.total"];
    assert_near(&numbers(&settings, &paths), &[expected.as_slice(), &[total]].concat());
}

#[test]
fn a_device_without_life_is_refused() {
    for key in ["endurance.rated_cycles", "endurance.warranty_years"] {
        let scenario = Scenario::from_toml(ONE_DIE).and_then(|one| one.set(&[(key, "0")]));
        let error = scenario.expect_err("it is refused").to_string();
        assert!(error.contains(key) && error.contains("from 1 to"), "{error}");
    }
}
