//! The controller, from outside: its firmware, and its write buffer.

use crate::{Settings, measured, refused};
use coflash_sim::{Metrics, Scenario};

/// Four dies that are erased at first, in round numbers: a program takes 100 µs and a read 10 µs, transfers nothing.
fn scenario(settings: Settings<'_>) -> Scenario {
    let common = [
        ("flash.channels", "4"),
        ("flash.blocks_per_plane", "64"),
        ("timing.page_read", "10us"),
        ("timing.page_program", "100us"),
        ("timing.sector_transfer", "0ns"),
        ("precondition.fill", "none"),
        ("workload.synthetic.generator", "sequential"),
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"4KiB\" }"),
        ("workload.synthetic.read_share", "0%"),
        ("workload.synthetic.requests", "1000"),
        ("workload.synthetic.arrival", "{ name = \"fixed\", interval = \"30us\" }"),
        ("replay.mode", "open"),
    ];
    Scenario::default().set(&common).and_then(|scenario| scenario.set(settings)).expect("a scenario")
}

fn refusal(settings: Settings<'_>) -> String {
    match scenario(&[]).set(settings) {
        Ok(scenario) => refused(&scenario),
        Err(error) => error.to_string(),
    }
}

fn with(settings: Settings<'_>) -> Metrics {
    measured(&scenario(settings))
}

fn longest(metrics: &Metrics) -> u64 {
    metrics.count("response_ns.write.max")
}

fn mean(metrics: &Metrics) -> f64 {
    metrics.number("response_ns.write.mean").expect("writes were made")
}

#[test]
fn the_firmware_takes_its_time_for_a_command_and_for_each_4_kib() {
    let firmware = [
        ("controller.write_command", "3us"),
        ("controller.write_4k", "500ns"),
        ("controller.read_command", "90us"),
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"16KiB\" }"),
        ("workload.synthetic.arrival", "{ name = \"fixed\", interval = \"1ms\" }"),
    ];
    let metrics = with(&firmware);
    assert_eq!((mean(&metrics), longest(&metrics)), (105_000.0, 105_000), "3 + 4 · 0.5 + 100");
}

/// One core that takes 40 µs for a command that comes every 30 µs: command n waits 10 n.
#[test]
fn a_firmware_that_is_too_slow_holds_the_device_to_its_pace() {
    let metrics = with(&[("controller.write_command", "40us"), ("controller.cores", "1")]);
    assert_eq!(longest(&metrics), 140_000 + 999 * 10_000);
    let metrics = with(&[("controller.write_command", "40us"), ("controller.cores", "2")]);
    assert_eq!(longest(&metrics), 140_000, "two have enough time");
    let metrics = with(&[("controller.write_command", "40us")]);
    assert_eq!(longest(&metrics), 140_000, "a time that is no bottleneck");
}

#[test]
fn a_write_is_answered_when_it_is_buffered_and_waits_while_the_buffer_is_full() {
    let buffer = [("controller.write_buffer", "64KiB"), ("controller.write_command", "2us")];
    let metrics = with(&buffer);
    assert_eq!((mean(&metrics), longest(&metrics)), (2_000.0, 2_000), "flash keeps up");
    assert_eq!(metrics.count("write_buffer.waits_pages"), 0);
    // Every 20 µs one comes, and 4 dies take one every 25 µs.
    let faster = ("workload.synthetic.arrival", "{ name = \"fixed\", interval = \"20us\" }");
    let metrics = with(&[buffer[0], buffer[1], faster]);
    let waits = metrics.count("write_buffer.waits_pages");
    assert!((900..1000).contains(&waits), "{waits} of 1000 wait: the buffer is full after some 80");
    let behind = 1000 * 5_000;
    let max = longest(&metrics);
    assert!((behind - 16 * 25_000 - 25_000..behind).contains(&max), "{max} ns: {behind}, less the buffer");
}

/// A limit below the pace of flash is the pace of the device: 20 MB/s are 4096 B every 204.8 µs.
#[test]
fn a_limited_drain_is_the_pace_of_the_device() {
    let limited = [("controller.write_buffer", "64KiB"), ("controller.drain_per_s", "20MB")];
    let metrics = with(&limited);
    let bandwidth = metrics.number("throughput.write_bandwidth").expect("writes were made");
    assert!((20e6..20.5e6).contains(&bandwidth), "{bandwidth} B/s");
}

