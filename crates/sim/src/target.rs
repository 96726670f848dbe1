//! What serves requests: a device, alone or behind something else.

use crate::metrics::Metrics;
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::{CacheTally, Extent};
use coflash_flash::{Busy, Finished, When};
use coflash_ftl::Ftl;
use coflash_workload::Op;

/// A request as a target comes to know of it, before its pages.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "a device alone does not look at whole requests")]
pub(crate) struct Command {
    pub(crate) op: Op,
    pub(crate) arrival: Time,
    /// What it transfers or trims; nothing for a flush.
    pub(crate) length_bytes: u64,
    /// Its first page, where it has any, and how many follow. Where addresses are moved they need not be neighbours.
    pub(crate) first: Option<Lpn>,
    pub(crate) pages: u32,
}

/// A moment: known at once, or as time passes.
pub(crate) trait Moment: Copy {
    /// The time, unless it depends on an operation that has not ended.
    fn known(self) -> Option<Time>;
}

impl Moment for When {
    #[inline(always)]
    fn known(self) -> Option<Time> {
        self.known()
    }
}

/// What serves requests. It owns its media and their events; addresses, requests under way and meters are the engine's.
///
/// The life of a request: time passes up to its arrival ([`advance`](Self::advance)), it [begins](Self::begin), each of
/// its pages is read, written or trimmed, or the whole is flushed, and it [ends](Self::end): it is answered when its last
/// part is, or at that time if there is none, and so much later as the end says. A part whose moment is not known yet is
/// [told](Self::tell), and reported when time has come so far.
pub(crate) trait Target {
    /// When a part is done.
    type When: Moment;

    /// A request begins; all its pages are within the target.
    fn begin(&mut self, command: &Command);

    /// Reads a page of the request.
    fn read(&mut self, lpn: Lpn) -> Self::When;

    /// Writes a page of the request, or a part of it.
    fn write(&mut self, lpn: Lpn, extent: Extent) -> Self::When;

    /// Trims a page of the request.
    fn trim(&mut self, lpn: Lpn);

    /// Makes everything written durable; the parts that this waits for are appended.
    fn flush(&mut self, parts: &mut Vec<Self::When>);

    /// The request has no more pages: the earliest time at which it may be answered, and what the answer takes after its
    /// last part.
    fn end(&mut self) -> (Time, Duration);

    /// Passes time up to `until`, reporting every part that was told and ended on the way.
    fn advance(&mut self, until: Time, finished: &mut Vec<Finished>);

    /// Passes time to the next event, if there is one. More requests are to come.
    fn step(&mut self, finished: &mut Vec<Finished>);

    /// As [`step`](Self::step), when no request is to come: what is idle stays so. False where there is no event left.
    fn drain(&mut self, finished: &mut Vec<Finished>) -> bool;

    /// When the next event is due, where there are events.
    fn next_event(&self) -> Option<Time>;

    /// Has `tag` reported when `when` has come, which is not known yet.
    fn tell(&mut self, when: Self::When, tag: u32);

    /// The FTL, to look at.
    fn ftl(&self) -> &Ftl;

    /// What the cache before the FTL has done, and its pages.
    fn cache(&self) -> (CacheTally, u32);

    /// What dies have spent time on.
    fn busy(&self) -> Busy;

    /// Bytes of state on the heap: the device's, and those of its media that grow with requests under way.
    fn heap_bytes(&self) -> (usize, usize);

    /// Adds what only this kind of target measures.
    fn add_sections(&self, metrics: &mut Metrics) {
        let _ = metrics;
    }
}
