//! A flash cache in front of disks that divides its flash into a read cache, a write cache and over-provisioned space.
//!
//! Y. Oh, J. Choi, D. Lee & S. H. Noh, "Caching less for better performance: balancing cache size and update cost of flash
//! memory cache in hybrid storage systems", FAST 2012.

mod config;
pub mod costmodel;
pub mod disk;
mod mapping_manager;
mod media;
mod meter;
mod page_replacer;
mod partition_resizer;
mod scheme;
mod sequential_detector;
mod store;
mod tally;
mod tier;
mod workload_tracker;

pub use config::{ActiveBlocks, Destaging, HybridConfig, PartialWrites};
pub use mapping_manager::{Found, Layout, MappingManager, MappingTally};
pub use media::{Label, Simulated, TierMedia};
pub use meter::{DiskUse, Meter};
pub use page_replacer::{LeaveId, PageReplacer};
pub use partition_resizer::{Limits, PartitionResizer};
pub use scheme::{PartitionScheme, Period, Scheme, SchemeConfig};
pub use sequential_detector::SequentialDetector;
pub use tally::TierTally;
pub use tier::{FETCH_PAGES, Served, Tier};
pub use workload_tracker::WorkloadTracker;
