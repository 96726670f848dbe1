//! Units larger than a page, and cells of several bits that hold one.

use crate::{Settings, measured};
use coflash_sim::{Metrics, Scenario};

/// Writes of the whole device, at once, in round numbers.
fn with(common: Settings<'_>, settings: Settings<'_>) -> Metrics {
    let writes = [
        ("timing.channel", "private"),
        ("timing.sector_transfer", "0ns"),
        ("workload.synthetic.read_share", "0%"),
        ("workload.synthetic.arrival", "back-to-back"),
        ("replay.queue_depth", "1"),
    ];
    let scenario = Scenario::default().set(&writes).and_then(|scenario| scenario.set(common));
    measured(&scenario.and_then(|scenario| scenario.set(settings)).expect("a scenario"))
}

/// Random writes of this size and alignment on a full device with units of 64 KiB; there is no GC yet.
fn waf_on_units_of_64_kib(size: &str, align: &str) -> f64 {
    let settings = [
        ("flash.channels", "4"),
        ("flash.blocks_per_plane", "400"),
        ("ftl.indirection_unit", "64KiB"),
        ("precondition.fill", "sequential"),
        ("workload.synthetic.generator", "uniform"),
        ("workload.synthetic.requests", "100"),
        ("workload.synthetic.size", &format!("{{ name = \"fixed\", size = \"{size}\" }}")),
        ("workload.synthetic.align", align),
    ];
    let metrics = with(&settings, &[]);
    assert_eq!(metrics.count("gc_copies_pages"), 0);
    metrics.number("waf_media").expect("writes were made")
}

#[test]
fn a_part_of_a_unit_costs_the_unit() {
    for (size, align, expected) in [
        ("4KiB", "4KiB", 16.0),
        ("512B", "4KiB", 128.0),
        ("32KiB", "32KiB", 2.0),
        ("64KiB", "64KiB", 1.0),
        ("128KiB", "64KiB", 1.0),
        ("96KiB", "64KiB", 128.0 / 96.0),
    ] {
        let waf = waf_on_units_of_64_kib(size, align);
        assert!((waf - expected).abs() < 1e-12, "{size} at multiples of {align}: {waf} and not {expected}");
    }
}

/// A cache in the host writes single pages, each of which costs a unit.
#[test]
fn a_page_that_a_cache_in_the_host_evicts_costs_its_unit() {
    for memory in
        [&[("host_buffer.size", "64KiB")][..], &[("cache.size", "64KiB"), ("cache.placement", "host")]]
    {
        let settings = [
            ("flash.channels", "4"),
            ("flash.blocks_per_plane", "400"),
            ("ftl.indirection_unit", "64KiB"),
            ("precondition.fill", "sequential"),
            ("workload.synthetic.generator", "sequential"),
            ("workload.synthetic.requests", "116"),
            ("workload.synthetic.size", "{ name = \"fixed\", size = \"4KiB\" }"),
        ];
        let metrics = with(&settings, memory);
        assert_eq!(metrics.count("gc_copies_pages"), 0);
        assert_eq!(metrics.programs_pages(), (116 - 16) * 16, "{memory:?}: 16 of 116 pages are still there");
    }
}

const PAGES_PER_BLOCK: u64 = 64;

/// One die of 100 blocks of QLC flash, erased, that is used as SLC while more than 10 blocks are free.
fn filled(pages: u64, settings: Settings<'_>) -> Metrics {
    let pages = pages.to_string();
    let common = [
        ("flash.channels", "1"),
        ("flash.blocks_per_plane", "100"),
        ("flash.cell", "qlc"),
        ("timing.page_read", "40us"),
        ("timing.page_program", "1ms"),
        ("timing.slc_page_read", "20us"),
        ("timing.slc_page_program", "100us"),
        ("timing.block_erase", "3ms"),
        ("ftl.spare.share", "28%"),
        ("ftl.slc_cache.blocks", "100%"),
        ("ftl.slc_cache.while_free", "10"),
        ("precondition.fill", "none"),
        ("workload.synthetic.generator", "sequential"),
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"4KiB\" }"),
        ("workload.synthetic.requests", &pages),
    ];
    with(&common, settings)
}

#[test]
fn qlc_used_as_slc_holds_a_quarter() {
    let slc_pages = (100 - 10) * PAGES_PER_BLOCK / 4;
    for (pages, written) in [(slc_pages, slc_pages), (slc_pages + 256, slc_pages)] {
        let metrics = filled(pages, &[]);
        assert_eq!(metrics.count("slc_cache.written_pages"), written);
        assert_eq!(metrics.count("slc_cache.folded_pages"), 0);
        // The mean speed is the harmonic mean of its steps: 100 µs a page in SLC, 1 ms beyond.
        assert_eq!(metrics.count("simulated_ns"), written * 100_000 + (pages - written) * 1_000_000);
    }
    // A static cache of four blocks.
    let metrics = filled(1000, &[("ftl.slc_cache.blocks", "4")]);
    assert_eq!(metrics.count("slc_cache.written_pages"), PAGES_PER_BLOCK);
    assert_eq!(metrics.count("simulated_ns"), 64 * 100_000 + (1000 - 64) * 1_000_000);
}

#[test]
fn a_fill_beyond_the_cache_folds_and_each_step_takes_its_time() {
    let pages = 5000;
    let metrics = filled(pages, &[]);
    let count = |name| metrics.count(name);
    let (slc, folded) = (count("slc_cache.written_pages"), count("slc_cache.folded_pages"));
    assert!(slc == 1440 && folded > 1000, "{slc} written, {folded} folded");
    assert_eq!(count("programs_pages.gc"), folded, "pages written in order are copied only to be folded");
    assert_eq!(count("programs_pages.host"), pages);
    let host = slc * 100_000 + (pages - slc) * 1_000_000;
    let folding = folded * (20_000 + 1_000_000) + count("erases_blocks") * 3_000_000;
    assert_eq!((count("service_time_ns"), count("gc_time_ns")), (host, folding));
    // One die, one request at a time: the mean speed is the harmonic mean of the steps, weighted by their pages.
    assert_eq!(count("simulated_ns"), host + folding);
}

#[test]
fn overwriting_a_device_with_a_cache_loses_nothing() {
    let settings = [
        ("workload.synthetic.generator", "uniform"),
        ("precondition.fill", "sequential"),
        ("gc.mode", "background"),
        ("workload.synthetic.arrival", "{ name = \"poisson\", mean = \"5ms\" }"),
    ];
    let metrics = filled(20_000, &settings);
    assert_eq!(metrics.count("programs_pages.host"), 20_000);
    let (slc, folded) = (metrics.count("slc_cache.written_pages"), metrics.count("slc_cache.folded_pages"));
    assert!(slc > 0 && folded <= slc, "{slc} written, {folded} folded");
}
