//! Indirection units larger than a page: a write of a part of a unit reads the rest and writes all of it.
//!
//! Drives with large units have a smaller map and a higher write amplification. Reads cost the same as
//! without units. Pages of a unit that were never written, or are trimmed, take no space and are not written.

use crate::cooperates::Cooperates;
use crate::level::{Command, Level, Restart};
use crate::over::below_dispatch;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Op, Save, Time};
use coflash_ftl::{Coverage, GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media, Place};
use std::ops::Range;

/// A level with writes in units.
#[derive(Clone, Save)]
pub struct Units<L> {
    below: L,
    pages_per_unit: u32,
    /// The pages of the current write.
    written: Range<u32>,
}

impl<L> Units<L> {
    /// Create units of this many pages over a level.
    #[must_use]
    pub fn new(below: L, pages_per_unit: u32) -> Self {
        Self { below, pages_per_unit, written: 0..0 }
    }

    crate::over::level_over!();

    /// Write the pages of a unit that the request does not cover. Returns the moment at which they and `done`
    /// are done.
    #[cold]
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

impl<M: Media, L: Level<M>> Level<M> for Units<L> {
    #[inline(always)]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        if self.pages_per_unit > 1
            && let (Op::Write, Some(first)) = (command.op, command.first)
        {
            self.written = first.get()..first.get() + command.pages;
        }
        self.below.begin(command, io)
    }

    #[inline(always)]
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        // Without a copy of the page: the processor would wait for its fields.
        if self.pages_per_unit == 1 {
            return self.below.write(page, after, io);
        }
        let done = self.below.write(page, after, io)?;
        let lpn = page.lpn.get();
        if lpn != self.written.start && !lpn.is_multiple_of(self.pages_per_unit) {
            return Ok(done);
        }
        self.write_rest(page, done, io)
    }

    crate::forward_level!(below_dispatch: read trim flush end time report numbers rest);
}

impl<M: Media, L: Restart<M>> Restart<M> for Units<L> {
    crate::forward_restart!(below_dispatch);
}

/// Messages are about pages; their numbers stay the same.
impl<L: Cooperates> Cooperates for Units<L> {
    crate::cooperates::forward_cooperates!(below_dispatch, lags: L::LAGS);
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
        let mut rig = Rig::new(Units::new(flash, 4), Tapped { inner: Untimed, tap: Vec::new() });
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
