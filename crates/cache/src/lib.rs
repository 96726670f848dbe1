//! What a tier above flash holds: the slots of a cache or write buffer, and the policy that empties them.
//!
//! [`Cache`] knows which logical page lies in which slot and nothing of what a hit, a miss or a write-back costs:
//! controller, host and tier decide that, and use the same cache for an NVM cache and for a volatile write buffer.
//! An eviction policy is a file in [`evict`], its `mod` line and a line in the list there.

pub mod cache;
pub mod evict;
mod groups;
pub mod list;
pub mod slots;
pub mod split;

pub use cache::Cache;
pub use evict::{Eviction, EvictionConfig, EvictionPolicy, Shape};
pub use groups::BlocksConfig;
pub use list::{List, Lists};
pub use slots::{SlotId, SlotTable};
pub use split::{Orders, SplitCache};
