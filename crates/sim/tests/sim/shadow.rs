//! ShadowGC's schemes in the simulator: two buffers over one device, scheme by scheme.

use crate::{Settings, measured, without};
use coflash_sim::{Metrics, Scenario};

/// The device of the paper, much smaller.
fn small(changes: Settings<'_>) -> Scenario {
    let small = [
        ("flash.channels", "2"),
        ("flash.chips_per_channel", "1"),
        ("flash.blocks_per_plane", "96"),
        ("flash.pages_per_block", "64"),
        ("ftl.spare.share", "20%"),
        ("cache.size", "2MiB"),
        ("host_buffer.size", "4MiB"),
        ("precondition.random_passes", "1"),
        ("workload.synthetic.requests", "40000"),
        ("workload.synthetic.arrival.mean", "4ms"),
    ];
    Scenario::built_in("shadowgc-64g")
        .and_then(|scenario| scenario.set(&small)?.set(changes))
        .expect("it fits")
}

fn measure(changes: Settings<'_>) -> Metrics {
    measured(&small(changes))
}

#[test]
fn a_buffer_of_no_size_is_none() {
    for size in ["0B", "0%"] {
        let metrics = measure(&[("host_buffer.size", size), ("host_buffer.page_read", "1us")]);
        assert!(metrics.value("host_buffer.written_pages").is_none(), "{size}");
    }
}

#[test]
fn every_scheme_runs_and_moves_what_it_knows_of() {
    for scheme in
        ["none", "ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc", "hgc-dgc", "twin-discard"]
    {
        let metrics = measure(&[("cooperation", scheme)]);
        let of = |path: &str| metrics.count(path);
        assert_eq!(of("requests"), 40_000, "{scheme}: every request is answered once");
        assert!(of("gc_copies_pages") > 1000, "{scheme}: GC has worked, {}", of("gc_copies_pages"));
        let reasons = ["dirty_evictions", "aged", "crowded", "flushed"];
        let written = reasons.map(|reason| of(&format!("host_buffer.{reason}_pages"))).iter().sum::<u64>();
        assert_eq!(of("host_buffer.written_pages"), written, "{scheme}");
        if scheme == "none" {
            assert_eq!(metrics.value("shadows.moved_valid_pages"), None);
            continue;
        }
        let moved =
            ["valid", "host", "device", "twin"].map(|kind| of(&format!("shadows.moved_{kind}_pages")));
        let programs = of("programs_pages.gc") + of("programs_pages.refresh");
        assert_eq!(moved.iter().sum::<u64>(), programs, "{scheme}: who moves a page asks");
        let expected = match scheme {
            "ggc" => [false, false, false],
            "dgc" => [false, true, false],
            "sgc" | "hgc-dgc" | "twin-discard" => [true, true, true],
            _ => [true, false, false],
        };
        let knows = [moved[1], moved[2], moved[3]].map(|pages| pages > 0);
        assert_eq!(knows, expected, "{scheme}: {moved:?}");
        assert_eq!(
            of("shadows.from_buffer_pages") > 0,
            ["dgc", "sgc", "hgc-dgc"].contains(&scheme),
            "{scheme}"
        );
        assert_eq!(of("shadows.fast_pages") > 0, ["hgc", "sgc", "hgc-dgc"].contains(&scheme), "{scheme}");
        assert_eq!(
            of("shadows.discarded_twins_pages") > 0,
            ["sgc", "twin-discard"].contains(&scheme),
            "{scheme}"
        );
        let apart = ["separation", "zgc", "hgc", "sgc", "hgc-dgc"].contains(&scheme);
        assert_eq!(metrics.value("fast_blocks.states_bytes").is_some(), apart, "{scheme}");
        if apart {
            let victims = of("fast_blocks.victims_blocks");
            assert_eq!(victims > 0, of("shadows.fast_pages") > 0, "{scheme}");
        }
        assert!(of("simulated_ns") < 400_000_000_000, "{scheme}: {} ns", of("simulated_ns"));
    }
}

