//! The simulator: the simulation of `coflash_engine` with traces. It opens and records them, describes them, generates
//! workloads and compares them.
//!
//! | concept | place |
//! |---|---|
//! | runs whose workload may be a trace | `with_traces.rs` |
//! | statistics and tools of traces | `inspect.rs` |
//! | generated workloads as traces | `generate.rs` |
//! | workloads fitted to traces, both replayed | `likeness.rs` |
//! | misses of caches by their size | `miss_ratio.rs` |
//! | work on several threads | `parallel.rs` |
//! | the table of all policies and formats | `policies.rs` |

mod generate;
mod inspect;
mod likeness;
mod miss_ratio;
mod parallel;
mod policies;
mod with_traces;

pub use coflash_engine::*;
pub use coflash_fio::job_files;
pub use coflash_record::Records;
pub use generate::{Generated, generate};
pub use inspect::{inspect, rewrite, split};
pub use likeness::{Cached, FittedWorkload, Measured, like};
pub use miss_ratio::{MissRatioCurves, MissRatioOptions, hits, miss_ratio_curves};
pub use policies::policies;
pub use with_traces::{TRACES, run, run_recorded};
