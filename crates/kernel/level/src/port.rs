//! The port of a device: what happens to a command before its pages are served.
//!
//! - **The link**, where it carries whole requests: the data of a write crosses before its first page begins, the data of a read after
//!   its last page. Below a cache in the host pages cross one by one, and the link is [`Linked`](crate::Linked).
//! - **The firmware**: commands occupy its cores before their pages are served.
//! - **The controller's write buffer**: a write is answered when all its pages are in the buffer. A page leaves the buffer when it is in
//!   flash, so a full buffer slows the host down to the pace of flash. This is not a cache: [`WriteBack`](crate::WriteBack) keeps pages
//!   as long as possible, to absorb overwrites; here each page is programmed at once. GC does not use the buffer. Model and terms follow
//!   NVMeVirt (Kim et al., FAST 2023).
//! - **Indirection units** larger than a page: a write of a part of a unit reads the rest and writes all of it. Drives with large units
//!   have a smaller map and a higher write amplification. Reads cost the same as without units. Pages of a unit that were never
//!   written, or are trimmed, take no space and are not written.

use crate::controller::ControllerConfig;
use crate::cooperates::Cooperates;
use crate::level::{Command, Level, LostPages};
use crate::linked::{LinkCost, Way};
use crate::over::below_dispatch;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Op, Save, Time};
use coflash_ftl::{Coverage, GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media, Place};
use std::num::NonZeroU32;
use std::ops::Range;

/// A level behind the port of a device.
#[derive(Clone, Save)]
pub struct Port<L> {
    below: L,
    /// The cost of whole requests.
    link: LinkCost,
    /// Whether whole requests cross a link that takes time.
    crosses: bool,
    /// The time from the last page of the current request to its answer.
    tail: Duration,
    controller: ControllerConfig,
    /// Whether the firmware takes time.
    takes_time: bool,
    /// The time at which each core of the firmware becomes idle. Empty if there is no limit.
    idle_at: Vec<Time>,
    has_buffer: bool,
    pages_per_unit: u32,
    /// The pages of the current write.
    written: Range<u32>,
}

impl<L> Port<L> {
    /// Create an idle port over a level with pages of this size. `link` is the cost of whole requests, if they cross here.
    #[must_use]
    pub fn new(
        below: L,
        link: Option<&LinkCost>,
        controller: &ControllerConfig,
        page_bytes: u64,
        pages_per_unit: u32,
    ) -> Self {
        let ControllerConfig { cores, read_command, read_4k, write_command, write_4k, .. } = *controller;
        let takes_time =
            [read_command, read_4k, write_command, write_4k].iter().any(|&time| time > Duration::ZERO);
        let link = link.cloned().unwrap_or_else(|| LinkCost::new(Duration::ZERO, 0.0));
        Self {
            below,
            crosses: link.per_message > Duration::ZERO || link.ns_per_byte > 0.0,
            link,
            tail: Duration::ZERO,
            takes_time,
            idle_at: vec![Time::ZERO; cores.map_or(0, NonZeroU32::get) as usize],
            has_buffer: controller.buffer(page_bytes).is_some(),
            controller: controller.clone(),
            pages_per_unit,
            written: 0..0,
        }
    }

    /// Create a port that takes no time, and writes in units of this many pages.
    #[must_use]
    pub fn in_units(below: L, pages_per_unit: u32) -> Self {
        Self::new(below, None, &ControllerConfig::default(), 1, pages_per_unit)
    }

    crate::over::level_over!();

    /// The time of a command before its pages, from its arrival on.
    #[inline(never)]
    fn before_pages(&mut self, command: &Command, now: Option<Time>) -> Duration {
        let mut before = Duration::ZERO;
        if self.crosses {
            let data = self.link.bytes(command.bytes);
            let (there, back) = match command.op {
                Op::Read => (self.link.turn(Way::ToHost, now, data), data),
                Op::Write => (self.link.turn(Way::ToDevice, now, data) + data, Duration::ZERO),
                Op::Trim | Op::Flush => (Duration::ZERO, Duration::ZERO),
            };
            self.tail = back;
            before = self.link.per_message + there;
        }
        if self.takes_time {
            let time = self.controller.time(command);
            let arrival = now.map(|now| now + before);
            before = before
                + match (arrival, self.idle_at.iter_mut().min()) {
                    (Some(now), Some(core)) => {
                        *core = now.max(*core) + time;
                        core.since(now)
                    }
                    _ => time,
                };
        }
        before
    }