#[test]
fn notices_of_a_buffer_have_the_size_and_the_room_that_the_host_gives_them() {
    let sent = |changes: Settings<'_>| {
        let metrics = measure(changes);
        ["sent", "carrying_commands", "messages", "bytes"]
            .map(|name| metrics.count(&format!("host.to_device.{name}")))
    };
    let [notices, commands, messages, bytes] =
        sent(&[("host.notice_size", "5B"), ("host.notices.bytes_max", "5B")]);
    assert_eq!((commands, messages, bytes), (notices, 0, 5 * notices), "one notice of 5 bytes a command");
    let batched = [("host.notices", "{ name = 'batched', wait = '100s', max = 8 }")];
    let [notices, _, messages, bytes] = sent(&batched);
    assert_eq!((messages, bytes), (notices.div_ceil(8), 8 * notices), "eight notices a message");
}

#[test]
fn a_flush_empties_both_buffers_and_waits() {
    let flushes = [
        ("workload.synthetic.flush_share", "5%"),
        ("cooperation", "sgc"),
        ("workload.synthetic.requests", "20000"),
    ];
    let metrics = measure(&flushes);
    let of = |path| metrics.count(path);
    assert!(of("flushes") > 500);
    assert!(of("host_buffer.flushed_pages") > 5000 && of("cache.flushed_pages") > 5000);
    // Programs wait on dies: a flush takes longer than any number of 20 ns.
    assert!(of("response_ns.all.max") > 600_000, "{} ns", of("response_ns.all.max"));
}

#[test]
fn fast_blocks_are_refreshed_in_time_and_that_is_counted() {
    let changes = [
        ("cooperation", "sgc"),
        ("ftl.refresh.fast_retention", "20s"),
        ("ftl.refresh.power_off", "5s"),
        ("ftl.refresh.retention", "100h"),
    ];
    assert!(measure(&changes).count("programs_pages.refresh") > 0);
}

