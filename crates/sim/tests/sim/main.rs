//! Whole runs of scenarios. One program, so that it is linked once.

mod all_three;
mod beyond;
mod cells;
mod checkpoints;
mod controller;
mod device;
mod effect;
mod gc_modes;
mod host;
mod hybrid;
mod jobs;
mod load;
mod own_writes;
mod placement;
mod shadow;
mod spare;
mod superblocks;
mod warm;
mod workload;

use coflash_sim::{Metrics, NoObserver, Scenario, run};
use serde_json::Value;

type Settings<'a> = &'a [(&'a str, &'a str)];

fn measured(scenario: &Scenario) -> Metrics {
    run(scenario, &mut NoObserver).unwrap_or_else(|error| panic!("{error}")).metrics
}

/// The reason for which a scenario is refused.
fn refused(scenario: &Scenario) -> String {
    run(scenario, &mut NoObserver).err().expect("it is refused").to_string()
}

/// The metrics as in a result, without these of their sections.
fn without(sections: &[&str], metrics: &Metrics) -> Value {
    let mut metrics = serde_json::to_value(metrics).expect("metrics are plain data");
    let root = metrics.as_object_mut().expect("sections");
    root.retain(|name, _| !sections.contains(&name.as_str()));
    metrics
}
