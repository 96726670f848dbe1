//! The firmware: a device cache and the FTL, and how they cooperate.
//!
//! [`Controller`] serves one page at a time and acts through a [`Media`](coflash_flash::Media): the simulator and a real
//! device share it. What cache and flash tell each other is a scheme of [`cooperation`], one file each.

mod config;
mod consistent;
mod controller;
pub mod cooperation;

pub use config::{CacheConfig, CacheSize, Eviction};
pub use consistent::nvm;
pub use controller::{CacheTally, Controller, Extent};
pub use cooperation::{CommitTally, Cooperation, CooperationConfig};
