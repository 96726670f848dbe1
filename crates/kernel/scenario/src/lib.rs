//! Scenarios: everything that determines a result, in one type.
//!
//! All scenarios are read and checked here. [`Scenario`] then creates its [`Stack`] of levels and the simulated media, for a
//! simulator or a device server.
//!
//! | concept | place |
//! |---|---|
//! | keys and hash of a scenario | `scenario.rs`; the type of a table lies in the crate that it configures |
//! | the reader, errors with key and nearest match | `read.rs` |
//! | earlier spellings of keys | `renamed.rs` |
//! | changes of single keys | `set.rs`; values by their dotted keys `dotted.rs` |
//! | a fraction of the blocks | `scale.rs` |
//! | contradictions | `check.rs`, and the constructors of the levels |
//! | keys without effect | `effect.rs` |
//! | the stack of levels | `stack.rs` |
//! | built-in scenarios | `built_in.rs` |
//! | the table of all policies | `policies.rs` |

mod built_in;
mod check;
mod dotted;
mod effect;
mod endurance;
mod energy;
mod measured;
mod policies;
mod precondition;
mod read;
mod renamed;
mod replay;
mod restart;
mod scale;
mod scenario;
mod set;
mod stack;
mod workload;

pub use built_in::{BUILT_IN, BuiltIn};
pub use coflash_base::read::without_nulls;
#[doc(hidden)]
pub use effect::conditional_keys;
pub use endurance::EnduranceConfig;
pub use energy::EnergyConfig;
pub use measured::MeasuredConfig;
pub use policies::{Family, policies};
pub use precondition::{Fill, PreconditionConfig, RandomPasses};
pub use read::ScenarioError;
pub use replay::{ReplayConfig, ReplayMode};
pub use restart::{RestartConfig, Shutdown};
pub use scale::{DATA_BLOCKS_MIN, SCALED_KEYS, Scale, Scaled};
pub use scenario::{Scenario, digest, leaves, to_toml};
pub use set::settings;
pub use stack::Stack;
pub use workload::{Remap, Requests, WorkloadConfig};
