//! The host's side: what host and device tell each other across a link, and a cache placed in the host.
//!
//! Where cache and FTL share one controller, telling each other is free. Across a link it takes messages, bytes and time,
//! and what the other side knows lags behind. [`Lane`] is one direction of such a link, for notices of any kind.
//! [`HostCache`] is the cache of CDM in the host, over a device that may only drop what the host protects.

mod cache;
mod config;
mod link;
mod notice;
mod remote;
pub mod write_buffer;

#[cfg(test)]
mod tests;

pub use cache::HostCache;
pub use config::{HostConfig, Notices, Protecting};
pub use link::{Lane, LaneTally, Sending, Standing, Ticket, Toll};
pub use notice::{ExchangeTally, NoticeTally, RemoteTally, ToDevice, ToHost};
pub use remote::Remote;
