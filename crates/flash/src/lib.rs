//! Flash memory: how it is divided, how long it takes, and the one trait behind which it acts.
//!
//! The firmware above decides; a [`Media`] acts. In simulation that is the [`Timeline`] of busy dies and channels, in the
//! tests an image of bytes ([`image::Image`]), while a device is warmed up nothing at all ([`Untimed`]).

mod channel;
mod geometry;
pub mod image;
mod media;
mod timeline;
mod timing;

pub use geometry::{BlockId, DieId, Geometry, Ppn};
pub use media::{Access, Cause, Media, Mode, Oob, Place, Untimed};
pub use timeline::{Busy, Finished, Timeline, When};
pub use timing::{CacheTiming, Channel, Planes, Timing};
