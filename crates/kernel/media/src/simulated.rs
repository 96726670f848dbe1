//! Media in simulated time, driven by an engine.

use crate::{DieId, Finished, Media, When};
use coflash_base::measure::Report;
use coflash_base::{Duration, Save, Time};

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

/// A media with operations in simulated time.
///
/// Time advances only by the methods below. With private channels and no
/// disks there are no events. Otherwise moments become known as events happen.
pub trait SimulatedMedia: Media<When = When> {
    /// Request a report of `tag` at `when`, a moment with unknown time.
    fn tell(&mut self, when: When, tag: u32);

    /// Process the events up to `until` and append the tags of the moments on the way, in order. Stops after an
    /// event that reports something, since that may cause new operations. Returns whether no event is left.
    fn run(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool;

    /// Advance time to `now`, without any event in between.
    fn pass_to(&mut self, now: Time);

    /// As [`run`](Self::run); then, if no event is left, advance time to `until`.
    #[inline]
    fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        let is_reached = self.run(until, finished);
        if is_reached {
            self.pass_to(until);
        }
        is_reached
    }

    /// Advance time to the next event. Returns false if nothing is under way.
    fn step(&mut self, finished: &mut Vec<Finished>) -> bool;

    /// The time of the next event; `None` if nothing is under way, or if there are no events.
    fn next_event(&self) -> Option<Time>;

    /// The time since which a die is idle, if known: with private channels it may be in the future, with
    /// shared ones it is now or `None`.
    fn idle_since(&self, die: DieId) -> Option<Time>;

    /// The time that dies were busy so far.
    fn busy(&self) -> Busy;

    /// The longest time that a die or a channel needs from `now` on for issued operations, without waiting.
    fn backlog_max(&self, now: Time) -> Duration;

    /// The pages in the controller's write buffer: they are written, and not yet in flash.
    fn buffered_pages(&self) -> u64;

    /// The end of the last operation of flash or disks. Where ends become known as time advances, only ended
    /// operations count.
    fn busy_until(&self) -> Time;

    /// Add its measures to a report.
    fn report(&self, report: &mut Report);

    /// The heap memory in bytes.
    fn heap_bytes(&self) -> usize;
}
