//! The host's side: what host and device tell each other across a link, and what that costs.
//!
//! Where cache and FTL share one controller, telling each other is free. Across a link it takes messages, bytes and time,
//! and what the other side knows lags behind. [`Lane`] is one direction of such a link.

mod link;

pub use link::{Lane, LaneTally, Sending, Standing, Ticket, Toll};
