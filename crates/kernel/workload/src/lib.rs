//! Requests and their generators.
//!
//! Every supplier of requests is a [`Source`], a recorded trace as well: it delivers them in batches and never holds
//! the whole workload. [`ReadAhead`] runs a source on its own thread, ahead of the simulation.
//!
//! | concept | place |
//! |---|---|
//! | requests, the `Source` trait, errors of a workload | `request.rs` |
//! | a source on its own thread | `read_ahead.rs` |
//! | several rounds of one workload | `repeat.rs` |
//! | synthetic workloads: three independent choices | `synthetic/mod.rs` |
//! | … where requests go | `synthetic/{uniform,sequential,mixed,zipf,hot_cold,runs,reuse_flows}.rs`; layout in `scatter.rs` |
//! | … the order of last use | `recency.rs` |
//! | … how long they are | `synthetic/{size,jesd219}.rs` |
//! | … when they arrive | `synthetic/{arrival,quantiles}.rs` |
//! | … portable random draws | `synthetic/draw.rs` |
//! | phases and tenants: workloads in sequence and side by side | `parts/` |
//! | preset workloads such as `jesd219-enterprise` | `parts/presets/` |
//! | DiskSim's generator, draw for draw | `disksim_generator.rs` |
//! | keys of the reader of traces | `recorded.rs` |
//! | jobs of a host, and when steady ones end | `jobs.rs`, `steady.rs` |
//! | fio's skewed distributions, draw for draw | `skewed.rs` |

pub mod disksim_generator;
pub mod jobs;
pub mod parts;
pub mod read_ahead;
pub mod recency;
pub mod recorded;
mod repeat;
mod request;
pub mod skewed;
pub mod steady;
pub mod synthetic;

pub use parts::{Part, PartSource, presets};
pub use read_ahead::ReadAhead;
pub use repeat::Repeat;
pub use request::{BATCH_REQUESTS, Op, Request, Source, WorkloadError, no_handle, refuse};
