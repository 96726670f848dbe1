//! Restarts of host and device between two requests.

use super::Engine;
use crate::metrics::RestartCounters;
use coflash_base::{Save, Time};
use coflash_ftl::{FtlCounters, Programs};
use coflash_level::{Command, Crossing, Level, LostPages};
use coflash_media::{Busy, DieId, SimulatedMedia, When};
use coflash_scenario::{Scenario, Shutdown};
use coflash_workload::Op;
use std::collections::VecDeque;

/// The scheduled restarts, and the costs of those done.
#[derive(Save)]
pub(super) struct Restarts {
    due: VecDeque<Time>,
    #[save(skip)]
    shutdown: Shutdown,
    /// Whether a sudden restart loses the controller's write buffer.
    loses_buffer: bool,
    pub(super) counters: RestartCounters,
}

impl Restarts {
    /// Schedule the restarts of a scenario; `None` if there are none: then the result has no such section.
    pub(super) fn schedule(scenario: &Scenario) -> Option<Self> {
        let mut due: VecDeque<_> = scenario.restart.at.iter().map(|at| Time::ZERO + *at).collect();
        due.make_contiguous().sort_unstable();
        (!due.is_empty()).then(|| Self {
            due,
            shutdown: scenario.restart.shutdown,
            loses_buffer: scenario.controller.volatile && scenario.restart.shutdown == Shutdown::Sudden,
            counters: RestartCounters::default(),
        })
    }

    /// Take the next restart, if it is due by `until`.
    #[inline(always)]
    pub(super) fn next_until(&mut self, until: Time) -> Option<Time> {
        if self.due.front().is_some_and(|at| *at <= until) { self.due.pop_front() } else { None }
    }
}

impl<M: SimulatedMedia> Engine<M> {
    /// Restart host and device at `at`, the current time.
    #[cold]
    pub(super) fn restart(&mut self, level: &mut impl Level<M>, at: Time) -> Result<(), M::Error> {
        let Some(mut restarts) = self.restarts.take() else { return Ok(()) };
        let io = &mut Self::io(&mut self.media, When::at(at));
        level.pass_time(at, io)?;
        if restarts.shutdown == Shutdown::Orderly {
            let flush = Command { op: Op::Flush, bytes: 0, first: None, pages: 0, crossing: Crossing::Whole };
            let start = level.begin(&flush, io);
            let io = &mut Self::io(&mut self.media, start);
            level.flush(start, io, &mut self.flushed)?;
            level.end(io)?;
            self.flushed.clear();
        }
        let buffered = if restarts.loses_buffer { self.media.timeline().buffered_pages() } else { 0 };
        let (before, busy_before) = (self.rewritten(level), self.busy_ns());
        let io = &mut Self::io(&mut self.media, When::at(at));
        let LostPages { host, device } = level.restart(at, io)?;
        self.is_timed = level.is_timed();
        let (after, busy_after) = (self.rewritten(level), self.busy_ns());
        let backlog = |die| self.media.backlog(DieId::new(die), When::at(at));
        let busy_max_ns = (0..self.dies).map(backlog).max().unwrap_or(0);
        let counters = &mut restarts.counters;
        counters.restarts += 1;
        counters.lost_host_pages += host;
        counters.lost_device_pages += device + buffered;
        counters.refreshed_pages += after.0 - before.0;
        counters.erases_blocks += after.1 - before.1;
        counters.die_time_ns += busy_after - busy_before;
        counters.busy_max_ns = counters.busy_max_ns.max(busy_max_ns);
        self.restarts = Some(restarts);
        Ok(())
    }

    /// Pages programmed by refreshes, and blocks erased.
    fn rewritten(&self, level: &impl Level<M>) -> (u64, u64) {
        let report = self.report(level);
        (report.get::<Programs>().refresh, report.get::<FtlCounters>().erases_blocks)
    }

    fn busy_ns(&self) -> u64 {
        let Busy { gc, other, .. } = self.media.timeline().busy();
        (gc + other).ns
    }
}
