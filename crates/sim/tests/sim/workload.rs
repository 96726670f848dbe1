//! Workloads of a scenario, from its keys to the replayed requests.

use crate::{measured, refused};
use coflash_sim::{NoObserver, Scenario, ScenarioError, run};

fn small(workload: &str) -> Result<Scenario, ScenarioError> {
    let device = "[flash]\nblocks_per_plane = 256\npages_per_block = 32\nchannels = 2";
    Scenario::from_toml(&format!("{device}\n{workload}"))
}

#[test]
fn a_workload_put_together_runs_and_tells_what_it_is() {
    let cases = [
        ("[workload]\npreset = { name = \"jesd219-enterprise\", requests = 2000 }", "jesd219-enterprise"),
        (
            "[[workload.phases]]\nname = \"fill\"\nsynthetic = { generator = \"sequential\", requests = 1000 }\n\
             [[workload.phases]]\n[[workload.phases.tenants]]\nsynthetic = { requests = 500 }\n\
             [[workload.phases.tenants]]\nsynthetic = { requests = 500, read_share = \"100%\" }",
            "(fill: synthetic, sequential, then (synthetic, uniform and synthetic, uniform))",
        ),
        ("[workload]\nrequests_max = 2000", "synthetic, uniform"),
    ];
    for (workload, description) in cases {
        let scenario = small(workload).unwrap();
        let result = run(&scenario, &mut NoObserver).unwrap();
        assert!(result.to_json().contains(description), "{}", result.to_json());
        assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
    }
}

#[test]
fn a_repeated_workload_is_counted_as_often() {
    let workload =
        "[workload]\nsynthetic = { requests = 3000, arrival = { name = \"fixed\", interval = \"10ms\" } }";
    let counted = |more: &str| {
        let metrics = measured(&small(&format!("{workload}\n{more}")).unwrap());
        ["requests", "host_writes_pages", "simulated_ns"].map(|path| metrics.count(path))
    };
    let once = counted("");
    assert_eq!(counted("repeat = 1"), once);
    let [requests, pages, time_ns] = counted("repeat = 4");
    assert_eq!([requests, pages], [4 * once[0], 4 * once[1]]);
    // Each round but the first begins with the last arrival of the one before; the device is never behind.
    assert_eq!(time_ns - once[2], 3 * 3000 * 10_000_000);
    assert_eq!(counted("repeat = 4\nrequests_max = 7000")[0], 7000);
    let error = small("[workload]\nrepeat = 0").unwrap_err().to_string();
    assert_eq!(error, "workload.repeat: 0 was given; a whole number from 1 to 4294967295 is allowed");
}

#[test]
fn a_mistake_in_a_part_is_named_by_its_whole_key() {
    let cases = [
        (
            "[[workload.phases]]\nsyntetic = {}",
            "workload.phases.0.syntetic: no such key; did you mean \"synthetic\"?",
        ),
        ("[[workload.tenants]]\npreset = \"oltp\"", "workload.tenants.0.preset: \"oltp\" is not known"),
        (
            "[workload]\npreset = \"oltp-like\"\nsynthetic = {}",
            "workload: synthetic and preset were given; one of them is allowed",
        ),
    ];
    for (workload, expected) in cases {
        let error = small(workload).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let wrong = small("[[workload.phases]]\nsynthetic = { requests = 0 }").unwrap();
    assert_eq!(refused(&wrong), "workload.phases.0.synthetic.requests: 0 was given; at least 1 is allowed");
}