    /// Write a page through the buffer and in its unit.
    #[inline(never)]
    fn write_through<M: Media, H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        let buffered = if self.has_buffer { io.media.buffer(after) } else { after };
        let mut programmed = self.below.write(page, buffered, io)?;
        let lpn = page.lpn.get();
        if self.pages_per_unit > 1 && (lpn == self.written.start || lpn.is_multiple_of(self.pages_per_unit)) {
            programmed = self.write_rest(page, programmed, io)?;
        }
        if !self.has_buffer {
            return Ok(programmed);
        }
        io.media.unbuffer(programmed);
        Ok(buffered)
    }

    /// Write the pages of a unit that the request does not cover. Returns the moment at which they and `done`
    /// are done.
    fn write_rest<M: Media, H: GcHook>(
        &mut self,
        page: PageWrite,
        done: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error>
    where
        L: Level<M>,
    {
        let first = page.lpn.get() / self.pages_per_unit * self.pages_per_unit;
        let end = (first + self.pages_per_unit).min(self.below.logical_pages());
        let mut all = done;
        for lpn in (first..end).filter(|lpn| !self.written.contains(lpn)).map(Lpn::new) {
            let rest = PageRead { lpn, to: Place::Buffer, cause: page.cause };
            if let Some(read) = self.below.read(rest, io.start, io)? {
                let whole = PageWrite { lpn, coverage: Coverage::Full, from: Place::Buffer, ..page };
                let written = self.below.write(whole, read, io)?;
                all = io.media.both(all, written);
            }
        }
        Ok(all)
    }
}

impl<M: Media, L: Level<M>> Level<M> for Port<L> {
    #[inline(always)]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        if self.pages_per_unit > 1
            && let (Op::Write, Some(first)) = (command.op, command.first)
        {
            self.written = first.get()..first.get() + command.pages;
        }
        if !self.crosses && !self.takes_time {
            return self.below.begin(command, io);
        }
        let before = self.before_pages(command, io.media.known(io.start));
        let start = io.media.later(io.start, before);
        self.below.begin(command, &mut Io { media: &mut *io.media, hook: &mut io.hook, start })
    }

    #[inline(always)]
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        // Without a copy of the page: the processor would wait for its fields.
        if self.has_buffer || self.pages_per_unit > 1 {
            return self.write_through(page, after, io);
        }
        self.below.write(page, after, io)
    }

    fn flush<H: GcHook>(
        &mut self,
        after: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        if self.controller.volatile {
            io.media.await_programs(parts);
        }
        self.below.flush(after, io, parts)
    }

    #[inline(always)]
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        Ok(self.below.end(io)? + std::mem::take(&mut self.tail))
    }

    crate::forward_level!(below_dispatch: read trim time restart report numbers rest);
}

/// Messages are about pages, whose numbers stay the same.
impl<L: Cooperates> Cooperates for Port<L> {
    crate::cooperates::forward_cooperates!(below_dispatch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{Call, Rig, Setup, Tapped, lpn};
    use coflash_media::{Cause, Untimed};

    /// Each other page is read and written whole and under its own number, whatever part of its page the host writes.
    #[test]
    fn a_part_of_a_page_rewrites_its_unit() {
        let flash = Setup::tiny(9, 4).flash();
        let mut rig = Rig::new(Port::in_units(flash, 4), Tapped { inner: Untimed, tap: Vec::new() });
        let Ok(()) = rig.request(Op::Write, &[0, 1, 2, 3].map(|page| (lpn(page), Coverage::Full)));
        let flash = rig.level.below().clone();
        rig.media.tap.clear();
        let Ok(()) = rig.write(lpn(1), Coverage::Partial);
        let calls = rig.media.tap.iter().map(|call| match *call {
            Call::Read(page, to, Cause::Host) => ("read", to, Some(page)),
            Call::Program(_, oob, from, Cause::Host) => {
                ("program", from, oob.lpn.and_then(|page| flash.lookup(page)))
            }
            other => panic!("{other:?}"),
        });
        let expected = [(1, Place::Merged), (0, Place::Buffer), (2, Place::Buffer), (3, Place::Buffer)];
        let expected = expected.map(|(page, place)| (place, flash.lookup(lpn(page))));
        let expected =
            expected.into_iter().flat_map(|(at, page)| [("read", at, page), ("program", at, page)]);
        assert_eq!(
            calls.collect::<Vec<_>>(),
            expected.collect::<Vec<_>>(),
            "the host's part is over its own page"
        );
    }
}
