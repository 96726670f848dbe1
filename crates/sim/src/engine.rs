//! Serving requests: each is split into pages, each page goes through the controller, and the request is answered when
//! its last page is.

use crate::address::AddressMap;
use crate::latency::Latency;
use crate::metrics::{CacheMetrics, Consistency, EraseCounts, Metrics, Programs, Responses, SoFar, ratio};
use crate::scenario::{LinkConfig, Scenario};
use crate::series::{Counts, Recorder, Series};
use coflash_base::{Duration, Time};
use coflash_controller::{Controller, Extent};
use coflash_flash::{Busy, Cause, DieId, Finished, Timeline, When};
use coflash_ftl::{GcMode, Tally};
use coflash_workload::{Op, Request};

#[cfg(test)]
mod tests;

/// A request that waits for flash.
#[derive(Clone, Copy, Debug)]
struct Pending {
    arrival: Time,
    op: Op,
    /// Pages not answered yet.
    pages: u32,
    latest: Time,
    /// From the last page to the host.
    tail: Duration,
}

/// A request for pages that the device does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfSpace;

/// What the host asked for, and how it was answered.
#[derive(Clone, Debug)]
struct Meters {
    host_reads_pages: u64,
    host_writes_pages: u64,
    host_trims_pages: u64,
    flushes: u64,
    read: Latency,
    write: Latency,
    other: Latency,
    series: Recorder,
    last_answer: Time,
}

impl Meters {
    /// The response times of all requests.
    fn all(&self) -> Latency {
        let mut all = self.other.clone();
        all.add(&self.read);
        all.add(&self.write);
        all
    }
}

/// A device, its timeline and the requests under way.
pub(crate) struct Engine {
    controller: Controller,
    timeline: Timeline,
    address: AddressMap,
    link: LinkConfig,
    ns_per_byte: f64,
    page_bytes: u64,
    logical_bytes: u64,
    pending: Vec<Pending>,
    vacant: Vec<u32>,
    finished: Vec<Finished>,
    meters: Meters,
    erases_before: Vec<u32>,
    tally_before: Tally,
    gc: GcMode,
    dies: u32,
}

impl Engine {
    /// An engine that measures from the present state of `controller` on.
    pub(crate) fn new(scenario: &Scenario, controller: Controller) -> Self {
        Self {
            timeline: Timeline::new(&scenario.flash, &scenario.timing, scenario.cache.timing()),
            address: AddressMap::new(scenario.workload.remap, controller.ftl().logical_pages()),
            link: scenario.link.clone(),
            ns_per_byte: scenario.link.ns_per_byte(),
            page_bytes: scenario.flash.page_size.count,
            logical_bytes: controller.ftl().logical_bytes(),
            pending: Vec::new(),
            vacant: Vec::new(),
            finished: Vec::new(),
            meters: Meters {
                host_reads_pages: 0,
                host_writes_pages: 0,
                host_trims_pages: 0,
                flushes: 0,
                read: Latency::new(),
                write: Latency::new(),
                other: Latency::new(),
                series: Recorder::new(),
                last_answer: Time::ZERO,
            },
            erases_before: controller.ftl().erase_counts().to_vec(),
            tally_before: *controller.ftl().tally(),
            gc: scenario.gc.mode,
            dies: scenario.flash.dies(),
            controller,
        }
    }

    /// Issues a request at `arrival`; its answer's time where that is known at once. Arrivals never go back.
    ///
    /// # Errors
    /// The request goes beyond the device; nothing of it was done.
    #[inline]
    pub(crate) fn issue(&mut self, request: &Request, arrival: Time) -> Result<Option<Time>, OutOfSpace> {
        self.advance(arrival, |_| {});
        if self.meters.series.is_due(arrival) {
            let counts = self.counts();
            self.meters.series.turn(arrival, counts);
        }
        // Also where addresses are moved: it would meet itself, and never end.
        if request.length > self.logical_bytes {
            return Err(OutOfSpace);
        }
        self.controller.pass_time(arrival, &mut self.timeline);
        let start = arrival + self.link.per_command;
        match request.op {
            Op::Read | Op::Write => self.transfer(request, arrival, start),
            Op::Trim => {
                self.trim(request)?;
                Ok(Some(self.answer(Op::Trim, arrival, start)))
            }
            Op::Flush => {
                self.meters.flushes += 1;
                let done =
                    self.controller.flush(When::at(start), &mut self.timeline).known().unwrap_or(start);
                Ok(Some(self.answer(Op::Flush, arrival, done)))
            }
        }
    }

    /// Passes time up to `until`, telling of each request answered on the way.
    #[inline]
    pub(crate) fn advance(&mut self, until: Time, mut answered: impl FnMut(Time)) {
        if self.gc == GcMode::Background {
            self.advance_idly(until, &mut answered);
        }
        if self.timeline.has_events() {
            self.timeline.advance(until, &mut self.finished);
            self.settle(answered);
        }
    }

