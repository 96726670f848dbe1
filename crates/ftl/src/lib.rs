//! The flash translation layer: where each logical page lies, where the next one goes, and what is cleaned.
//!
//! [`Ftl`] is a synchronous state machine. Flash operations go out to a [`Media`](coflash_flash::Media); what becomes of
//! a valid page of a GC victim is asked of an [`Advisor`], the only thing the FTL knows of caches and other tiers.

mod advisor;
mod block;
mod check;
mod column;
mod config;
mod ftl;
mod gc;
mod grades;
mod marks;
mod pool;
mod recovery;
mod refresh;
mod snapshot;
pub mod victim;
mod wear;

pub use advisor::{Advisor, CopyAll, Demands, Fate, Grade, Source, Weight, Weights};
pub use config::{
    Chips, FreeMark, FtlConfig, GcConfig, GcMode, Pools, Provisioning, Spare, StreamGroups, Summary, Trigger,
    WearLevelling,
};
pub use ftl::{Ftl, Io, Tally};
pub use marks::{Marks, Tier};
pub use pool::Stream;
pub use refresh::RefreshConfig;
pub use victim::{Victim, VictimConfig};
