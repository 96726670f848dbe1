//! A link below a host without a cache: it carries whole requests. The data of a write crosses before its first page begins, the
//! data of a read after its last page.

use super::cost::{LinkCost, Way};
use crate::level::{Command, Level, Restart};
use crate::over::below_dispatch;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Op, Save, Time};
use coflash_ftl::{GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media};

/// A level across a link that carries whole requests.
#[derive(Clone, Save)]
pub struct RequestLink<L> {
    below: L,
    cost: LinkCost,
    /// The time from the last page of the current request to its answer.
    tail: Duration,
}

impl<L> RequestLink<L> {
    /// Create a link over a device.
    #[must_use]
    pub fn new(below: L, cost: &LinkCost) -> Self {
        Self { below, cost: cost.clone(), tail: Duration::ZERO }
    }

    crate::over::level_over!();
}

impl<M: Media, L: Level<M>> Level<M> for RequestLink<L> {
    #[inline(always)]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        let data = self.cost.bytes(command.bytes);
        let now = io.media.known(io.start);
        let (there, back) = match command.op {
            Op::Read => (self.cost.turn(Way::ToHost, now, data), data),
            Op::Write => (self.cost.turn(Way::ToDevice, now, data) + data, Duration::ZERO),
            Op::Trim | Op::Flush => (Duration::ZERO, Duration::ZERO),
        };
        self.tail = back;
        let start = io.media.later(io.start, self.cost.per_message + there);
        self.below.begin(command, &mut Io { media: &mut *io.media, hook: &mut io.hook, start })
    }

    #[inline]
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        Ok(self.below.end(io)? + std::mem::take(&mut self.tail))
    }

    crate::forward_level!(below_dispatch: read write trim flush time report numbers rest);
}

impl<M: Media, L: Restart<M>> Restart<M> for RequestLink<L> {
    crate::forward_restart!(below_dispatch);
}
