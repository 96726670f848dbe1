//! The simulator: a scenario in, a result out.
//!
//! [`Scenario`] is the truth of a run: parsed and checked in one place, used by every front end. [`run`] warms the device
//! up, replays the workload against it and returns a [`RunResult`], the same byte for byte for the same scenario and seed. [`warm`] and [`run_from`]
//! are its two halves, for devices that many runs start from.

mod address;
mod buffered;
mod build;
mod device;
mod engine;
mod error;
mod generate;
mod hybrid;
mod input;
mod inspect;
mod latency;
mod memory;
mod metrics;
mod observer;
mod opened;
mod precondition;
mod result;
mod run;
pub mod scenario;
mod series;
mod target;
mod warm;
mod watched;

pub use error::RunError;
pub use generate::{Likeness, MadeUp, generate, like};
pub use input::Input;
pub use inspect::{inspect, rewrite};
pub use metrics::{Metrics, SoFar};
pub use observer::{Cancelled, Observer, Phase, Silent};
pub use result::{RunResult, Simulator, Workload};
pub use run::{run, run_from};
pub use scenario::{PRESETS, Scenario, ScenarioError};
pub use series::Series;
pub use warm::{Unusable, WarmDevice, WarmError, warm};

/// The version of coflash that is in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The table of every policy family and trace format: (family, what it decides, its members).
#[must_use]
pub fn policies() -> Vec<(&'static str, &'static str, Vec<coflash_base::PolicyInfo>)> {
    use coflash_workload::formats;
    use coflash_workload::ready_made::PresetConfig;
    use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig};
    let format = |format: formats::FormatInfo| coflash_base::PolicyInfo {
        name: format.name,
        summary: format.summary,
        source: format.source,
        parameters: Vec::new(),
    };
    vec![
        ("gc.victim", "which sealed block GC cleans next", coflash_ftl::VictimConfig::table()),
        ("cache.policy", "which page leaves a full cache", coflash_cache::EvictionConfig::table()),
        (
            "cooperation",
            "what cache and flash tell each other",
            coflash_controller::CooperationConfig::table(),
        ),
        (
            "hybrid.scheme",
            "how a flash cache before disks divides its flash",
            coflash_hybrid::SchemeConfig::table(),
        ),
        ("hybrid.disks.model", "how long a disk takes", coflash_hybrid::disk::DiskConfig::table()),
        ("workload.synthetic.generator", "where made-up requests go", GeneratorConfig::table()),
        ("workload.synthetic.size", "how long made-up requests are", SizeConfig::table()),
        (
            "workload.trace_options.format",
            "how a trace is read",
            formats::table().into_iter().map(format).collect(),
        ),
        ("workload.synthetic.arrival", "when made-up requests arrive", ArrivalConfig::table()),
        ("workload.preset", "a workload that is ready made", PresetConfig::table()),
    ]
}