/// Reads of four pages that miss a cache in the host: one command, whose pages cross one after another.
#[test]
fn pages_that_cross_from_below_a_cache_in_the_host_take_the_firmwares_time() {
    let reads = [
        ("controller.read_command", "90us"),
        ("controller.read_4k", "500ns"),
        ("precondition.fill", "sequential"),
        ("workload.synthetic.read_share", "100%"),
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"16KiB\" }"),
        ("workload.synthetic.arrival", "{ name = \"fixed\", interval = \"1ms\" }"),
    ];
    for memory in
        [&[("host_buffer.size", "64KiB")][..], &[("cache.size", "64KiB"), ("cache.placement", "host")]]
    {
        let response = |cores: Settings<'_>| {
            let metrics = with(&[&reads, memory, cores].concat());
            metrics.number("response_ns.read.mean").expect("reads were made")
        };
        assert_eq!(response(&[]), 100_500.0, "90 + 0.5 + 10: all four at the same time");
        assert_eq!(response(&[("controller.cores", "1")]), 102_000.0, "90 + 4 · 0.5 + 10");
    }
}

#[test]
fn a_write_buffer_answers_what_crosses_from_a_cache_in_the_host() {
    // Every write evicts a page, and waits for that.
    let evicting = [
        ("cache.size", "64KiB"),
        ("cache.placement", "host"),
        ("cache.page_read", "0ns"),
        ("cache.page_write", "0ns"),
        ("controller.write_command", "2us"),
    ];
    let longest = |buffer: Settings<'_>| longest(&with(&[&evicting, buffer].concat()));
    assert_eq!(longest(&[]), 102_000);
    assert_eq!(longest(&[("controller.write_buffer", "64KiB")]), 2_000);
}

#[test]
fn a_flush_waits_for_a_volatile_buffer_only() {
    let flushes = |volatile| {
        let flushing = [
            ("controller.write_buffer", "64KiB"),
            ("controller.volatile", volatile),
            ("workload.synthetic.flush_share", "10%"),
        ];
        with(&flushing).count("response_ns.all.max")
    };
    assert_eq!((flushes("false"), flushes("true") > 50_000), (0, true));
}

/// At 10.005 ms the writes of the last 100 µs are not yet programmed: one comes every 30 µs.
#[test]
fn a_sudden_restart_loses_a_volatile_buffer() {
    let lost = |buffer, volatile, shutdown| {
        let settings = [
            ("controller.write_buffer", buffer),
            ("controller.volatile", volatile),
            ("restart.at", "[\"10005us\"]"),
            ("restart.shutdown", shutdown),
        ];
        with(&settings).count("restart.lost_device_pages")
    };
    let sudden = ["true", "false"].map(|volatile| lost("64KiB", volatile, "sudden"));
    assert_eq!((sudden, lost("64KiB", "true", "orderly"), lost("0B", "false", "sudden")), ([3, 0], 0, 0));
}

#[test]
fn what_a_controller_cannot_be_with_is_refused() {
    for (settings, reason) in [
        (&[("controller.drain_per_s", "1MB")][..], "controller.drain_per_s: there is no buffer"),
        (&[("controller.write_buffer", "1KiB")], "controller.write_buffer: 1KiB is less than a page"),
        (
            &[("timing.one_shot_pages", "7")],
            "flash.pages_per_block: 64 is no whole number of word lines of 7",
        ),
        (&[("timing.page_programs", "[\"1us\", \"2us\"]")], "timing.page_programs: 2 were given"),
        (&[("ftl.slc_cache.blocks", "10%")], "flash.cell: a pSLC cache needs"),
        (&[("ftl.indirection_unit", "10KiB")], "ftl.indirection_unit: 10KiB was given"),
        (&[("ftl.indirection_unit", "12KiB"), ("workload.remap", "dense")], "workload.remap: "),
    ] {
        let refusal = refusal(settings);
        assert!(refusal.starts_with(reason), "{settings:?}: {refusal}");
    }
}
