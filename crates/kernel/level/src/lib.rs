//! The levels of a storage stack: caches and write buffers, the link, the FTL at the bottom, and their
//! cooperation.
//!
//! | concept | place |
//! |---|---|
//! | levels, and the life of a request | [`Level`] |
//! | the cache: in the device, in the host, the host's write buffer | [`WriteBack`] |
//! | what makes a cache crash-consistent (`cdm-consistent`) | `write_back/consistency.rs` |
//! | a link below a cache: the notices that cross it, questions and grants | [`Linked`] |
//! | what happens to a command before its pages: link, time of the firmware, write buffer, units | [`Port`] |
//! | a level that may be there or not | [`May`] |
//! | the FTL as a level | `flash.rs`; the FTL itself is the crate `coflash-ftl` |
//! | which level lies above which: the tower, and how it is made | [`Tower`], `stack.rs` |
//! | marks, invalidations, weights: cooperation between cache and flash | [`Cooperates`] |
//! | CDM, ShadowGC and their baselines | [`cooperation`], a file each |
//! | CDM's states S0, S1, S2 | not stored: they follow from the map, the mark and the cache (`cooperation/cdm.rs`) |
//! | CDM's consistent states S0 to S5, commit, checkpoint | `cooperation/cdm_consistent.rs` (definitions), `write_back/consistency.rs` (transitions) |
//! | metadata in non-volatile memory, and recovery from it | [`nvm`] |
//! | ShadowGC's states of a page | three bits: valid, and a mark for each memory (`cooperation/shadow.rs`) |
//! | `removable_weight`: the expected cost of a drop | `cooperation/cdm.rs`, `cooperation/rewrite_predictor.rs` |
//! | the bound on sole copies | `cooperation/sole_copies.rs` |
//!
//! A level acts through a [`Media`](coflash_media::Media): the simulator, a test with bytes and a real device share it.

#[cfg(test)]
extern crate self as coflash_level;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

mod config;
mod controller;
mod cooperates;
pub mod cooperation;
mod device;
mod flash;
mod level;
mod linked;
mod may;
pub mod nvm;
mod over;
mod port;
mod recovery_error;
mod stack;
mod write_back;

pub use coflash_base::Op;
pub use config::{CacheConfig, Eviction, Placement};
pub use controller::ControllerConfig;
pub use cooperates::{Cached, Cooperates, Message};
pub use cooperation::{Cooperation, CooperationConfig};
pub use device::DeviceConfig;
pub use level::{Command, Crossing, Elsewhere, Level, LostPages};
pub use linked::{
    ExchangeCounters, HostConfig, LinkConfig, LinkCost, LinkCounters, Linked, NoticeCounters, NoticeKinds,
    Notices, Protecting, Sharing, link_sections,
};
pub use may::May;
pub use port::Port;
pub use recovery_error::RecoveryError;
pub use stack::{DevicePort, Levels, MayCache, MayLink, OnLevel, StackConfig, Tower};
pub use write_back::{
    Announces, AtRisk, CacheCounters, DropCounters, HOST_BUFFER, WriteBack, WriteBufferConfig,
};
