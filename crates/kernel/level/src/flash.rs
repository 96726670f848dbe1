//! The FTL as the lowest level of a stack.

use crate::level::{Command, Elsewhere, Level, LostPages};
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_ftl::{Ftl, GcHook, Io, PageRead, PageWrite, PlacementClass};
use coflash_media::{DieId, Media};

impl<M: Media> Level<M> for Ftl {
    fn logical_pages(&self) -> u32 {
        Self::logical_pages(self)
    }

    #[inline(always)]
    fn look_ahead(&self, lpn: Lpn, ahead: Ahead) {
        Self::look_ahead(self, lpn, ahead);
    }

    #[inline(always)]
    fn is_timed(&self) -> bool {
        self.refreshes()
    }

    #[inline]
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        if self.refreshes() { Self::pass_time(self, now, io) } else { Ok(()) }
    }

    fn next_due(&self) -> Option<Time> {
        None
    }

    #[inline(always)]
    fn begin<H: GcHook>(&mut self, _: &Command, io: &mut Io<'_, M, H>) -> M::When {
        io.start
    }

    #[inline(always)]
    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error> {
        Self::read(self, page, after, io)
    }

    #[inline(always)]
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        Self::write(self, page, after, io)
    }

    #[inline]
    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        _: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        self.invalidate(lpn);
        Ok(after)
    }

    /// Nothing to do: every answered write is programmed.
    fn flush<H: GcHook>(
        &mut self,
        _: M::When,
        _: &mut Io<'_, M, H>,
        _: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        Ok(())
    }

    #[inline(always)]
    fn end<H: GcHook>(&mut self, _: &mut Io<'_, M, H>) -> Result<Duration, M::Error> {
        Ok(Duration::ZERO)
    }

    fn notify<H: GcHook>(&mut self, tag: u32, _: Time, _: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        unreachable!("the FTL asks for no moment, and {tag} has come")
    }

    fn joins_pages(&self) -> bool {
        false
    }

    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error> {
        Self::work_idle(self, die, io)
    }

    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        Self::restart(self, now, io)?;
        Ok(LostPages::default())
    }

    fn report(&self, report: &mut Report) {
        report.add(self.counters());
        report.add(&self.used_space());
        report.add(self.programs());
        let classes: Vec<_> = self.placement_classes().collect();
        if !classes.is_empty() {
            report.add_list(&PlacementClass::INFO, classes.iter());
        }
        if let Some(counters) = self.slc_counters() {
            report.add(counters);
        }
        if let Some(counters) = self.fast_block_counters() {
            report.add(&counters);
        }
    }

    fn ftl(&self) -> &Ftl {
        self
    }

    fn elsewhere(&self, _: Lpn) -> Option<Elsewhere> {
        None
    }

    fn assert_invariants(&self) {
        Self::assert_invariants(self);
    }
}