/// Nothing written is lost from the books: each page was overwritten where it lay, handed on, trimmed, or is still there.
#[test]
fn every_page_written_is_accounted_for_in_either_buffer() {
    let busy = [
        ("workload.synthetic.requests", "20000"),
        ("workload.synthetic.trim_share", "5%"),
        ("workload.synthetic.flush_share", "0.2%"),
        ("workload.synthetic.read_share", "10%"),
        ("workload.synthetic.size.size", "24KiB"),
        ("workload.synthetic.align", "8KiB"),
        ("host_buffer.dirty_share_max", "80%"),
        ("restart.at", r#"["20s", "50s", "100h"]"#),
    ];
    let mut seen = [0_u64; 3];
    for scheme in ["ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc", "hgc-dgc", "twin-discard"] {
        for size in ["0B", "4MiB"] {
            let mut changes = busy.to_vec();
            changes.extend([("cooperation", scheme), ("host_buffer.size", size)]);
            let metrics = measure(&changes);
            let of = |path: &str| metrics.count(path);
            let what = || format!("{scheme}, {size}: {:?}", without(&[], &metrics));
            let buffer = |path: &str| {
                ["absorbed_pages", "dropped_pages", "dirty_pages"].map(|name| of(&format!("{path}.{name}")))
            };
            let mut written = of("host_writes_pages") - of("restart.lost_host_pages");
            if size != "0B" {
                let kept = buffer("host_buffer");
                let below = of("host_buffer.written_pages");
                assert_eq!(kept.iter().sum::<u64>() + below, written, "{}", what());
                assert!(kept.iter().all(|&pages| pages > 0), "{}", what());
                written = below;
            }
            let kept = buffer("cache");
            let let_go = of("shadows.from_buffer_pages") + of("shadows.discarded_twins_pages");
            let lost = of("restart.lost_device_pages");
            let gone = kept.iter().sum::<u64>() + of("programs_pages.evict") + let_go + lost;
            assert_eq!(gone, written, "{}", what());
            seen = std::array::from_fn(|kind| seen[kind] + kept[kind]);
        }
    }
    assert!(seen.iter().all(|&pages| pages > 0), "absorbed, dropped, still dirty: {seen:?}");
}

/// The cost of a restart, sudden or orderly.
fn restarted(at: &str, shutdown: &str) -> Metrics {
    measure(&[("cooperation", "sgc"), ("restart.at", at), ("restart.shutdown", shutdown)])
}

#[test]
fn a_restart_loses_what_is_dirty_and_refreshes_what_was_programmed_fast() {
    let until = measure(&[("cooperation", "sgc"), ("workload.requests_max", "20000")]);
    let at = format!("[\"{}ns\"]", until.count("simulated_ns"));
    let sudden = restarted(&at, "sudden");
    let of = |path| sudden.count(path);
    assert_eq!(of("restart.restarts"), 1);
    assert_eq!(of("restart.lost_host_pages"), until.count("host_buffer.dirty_pages"));
    assert_eq!(of("restart.lost_device_pages"), until.count("cache.dirty_pages"));
    assert!(of("restart.refreshed_pages") > 0, "fast blocks hold valid pages");
    assert_eq!(of("restart.refreshed_pages"), of("programs_pages.refresh"), "nothing else is due");
    // Each refreshed page is read, corrected and programmed, and blocks are erased; GC makes room on the way.
    let page_ns = 120_000 + 2 * 32 * 1_280 + 16_000 + 600_000;
    let least = of("restart.refreshed_pages") * page_ns + of("restart.erases_blocks") * 5_000_000;
    assert!(of("restart.die_time_ns") >= least, "{} ns, at least {least}", of("restart.die_time_ns"));
    assert!(of("restart.busy_max_ns") * 2 >= of("restart.die_time_ns"), "two dies");
}

/// The host's dirty pages are in flash when an orderly restart comes, so that its shadows are out of date: less is
/// left to refresh.
#[test]
fn an_orderly_restart_loses_nothing_and_has_less_to_refresh() {
    let at = r#"["40s", "1min", "2min"]"#;
    let [sudden, orderly] = ["sudden", "orderly"].map(|shutdown| restarted(at, shutdown));
    let of = |metrics: &Metrics, name| metrics.count(&format!("restart.{name}"));
    assert_eq!([&sudden, &orderly].map(|metrics| of(metrics, "restarts")), [3, 3]);
    assert_eq!([of(&orderly, "lost_host_pages"), of(&orderly, "lost_device_pages")], [0, 0]);
    let refreshed = [&sudden, &orderly].map(|metrics| of(metrics, "refreshed_pages"));
    assert!(refreshed[1] < refreshed[0], "{refreshed:?}");
    assert_eq!(orderly.count("flushes"), 0, "no request of the host");
    assert!(orderly.count("host_buffer.flushed_pages") > 0);
}

/// Pages that GC reads from flash are corrected, those that it takes from the buffer are not.
#[test]
fn error_correction_is_for_pages_from_flash() {
    for scheme in ["ggc", "sgc"] {
        let with = |ecc| measure(&[("cooperation", scheme), ("timing.ecc_decode", ecc)]);
        let (none, some) = (with("0ns"), with("16us"));
        let copies =
            |metrics: &Metrics| metrics.count("gc_copies_pages") - metrics.count("shadows.from_buffer_pages");
        assert_eq!(copies(&none), copies(&some), "{scheme}: the same pages");
        assert_eq!(some.count("programs_pages.refresh"), 0, "{scheme}: GC moves all");
        assert_eq!(some.count("shadows.from_buffer_pages") > 0, scheme == "sgc");
        let longer = some.count("gc_time_ns") - none.count("gc_time_ns");
        assert_eq!(longer, 16_000 * copies(&some), "{scheme}");
    }
}

/// A flush is answered when all data is in flash, background writes of the host included.
#[test]
fn a_flush_waits_for_what_was_written_before_it_and_is_still_under_way() {
    for device_buffer in ["0B", "64KiB"] {
        let flush_alone = [
            ("cooperation", "hgc"),
            ("cache.size", device_buffer),
            ("host_buffer.dirty_age_max", "1ns"),
            ("workload.synthetic.requests", "4000"),
            ("workload.synthetic.flush_share", "50%"),
            ("workload.synthetic.arrival.mean", "100us"),
        ];
        let metrics = measure(&flush_alone);
        let [writes, all] =
            ["write.max", "all.p99"].map(|path| metrics.count(&format!("response_ns.{path}")));
        // Writes go to the host's buffer; a page is handed on before the next request, and a program takes 600 µs.
        assert!(writes < 100_000, "{device_buffer}: {writes} ns");
        assert!(all > 600_000, "{device_buffer}: {all} ns");
    }
}
