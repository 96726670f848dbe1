//! Restarts of host and device between two requests.

use super::Engine;
use coflash_base::Time;
use coflash_base::measure::Report;
use coflash_level::{Command, Level};
use coflash_media::{Busy, DieId, SimulatedMedia, When};
use coflash_scenario::{RestartConfig, Shutdown};
use coflash_workload::Op;
use std::collections::VecDeque;

coflash_base::measures! {
    /// Restarts of host and device. All blocks with data of fast programs are refreshed at once then.
    pub struct RestartCounters in "restart", "Restarts" {
        /// Restarts. Those scheduled for after the last request did not happen.
        restarts: u64, "restarts";
        /// Pages that were dirty in the host's buffer, and so lost.
        lost_host_pages: u64, "dirty pages lost in the host", pages, cost;
        /// Pages that were dirty in the device's buffer, and so lost.
        lost_device_pages: u64, "dirty pages lost in the device", pages, cost;
        /// Pages programmed by the refreshes.
        refreshed_pages: u64, "pages refreshed after a restart", pages, cost;
        /// Blocks erased by the refreshes.
        erases_blocks: u64, "blocks erased after a restart", blocks, cost;
        /// Time that dies spent on the refreshes, summed over the dies.
        die_time_ns: u64, "time of dies on refreshes after a restart", ns, cost;
        /// The longest time from a restart until all dies were idle, operations under way included.
        busy_max_ns: u64, "dies busy after a restart, longest", ns, cost;
    }
}

/// The scheduled restarts, and the costs of those done.
#[derive(Clone, Debug)]
pub(super) struct Restarts {
    due: VecDeque<Time>,
    shutdown: Shutdown,
    /// `None` if none is scheduled: then the result has no such section.
    counters: Option<RestartCounters>,
}

impl Restarts {
    pub(super) fn new(config: &RestartConfig) -> Self {
        let mut due: Vec<_> = config.at.iter().map(|at| Time::ZERO + *at).collect();
        due.sort_unstable();
        let counters = (!due.is_empty()).then(RestartCounters::default);
        Self { due: due.into(), shutdown: config.shutdown, counters }
    }

    /// Take the next restart, if it is due by `until`.
    #[inline(always)]
    pub(super) fn next_until(&mut self, until: Time) -> Option<Time> {
        if self.due.front().is_some_and(|at| *at <= until) { self.due.pop_front() } else { None }
    }

    pub(super) fn report(&self, report: &mut Report) {
        if let Some(counters) = &self.counters {
            report.add(counters);
        }
    }
}

impl<L: Level<M>, M: SimulatedMedia> Engine<L, M> {
    /// Restart host and device at `at`, the current time.
    #[cold]
    pub(super) fn restart(&mut self, at: Time) -> Result<(), M::Error> {
        let io = &mut Self::io(&mut self.media, When::at(at));
        self.level.pass_time(at, io)?;
        if self.restarts.shutdown == Shutdown::Orderly {
            let flush = Command { op: Op::Flush, bytes: 0, first: None, pages: 0, is_whole: true };
            let start = self.level.begin(&flush, io);
            let io = &mut Self::io(&mut self.media, start);
            self.level.flush(start, io, &mut self.flushed)?;
            self.level.end(io)?;
            self.flushed.clear();
        }
        let (before, busy_before) = (self.report(), self.busy_ns());
        self.level.restart(at, &mut Self::io(&mut self.media, When::at(at)))?;
        let (after, busy_after) = (self.report(), self.busy_ns());
        let backlog = |die| self.media.backlog(DieId::new(die), When::at(at));
        let busy_max_ns = (0..self.dies).map(backlog).max().unwrap_or(0);
        let counters = self.restarts.counters.get_or_insert_default();
        let grown = |path: &str| after.count(path) - before.count(path);
        counters.restarts += 1;
        counters.lost_host_pages += before.count("host_buffer.dirty_pages");
        counters.lost_device_pages += before.count("cache.dirty_pages");
        counters.refreshed_pages += grown("programs_pages.refresh");
        counters.erases_blocks += grown("erases_blocks");
        counters.die_time_ns += busy_after - busy_before;
        counters.busy_max_ns = counters.busy_max_ns.max(busy_max_ns);
        Ok(())
    }

    fn busy_ns(&self) -> u64 {
        let Busy { gc, other, .. } = self.media.busy();
        gc.ns + other.ns
    }
}
