//! Placement hints from the workload to the reclaim units of flash.

use crate::{Settings, measured, refused};
use coflash_sim::Scenario;
use coflash_sim::scenario::Requests;
use coflash_workload::Part;
use serde_json::{Value, json};

/// A small device of superblocks with four handles and two tenants side by side. Writes without a hint go to
/// the first handle.
const TWO_TENANTS: &str = r#"
    flash = { channels = 2, chips_per_channel = 1, blocks_per_plane = 64, pages_per_block = 16 }
    timing.channel = "private"
    ftl.pools = "device"
    ftl.spare.share = "30%"
    ftl.placement = { name = "fdp", handles = 4, isolation = "persistently", shares = ["100%"] }
    gc.low_mark = 5
    precondition.fill = "none"

    [[workload.tenants]]
    placement = 1
    synthetic = { generator = "uniform", requests = 4000, read_share = "20%" }

    [[workload.tenants]]
    placement = 3
    synthetic = { generator = "zipf", requests = 4000 }
"#;

fn scenario(settings: Settings<'_>) -> Scenario {
    Scenario::from_toml(TWO_TENANTS).and_then(|scenario| scenario.set(settings)).expect("a scenario")
}

/// The reason for which a scenario is refused, when it is read or when it is run.
fn refusal(settings: Settings<'_>) -> String {
    let read = Scenario::from_toml(TWO_TENANTS).and_then(|scenario| scenario.set(settings));
    read.map_or_else(|error| error.to_string(), |scenario| refused(&scenario))
}

/// The scenario with another placement policy, whatever its hints are.
fn placed(policy: Value) -> Scenario {
    let mut scenario = scenario(&[]);
    scenario.ftl.placement = coflash_base::read::read(&policy).expect("a policy");
    scenario
}

/// The metrics of a run. Checks the bytes by class against the programs by cause.
fn tenants_of(scenario: &mut Scenario) -> &mut [Part] {
    match &mut scenario.workload.requests {
        Requests::Tenants(tenants) => tenants,
        other => panic!("the workload is {other:?}"),
    }
}

fn checked(scenario: &Scenario) -> Value {
    let metrics = serde_json::to_value(measured(scenario)).expect("plain data");
    let sum = |key: &str| -> u64 { rows(&metrics, key).into_iter().sum() };
    let programs = |cause: &str| metrics["programs_pages"][cause].as_u64().expect("a count");
    let page = scenario.flash.page_size.count;
    assert_eq!(sum("host_bytes"), page * (programs("host") + programs("evict")), "host bytes add up");
    assert_eq!(sum("media_bytes"), sum("host_bytes") + page * programs("gc"), "media bytes add up");
    let erased = metrics["erases_blocks"].as_u64().expect("a count");
    let block = page * u64::from(scenario.flash.pages_per_block);
    assert_eq!(sum("erased_bytes"), erased * block, "erased bytes add up");
    metrics
}

fn rows(metrics: &Value, key: &str) -> Vec<u64> {
    let classes = metrics["placement"].as_array().expect("classes");
    classes.iter().map(|class| class[key].as_u64().expect(key)).collect()
}

/// The handles with writes, and the handles with copies by GC.
fn used(metrics: &Value) -> [Vec<usize>; 2] {
    ["user_pages", "copied_pages"].map(|key| {
        let rows = rows(metrics, key);
        (0..rows.len()).filter(|&class| rows[class] > 0).collect()
    })
}

#[test]
fn hints_reach_flash_through_every_cache() {
    let cache = ("cache.size", "10%");
    let stacks: [Settings<'_>; 7] = [
        &[],
        &[cache, ("cooperation", "none")],
        &[cache, ("cooperation", "none"), ("cache.volatile", "true")],
        &[cache, ("cooperation", "none"), ("cache.placement", "host")],
        &[cache, ("cooperation", "cdm-consistent"), ("cache.read_allocate", "false")],
        &[("host_buffer.size", "64KiB")],
        &[
            ("controller.write_buffer", "64KiB"),
            ("ftl.reclaim_unit", "256KiB"),
            ("flash.blocks_per_plane", "128"),
        ],
    ];
    for settings in stacks {
        // Copies of handle 1 go to class 4 + 1.
        let found = used(&checked(&scenario(settings)));
        assert_eq!(found, [vec![1, 3], vec![5, 7]], "{settings:?}");
    }
}

