//! The cache in the host, from outside: what is the same as in the device, and what the link adds.

use coflash_sim::{Metrics, RunResult, Scenario, Silent, run};

type Settings<'a> = &'a [(&'a str, &'a str)];

/// Two dies, full and written over at random, with a cache that reads and writes hit at times.
fn scenario(settings: Settings<'_>) -> Scenario {
    let common = [
        ("flash.channels", "2"),
        ("flash.blocks_per_plane", "200"),
        ("flash.pages_per_block", "32"),
        ("timing.channel", "private"),
        ("ftl.spare", "{ share = \"15%\", definition = \"over_provisioning\" }"),
        ("cache.size", "10%"),
        ("cooperation", "cdm"),
        ("cooperation.removable_weight", "0.5"),
        ("precondition.random_passes", "1.0"),
        ("workload.synthetic.generator", "{ name = \"zipf\", exponent = 0.9 }"),
        ("workload.synthetic.size", "{ name = \"fixed\", size = \"4KiB\" }"),
        ("workload.synthetic.requests", "30_000"),
        ("workload.synthetic.read_share", "50%"),
        ("workload.synthetic.arrival", "{ name = \"poisson\", mean = \"700us\" }"),
    ];
    Scenario::default().set(&common).and_then(|scenario| scenario.set(settings)).expect("a scenario")
}

fn result(settings: Settings<'_>) -> RunResult {
    run(&scenario(settings), &mut Silent).expect("it runs")
}

const LINK: Settings<'_> = &[("link.per_command", "5us"), ("link.lanes", "4"), ("link.lane_rate", "985MB")];
const IN_HOST: (&str, &str) = ("cache.placement", "host");

/// With a link that costs what links cost.
fn linked(settings: Settings<'_>) -> Metrics {
    result(&[LINK, settings].concat()).metrics().clone()
}

#[test]
fn over_a_link_that_costs_nothing_the_place_does_not_matter() {
    for trigger in ["write", "operation"] {
        for mode in ["foreground", "background"] {
            let common = [("gc.trigger", trigger), ("gc.mode", mode)];
            let inside = result(&common);
            for protecting in ["request", "grants"] {
                let host = [
                    IN_HOST,
                    ("host.notices", "each"),
                    ("host.answer_time", "0ns"),
                    ("host.protecting", protecting),
                    ("host.grants", "100%"),
                ];
                let mut host = result(&[&common[..], &host].concat()).metrics().clone();
                assert!(host.gc_drops_pages > 500, "{} drops", host.gc_drops_pages);
                assert!(host.host.take().is_some());
                let mut inside = inside.metrics().clone();
                // Under grants the host hears of drops when the page that was in the way has left.
                let peak = |metrics: &mut Metrics| metrics.sole_copies.take().expect("a section").peak_pages;
                let (in_host, in_device) = (peak(&mut host), peak(&mut inside));
                assert!((in_device - 2..=in_device).contains(&in_host), "{in_host} and {in_device} at most");
                assert_eq!(host, inside, "{trigger}, {mode}, {protecting}");
            }
        }
    }
}

/// What is not told across the link is refused by its key.
#[test]
fn ages_and_bounds_stay_in_the_device() {
    for (key, value) in [("removable_weight", "by-age"), ("sole_copies_max", "25%")] {
        let key = format!("cooperation.{key}");
        let settings = [IN_HOST, ("cooperation.name", "cdm"), (key.as_str(), value)];
        let refused = run(&scenario(&settings), &mut Silent).err();
        let error = refused.expect("it is refused").to_string();
        assert!(error.contains(&key) && error.contains("in-storage"), "{error}");
    }
}

#[test]
fn without_a_cache_a_page_takes_as_long_from_either_side() {
    let none = [("cache.size", "0B"), ("cooperation", "none")];
    let inside = linked(&none);
    let mut host = linked(&[&none[..], &[IN_HOST]].concat());
    let link = host.host.take().expect("a section");
    assert_eq!(host, inside);
    assert_eq!((link.commands, link.messages, link.bytes, link.waited_ns), (30_000, 0, 0, 0));
}