    /// Passes time up to just before `until`, and uses what is idle of it.
    #[inline(never)]
    fn advance_idly(&mut self, until: Time, mut answered: impl FnMut(Time)) {
        loop {
            let event = |timeline: &Timeline| timeline.next_event().filter(|&at| at < until);
            self.use_idle_time(event(&self.timeline).unwrap_or(until));
            // What has begun may end before that.
            if event(&self.timeline).is_none() {
                break;
            }
            self.step(&mut answered);
        }
    }

    /// Passes time to the next event, of which there is one.
    pub(crate) fn step(&mut self, answered: impl FnMut(Time)) {
        if let (GcMode::Background, Some(event)) = (self.gc, self.timeline.next_event()) {
            self.use_idle_time(event);
        }
        self.timeline.step(&mut self.finished);
        self.settle(answered);
    }

    /// Passes time by up to so many events; false where there are no more, so that everything is answered. No request is
    /// to come: what is idle stays so.
    pub(crate) fn drain(&mut self, events: u64) -> bool {
        (0..events).all(|_| {
            let more = self.timeline.step(&mut self.finished);
            self.settle(|_| {});
            more
        })
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

    /// When the next event is due, where there are events.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.timeline.next_event()
    }

    /// Pages that a dense address map has given out or would need.
    pub(crate) fn pages_touched(&self) -> Option<u64> {
        self.address.touched()
    }

    /// Enters a request's pages into the address map without serving it, to learn how many there are.
    pub(crate) fn touch(&mut self, request: &Request) {
        for page in
            request.offset / self.page_bytes..(request.offset + request.length).div_ceil(self.page_bytes)
        {
            self.address.page(page);
        }
    }

    #[inline]
    fn transfer(
        &mut self,
        request: &Request,
        arrival: Time,
        start: Time,
    ) -> Result<Option<Time>, OutOfSpace> {
        let bytes = self.page_bytes;
        let end = request.offset + request.length;
        let (first, last) = (request.offset / bytes, (end - 1) / bytes);
        let crossing = Duration { ns: (request.length as f64 * self.ns_per_byte).round() as u64 };
        let reads = request.op == Op::Read;
        let (begin, tail) = if reads { (start, crossing) } else { (start + crossing, Duration::ZERO) };
        if first != last {
            // All or nothing: a request that does not fit must leave no trace.
            for page in first..=last {
                self.address.page(page).ok_or(OutOfSpace)?;
            }
        }
        let (mut latest, mut tag, mut waiting) = (begin, None, 0);
        for page in first..=last {
            let lpn = self.address.page(page).ok_or(OutOfSpace)?;
            let when = if reads {
                self.meters.host_reads_pages += 1;
                self.controller.read(lpn, When::at(begin), &mut self.timeline)
            } else {
                self.meters.host_writes_pages += 1;
                let whole = page * bytes >= request.offset && (page + 1) * bytes <= end;
                let extent = if whole { Extent::Whole } else { Extent::Part };
                self.controller.write(lpn, extent, When::at(begin), &mut self.timeline)
            };
            match when.known() {
                Some(at) => latest = latest.max(at),
                None => {
                    let tag =
                        *tag.get_or_insert_with(|| self.vacant.pop().unwrap_or(self.pending.len() as u32));
                    self.timeline.tell(when, tag);
                    waiting += 1;
                }
            }
        }
        match tag {
            None => Ok(Some(self.answer(request.op, arrival, latest + tail))),
            Some(tag) => {
                let pending = Pending { arrival, op: request.op, pages: waiting, latest, tail };
                if tag as usize == self.pending.len() {
                    self.pending.push(pending);
                } else {
                    self.pending[tag as usize] = pending;
                }
                Ok(None)
            }
        }
    }

    /// Trims the pages that lie in the range whole.
    fn trim(&mut self, request: &Request) -> Result<(), OutOfSpace> {
        let bytes = self.page_bytes;
        let pages = request.offset.div_ceil(bytes)..(request.offset + request.length) / bytes;
        for page in pages.clone() {
            self.address.page(page).ok_or(OutOfSpace)?;
        }
        for page in pages {
            let lpn = self.address.page(page).ok_or(OutOfSpace)?;
            self.meters.host_trims_pages += 1;
            self.controller.trim(lpn, &mut self.timeline);
        }
        Ok(())
    }

    /// Takes in the parts that the timeline reports as ended.
    fn settle(&mut self, mut answered: impl FnMut(Time)) {
        for index in 0..self.finished.len() {
            let Finished { tag, at } = self.finished[index];
            let pending = &mut self.pending[tag as usize];
            pending.latest = pending.latest.max(at);
            pending.pages -= 1;
            if pending.pages == 0 {
                let Pending { arrival, op, latest, tail, .. } = *pending;
                self.vacant.push(tag);
                answered(self.answer(op, arrival, latest + tail));
            }
        }
        self.finished.clear();
    }

