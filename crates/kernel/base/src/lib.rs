//! The common base of all crates: typed ids, quantities with units, named random streams from one seed, the registries
//! of policies and of measures.
//!
//! | concept | place |
//! |---|---|
//! | policies: a file, and a line in the list of its family | [`policy`] |
//! | policies from outside: a scenario names their code, a run binds it | [`external`] |
//! | expressions over named features | [`expression`] |
//! | the reader of scenarios' values, choices by name, and tables with their defaults | [`read`](mod@read) |
//! | measures: one declaration for JSON, tables, types and documentation | [`measure`] |
//! | errors of invalid values in a scenario | [`misfit`] |
//! | exact sizes, durations and shares with their units | [`units`] |
//! | named random streams | [`seed`] |
//! | exponentially distributed draws | [`exponential`] |
//! | linked lists in tables | [`list`] |
//! | entries with reusable numbers | [`slab`] |
//! | large tables at whose random places a processor waits for addresses | [`huge_pages`] |
//! | division by a number that stays | [`divisor`] |
//! | the least of one key a player | [`tournament`] |
//! | looking ahead: asking for memory before it is needed | [`prefetch`] |
//! | the nearest match of an unknown name | [`suggest`] |
//! | state that a checkpoint keeps | [`save`](mod@save) |
//! | files that are written whole or not at all | [`AtomicFile`] |

// The derived code names this crate.
extern crate self as coflash_base;

pub mod amount;
mod atomic_file;
pub mod divisor;
pub mod exponential;
pub mod expression;
pub mod external;
mod forward;
pub mod huge_pages;
pub mod id;
pub mod list;
pub mod measure;
pub mod misfit;
mod op;
pub mod permutation;
mod placement_id;
pub mod policy;
pub mod prefetch;
pub mod read;
pub mod save;
pub mod seed;
pub mod slab;
pub mod suggest;
pub mod tournament;
pub mod units;

pub use amount::Amount;
pub use atomic_file::AtomicFile;
pub use divisor::Divisor;
pub use expression::Expression;
pub use external::ExternalConfig;
pub use id::{IdMap, IdSet, IdVec, Index, Lpn};
pub use list::{List, Lists};
pub use misfit::Misfit;
pub use op::Op;
pub use permutation::Permutation;
pub use placement_id::PlacementId;
pub use policy::{Parameter, Policy, PolicyInfo};
pub use prefetch::Ahead;
pub use save::Save;
pub use seed::{RandomStream, Seed};
pub use slab::Slab;
pub use units::{Bytes, Duration, Energy, Quantity, Ratio, Share, Time};
