//! A flash cache in front of disks that divides its flash into a read cache, a write cache and over-provisioned space.
//!
//! Y. Oh, J. Choi, D. Lee & S. H. Noh, "Caching less for better performance: balancing cache size and update cost of
//! flash memory cache in hybrid storage systems", FAST 2012.
//!
//! | concept | place |
//! |---|---|
//! | the level, and its disk transfers | `level.rs`, `jobs.rs` |
//! | the path of a page through flash cache and disk | `tier/mod.rs` |
//! | eviction and destaging | `tier/eviction.rs`, `page_replacer.rs` |
//! | U(u), C_PW, C_HY, Algorithm 1 | [`costmodel`] |
//! | measured costs of disks and cleaning in place of the constants | `meter.rs` measures, `costmodel/measured.rs` calculates |
//! | hit rates of caches of every size | `workload_tracker/`: one list for LRU, miniature caches of a sample otherwise |
//! | resizing of the caches | `partition_resizer.rs` |
//! | sequential runs, which bypass the cache | `sequential_detector.rs` |
//! | caches and write buffers above, and what GC does with a page that several tiers know | `above.rs`, `store.rs` |
//! | recovery after a power cut: labels, journal, checkpoint | `mapping_manager.rs`, `tier/recovery.rs` |
//! | the partition of flash | [`PartitionScheme`], one file a scheme in `scheme/` |

mod above;
mod config;
pub mod costmodel;
mod counters;
mod jobs;
mod level;
mod mapping_manager;
mod media;
mod meter;
mod page_replacer;
mod partition_resizer;
mod recency;
mod scheme;
mod sequential_detector;
mod sizes;
mod store;
mod tier;
mod workload_tracker;
mod write_policy;

pub use config::{ActiveBlocks, Destaging, HybridConfig, PartialWrites, Resizing};
pub use counters::{AboveCounters, MappingCounters, Sizes, TierCounters, TierSize};
pub use level::Hybrid;
pub use mapping_manager::{Found, JournalLayout};
pub use media::{SlotLabel, TierMedia};
pub use partition_resizer::Limits;
pub use scheme::{PartitionScheme, Period, Scheme, SchemeConfig};
pub use workload_tracker::Miniature;
pub use write_policy::WritePolicy;
