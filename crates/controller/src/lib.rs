//! The firmware: a device cache and the FTL, and how they cooperate.
//!
//! [`Controller`] serves one page at a time and acts through a [`Media`](coflash_flash::Media): the simulator and a real
//! device share it. What cache and flash tell each other is a scheme of [`cooperation`], one file each.

mod config;
mod consistent;
mod controller;
pub mod cooperation;
mod write_back;

pub use config::{CacheConfig, CacheSize, Eviction, Placement};
pub use consistent::nvm;
pub use controller::Controller;
pub use cooperation::{Answers, CommitTally, Cooperation, CooperationConfig, ShadowTally};
pub use write_back::{Below, CacheTally, Cached, Extent, WriteBack};
