//! What every coflash crate speaks: ids that cannot be mixed up, quantities that carry their unit,
//! named random streams from one seed, and the registry that makes a policy a file and a line.

pub mod id;
pub mod permutation;
pub mod policy;
pub mod seed;
pub mod suggest;
pub mod units;

pub use id::{IdVec, Index, Lpn};
pub use permutation::Permutation;
pub use policy::{Parameter, Policy, PolicyInfo};
pub use seed::{Seed, Stream};
pub use units::{Bytes, Duration, Share, Time};
