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
use crate::may::{May, may_dispatch};
use crate::write_back::WriteBack;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Op, Save, Time};
use coflash_ftl::{Coverage, GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media, Place};
use std::num::NonZeroU32;
use std::ops::Range;

/// A device behind its port: its lowest level, perhaps below a cache.
#[derive(Clone, Save)]
pub struct Port<L> {
    device: May<WriteBack<L>, L>,
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
    /// Create an idle port of a device with pages of this size. `link` is the cost of whole requests, if they cross here.
    #[must_use]
    pub fn new(
        device: May<WriteBack<L>, L>,
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
            device,
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

    /// Create a port that takes no time, of a device without a cache, and write in units of this many pages.
    #[must_use]
    pub fn in_units(lowest: L, pages_per_unit: u32) -> Self {
        Self::new(May::Lack(lowest), None, &ControllerConfig::default(), 1, pages_per_unit)
    }

    /// The device behind it.
    #[must_use]
    pub fn device(&self) -> &May<WriteBack<L>, L> {
        &self.device
    }

    /// See [`device`](Self::device).
    pub fn device_mut(&mut self) -> &mut May<WriteBack<L>, L> {
        &mut self.device
    }

    /// Whether nothing happens here: all calls may go to the device.
    pub(crate) fn is_open(&self) -> bool {
        !(self.crosses || self.takes_time || self.has_buffer) && self.pages_per_unit == 1
    }

    /// Convert into the device.
    #[must_use]
    pub fn into_device(self) -> May<WriteBack<L>, L> {
        self.device
    }

    /// The time of a command before its pages, from its arrival on.
    #[inline(never)]
    fn before_pages(&mut self, command: Command, now: Option<Time>) -> Duration {
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
            let time = self.controller.time(&command);
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
        L: Level<M> + Cooperates,
    {
        let buffered = if self.has_buffer { io.media.buffer(after) } else { after };
        let mut programmed = self.device.write(page, buffered, io)?;
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
        L: Level<M> + Cooperates,
    {
        let first = page.lpn.get() / self.pages_per_unit * self.pages_per_unit;
        let end = (first + self.pages_per_unit).min(Level::<M>::logical_pages(&self.device));
        let mut all = done;
        for lpn in (first..end).filter(|lpn| !self.written.contains(lpn)).map(Lpn::new) {
            let rest = PageRead { lpn, to: Place::Buffer, cause: page.cause };
            if let Some(read) = self.device.read(rest, io.start, io)? {
                let whole = PageWrite { lpn, coverage: Coverage::Full, from: Place::Buffer, ..page };
                let written = self.device.write(whole, read, io)?;
                all = io.media.both(all, written);
            }
        }
        Ok(all)
    }
}

/// Evaluate an expression for the uppermost level of the device behind a port.
macro_rules! device_dispatch {
    ($port:expr, $level:pat => $call:expr) => {{
        let Port { device, .. } = $port;
        may_dispatch!(device, $level => $call)
    }};
}

impl<M: Media, L: Level<M> + Cooperates> Level<M> for Port<L> {
    #[inline(always)]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        if self.pages_per_unit > 1
            && let (Op::Write, Some(first)) = (command.op, command.first)
        {
            self.written = first.get()..first.get() + command.pages;
        }
        if !self.crosses && !self.takes_time {
            return device_dispatch!(self, device => device.begin(command, io));
        }
        let before = self.before_pages(*command, io.media.known(io.start));
        let start = io.media.later(io.start, before);
        let io = &mut Io { media: &mut *io.media, hook: &mut io.hook, start };
        device_dispatch!(self, device => device.begin(command, io))
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
        device_dispatch!(self, device => device.write(page, after, io))
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
        self.device.flush(after, io, parts)
    }

    #[inline(always)]
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        let end = device_dispatch!(self, device => device.end(io))?;
        Ok(end + std::mem::take(&mut self.tail))
    }

    crate::forward_level!(device_dispatch: time pages logical_pages numbers rest);
}

/// Messages are about pages, whose numbers stay the same.
impl<L: Cooperates> Cooperates for Port<L> {
    crate::cooperates::forward_cooperates!(device_dispatch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{Call, Rig, Setup, Tapped, lpn};
    use coflash_base::Bytes;
    use coflash_media::{Cause, Untimed};

    #[test]
    fn a_port_is_open_where_nothing_happens() {
        let is_open = |link: Option<&LinkCost>, controller: &ControllerConfig, pages| {
            Port::new(May::Lack(()), link, controller, 4096, pages).is_open()
        };
        let idle = ControllerConfig::default();
        let time = Duration { ns: 1 };
        assert!(is_open(None, &idle, 1) && is_open(Some(&LinkCost::new(Duration::ZERO, 0.0)), &idle, 1));
        assert!(!is_open(None, &idle, 2), "units of pages");
        for link in [LinkCost::new(time, 0.0), LinkCost::new(Duration::ZERO, 1.0)] {
            assert!(!is_open(Some(&link), &idle, 1), "a link");
        }
        for busy in [
            ControllerConfig { read_command: time, ..idle.clone() },
            ControllerConfig { write_4k: time, ..idle.clone() },
            ControllerConfig { write_buffer: Bytes { count: 8192 }, ..idle.clone() },
        ] {
            assert!(!is_open(None, &busy, 1), "{busy:?}");
        }
    }

    /// Each other page is read and written whole and under its own number, whatever part of its page the host writes.
    #[test]
    fn a_part_of_a_page_rewrites_its_unit() {
        let flash = Setup::tiny(9, 4).flash();
        let mut rig = Rig::new(Port::in_units(flash, 4), Tapped { inner: Untimed, tap: Vec::new() });
        let Ok(()) = rig.request(Op::Write, &[0, 1, 2, 3].map(|page| (lpn(page), Coverage::Full)));
        let flash = rig.level.device().below().clone();
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
