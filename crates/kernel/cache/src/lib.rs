//! The slots of a cache or write buffer, and its eviction policy.
//!
//! [`Cache`] maps logical pages to slots. It knows nothing of the cost of hits, misses and write-backs: levels deal
//! with these.
//!
//! | concept | place |
//! |---|---|
//! | a cache: slots, index and policy | [`cache`] |
//! | an order for all pages, or one for clean and one for dirty pages | `orders.rs` |
//! | dirty, orphan, pinned: the flags of a slot | [`slots`] |
//! | eviction policies | [`evict`], one file a policy |
//! | evicted pages that policies remember | `ghosts.rs` |
//! | the optimum: the future known | [`belady`] |
//! | the most writes that a cache can absorb, the future known | [`absorption`] |

pub mod absorption;
pub mod belady;
pub mod cache;
pub mod evict;
mod ghosts;
mod orders;
mod shape;
pub mod slots;

pub use cache::Cache;
pub use evict::{BlocksConfig, Eviction, EvictionConfig, EvictionPolicy, ExternalEviction, MakeEviction};
pub use orders::{Orders, Policies, PolicyPair};
pub use shape::CacheShape;
pub use slots::{SlotId, SlotTable};