#[test]
fn without_hints_addresses_say_the_handle() {
    let tenants = |hints: [Value; 2]| {
        let mut scenario = placed(json!({ "name": "fdp", "handles": 2, "isolation": "persistently" }));
        // Tenants begin at multiples of 64 KiB: so does half of this.
        scenario.flash.exported = Some(coflash_base::Bytes { count: 6 << 20 });
        for (tenant, hint) in tenants_of(&mut scenario).iter_mut().zip(hints) {
            tenant.placement = serde_json::from_value(hint).expect("a hint");
        }
        checked(&scenario)
    };
    // Each tenant has half of the addresses: the two rules agree.
    let (by_address, by_hint) = (tenants([json!(null), json!(null)]), tenants([json!(0), json!(1)]));
    assert_eq!(by_address, by_hint);
    let crossed = tenants([json!(1), json!(0)]);
    let swapped: Vec<u64> = [1, 0, 3, 2].map(|class| rows(&by_hint, "media_bytes")[class]).to_vec();
    assert_eq!(rows(&crossed, "media_bytes"), swapped);
}

#[test]
fn initially_isolated_handles_share_the_units_of_copies() {
    let initially = placed(json!({ "name": "fdp", "handles": 4 }));
    assert_eq!(used(&checked(&initially)), [vec![1, 3], vec![4]]);
}

#[test]
fn other_policies_ignore_hints() {
    let hinted = scenario(&[("ftl.placement", "sepbit"), ("gc.low_mark", "6")]);
    let mut plain = hinted.clone();
    tenants_of(&mut plain).iter_mut().for_each(|tenant| tenant.placement = None);
    assert_eq!(measured(&hinted), measured(&plain));
}

#[test]
fn a_handle_that_the_scenario_has_not_is_refused() {
    let expected = "workload: placement 3 was given; ftl.placement has the handles 0 to 2";
    assert_eq!(refusal(&[("ftl.placement", r#"{ name = "fdp", handles = 3 }"#)]), expected);
    // In a trace it is known when its turn comes.
    let file = std::env::temp_dir().join(format!("coflash-hints-{}.csv", std::process::id()));
    let run = |hint: &str| {
        std::fs::write(&file, format!("0,4096,-\n4096,4096,2\n8192,4096,{hint}\n")).expect("a file");
        let mut traced = placed(json!({ "name": "fdp", "handles": 3, "shares": ["100%"] }));
        let columns = json!({ "trace_options": { "columns": "op=write,offset:bytes,size:bytes,placement" } });
        traced.workload = coflash_base::read::read(&columns).expect("a workload");
        traced.workload.requests = Requests::Trace(vec![file.display().to_string()]);
        traced
    };
    assert_eq!(rows(&checked(&run("2")), "user_pages"), [1, 0, 2, 0]);
    assert_eq!(refused(&run("3")), expected);
    std::fs::remove_file(&file).expect("it was written");
}

#[test]
fn a_reclaim_unit_is_whole_superblocks() {
    let unit = |size| ("ftl.reclaim_unit", size);
    assert_eq!(
        refusal(&[unit("192KiB")]),
        "ftl.reclaim_unit: 192KiB was given; whole superblocks of 128KiB are allowed"
    );
    let no_divisor = refusal(&[unit("384KiB")]);
    assert!(no_divisor.contains("3 superblocks of 128KiB: the 64 of the device"), "{no_divisor}");
    let planes = refusal(&[unit("128KiB"), ("ftl.pools", "plane")]);
    assert!(planes.contains("with ftl.pools = \"device\" only"), "{planes}");
}

/// Units of four blocks, and blocks that are four times as large: the firmware does the same.
#[test]
fn units_of_several_superblocks_are_as_larger_blocks() {
    let larger = [("flash.blocks_per_plane", "64"), ("flash.pages_per_block", "64")];
    let smaller = [("flash.blocks_per_plane", "256"), ("ftl.reclaim_unit", "512KiB")];
    let [one, other] = [larger, smaller].map(|settings| {
        let mut scenario = scenario(&settings);
        scenario.timing.block_erase = coflash_base::Duration::ZERO;
        tenants_of(&mut scenario).iter_mut().for_each(|tenant| {
            tenant.synthetic.as_mut().expect("it is synthetic").requests = 20_000;
        });
        checked(&scenario)
    });
    for key in ["placement", "programs_pages", "gc_copies_pages", "response_ns", "host_writes_pages"] {
        assert_eq!(one[key], other[key], "{key}");
    }
    let erases = |metrics: &Value| metrics["erases_blocks"].as_u64().expect("a count");
    assert!(erases(&one) > 0);
    assert_eq!(4 * erases(&one), erases(&other));
}
