//! The cache in the host, from outside: results that equal those in the device, and the cost of the link.

use crate::{Settings, measured, refused, without};
use coflash_sim::{Metrics, Scenario};

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

const LINK: Settings<'_> = &[("link.per_command", "5us"), ("link.lanes", "4"), ("link.lane_rate", "985MB")];
const IN_HOST: (&str, &str) = ("cache.placement", "host");

/// With a link of realistic costs.
fn linked(settings: Settings<'_>) -> Metrics {
    measured(&scenario(&[LINK, settings].concat()))
}

#[test]
fn over_a_link_that_costs_nothing_the_place_does_not_matter() {
    for trigger in ["write", "operation"] {
        for mode in ["foreground", "background"] {
            let common = [("gc.trigger", trigger), ("gc.mode", mode)];
            let inside = measured(&scenario(&common));
            for protecting in
                ["{ name = 'request', answer_time = '0ns' }", "{ name = 'grants', share = '100%' }"]
            {
                let host = [IN_HOST, ("host.notices", "each"), ("host.protecting", protecting)];
                let host = measured(&scenario(&[&common[..], &host].concat()));
                let drops = host.count("gc_drops_pages");
                assert!(drops > 500, "{drops} drops");
                assert!(host.value("host.messages").is_some());
                // Under grants the host hears of drops when the page that was in the way has left.
                let [in_host, in_device] = [&host, &inside].map(|of| of.count("sole_copies.peak_pages"));
                assert!((in_device - 2..=in_device).contains(&in_host), "{in_host} and {in_device} at most");
                let rest = |metrics| without(&["host", "sole_copies", "metadata"], metrics);
                assert_eq!(rest(&host), rest(&inside), "{trigger}, {mode}, {protecting}");
            }
        }
    }
}

/// Settings that need an answer faster than the link are refused by their keys.
#[test]
fn ages_stay_in_the_device_and_bounds_need_requests() {
    let by_age = [IN_HOST, ("cooperation", "cdm"), ("cooperation.removable_weight", "by-age")];
    let bound = [
        IN_HOST,
        ("cooperation", "cdm"),
        ("cooperation.sole_copies_max", "25%"),
        ("host.protecting", "grants"),
    ];
    for (settings, key) in [(&by_age[..], "removable_weight"), (&bound, "sole_copies_max")] {
        let error = refused(&scenario(settings));
        assert!(error.starts_with(&format!("cooperation.{key}: ")), "{error}");
    }
}

/// Commits, checkpoints and drops are the same; only the traffic of the link is counted in addition.
#[test]
fn over_a_link_that_costs_nothing_consistency_takes_the_same_in_the_host() {
    for mode in ["foreground", "background"] {
        let common = [
            ("cooperation", "cdm-consistent"),
            ("cooperation.commit_interval", "500ms"),
            ("gc.trigger", "operation"),
            ("gc.mode", mode),
        ];
        let inside = measured(&scenario(&common));
        let free = [IN_HOST, ("host.notices", "each"), ("host.protecting.answer_time", "0ns")];
        let host = measured(&scenario(&[&common[..], &free].concat()));
        let [drops, commits] = ["gc_drops_pages", "consistency.commits"].map(|path| host.count(path));
        assert!(drops > 100 && commits > 30, "{drops} drops, {commits} commits");
        assert!(host.count("host.notices.dirtied") > commits && host.count("host.protect.pages") >= drops);
        // A fence for each message, where inside one is for all pages of a request.
        assert_eq!(without(&["host", "metadata"], &host), without(&["metadata"], &inside), "{mode}");
    }
}

#[test]
fn without_a_cache_a_page_takes_as_long_from_either_side() {
    let none = [("cache.size", "0B"), ("cooperation", "none")];
    let inside = linked(&none);
    let host = linked(&[&none[..], &[IN_HOST]].concat());
    assert_eq!(without(&["host", "metadata"], &host), without(&["metadata"], &inside));
    let link = ["commands", "messages", "bytes", "waited_ns"].map(|name| host.count(&format!("host.{name}")));
    assert_eq!(link, [30_000, 0, 0, 0]);
}

#[test]
fn hits_do_not_cross_the_link() {
    let [inside, host] =
        [&[][..], &[IN_HOST]].map(|place| linked(&[&[("cooperation", "none")], place].concat()));
    let [in_host, in_device] = [&host, &inside].map(|metrics| without(&[], metrics));
    assert_eq!(
        in_host["cache"], in_device["cache"],
        "flash knows nothing of the cache, so the place changes nothing in it"
    );
    assert_eq!(in_host["programs_pages"], in_device["programs_pages"]);
    let crossed = host.count("cache.read_misses") + host.count("cache.dirty_evictions_pages");
    assert_eq!(host.count("host.commands"), crossed);
    // A hit takes the cache's own microsecond, not the link's six.
    let [host, inside] = [&host, &inside].map(|metrics| metrics.count("response_ns.read.p50"));
    assert!(host <= 1024 && inside > 6000, "{host} and {inside}");
}

