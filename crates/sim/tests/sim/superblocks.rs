//! GC of superblocks, from outside: dies are busy while there is work, whatever their number and the mode of GC.

use crate::measured;
use coflash_sim::Scenario;

/// Superblocks over `dies` dies, full, under more random writes at a time than there are dies.
fn scenario(dies: u32, settings: &[(&str, &str)]) -> Scenario {
    let (channels, chips) = if dies < 4 { (dies, 1) } else { (dies / 4, 4) };
    let [channels, chips, depth, requests] =
        [channels, chips, 4 * dies, 400 * dies].map(|number| number.to_string());
    let common: [(&str, &str); 16] = [
        ("flash.channels", &channels),
        ("flash.chips_per_channel", &chips),
        ("flash.blocks_per_plane", "48"),
        ("flash.pages_per_block", "32"),
        ("timing.page_read", "40us"),
        ("timing.page_program", "200us"),
        ("timing.block_erase", "2ms"),
        ("timing.sector_transfer", "500ns"),
        ("ftl.pools", "device"),
        ("ftl.spare", "{ share = \"25%\", definition = \"over_provisioning\" }"),
        ("gc.low_mark", "3"),
        ("precondition.random_passes", "1.0"),
        ("workload.synthetic.generator", "uniform"),
        ("workload.synthetic.requests", &requests),
        ("replay.mode", "closed"),
        ("replay.queue_depth", &depth),
    ];
    Scenario::default().set(&common).and_then(|scenario| scenario.set(settings)).expect("a scenario")
}

#[test]
fn dies_are_busy_at_saturation() {
    for dies in [1, 4, 32, 256] {
        for channel in ["private", "shared"] {
            for mode in ["foreground", "background", "preemptive"] {
                let settings = [("timing.channel", channel), ("gc.mode", mode)];
                let metrics = measured(&scenario(dies, &settings));
                let utilisation = metrics.number("die_utilisation").expect("a timeline");
                let case = format!("{dies} dies, {channel} channels, {mode}");
                assert!(metrics.count("gc_copies_pages") > u64::from(dies) * 400, "{case}: GC works");
                assert!(utilisation >= 0.9, "{case}: {utilisation:.3} of the time of the dies is used");
            }
        }
    }
}

/// The buffer changes times alone, and matters where it is small.
#[test]
fn room_for_few_copies_makes_gc_slow() {
    let of = |buffer| measured(&scenario(32, &[("gc.copy_buffer", buffer)]));
    let [small, default] = [of("4KiB"), of("512KiB")];
    let one = measured(&scenario(32, &[]));
    assert_eq!(
        default.count("simulated_ns"),
        one.count("simulated_ns"),
        "four pages of 4 KiB for each of 32 dies"
    );
    assert_eq!(small.count("gc_copies_pages"), default.count("gc_copies_pages"));
    assert!(small.count("simulated_ns") > 5 * default.count("simulated_ns"));
}

#[test]
fn room_for_copies_is_refused_where_it_has_no_use() {
    let refused = |settings| scenario(4, &[]).set(settings).expect_err("it is refused").to_string();
    let plane = refused(&[("ftl.pools", "plane"), ("gc.copy_buffer", "64KiB")]);
    assert!(plane.contains("gc.copy_buffer") && plane.contains("ftl.pools"), "{plane}");
    let small = refused(&[("gc.copy_buffer", "512B")]);
    assert!(small.contains("512B is less than a page of 4096 B"), "{small}");
}
