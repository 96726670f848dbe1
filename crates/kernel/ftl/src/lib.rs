//! The flash translation layer: the map of logical pages, the allocation of flash pages, and garbage collection.
//!
//! [`Ftl`] is a synchronous state machine. Flash operations go to a [`Media`](coflash_media::Media). A
//! [`GcHook`] decides about the valid pages of a GC victim; caches and other tiers reach the FTL only through
//! it.
//!
//! | concept | place |
//! |---|---|
//! | reading, writing, trimming a page | `ftl/mod.rs` |
//! | garbage collection: trigger, victim, pages | `ftl/gc.rs`; its hook in `hook.rs` |
//! | victim policies | [`victim`], one file a policy |
//! | foreground, background and preemptive GC | [`GcMode`] in `config.rs` |
//! | over-provisioning, in both definitions | [`Spare`] in `config.rs` |
//! | free blocks that GC needs to make progress | `dimensions.rs` |
//! | write streams, and their groups | `stream.rs`, `groups.rs` |
//! | placement policies | [`placement`], one file a policy; their state in `ftl/placer.rs` |
//! | recorders of decisions ([`RecordsDecisions`]) | `recorder.rs`, `ftl/recording.rs` |
//! | pools, active blocks, free blocks | `ftl/allocator.rs` |
//! | removable pages and shadows: marks on valid pages | `marks.rs`, `ftl/marking.rs` |
//! | the cost weights of marked pages, by age class | `weight.rs`, `ftl/ages.rs` |
//! | refresh, fast blocks | `ftl/refresh.rs` |
//! | static wear levelling | `ftl/wear.rs` |
//! | recovery of the map after a crash | `ftl/recovery.rs` |
//! | the state of blocks and pages, for those who look | `ftl/view.rs` |

mod block;
mod config;
mod counters;
mod dimensions;
mod ftl;
mod groups;
mod hook;
mod ids;
mod marks;
mod page;
pub mod placement;
mod recorder;
mod refresh_config;
mod requirements;
mod stream;
pub mod victim;
mod weight;

pub use config::{
    Chips, FreeMark, FtlConfig, GcConfig, GcMode, Pools, Provisioning, SlcCacheConfig, Spare, Summary,
    Trigger, WearLevelling,
};
pub use counters::{FtlCounters, PlacementClass, Programs, UsedSpace};
pub use ftl::{FastBlockCounters, Ftl, Io, PageView, SlcCounters};
pub use hook::{CopyAll, CopySource, Decision, GcHook};
pub use ids::LocalBlock;
pub use marks::Marks;
pub use page::{Coverage, PageRead, PageWrite};
pub use placement::{Placement, PlacementConfig};
pub use recorder::{Candidate, DecisionRecorder, RecordsDecisions};
pub use refresh_config::RefreshConfig;
pub use requirements::Requirements;
pub use stream::{StreamGroups, WriteStream};
pub use victim::{Victim, VictimConfig};
pub use weight::{AgeClass, Weight, Weights};
