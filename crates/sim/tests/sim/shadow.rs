//! ShadowGC's schemes in the simulator: two buffers over one device, scheme by scheme.

use coflash_sim::{Metrics, Scenario, Silent, run};

/// The device of the paper, much smaller.
fn small(changes: &[(&str, &str)]) -> Scenario {
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
    Scenario::preset("shadowgc-64g").and_then(|scenario| scenario.set(&small)?.set(changes)).expect("it fits")
}

fn measure(changes: &[(&str, &str)]) -> Metrics {
    run(&small(changes), &mut Silent).expect("it runs").metrics().clone()
}

#[test]
fn a_buffer_of_no_size_is_none() {
    for size in ["0B", "0%"] {
        let metrics = measure(&[("host_buffer.size", size), ("host_buffer.page_read", "1us")]);
        assert!(metrics.host_buffer.is_none(), "{size}");
    }
}

#[test]
fn every_scheme_runs_and_moves_what_it_knows_of() {
    for scheme in ["none", "ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc"] {
        let metrics = measure(&[("cooperation", scheme)]);
        let host = metrics.host_buffer.as_ref().expect("there is one");
        assert_eq!(metrics.requests, 40_000, "{scheme}: every request is answered once");
        assert!(metrics.gc_copies_pages > 1000, "{scheme}: GC has worked, {}", metrics.gc_copies_pages);
        let written = host.evicted_pages + host.aged_pages + host.crowded_pages + host.flushed_pages;
        assert_eq!(host.device_writes_pages, written, "{scheme}");
        let Some(shadows) = &metrics.shadows else {
            assert_eq!(scheme, "none");
            continue;
        };
        let programs = &metrics.programs_pages;
        let moved = shadows.moved_valid_pages
            + shadows.moved_host_pages
            + shadows.moved_device_pages
            + shadows.moved_twin_pages;
        assert_eq!(moved, programs.gc + programs.refresh, "{scheme}: who moves a page asks");
        let knows = [shadows.moved_host_pages, shadows.moved_device_pages, shadows.moved_twin_pages]
            .map(|pages| pages > 0);
        let expected = match scheme {
            "ggc" => [false, false, false],
            "dgc" => [false, true, false],
            "sgc" => [true, true, true],
            _ => [true, false, false],
        };
        assert_eq!(knows, expected, "{scheme}: {shadows:?}");
        assert_eq!(shadows.from_buffer_pages > 0, ["dgc", "sgc"].contains(&scheme), "{scheme}");
        assert_eq!(shadows.fast_pages > 0, ["hgc", "sgc"].contains(&scheme), "{scheme}");
        assert_eq!(shadows.discarded_twins_pages > 0, scheme == "sgc", "{scheme}");
        assert!(metrics.simulated_ns < 400_000_000_000, "{scheme}: {} ns", metrics.simulated_ns);
    }
}

#[test]
fn a_flush_empties_both_buffers_and_waits() {
    let flushes = [
        ("workload.synthetic.flush_share", "5%"),
        ("cooperation", "sgc"),
        ("workload.synthetic.requests", "20000"),
    ];
    let metrics = measure(&flushes);
    let (host, device) = (metrics.host_buffer.unwrap(), metrics.device_buffer.unwrap());
    assert!(metrics.flushes > 500 && host.flushed_pages > 5000 && device.flushed_pages > 5000);
    // Programs wait on dies: a flush takes longer than any number of 20 ns.
    assert!(metrics.response_ns.all.max > Some(600_000), "{:?}", metrics.response_ns.all);
}

#[test]
fn fast_blocks_are_refreshed_in_time_and_that_is_counted() {
    let changes = [
        ("cooperation", "sgc"),
        ("ftl.refresh.fast_retention", "20s"),
        ("ftl.refresh.power_off", "5s"),
        ("ftl.refresh.retention", "100h"),
    ];
    let metrics = measure(&changes);
    assert!(metrics.programs_pages.refresh > 0, "{:?}", metrics.programs_pages);
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
    ];
    let mut seen = [0; 3];
    for scheme in ["ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc"] {
        for size in ["0B", "4MiB"] {
            let mut changes = busy.to_vec();
            changes.extend([("cooperation", scheme), ("host_buffer.size", size)]);
            let metrics = measure(&changes);
            let written = match &metrics.host_buffer {
                None => metrics.host_writes_pages,
                Some(host) => {
                    let gone = host.absorbed_pages + host.device_writes_pages + host.dropped_pages;
                    let all = gone + u64::from(host.dirty_pages);
                    assert_eq!(all, metrics.host_writes_pages, "{scheme}, {size}: host, {host:?}");
                    assert!(host.absorbed_pages > 0 && host.dropped_pages > 0 && host.dirty_pages > 0);
                    host.device_writes_pages
                }
            };
            let (device, shadows) =
                (metrics.device_buffer.as_ref().unwrap(), metrics.shadows.as_ref().unwrap());
            let let_go = shadows.from_buffer_pages + shadows.discarded_twins_pages + device.dropped_pages;
            let gone = device.absorbed_pages + metrics.programs_pages.evict + let_go;
            let all = gone + u64::from(device.dirty_pages);
            assert_eq!(all, written, "{scheme}, {size}: device, {device:?}");
            seen = [
                seen[0] + device.absorbed_pages,
                seen[1] + device.dropped_pages,
                seen[2] + u64::from(device.dirty_pages),
            ];
        }
    }
    assert!(seen.iter().all(|&pages| pages > 0), "absorbed, dropped, still dirty: {seen:?}");
}

/// A flush is answered when all is in flash, what the host has written in the background included.
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
        let response = measure(&flush_alone).response_ns;
        // Writes go to the host's buffer; a page is handed on before the next request, and a program takes 600 µs.
        assert!(response.write.max < Some(100_000), "{device_buffer}: {:?}", response.write);
        assert!(response.all.p99 > Some(600_000), "{device_buffer}: {:?}", response.all);
    }
}