#[test]
fn hits_do_not_cross_the_link() {
    let [inside, host] =
        [&[][..], &[IN_HOST]].map(|place| linked(&[&[("cooperation", "none")], place].concat()));
    let link = host.host.as_ref().expect("a section");
    assert_eq!(
        host.cache, inside.cache,
        "flash knows nothing of the cache, so the place changes nothing in it"
    );
    assert_eq!(host.programs_pages, inside.programs_pages);
    assert_eq!(link.commands, host.cache.read_misses + host.cache.dirty_evictions_pages);
    // A hit takes the cache's own microsecond, not the link's six.
    let median = |metrics: &Metrics| metrics.response_ns.read.p50.expect("there were reads");
    assert!(median(&host) <= 1024 && median(&inside) > 6000, "{} and {}", median(&host), median(&inside));
}

#[test]
fn three_ways_of_sending_and_two_of_protecting() {
    let mut messages = Vec::new();
    for protecting in ["request", "grants"] {
        for notices in ["each", "batched", "piggybacked"] {
            let metrics = linked(&[
                IN_HOST,
                ("host.notices", notices),
                ("host.batch_wait", "20ms"),
                ("host.protecting", protecting),
            ]);
            let link = metrics.host.as_ref().expect("a section");
            let what = format!("{notices}, {protecting}: {link:?}");
            let to_device = &link.to_device;
            match notices {
                "each" => assert_eq!(to_device.messages, to_device.sent, "{what}"),
                "batched" => assert!(to_device.messages * 4 < to_device.sent, "{what}"),
                _ => assert_eq!((to_device.messages, to_device.rides > 0), (0, true), "{what}"),
            }
            assert!(to_device.posted >= to_device.withdrawn + to_device.sent, "{what}");
            assert_eq!(to_device.bytes, 8 * to_device.sent, "{what}");
            let kinds = &link.notices;
            let arrived = kinds.cached + kinds.dirtied + kinds.evicted + kinds.weights;
            assert!(arrived <= to_device.sent && arrived + 64 > to_device.sent, "{what}");
            assert!(metrics.gc_drops_pages > 300, "{} drops, {what}", metrics.gc_drops_pages);
            match protecting {
                "request" => {
                    assert_eq!(
                        link.protect.pages - link.protect.refused_pages,
                        metrics.gc_drops_pages,
                        "{what}"
                    );
                    assert_eq!((link.grants_pages, link.revoke.pages), (0, 0), "{what}");
                    assert!(link.protect.time_ns > 15_000 * link.protect.messages / 2, "{what}");
                }
                _ => {
                    assert_eq!(link.grants_used_pages, metrics.gc_drops_pages, "{what}");
                    assert_eq!(link.protect.pages, 0, "{what}");
                }
            }
            messages.push(link.messages);
        }
    }
    for ways in messages.chunks(3) {
        assert!(ways.windows(2).all(|pair| pair[0] > pair[1]), "each, batched, piggybacked: {ways:?}");
    }
}

#[test]
fn a_run_repeats_and_the_seed_decides_on_jitter() {
    let jittered = |seed| {
        let settings = [
            IN_HOST,
            ("host.notices", "batched"),
            ("host.jitter", "200us"),
            ("workload.synthetic.requests", "5_000"),
        ];
        let mut scenario = scenario(&[LINK, &settings].concat());
        scenario.seed = seed;
        run(&scenario, &mut Silent).expect("it runs").metrics().clone()
    };
    assert_eq!(jittered(1), jittered(1));
    assert_ne!(jittered(1).host.map(|link| link.time_ns), jittered(2).host.map(|link| link.time_ns));
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let refused = run(&scenario(&[IN_HOST, ("cooperation", "cdm-consistent")]), &mut Silent).err();
    let consistent = refused.expect("it is refused").to_string();
    assert!(consistent.starts_with("cache.placement: \"host\" was given with"), "{consistent}");
    assert!(consistent.contains("\"none\" and \"cdm\" are allowed"), "{consistent}");
    let grants = Scenario::default().set(&[("host.grants", "101%")]).expect_err("it is refused").to_string();
    assert!(grants.starts_with("host.grants: 101% was given"), "{grants}");
}
