//! A write buffer in the host over a device at the end of a link.

use crate::device::Device;
use crate::metrics::{HostBuffer, Metrics};
use crate::scenario::{Scenario, ScenarioError};
use crate::target::{Command, Target};
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::{CacheTally, Extent};
use coflash_flash::{Busy, Finished, Media, When};
use coflash_ftl::Ftl;
use coflash_host::Toll;
use coflash_host::write_buffer::{Store, WriteBuffer};

/// Host buffer and device. What the buffer answers does not cross the link; each page that does is a command.
pub(crate) struct Buffered {
    buffer: WriteBuffer,
    below: Below,
    now: Time,
}

/// The device, as the buffer reaches it.
struct Below {
    device: Device,
    /// What a page takes to cross the link.
    page_crossing: Duration,
    /// When the last page that was written is across: a flush comes behind it.
    crossed: Time,
}

impl Below {
    fn pass_time(&mut self, now: Time) {
        let Device { firmware, timeline, .. } = &mut self.device;
        firmware.pass_time(now, When::at(now), timeline);
    }
}

impl Buffered {
    /// # Errors
    /// What does not fit together.
    pub(crate) fn new(scenario: &Scenario, device: Device) -> Result<Self, ScenarioError> {
        let buffer = Self::buffer(scenario, device.ftl().logical_pages())?;
        let page_crossing = device.crossing(scenario.flash.page_size.count);
        Ok(Self { buffer, below: Below { device, page_crossing, crossed: Time::ZERO }, now: Time::ZERO })
    }

    /// The buffer of a scenario, for a device of so many pages.
    ///
    /// # Errors
    /// What does not fit together.
    pub(crate) fn buffer(scenario: &Scenario, logical_pages: u32) -> Result<WriteBuffer, ScenarioError> {
        let toll = Toll::new(scenario.link.per_command, scenario.link.ns_per_byte());
        let page_bytes = scenario.flash.page_size.count;
        WriteBuffer::new(&scenario.host_buffer, page_bytes, logical_pages, &toll)
            .map_err(|(key, problem)| ScenarioError::new(key, problem))
    }
}

impl Target for Buffered {
    type When = When;

    #[inline]
    fn begin(&mut self, command: &Command) {
        self.now = command.arrival;
        self.below.pass_time(self.now);
        self.buffer.pass_time(self.now, &mut self.below);
    }

    #[inline]
    fn read(&mut self, lpn: Lpn) -> When {
        self.buffer.read(lpn, &mut self.below)
    }

    #[inline]
    fn write(&mut self, lpn: Lpn, extent: Extent) -> When {
        self.buffer.write(lpn, extent, &mut self.below)
    }

    fn trim(&mut self, lpn: Lpn) {
        self.buffer.trim(lpn, &mut self.below);
    }

    fn flush(&mut self, parts: &mut Vec<When>) {
        self.buffer.flush(&mut self.below, parts);
    }

    fn end(&mut self) -> (Time, Duration) {
        (self.now, Duration::ZERO)
    }

    /// Pages whose age is reached on the way are written then.
    fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) {
        while let Some(due) = self.buffer.next_due().filter(|&due| due < until) {
            self.below.device.advance(due, finished);
            self.below.pass_time(due);
            self.buffer.pass_time(due, &mut self.below);
        }
        self.below.device.advance(until, finished);
    }

    fn step(&mut self, finished: &mut Vec<Finished>) {
        self.below.device.step(finished);
    }

    fn drain(&mut self, finished: &mut Vec<Finished>) -> bool {
        self.below.device.drain(finished)
    }

    fn next_event(&self) -> Option<Time> {
        self.below.device.next_event()
    }

    fn tell(&mut self, when: When, tag: u32) {
        self.below.device.tell(when, tag);
    }

    fn ftl(&self) -> &Ftl {
        self.below.device.ftl()
    }

    fn cache(&self) -> (CacheTally, u32) {
        self.below.device.cache()
    }

    fn busy(&self) -> Busy {
        self.below.device.busy()
    }

    fn heap_bytes(&self) -> (usize, usize) {
        let (state, media) = self.below.device.heap_bytes();
        (state + self.buffer.heap_bytes(), media)
    }

    fn add_sections(&self, metrics: &mut Metrics) {
        self.below.device.add_sections(metrics);
        let programs = &metrics.programs_pages;
        metrics.host_buffer = Some(HostBuffer::of(&self.buffer, programs.all()));
    }
}

impl Store for Below {
    type When = When;

    #[inline(always)]
    fn at(&self, time: Time) -> When {
        When::at(time)
    }

    #[inline(always)]
    fn later(&self, after: When, by: Duration) -> When {
        after.plus(by)
    }

    fn read(&mut self, lpn: Lpn, after: When) -> When {
        let start = after.plus(self.device.link.per_command);
        self.device.firmware.read(lpn, start, &mut self.device.timeline).plus(self.page_crossing)
    }

    fn write(&mut self, lpn: Lpn, after: When) -> When {
        let start = after.plus(self.device.link.per_command + self.page_crossing);
        self.crossed = start.known().unwrap_or(self.crossed).max(self.crossed);
        self.device.firmware.write(lpn, Extent::Whole, start, &mut self.device.timeline)
    }

    fn trim(&mut self, lpn: Lpn) {
        self.device.firmware.trim(lpn, &mut self.device.timeline);
    }

    fn flush(&mut self, after: When, parts: &mut Vec<When>) {
        let start = after.plus(self.device.link.per_command);
        let start = start.known().map_or(start, |at| When::at(at.max(self.crossed)));
        self.device.firmware.flush(start, &mut self.device.timeline, parts);
        if self.device.firmware.cache().capacity() == 0 {
            // What was written before this flush has no place in the device but flash.
            self.device.timeline.await_programs(parts);
        }
        parts.push(start);
    }

    fn host_dirties(&mut self, lpn: Lpn) {
        self.device.firmware.host_holds(lpn, true);
    }
}