#[test]
fn three_ways_of_sending_and_two_of_protecting() {
    let mut messages = Vec::new();
    for protecting in ["request", "grants"] {
        for notices in ["each", "batched", "piggybacked"] {
            let metrics = linked(&[
                IN_HOST,
                (
                    "host.notices",
                    if notices == "batched" { "{ name = 'batched', wait = '20ms' }" } else { notices },
                ),
                ("host.protecting", protecting),
            ]);
            let what = format!("{notices}, {protecting}: {:?}", without(&[], &metrics)["host"]);
            let of = |name: &str| metrics.count(&format!("host.{name}"));
            let to_device = |name: &str| of(&format!("to_device.{name}"));
            match notices {
                "each" => assert_eq!(to_device("messages"), to_device("sent"), "{what}"),
                "batched" => assert!(to_device("messages") * 4 < to_device("sent"), "{what}"),
                _ => assert_eq!(
                    (to_device("messages"), to_device("carrying_commands") > 0),
                    (0, true),
                    "{what}"
                ),
            }
            assert!(to_device("posted") >= to_device("withdrawn") + to_device("sent"), "{what}");
            assert_eq!(to_device("bytes"), 8 * to_device("sent"), "{what}");
            let kinds = ["cached", "dirtied", "evicted", "weights"];
            let arrived: u64 = kinds.iter().map(|kind| of(&format!("notices.{kind}"))).sum();
            assert!((arrived..arrived + 64).contains(&to_device("sent")), "{what}");
            let drops = metrics.count("gc_drops_pages");
            assert!(drops > 300, "{drops} drops, {what}");
            if protecting == "request" {
                assert_eq!(of("protect.pages") - of("protect.refused_pages"), drops, "{what}");
                assert_eq!((of("grants_pages"), of("revoke.pages")), (0, 0), "{what}");
                assert!(of("protect.time_ns") > 15_000 * of("protect.messages") / 2, "{what}");
            } else {
                assert_eq!((of("grants_used_pages"), of("protect.pages")), (drops, 0), "{what}");
            }
            messages.push(of("messages"));
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
        measured(&scenario)
    };
    assert_eq!(jittered(1), jittered(1));
    let [one, other] = [1, 2].map(|seed| jittered(seed).count("host.time_ns"));
    assert_ne!(one, other);
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let volatile = [IN_HOST, ("cooperation", "cdm-consistent"), ("cache.volatile", "true")];
    assert!(refused(&scenario(&volatile)).starts_with("cache.volatile: true was given"));
}

/// A write buffer of the file system above a cache of the host: requests that miss both cross the link.
#[test]
fn a_write_buffer_above_a_cache_keeps_count_of_all_pages() {
    for cooperation in ["none", "cdm"] {
        let settings = [IN_HOST, ("cooperation", cooperation), ("host_buffer.size", "2%")];
        let metrics = linked(&settings);
        let of = |path: &str| metrics.count(path);
        let kept = |path: &str| {
            let names = ["absorbed_pages", "dropped_pages", "dirty_pages"];
            names.map(|name| of(&format!("{path}.{name}"))).iter().sum::<u64>()
        };
        let found = |path: &str, kind: &str| {
            [of(&format!("{path}.{kind}_hits")), of(&format!("{path}.{kind}_misses"))]
        };
        let ([buffer_hits, buffer_misses], cache_reads) =
            (found("host_buffer", "read"), found("cache", "read"));
        assert_eq!(buffer_hits + buffer_misses, of("host_reads_pages"));
        assert_eq!(cache_reads.iter().sum::<u64>(), buffer_misses);
        assert_eq!(kept("host_buffer") + of("host_buffer.written_pages"), of("host_writes_pages"));
        assert_eq!(found("cache", "write").iter().sum::<u64>(), of("host_buffer.written_pages"));
        // A page that GC has dropped is dirty though it was not written to.
        let dirtied = of("host_buffer.written_pages") + of("gc_drops_pages");
        assert_eq!(kept("cache") + of("cache.written_pages"), dirtied);
        assert_eq!(of("programs_pages.evict"), of("cache.written_pages"));
        assert_eq!(of("host.commands"), of("cache.read_misses") + of("cache.written_pages"));
        assert!(buffer_hits > 1000 && cache_reads[0] > 1000, "{metrics:?}");
        assert_eq!(of("gc_drops_pages") > 300, cooperation == "cdm", "{metrics:?}");
        assert_eq!(of("requests"), 30_000);
    }
}

/// 64 writes leave the host's buffer through the device's cache, which fences; 1000 more find their page in the buffer.
#[test]
fn a_write_that_the_hosts_buffer_absorbs_waits_for_no_fence_of_the_device() {
    let writes = |requests| {
        format!(
            "{{ generator = \"sequential\", requests = {requests}, read_share = \"0%\", \
             arrival = {{ name = \"fixed\", interval = \"1ms\" }} }}"
        )
    };
    let phases =
        format!("[{{ synthetic = {} }}, {{ space = \"4KiB\", synthetic = {} }}]", writes(64), writes(1000));
    let settings = [
        ("host_buffer.size", "32KiB"),
        ("cache.size", "64KiB"),
        ("cache.fence", "10us"),
        ("cooperation", "cdm"),
        ("replay.mode", "open"),
        ("workload.phases", &phases),
    ];
    let metrics = measured(&Scenario::default().set(&settings).expect("a scenario"));
    assert!(metrics.count("metadata.fences") >= 56, "each write that leaves the buffer is fenced");
    assert_eq!(metrics.count("response_ns.write.p50"), 20);
}
