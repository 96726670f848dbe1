//! The simulation: from a scenario to a result. It reads no traces: a run is given what reads them ([`Traces`]).
//!
//! [`run`] preconditions the device, replays the workload against the levels of a [`Scenario`], and returns a
//! [`RunResult`]. The same scenario, seed and [`REVISION`] give byte for byte the same
//! result. With [`warm`] and [`RunInputs::warm`], several runs begin from the same preconditioned device.
//!
//! | concept | place |
//! |---|---|
//! | a run: what is prepared for it; its course, step by step ([`Simulation`]); the replay of its requests | `run.rs`; `simulation.rs`; `replay.rs` |
//! | the workload of a run; the reader of traces | `open_workload.rs`; `traces.rs` |
//! | service of requests, idle time, completions ([`Engine`]) | `engine.rs` |
//! | closed loops side by side: the jobs of a job file | `jobs.rs` |
//! | the data of requests, where a media holds bytes ([`Payload`]) | `payload.rs` |
//! | the fewest programs that any cooperation could reach | `fewest.rs` |
//! | metrics of a result | `metrics.rs`, of the host's requests `host.rs`; the counters of the levels are in their own crates |
//! | throughput, endurance, energy | `device.rs` |
//! | whether the device keeps up with the host | `load.rs` |
//! | the notes of a result | `notes.rs`; what they go by: `spare.rs`, `steady.rs`, `retention.rs` |
//! | preconditioning, by uniform and by the run's own writes; warm devices | `precondition.rs`, `own_writes.rs`, `warm/` |

mod address;
mod amplification;
mod cancellable;
mod checkpoint;
mod course;
mod describe;
mod device;
mod differences;
mod each_request;
mod engine;
mod error;
mod fewest;
mod host;
mod input;
mod job_report;
mod jobs;
mod latency;
mod load;
mod memory;
mod metrics;
mod notes;
mod observer;
mod open_workload;
mod own_writes;
mod payload;
mod precondition;
mod replay;
mod result;
mod retention;
mod run;
mod series;
mod simulation;
mod spare;
mod state_file;
mod steady;
mod traces;
mod warm;

pub use amplification::Amplification;
pub use cancellable::Cancellable;
pub use checkpoint::{Checkpoints, run_with_checkpoints};
pub use coflash_scenario::{self as scenario, BUILT_IN, Scenario, ScenarioError};
pub use course::WarmUp;
pub use describe::describe;
pub use engine::{Engine, ServiceError};
pub use error::{RunError, StateFileError, WarmError};
pub use fewest::{FewestPrograms, fewest_programs};
pub use input::Input;
pub use job_report::{JobReport, OpReport};
pub use latency::Latency;
pub use metrics::{Metrics, lists, sections};
pub use observer::{Cancelled, CheckpointEvent, NoObserver, Observer, Phase, SoFar};
pub use open_workload::requests;
pub use payload::{PartOfPage, Payload};
pub use result::{RunResult, Simulator, Workload};
pub use retention::cautions;
pub use run::{RunInputs, begin, check, run, run_source};
pub use series::Series;
pub use simulation::Simulation;
pub use traces::{Opened, Traces};
pub use warm::{WarmDevice, warm, warm_key};

/// The version of coflash in every result, as Python spells it: Cargo's `0.3.0-dev.0` is `0.3.0.dev0`.
pub const VERSION: &str = "0.3.0.dev0";

/// The revision of results: the same scenario, inputs, seed and revision give the same result byte for byte.
///
/// A change that gives the same scenario another value of a known key raises it by one (`scripts/golden.py` writes no
/// golden result otherwise), and CHANGELOG.md says under "Results changed" what "revision N" changes. A new policy, a
/// new scenario or a new measure does not raise it: stored sweeps and warm devices stay usable. Results of revision 0
/// are those of version 0.1.0, which do not name it.
pub const REVISION: u32 = 3;
