//! A device at the end of a link: firmware over a timeline of busy dies. Where the cache is in the host, what decides is on
//! both sides of the link, and knows itself what crosses.

use crate::metrics::{Consistency, DeviceBuffer, HostMetrics, Metrics, Shadows, SoleCopies};
use crate::scenario::{LinkConfig, Scenario};
use crate::target::{Command, Target};
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::{CacheTally, Controller, Extent};
use coflash_flash::{Busy, DieId, Finished, Timeline, When};
use coflash_ftl::{Ftl, GcMode};
use coflash_host::HostCache;
use coflash_workload::Op;

/// What decides: a controller behind the link, or the two sides of it.
pub(crate) trait Firmware {
    /// Whether all requests cross the link whole; else the firmware tells what does.
    const BEHIND_LINK: bool;

    /// A request begins, to which time has been passed.
    fn begin(&mut self, now: Time, flash: &mut Timeline);

    /// Reads a page of it.
    fn read(&mut self, lpn: Lpn, start: When, flash: &mut Timeline) -> When;

    /// Writes a page of it, or a part of one.
    fn write(&mut self, lpn: Lpn, extent: Extent, start: When, flash: &mut Timeline) -> When;

    /// Trims a page of it.
    fn trim(&mut self, lpn: Lpn, start: When, flash: &mut Timeline) -> When;

    /// Makes everything written so far durable; the parts that the answer waits for are appended.
    fn flush(&mut self, start: When, flash: &mut Timeline, parts: &mut Vec<When>);

    /// Lets a die that is idle at `start` do one step of GC; false where there is nothing to be done.
    fn work_idle(&mut self, die: DieId, start: When, flash: &mut Timeline) -> bool;

    /// The FTL, to look at.
    fn ftl(&self) -> &Ftl;

    /// The FTL past everything else, for warming up.
    fn ftl_mut(&mut self) -> &mut Ftl;

    /// What the cache has done, and its pages.
    fn cache(&self) -> (CacheTally, u32);

    /// The bytes of state on the heap.
    fn heap_bytes(&self) -> usize;

    /// Adds what only this firmware measures.
    fn add_sections(&self, metrics: &mut Metrics);
}

impl Firmware for Controller {
    const BEHIND_LINK: bool = true;

    #[inline]
    fn begin(&mut self, now: Time, flash: &mut Timeline) {
        self.pass_time(now, When::at(now), flash);
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, start: When, flash: &mut Timeline) -> When {
        self.read(lpn, start, flash)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent, start: When, flash: &mut Timeline) -> When {
        self.write(lpn, extent, start, flash)
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn, start: When, flash: &mut Timeline) -> When {
        self.trim(lpn, flash);
        start
    }

    fn flush(&mut self, start: When, flash: &mut Timeline, parts: &mut Vec<When>) {
        self.flush(start, flash, parts);
    }

    fn work_idle(&mut self, die: DieId, start: When, flash: &mut Timeline) -> bool {
        self.work_idle(die, start, flash)
    }

    fn ftl(&self) -> &Ftl {
        self.ftl()
    }

    fn ftl_mut(&mut self) -> &mut Ftl {
        self.ftl_mut()
    }

    fn cache(&self) -> (CacheTally, u32) {
        (*self.tally(), self.cache().capacity())
    }

    fn heap_bytes(&self) -> usize {
        self.heap_bytes()
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        metrics.consistency = self.commits().map(Consistency::of);
        metrics.sole_copies = SoleCopies::of(self.sole_copies_peak(), self.tally());
        metrics.shadows = self.shadows().map(Shadows::of);
        metrics.device_buffer =
            self.is_volatile().then(|| DeviceBuffer::of(self.tally(), self.cache().dirty_len()));
    }
}

impl Firmware for HostCache {
    const BEHIND_LINK: bool = false;

    #[inline]
    fn begin(&mut self, now: Time, _: &mut Timeline) {
        self.pass_time(now);
        self.begin_request();
    }

    #[inline]
    fn read(&mut self, lpn: Lpn, start: When, flash: &mut Timeline) -> When {
        self.read(lpn, start, flash)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent, start: When, flash: &mut Timeline) -> When {
        self.write(lpn, extent, start, flash)
    }

