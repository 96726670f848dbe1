//! A device at the end of a link: firmware over a timeline of busy dies.

use crate::metrics::{Consistency, DeviceBuffer, Metrics, Shadows};
use crate::scenario::{LinkConfig, Scenario};
use crate::target::{Command, Target};
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::{CacheTally, Controller, Extent};
use coflash_flash::{Busy, DieId, Finished, Timeline, When};
use coflash_ftl::{Ftl, GcMode};
use coflash_workload::Op;

/// Firmware, timeline, link.
pub(crate) struct Device {
    pub(crate) controller: Controller,
    pub(crate) timeline: Timeline,
    pub(crate) link: LinkConfig,
    ns_per_byte: f64,
    /// What a page takes to cross the link.
    pub(crate) page_crossing: Duration,
    gc: GcMode,
    /// The cache is a volatile write buffer.
    volatile: bool,
    dies: u32,
    /// When the pages of the request under way may begin.
    start: Time,
    /// From its last page to the host.
    tail: Duration,
}

impl Device {
    pub(crate) fn new(scenario: &Scenario, controller: Controller) -> Self {
        Self {
            timeline: Timeline::new(&scenario.flash, &scenario.timing, scenario.cache.timing()),
            link: scenario.link.clone(),
            ns_per_byte: scenario.link.ns_per_byte(),
            page_crossing: Duration {
                ns: (scenario.flash.page_size.count as f64 * scenario.link.ns_per_byte()).round() as u64,
            },
            gc: scenario.gc.mode,
            volatile: scenario.cache.volatile,
            dies: scenario.flash.dies(),
            controller,
            start: Time::ZERO,
            tail: Duration::ZERO,
        }
    }

    /// Has the firmware do what is due by `now`.
    #[inline]
    pub(crate) fn pass_time(&mut self, now: Time) {
        self.controller.pass_time(now, When::at(now), &mut self.timeline);
    }

    /// Passes time up to just before `until`, and uses what is idle of it.
    #[inline(never)]
    fn advance_idly(&mut self, until: Time, finished: &mut Vec<Finished>) {
        loop {
            let event = |timeline: &Timeline| timeline.next_event().filter(|&at| at < until);
            self.use_idle_time(event(&self.timeline).unwrap_or(until));
            // What has begun may end before that.
            if event(&self.timeline).is_none() {
                break;
            }
            self.step(finished);
        }
    }

    /// Has idle dies collect garbage, in the order in which they fall idle: whatever may begin before `until` does, and is
    /// done to its end. With shared channels nothing else may happen before `until`.
    fn use_idle_time(&mut self, until: Time) {
        let dies = || (0..self.dies).map(DieId::new);
        loop {
            let (ftl, timeline) = (self.controller.ftl(), &self.timeline);
            let idle = dies().filter_map(|die| Some((timeline.idle_since(die)?, die)));
            let next = idle.filter(|&(since, die)| since < until && ftl.has_idle_work(die)).min();
            let Some((since, die)) = next else { break };
            if !self.controller.work_idle(die, When::at(since), &mut self.timeline) {
                break;
            }
        }
    }
}

impl Target for Device {
    type When = When;

    #[inline]
    fn begin(&mut self, command: &Command) {
        self.pass_time(command.arrival);
        self.start = command.arrival + self.link.per_command;
        self.tail = Duration::ZERO;
        if let Op::Read | Op::Write = command.op {
            let crossing = Duration { ns: (command.length_bytes as f64 * self.ns_per_byte).round() as u64 };
            match command.op {
                Op::Read => self.tail = crossing,
                _ => self.start += crossing,
            }
        }
    }

    #[inline]
    fn read(&mut self, lpn: Lpn) -> When {
        self.controller.read(lpn, When::at(self.start), &mut self.timeline)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent) -> When {
        self.controller.write(lpn, extent, When::at(self.start), &mut self.timeline)
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        self.controller.trim(lpn, &mut self.timeline);
    }

    fn flush(&mut self, parts: &mut Vec<When>) {
        self.controller.flush(When::at(self.start), &mut self.timeline, parts);
    }

    #[inline]
    fn end(&mut self) -> (Time, Duration) {
        (self.start, self.tail)
    }

    #[inline]
    fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) {
        if self.gc == GcMode::Background {
            self.advance_idly(until, finished);
        }
        if self.timeline.has_events() {
            self.timeline.advance(until, finished);
        }
    }

    fn step(&mut self, finished: &mut Vec<Finished>) {
        if let (GcMode::Background, Some(event)) = (self.gc, self.timeline.next_event()) {
            self.use_idle_time(event);
        }
        self.timeline.step(finished);
    }

    fn drain(&mut self, finished: &mut Vec<Finished>) -> bool {
        self.timeline.step(finished)
    }

    fn next_event(&self) -> Option<Time> {
        self.timeline.next_event()
    }

    fn tell(&mut self, when: When, tag: u32) {
        self.timeline.tell(when, tag);
    }

    fn ftl(&self) -> &Ftl {
        self.controller.ftl()
    }

    fn cache(&self) -> (CacheTally, u32) {
        (*self.controller.tally(), self.controller.cache().capacity())
    }

    fn busy(&self) -> Busy {
        self.timeline.busy()
    }

    fn heap_bytes(&self) -> (usize, usize) {
        (self.controller.heap_bytes(), self.timeline.heap_bytes())
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        metrics.consistency = self.controller.commits().map(Consistency::of);
        metrics.shadows = self.controller.shadows().map(Shadows::of);
        metrics.device_buffer = self.volatile.then(|| DeviceBuffer::of(self.controller.tally()));
    }
}
