//! What the device is asked to do: requests, the formats they are recorded in, and generators that make them up.
//!
//! Everything that yields requests is a [`Source`]: it is streamed in batches and never held whole, and
//! [`ReadAhead`] lets it run on a thread of its own, ahead of the simulation.

mod caught;
mod compressed;
pub mod disksim_generator;
pub mod formats;
pub mod info;
pub mod like;
mod merge;
pub mod parts;
mod place;
pub mod read_ahead;
pub mod ready_made;
mod repeat;
mod request;
pub mod synthetic;
pub mod tools;
pub mod trace;

pub use parts::{Part, PartSource};
pub use place::STANDARD_INPUT;
pub use read_ahead::ReadAhead;
pub use repeat::Repeat;
pub use request::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
pub use trace::{OnError, TraceOptions, TraceSource};