    #[inline]
    fn answer(&mut self, op: Op, arrival: Time, at: Time) -> Time {
        let response = at.since(arrival);
        match op {
            Op::Read => self.meters.read.record(response),
            Op::Write => self.meters.write.record(response),
            Op::Trim | Op::Flush => self.meters.other.record(response),
        }
        self.meters.series.respond(arrival, response);
        self.meters.last_answer = self.meters.last_answer.max(at);
        at
    }

    fn counts(&self) -> Counts {
        let flash = self.controller.ftl().tally().since(&self.tally_before);
        let cache = self.controller.tally();
        Counts {
            host_reads_pages: self.meters.host_reads_pages,
            host_writes_pages: self.meters.host_writes_pages,
            programs_host_pages: flash.programs_for(Cause::Host),
            programs_evict_pages: flash.programs_for(Cause::Evict),
            programs_gc_pages: flash.programs_for(Cause::Gc),
            programs_metadata_pages: flash.programs_for(Cause::Metadata),
            gc_drops_pages: flash.gc_drops_pages,
            drop_rewrites_pages: cache.drop_rewrites_pages,
            erases_blocks: flash.erases_blocks,
            cache_hits_pages: cache.read_hits + cache.write_hits,
            cache_misses_pages: cache.read_misses + cache.write_misses,
        }
    }

    /// Whether time has come so far that it can no longer be trusted.
    pub(crate) fn is_out_of_time(&self) -> bool {
        let Busy { gc, other } = self.timeline.busy();
        self.meters.last_answer > Time::LAST || gc.ns.max(other.ns) == u64::MAX
    }

    /// Requests under way, and the bytes they take.
    pub(crate) fn under_way(&self) -> (usize, u64) {
        let requests = self.pending.len() - self.vacant.len();
        let table = self.pending.capacity() * size_of::<Pending>();
        (requests, (table + self.timeline.heap_bytes()) as u64)
    }

    /// The bytes of state on the heap, for each physical page: what the device needs, without the meters.
    pub(crate) fn state_bytes_per_page(&self, pages: u32) -> f64 {
        (self.controller.heap_bytes() + self.timeline.heap_bytes()) as f64 / f64::from(pages)
    }

    /// What was measured until now.
    pub(crate) fn so_far(&self) -> SoFar {
        let programs = self.controller.ftl().tally().since(&self.tally_before).programs();
        let response = self.meters.all().summary();
        SoFar {
            simulated_ns: self.meters.last_answer.ns,
            host_writes_pages: self.meters.host_writes_pages,
            programs_pages: programs,
            waf_host: ratio(programs, self.meters.host_writes_pages),
            response_mean_ns: response.mean,
            response_p99_ns: response.p99,
        }
    }

    /// What was measured.
    pub(crate) fn finish(self) -> Measured {
        let counts = self.counts();
        let flash = self.controller.ftl().tally().since(&self.tally_before);
        let cache = self.controller.tally();
        let programs = flash.programs();
        let ftl_writes = flash.programs_for(Cause::Host) + flash.programs_for(Cause::Evict);
        let erases: Vec<u32> = std::iter::zip(self.controller.ftl().erase_counts(), &self.erases_before)
            .map(|(after, before)| after - before)
            .collect();
        let all = self.meters.all();
        let Busy { gc, other } = self.timeline.busy();
        let metrics = Metrics {
            requests: all.summary().count,
            host_reads_pages: self.meters.host_reads_pages,
            host_writes_pages: self.meters.host_writes_pages,
            host_trims_pages: self.meters.host_trims_pages,
            flushes: self.meters.flushes,
            ftl_writes_pages: ftl_writes,
            flash_reads_pages: flash.reads_pages,
            programs_pages: Programs::of(&flash),
            gc_copies_pages: flash.programs_for(Cause::Gc),
            gc_drops_pages: flash.gc_drops_pages,
            gc_steps: (self.gc != GcMode::Foreground).then_some(flash.gc_steps),
            drop_rewrites_pages: cache.drop_rewrites_pages,
            erases_blocks: flash.erases_blocks,
            gc_time_ns: gc.ns,
            service_time_ns: other.ns,
            simulated_ns: self.meters.last_answer.ns,
            waf_host: ratio(programs, self.meters.host_writes_pages),
            waf_ftl: ratio(programs, ftl_writes),
            cache: CacheMetrics::of(cache, self.controller.cache().capacity()),
            consistency: self.controller.commits().map(Consistency::of),
            response_ns: Responses {
                all: all.summary(),
                read: self.meters.read.summary(),
                write: self.meters.write.summary(),
            },
            erase_count: EraseCounts::of(&erases),
        };
        let histograms = Histograms { all, read: self.meters.read, write: self.meters.write };
        Measured { metrics, histograms, series: self.meters.series.finish(counts), erases }
    }
}

/// Everything a finished engine knows.
pub(crate) struct Measured {
    pub(crate) metrics: Metrics,
    pub(crate) histograms: Histograms,
    pub(crate) series: Series,
    pub(crate) erases: Vec<u32>,
}

/// Response times, whole.
pub(crate) struct Histograms {
    pub(crate) all: Latency,
    pub(crate) read: Latency,
    pub(crate) write: Latency,
}
