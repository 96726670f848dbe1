//! Media in simulated time, driven by an engine.

use crate::{Media, Timeline, When};
use coflash_base::{Duration, Save};

/// Time that dies were busy, summed over dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub struct Busy {
    /// Time for garbage collection.
    pub gc: Duration,
    /// Time for all other operations.
    pub other: Duration,
    /// Time of transfers over the buses of channels, which is part of the others.
    pub bus: Duration,
}

/// A media with operations in simulated time: a timeline, alone or beside something else that operations act on.
///
/// Time advances only by the methods of the timeline. With private channels and no
/// disks there are no events. Otherwise moments become known as events happen.
pub trait SimulatedMedia: Media<When = When> {
    /// Its timeline.
    fn timeline(&self) -> &Timeline;

    /// Its timeline, to advance time.
    fn timeline_mut(&mut self) -> &mut Timeline;
}
