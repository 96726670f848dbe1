//! Reading, setting and writing scenarios.

use coflash_base::{Bytes, Share};
use coflash_hybrid::HybridConfig;
use coflash_scenario::{
    BUILT_IN, BuiltIn, PreconditionConfig, Scenario, ScenarioError, conditional_keys, settings,
};
use coflash_workload::recorded::TraceOptions;

#[test]
fn every_built_in_scenario_is_sound_and_carries_its_name() {
    for BuiltIn { name, .. } in BUILT_IN {
        let scenario = Scenario::built_in(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        // A drive has the name that its maker writes.
        let letters = scenario.name.to_lowercase().replace([' ', '(', ')'], "-").replace("--", "-");
        assert_eq!(letters.trim_end_matches('-'), *name);
        assert!(!scenario.description.is_empty());
    }
}

fn error(text: &str) -> String {
    Scenario::from_toml(text).unwrap_err().to_string()
}

#[test]
fn an_error_names_the_whole_key_and_the_nearest_match() {
    let cases = [
        ("[cache]\nsizee = \"1GiB\"", "cache.sizee: no such key; did you mean \"size\"?"),
        (
            "name = \"x\"\n[gc]\nvictim = { name = external }",
            "line 3: string values must be quoted, expected literal string; external was given: write \"external\"",
        ),
        ("[gc]\nvictim = \"gredy\"", "gc.victim: \"gredy\" is not known; did you mean \"greedy\"?"),
        (
            "[gc]\nvictim = \"mine:Clean\"",
            "gc.victim: \"mine:Clean\" is not known; did you mean { name = \"external\", code = \"mine:Clean\" }?",
        ),
        (
            "[gc]\nvictim = \"{ code = 'mine:Clean' }\"",
            "gc.victim: \"{ code = 'mine:Clean' }\" is not known (allowed: ",
        ),
        ("[timing]\nchannel = \"a:b\"", "timing.channel: \"a:b\" is not known (allowed: private, shared)"),
        (
            "[ftl.spare]\nshare = \"120%\"\ndefinition = \"spare_of_physical\"",
            "ftl.spare.share: 120% leaves no page to the host; less is allowed (spare_of_physical: below 100%)",
        ),
        (
            "[flash]\nexported = \"1GiB\"\n[ftl.spare]\nshare = \"100%\"\ndefinition = \"spare_of_physical\"",
            "ftl.spare.share: 100% leaves no page to the host",
        ),
        ("[ftl.spare]\nshare = \"0%\"", "ftl.spare.share: 0% leaves GC no space to work in: more than 0%"),
        (
            "[gc.victim]\nname = \"d-choices\"\nd = 0",
            "gc.victim.d: 0 was given; a whole number from 1 to 65535",
        ),
        ("[gc.victim]\nname = \"greedy\"\nties = 1", "gc.victim.ties: no such key; did you mean \"tie\"?"),
        (
            "cooperation = \"op-fcl\"",
            "cooperation: \"op-fcl\" is not known: it is one of hybrid.scheme (allowed: none, cdm",
        ),
        (
            "[hybrid]\nscheme = \"sgc\"",
            "hybrid.scheme: \"sgc\" is not known: it is one of cooperation (allowed: op-fcl",
        ),
        ("[timing]\npage_read = \"25\"", "timing.page_read: \"25\" is not a duration"),
        ("[timing]\npage_read = 25", "timing.page_read: 25 was given: its unit is missing; a duration"),
        ("[timing]\nchannel = \"shard\"", "timing.channel: \"shard\" is not known; did you mean \"shared\"?"),
        ("[flash]\nchannels = -1", "flash.channels: -1 was given: it is negative; a whole number from 0"),
        (
            "[timing]\nchannel = 2026-01-01",
            "timing.channel: a date was given; one of private, shared is allowed",
        ),
        ("[timing]\nchannel = {}", "timing.channel: a table was given; one of"),
        ("[timing]\nchannel = 3", "timing.channel: 3 was given; one of"),
        ("flash = [1, 2]", "flash: a list was given; a table of channels, "),
        (
            "[cooperation]\nname = \"expected-cost\"\nread_weight = inf",
            "cooperation.read_weight: inf was given; a finite number is allowed",
        ),
        (
            "[precondition]\nrandom_passes = nan",
            "precondition.random_passes: NaN was given; a finite number is allowed",
        ),
        ("[flash]\nchannels = 0", "flash.channels: 0 is too few"),
        ("[cooperation]\nremovable_weight = 1", "cooperation.name: it must be given"),
        ("[cooperation]\nname = \"cdm\"\nremovable_weight = 2", "cooperation.removable_weight: "),
        ("[ftl]\nshared_streams = [[\"hots\"]]", "ftl.shared_streams.0.0: \"hots\" is not known"),
        ("seed = 1\nseed = 2", "line 2: "),
        ("a = ", "line 1: "),
    ];
    for (text, expected) in cases {
        let given = error(text);
        assert!(given.starts_with(expected), "{text}\n gives {given}\n  not {expected}");
    }
}

#[test]
fn what_is_written_reads_back() {
    let scenario = Scenario::default();
    assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
}

#[test]
fn only_keys_that_differ_from_their_defaults_are_in_the_hash() {
    let scenario = |changes: &[(&str, &str)]| Scenario::default().set(changes).unwrap();
    let default = Scenario::default().hash();
    assert_eq!(scenario(&[("gc.victim", "greedy"), ("timing.page_read", "25us")]).hash(), default);
    assert_eq!(scenario(&[("name", "x"), ("description", "y"), ("limits", "[\"z\"]")]).hash(), default);
    assert_eq!(scenario(&[("measured.reads_per_s", "1"), ("measured.used", "50%")]).hash(), default);
    for (key, value) in [
        ("cache.size", "1MiB"),
        ("workload.remap", "dense"),
        ("host.jitter", "1us"),
        ("workload.repeat", "2"),
    ] {
        assert_ne!(scenario(&[(key, value)]).hash(), default, "{key}");
    }
    let hybrid = |text| {
        Scenario::from_toml(&format!("[precondition]\nfill = \"none\"\n[hybrid]\n{text}")).unwrap().hash()
    };
    assert_ne!(hybrid(""), default, "disks are there, with every key at its default");
    assert_eq!(hybrid("write_policy = \"write-back\""), hybrid(""));
    assert_ne!(hybrid("write_policy = \"write-through\""), hybrid(""));
}

#[test]
fn a_part_in_a_list_has_only_the_given_keys() {
    let scenario = Scenario::from_toml("[[workload.phases]]\nsynthetic = {}").unwrap();
    let phases = &scenario.to_json()["workload"]["phases"];
    let keys: Vec<_> = phases[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["synthetic"]);
    assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
}

#[test]
fn one_workload_makes_the_requests() {
    let workloads = [
        ("trace", "trace = ['t']"),
        ("like", "like = ['t']"),
        ("synthetic", "synthetic = {}"),
        ("preset", "preset = 'oltp-like'"),
        ("phases", "phases = [{ synthetic = {} }]"),
        ("tenants", "tenants = [{ synthetic = {} }]"),
        ("fio", "fio = 'f'"),
        ("disksim", "disksim = {}"),
    ];
    let read = |keys: &[&str]| Scenario::from_toml(&format!("workload = {{ {} }}", keys.join(", ")));
    for (index, (name, keys)) in workloads.iter().enumerate() {
        let alone = read(&[keys]).unwrap();
        assert_eq!(Scenario::from_toml(&alone.to_toml()), Ok(alone), "{name} is written and read");
        for (other, more) in &workloads[index + 1..] {
            let error = read(&[more, keys]).unwrap_err().to_string();
            let expected =
                format!("workload: {name} and {other} were given; one of them is allowed: leave out");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
    let none = read(&["trace = []", "phases = []"]).unwrap();
    assert_eq!(none, Scenario::default(), "empty lists are no workload");
    let mended = read(&["synthetic = {}"]).unwrap().set(&[("workload", "{ preset = \"oltp-like\" }")]);
    assert_eq!(mended, read(&["preset = 'oltp-like'"]), "as the message says");
}

#[test]
fn a_workload_of_another_kind_takes_the_place_of_the_one_there() {
    let synthetic = Scenario::default().set(&[("workload.synthetic.requests", "7")]).unwrap();
    let preset =
        synthetic.set(&[("workload.preset", "oltp-like"), ("workload.preset.requests", "9")]).unwrap();
    assert!(matches!(preset.workload.requests, coflash_scenario::Requests::Preset(_)));
    let again = preset.set(&[("workload.synthetic.requests", "7")]).unwrap();
    assert_eq!(again, synthetic);
    assert_eq!(
        synthetic.set(&[("workload.trace", "[]")]).unwrap(),
        synthetic,
        "an empty list is no workload"
    );
    let both = preset.set(&[("workload.synthetic.requests", "7"), ("workload.fio", "f")]);
    assert!(both.unwrap_err().to_string().starts_with("workload: synthetic and fio were given"));
}

#[test]
fn a_key_without_a_value_has_its_default() {
    let set = |assignments: &[(&str, &str)]| Scenario::default().set(assignments);
    for key in
        ["workload.synthetic.requests", "cache.size", "cooperation", "gc.victim", "flash.blocks_per_plane"]
    {
        let value = match key {
            "cooperation" => "cdm",
            "gc.victim" => "fifo",
            "cache.size" => "5%",
            _ => "77",
        };
        let changed = set(&[(key, value)]).unwrap();
        let whole = if key.starts_with("workload") { "workload.synthetic" } else { key };
        assert_eq!(changed.set(&[(whole, "")]).unwrap(), Scenario::default(), "{key}");
    }
    let fixed = set(&[("flash.exported", "1GiB")]).unwrap();
    assert!(fixed.set(&[("flash.exported", "")]).unwrap().flash.exported.is_none());
    let error = set(&[("workload.synthetc", "")]).unwrap_err().to_string();
    assert!(error.starts_with("workload.synthetc: no such key; did you mean \"synthetic\"?"), "{error}");
}

#[test]
fn a_number_without_a_unit_is_told_what_is_missing() {
    for (value, said) in [
        ("64", "64 was given: its unit is missing; a size such as"),
        ("1e9", "1000000000 was given: its unit is missing"),
        ("-5", "-5 was given: it is negative"),
        ("-5MiB", "\"-5MiB\" is not a size such as \"64GiB\": it is negative"),
        ("1e9B", "write the number without an exponent"),
    ] {
        for key in ["cache.size", "flash.exported"] {
            let error = Scenario::default().set(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}

#[test]
fn in_the_scenario_of_an_earlier_run_stands_what_ran() {
    let of_run = |keys: &str| Scenario::of_run(&format!("workload = {{ {keys} }}")).unwrap();
    let read = |keys: &str| Scenario::from_toml(&format!("workload = {{ {keys} }}")).unwrap();
    assert_eq!(
        of_run("synthetic = {}, trace = ['t'], fio = 'f', remap = 'dense'"),
        read("trace = ['t'], remap = 'dense'")
    );
    assert_eq!(of_run("trace = [], preset = 'oltp-like', fio = 'f'"), read("fio = 'f'"));
    assert_eq!(of_run("synthetic = {}"), read("synthetic = {}"));
}

fn set(assignments: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    Scenario::default().set(assignments)
}

#[test]
fn values_are_typed_by_what_they_set() {
    let scenario = set(&[
        ("cache.size", "64MiB"),
        ("cooperation", "cdm"),
        ("cooperation.removable_weight", "0.5"),
        ("flash.channels", "4"),
        ("timing.copy_back", "false"),
        ("gc.victim.name", "d-choices"),
        ("gc.victim.d", "2"),
        ("gc.low_mark", "3"),
        ("name", "three"),
        ("ftl.shared_streams", "[[\"host\", \"gc\"]]"),
        ("ftl.spare.share", "0.07"),
    ])
    .unwrap();
    assert_eq!(scenario.flash.channels, 4);
    assert!(!scenario.timing.copy_back);
    assert_eq!(scenario.name, "three");
    assert_eq!(scenario.cooperation.name(), "cdm");
    assert_eq!(scenario.gc.victim.name(), "d-choices");
    assert_eq!(scenario.ftl.spare.share, Share::percent(7));
}

#[test]
fn a_policy_that_is_named_keeps_its_parameters_and_another_has_its_own() {
    let tuned = set(&[("cooperation", "cdm"), ("cooperation.removable_weight", "0.5")]).unwrap();
    let named = |key: &str, value: &str| tuned.set(&[(key, value)]).unwrap().cooperation;
    for key in ["cooperation", "cooperation.name"] {
        assert_eq!(named(key, "cdm"), tuned.cooperation);
        assert_eq!(named(key, "none").name(), "none");
    }
    assert_eq!(
        named("cooperation", "cdm-removable"),
        set(&[("cooperation", "cdm-removable")]).unwrap().cooperation
    );
    assert_ne!(named("cooperation", "{ name = \"cdm\" }"), tuned.cooperation, "a table is the whole of it");
}

#[test]
fn settings_of_their_own_are_written_alike() {
    let read = |pairs: &[(&str, &str)]| settings::<TraceOptions, _, _>(pairs).map_err(|e| e.to_string());
    let options = read(&[("units.size", "4KiB"), ("event", "C"), ("on_error", "skip")]).unwrap();
    assert_eq!(options.units.size, Some(Bytes { count: 4096 }));
    assert_eq!(read(&[]), Ok(TraceOptions::default()));
    let error = read(&[("units.sice", "4KiB")]).unwrap_err();
    assert_eq!(error, "units.sice: no such key; did you mean \"size\"? (allowed: time, address, size)");
    assert!(read(&[("merge", "tim")]).unwrap_err().contains("did you mean \"time\"?"));
}

#[test]
fn a_key_that_is_not_there_is_named_with_its_nearest() {
    let error = |key, value| set(&[(key, value)]).unwrap_err().to_string();
    assert!(error("cach.size", "1MiB").contains("did you mean \"cache\"?"), "{}", error("cach.size", "1MiB"));
    assert_eq!(error("queue_depth", "1"), "queue_depth: no such key; did you mean replay.queue_depth?");
    assert_eq!(error("cache.victim", "fifo"), "cache.victim: no such key; did you mean gc.victim?");
    assert_eq!(
        error("ftl.policy", "1"),
        "ftl.policy: no such key; did you mean cache.policy or host_buffer.policy?"
    );
    assert!(error("cache.polcy", "1").contains("did you mean \"policy\"? (allowed:"));
    assert!(error("seed.x", "1").contains("has no keys"), "{}", error("seed.x", "1"));
    assert!(error("", "1").contains("a key such as"), "{}", error("", "1"));
    assert!(
        error("gc.victim.d", "2").starts_with("gc.victim.d: no such key"),
        "{}",
        error("gc.victim.d", "2")
    );
}

#[test]
fn the_blocks_follow_from_the_exported_capacity_and_the_spare_space() {
    let fixed = set(&[("flash.exported", "1GiB"), ("ftl.spare.share", "25%")]).unwrap();
    let blocks_for = |share: &str| fixed.set(&[("ftl.spare.share", share)]).unwrap().flash.blocks_per_plane;
    // 8 dies of 32,768 pages each, in blocks of 64, and a quarter more; rounded up to whole blocks.
    assert_eq!(fixed.flash.blocks_per_plane, 640);
    assert_eq!(["7%", "28%", "100%"].map(blocks_for), [548, 656, 1024]);
    for share in ["0.1%", "7%", "28%"] {
        let flash = fixed.set(&[("ftl.spare.share", share)]).unwrap();
        assert_eq!(flash.ftl.logical_pages(&flash.flash), 1 << 18, "exactly the given size");
    }
    assert_eq!(Scenario::from_toml(&fixed.to_toml()), Ok(fixed.clone()), "written, it has both keys");

    let by_blocks = fixed.set(&[("flash.blocks_per_plane", "100")]).unwrap();
    assert_eq!((by_blocks.flash.exported, by_blocks.flash.blocks_per_plane), (None, 100));
    let error =
        Scenario::from_toml("[flash]\nexported = \"1GiB\"\nblocks_per_plane = 100").unwrap_err().to_string();
    assert!(
        error.starts_with("flash.blocks_per_plane: 100 was given; 589 follows from flash.exported"),
        "{error}"
    );
    for nothing in ["flash.channels", "flash.page_size", "flash.planes_per_die"] {
        assert!(fixed.set(&[(nothing, "0")]).is_err(), "{nothing}");
    }
}

#[test]
fn an_earlier_spelling_is_read_as_the_key_that_took_its_place_and_told() {
    let read = |text: &str| Scenario::from_toml(text).expect("it is valid");
    let earlier = read("gc = { mode = \"preemptive\", steps_max = 3 }");
    let now = read("gc.mode = { name = \"preemptive\", steps_max = 3 }");
    assert_eq!((earlier.hash(), &earlier.gc), (now.hash(), &now.gc));
    assert_eq!(earlier.limits, ["gc.steps_max is an earlier spelling, and was read as gc.mode.steps_max."]);
    assert_eq!(now.limits, [] as [&str; 0]);
    let idle = read("ftl = { wear_gap = 3 }");
    assert_eq!(idle.hash(), Scenario::default().hash(), "it had no effect");
    assert!(idle.limits[0].ends_with("was left out: only ftl.wear_levelling = static takes it."), "{idle:?}");
    let set = now.set(&[("gc.steps_max", "5")]);
    assert_eq!(set.expect("it is known").gc.mode, coflash_ftl::GcMode::Preemptive { steps_max: 5 });
}

#[test]
fn what_keys_need_are_keys_that_are_off_by_default() {
    let (hybrid, precondition) = (Some(HybridConfig::default()), PreconditionConfig::nothing());
    let scenario = Scenario { hybrid, precondition, ..Scenario::default() };
    for (key, need) in conditional_keys() {
        let needed = need.split([' ', ',', '(', ')']).filter(|word| word.contains('.'));
        for key in needed.chain([key]) {
            assert_eq!(scenario.set(&[(key, "")]), Ok(scenario.clone()), "{need}: {key}");
        }
    }
}

#[test]
fn a_quantity_of_zero_brings_nothing() {
    let sentences = |size: &str| {
        let scenario = Scenario::default().set(&[("cache.size", size), ("cache.eviction", "background")]);
        scenario.expect("a scenario").without_effect()
    };
    for zero in ["0B", "0%"] {
        assert_eq!(sentences(zero), ["cache.eviction has no effect without a cache (cache.size)"], "{zero}");
    }
    assert_eq!(sentences("0.5%"), [""; 0]);
}