    fn trim(&mut self, lpn: Lpn, start: When, flash: &mut Timeline) -> When {
        self.trim(lpn, start, flash)
    }

    /// The cache is durable, and so is flash.
    fn flush(&mut self, _: When, _: &mut Timeline, _: &mut Vec<When>) {}

    fn work_idle(&mut self, die: DieId, start: When, flash: &mut Timeline) -> bool {
        if let Some(now) = start.known() {
            self.pass_time(now);
        }
        self.work_idle(die, start, flash)
    }

    fn ftl(&self) -> &Ftl {
        self.remote().ftl()
    }

    fn ftl_mut(&mut self) -> &mut Ftl {
        self.ftl_mut()
    }

    fn cache(&self) -> (CacheTally, u32) {
        (*self.tally(), self.cache().capacity())
    }

    fn heap_bytes(&self) -> usize {
        self.heap_bytes()
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        metrics.sole_copies = SoleCopies::of(self.sole_copies_peak(), self.tally());
        metrics.host = Some(HostMetrics::of(self.remote()));
    }
}

/// Firmware, timeline, link.
pub(crate) struct Device<F = Controller> {
    pub(crate) firmware: F,
    pub(crate) timeline: Timeline,
    pub(crate) link: LinkConfig,
    ns_per_byte: f64,
    gc: GcMode,
    dies: u32,
    /// When the pages of the request under way may begin.
    start: Time,
    /// From its last page to the host.
    tail: Duration,
}

impl<F: Firmware> Device<F> {
    pub(crate) fn new(scenario: &Scenario, firmware: F) -> Self {
        Self {
            timeline: Timeline::new(&scenario.flash, &scenario.timing, scenario.cache.timing()),
            link: scenario.link.clone(),
            ns_per_byte: scenario.link.ns_per_byte(),
            gc: scenario.gc.mode,
            dies: scenario.flash.dies(),
            firmware,
            start: Time::ZERO,
            tail: Duration::ZERO,
        }
    }

    /// What so many bytes take to cross the link.
    #[inline]
    pub(crate) fn crossing(&self, bytes: u64) -> Duration {
        if self.ns_per_byte == 0.0 {
            return Duration::ZERO;
        }
        Duration { ns: (bytes as f64 * self.ns_per_byte).round() as u64 }
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
            let (ftl, timeline) = (self.firmware.ftl(), &self.timeline);
            let idle = dies().filter_map(|die| Some((timeline.idle_since(die)?, die)));
            let next = idle.filter(|&(since, die)| since < until && ftl.has_idle_work(die)).min();
            let Some((since, die)) = next else { break };
            if !self.firmware.work_idle(die, When::at(since), &mut self.timeline) {
                break;
            }
        }
    }
}

impl<F: Firmware> Target for Device<F> {
    type When = When;

    #[inline]
    fn begin(&mut self, command: &Command) {
        self.firmware.begin(command.arrival, &mut self.timeline);
        (self.start, self.tail) = (command.arrival, Duration::ZERO);
        if !F::BEHIND_LINK {
            return;
        }
        self.start += self.link.per_command;
        if let Op::Read | Op::Write = command.op {
            let crossing = self.crossing(command.length_bytes);
            match command.op {
                Op::Read => self.tail = crossing,
                _ => self.start += crossing,
            }
        }
    }

    #[inline]
    fn read(&mut self, lpn: Lpn) -> When {
        self.firmware.read(lpn, When::at(self.start), &mut self.timeline)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent) -> When {
        self.firmware.write(lpn, extent, When::at(self.start), &mut self.timeline)
    }

    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        let done = self.firmware.trim(lpn, When::at(self.start), &mut self.timeline);
        self.start = done.known().unwrap_or(self.start);
    }

    fn flush(&mut self, parts: &mut Vec<When>) {
        self.firmware.flush(When::at(self.start), &mut self.timeline, parts);
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
        self.firmware.ftl()
    }

    fn cache(&self) -> (CacheTally, u32) {
        self.firmware.cache()
    }

    fn busy(&self) -> Busy {
        self.timeline.busy()
    }

    fn heap_bytes(&self) -> (usize, usize) {
        (self.firmware.heap_bytes(), self.timeline.heap_bytes())
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        self.firmware.add_sections(metrics);
    }
}
