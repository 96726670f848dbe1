//! Keys that act only under a condition: without it they change nothing and are told, with it they change a result and
//! are not.

use crate::Settings;
use coflash_sim::scenario::{BuiltIn, conditional_keys};
use coflash_sim::{BUILT_IN, NoObserver, Scenario, run};
use serde_json::Value;

const FLASH: &str = r#"
    flash = { channels = 2, chips_per_channel = 2, blocks_per_plane = 64, pages_per_block = 32 }
    ftl.spare.share = "35%"
    gc.low_mark = 6
    [workload.synthetic]
    requests = 6000
    generator = "zipf"
    read_share = "40%"
    trim_share = "2%"
    flush_share = "0.2%"
"#;

const POISSON: (&str, &str) = ("workload.synthetic.arrival", r#"{ name = "poisson", mean = "2ms" }"#);
const CACHE: (&str, &str) = ("cache.size", "1MiB");
const BUFFER: (&str, &str) = ("host_buffer.size", "1MiB");
const HOST: Settings<'_> = &[CACHE, ("cache.placement", "host"), ("cooperation", "cdm")];
const SLC: Settings<'_> = &[("ftl.slc_cache.blocks", "8"), ("flash.cell", "tlc")];
const DISKS: Settings<'_> = &[
    ("precondition.fill", "none"),
    ("workload.synthetic.space", "64MiB"),
    ("hybrid.segment", "1MiB"),
    ("hybrid.period_requests", "500"),
    ("hybrid.disks.model", r#"{ name = "constant", capacity = "128MiB" }"#),
];

/// A key, another value of it, settings without its condition, and settings with it.
type Row<'a> = (&'a str, &'a str, Settings<'a>, Settings<'a>);

const ON_FLASH: &[Row<'_>] = &[
    ("replay.time_scale", "2.0", &[], &[POISSON]),
    ("replay.queue_depth", "4", &[POISSON], &[]),
    (
        "restart.shutdown",
        "orderly",
        &[],
        &[CACHE, ("cache.volatile", "true"), ("restart.at", r#"["100ms"]"#)],
    ),
    ("timing.planes", "parallel", &[], &[("flash.planes_per_die", "2")]),
    (
        "timing.pages_per_type",
        "2",
        &[],
        &[("flash.cell", "mlc"), ("timing.page_reads", r#"["25us", "50us"]"#)],
    ),
    ("timing.slc_page_read", "10us", &[], SLC),
    ("timing.slc_page_program", "100us", &[], SLC),
    ("ftl.slc_cache.while_free", "30%", &[], SLC),
    ("ftl.refresh.power_off", "50ms", &[], &[("ftl.refresh.retention", "300ms")]),
    ("cooperation", "cdm", &[], &[CACHE]),
    ("cache.policy", "fifo", &[], &[CACHE]),
    ("cache.page_read", "2us", &[], &[CACHE]),
    ("cache.page_write", "2us", &[], &[CACHE]),
    ("cache.read_allocate", "false", &[], &[CACHE]),
    ("cache.write_allocate", "false", &[], &[CACHE]),
    ("cache.eviction", "background", &[], &[CACHE]),
    ("cache.volatile", "true", DISKS, &[CACHE]),
    ("cache.fence", "1us", DISKS, &[CACHE]),
    ("host_buffer.policy", "fifo", &[], &[BUFFER]),
    ("host_buffer.page_read", "1us", &[], &[BUFFER]),
    ("host_buffer.page_write", "1us", &[], &[BUFFER]),
    ("host_buffer.read_allocate", "true", &[], &[BUFFER]),
    ("host_buffer.dirty_age_max", "10ms", &[], &[BUFFER]),
    ("host_buffer.dirty_share_max", "50%", &[], &[BUFFER]),
    ("host.notice_size", "16B", &[], &[BUFFER]),
    ("host.protecting", "grants", &[BUFFER], HOST),
    ("controller.cores", "1", &[], &[("controller.read_command", "50us")]),
    ("link.lanes", "2", &[], &[("link.lane_rate", "100MB")]),
    ("link.coding", "80%", &[], &[("link.lane_rate", "100MB")]),
];

const ON_DISKS: &[Row<'_>] = &[
    ("hybrid.disks.placement", "striped", &[], &[("hybrid.disks.count", "2")]),
    (
        "hybrid.sequential_streams",
        "1",
        &[("hybrid.sequential_unit", "0B")],
        &[("workload.synthetic.generator", "runs"), ("hybrid.sequential_unit", "8KiB")],
    ),
    ("hybrid.destaging", "background", &[("hybrid.write_policy", "write-through")], &[]),
];

/// Whether two results differ in a number that both have: a scheme adds counters of its own.
fn differ(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().any(|(key, value)| other.get(key).is_some_and(|other| differ(value, other)))
        }
        _ => one != other,
    }
}

/// The metrics of a scenario, and the keys of it that are told to have no effect.
fn metrics(scenario: &Scenario) -> (Value, Vec<String>) {
    let result = run(scenario, &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
    let idle = result.notes.iter().filter(|note| note.contains(" no effect without ")).cloned().collect();
    (serde_json::to_value(&result.metrics).expect("metrics are plain data"), idle)
}

#[test]
fn keys_change_nothing_without_their_condition_and_something_with_it() {
    let mut told = Vec::new();
    let mut wrong = Vec::new();
    let rows = ON_FLASH.iter().map(|row| (&[][..], row)).chain(ON_DISKS.iter().map(|row| (DISKS, row)));
    for (below, (key, value, without, with)) in rows {
        for (settings, acts) in [(without, false), (with, true)] {
            let base = Scenario::from_toml(FLASH).and_then(|base| base.set(&[below, settings].concat()));
            let base = base.unwrap_or_else(|error| panic!("{key}: {error}"));
            let changed = base.set(&[(key, value)]).unwrap_or_else(|error| panic!("{key}: {error}"));
            let ((before, _), (after, idle)) = (metrics(&base), metrics(&changed));
            let is_told =
                idle.iter().filter_map(|note| note.split(" no effect").next()).any(|keys| keys.contains(key));
            if differ(&before, &after) != acts || is_told == acts {
                wrong.push(format!(
                    "{key} {settings:?}: acts {acts}, differs {}, {idle:?}",
                    differ(&before, &after)
                ));
            }
            told.extend(idle);
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
    let is_told =
        |(key, needs): &(&str, String)| told.iter().any(|note| note.contains(key) && note.ends_with(needs));
    let untested: Vec<_> =
        conditional_keys().filter(|row| !is_told(row) && row.0 != "workload.trace_options").collect();
    assert_eq!(untested, []);
}

/// A loop that is closed or not known yet needs a file, as do options of a trace.
#[test]
fn keys_of_a_trace_act_as_it_is_replayed() {
    let file = std::env::temp_dir().join(format!("coflash-effect-{}.csv", std::process::id()));
    let lines = |at: u64| format!("{},W,{},4096\n", if at == 50 { 4_700 } else { 100 * at }, at * 7 % 200);
    std::fs::write(&file, (0..1000).map(lines).collect::<String>()).expect("temporary files can be written");
    let (flash, _) = FLASH.split_once("[workload").expect("it comes last");
    let options = r#"{ format = "columns", columns = "time:us,op,offset:pages,size:bytes" }"#;
    let traced = |settings: Settings<'_>| {
        let scenario = format!("{flash}workload.trace = [{file:?}]\nworkload.trace_options = {options}");
        let scenario = Scenario::from_toml(&scenario).and_then(|trace| trace.set(settings));
        let result =
            run(&scenario.expect("it is valid"), &mut NoObserver).unwrap_or_else(|error| panic!("{error}"));
        let json: Value = serde_json::from_str(&result.to_json()).expect("a result is JSON");
        let idle = result.notes.iter().filter(|note| note.contains(" no effect without ")).cloned();
        (result.metrics, idle.collect::<Vec<_>>(), json["workload"]["replay"].clone())
    };
    let closed = ("replay.mode", "closed");
    let sorted = ("workload.trace_options.sort_window", "1ms");
    for (loop_, setting, acts) in [
        (None, ("replay.time_scale", "0.5"), true),
        (None, ("replay.queue_depth", "4"), false),
        (None, sorted, true),
        (Some(closed), ("replay.time_scale", "0.5"), false),
        (Some(closed), ("replay.queue_depth", "4"), true),
    ] {
        let base: Vec<_> = loop_.into_iter().collect();
        let (before, after) = (traced(&base), traced(&[base.as_slice(), &[setting]].concat()));
        assert_eq!(before.0 != after.0, acts, "{loop_:?} {setting:?}");
        assert_eq!(after.1.is_empty(), acts, "{loop_:?} {setting:?}: {:?}", after.1);
    }
    assert_eq!(traced(&[("replay.time_scale", "0.5")]).2, "open loop: at the times of the trace × 0.5");
    assert_eq!(traced(&[closed]).2, "closed loop, 32 outstanding: the times of the trace are ignored");
    std::fs::remove_file(&file).expect("it was written");
    let without = Scenario::from_toml(flash).and_then(|bare| bare.set(&[sorted])).expect("it is valid");
    let needs =
        "workload.trace_options.sort_window has no effect without a trace (workload.trace, workload.like)";
    assert_eq!(without.without_effect(), [needs]);
}

#[test]
fn built_in_scenarios_set_no_key_in_vain() {
    for BuiltIn { name, .. } in BUILT_IN {
        let scenario = Scenario::built_in(name).expect("there is one");
        assert_eq!(scenario.without_effect(), [] as [&str; 0], "{name}");
    }
}
