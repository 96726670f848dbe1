//! Serving requests: each is split into pages, each page goes to the target, and the request is answered when its last
//! page is.

use crate::address::AddressMap;
use crate::latency::Latency;
use crate::metrics::{CacheMetrics, EraseCounts, Metrics, Programs, Responses, SoFar, ratio};
use crate::scenario::Scenario;
use crate::series::{Counts, Recorder, Series};
use crate::target::{Command, Moment, Target};
use coflash_base::{Duration, Lpn, Time};
use coflash_controller::Extent;
use coflash_flash::{Busy, Cause, Finished};
use coflash_ftl::{GcMode, Tally};
use coflash_workload::{Op, Request};

#[cfg(test)]
mod tests;

/// A request that waits for parts of it.
#[derive(Clone, Copy, Debug)]
struct Pending {
    arrival: Time,
    op: Op,
    /// Parts not answered yet.
    parts: u32,
    latest: Time,
    /// From the last part to the host.
    tail: Duration,
}

/// A request for pages that the target does not have.
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

/// The parts of the request that is being issued, as their moments come in.
struct Parts {
    /// When the last of those known is done.
    latest: Time,
    /// Those not known, and the place of their request among those that wait.
    waiting: u32,
    tag: Option<u32>,
}

/// What serves requests, and the requests under way.
pub(crate) struct Engine<T: Target> {
    target: T,
    address: AddressMap,
    page_bytes: u64,
    logical_bytes: u64,
    pending: Vec<Pending>,
    vacant: Vec<u32>,
    finished: Vec<Finished>,
    flushed: Vec<T::When>,
    meters: Meters,
    erases_before: Vec<u32>,
    tally_before: Tally,
    gc: GcMode,
}

impl<T: Target> Engine<T> {
    /// An engine that measures from the present state of `target` on, which has so many pages for requests.
    pub(crate) fn new(scenario: &Scenario, target: T, logical_pages: u32) -> Self {
        let page_bytes = scenario.flash.page_size.count;
        Self {
            address: AddressMap::new(scenario.workload.remap, logical_pages),
            page_bytes,
            logical_bytes: u64::from(logical_pages) * page_bytes,
            pending: Vec::new(),
            vacant: Vec::new(),
            finished: Vec::new(),
            flushed: Vec::new(),
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
            erases_before: target.ftl().erase_counts().to_vec(),
            tally_before: *target.ftl().tally(),
            gc: scenario.gc.mode,
            target,
        }
    }

    /// Issues a request at `arrival`; its answer's time where that is known at once. Arrivals never go back.
    ///
    /// # Errors
    /// The request goes beyond the target; nothing of it was done.
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
        let parts = match request.op {
            Op::Read | Op::Write => self.transfer(request, arrival)?,
            Op::Trim => self.trim(request, arrival)?,
            Op::Flush => self.flush(arrival),
        };
        let (earliest, tail) = self.target.end();
        let latest = parts.latest.max(earliest);
        let Some(tag) = parts.tag else {
            return Ok(Some(self.answer(request.op, arrival, latest + tail)));
        };
        let pending = Pending { arrival, op: request.op, parts: parts.waiting, latest, tail };
        if tag as usize == self.pending.len() {
            self.pending.push(pending);
        } else {
            self.pending[tag as usize] = pending;
        }
        Ok(None)
    }

    /// Passes time up to `until`, telling of each request answered on the way.
    #[inline]
    pub(crate) fn advance(&mut self, until: Time, answered: impl FnMut(Time)) {
        self.target.advance(until, &mut self.finished);
        self.settle(answered);
    }

    /// Passes time to the next event, of which there is one.
    pub(crate) fn step(&mut self, answered: impl FnMut(Time)) {
        self.target.step(&mut self.finished);
        self.settle(answered);
    }

    /// Passes time by up to so many events; false where there are no more, so that everything is answered. No request is
    /// to come: what is idle stays so.
    pub(crate) fn drain(&mut self, events: u64) -> bool {
        (0..events).all(|_| {
            let more = self.target.drain(&mut self.finished);
            self.settle(|_| {});
            more
        })
    }

    /// When the next event is due, where there are events.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.target.next_event()
    }

    /// Bytes that requests may be for.
    pub(crate) fn logical_bytes(&self) -> u64 {
        self.logical_bytes
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
    fn transfer(&mut self, request: &Request, arrival: Time) -> Result<Parts, OutOfSpace> {
        let bytes = self.page_bytes;
        let end = request.offset + request.length;
        let pages = request.offset / bytes..(end - 1) / bytes + 1;
        let first = self.address.page(pages.start).ok_or(OutOfSpace)?;
        // All or nothing: a request that does not fit must leave no trace.
        for page in pages.start + 1..pages.end {
            self.address.page(page).ok_or(OutOfSpace)?;
        }
        self.begin(request, arrival, Some(first), &pages);
        let mut parts = Parts { latest: Time::ZERO, waiting: 0, tag: None };
        for page in pages.clone() {
            let lpn = if page == pages.start { first } else { self.address.page(page).ok_or(OutOfSpace)? };
            let when = if request.op == Op::Read {
                self.meters.host_reads_pages += 1;
                self.target.read(lpn)
            } else {
                self.meters.host_writes_pages += 1;
                let whole = page * bytes >= request.offset && (page + 1) * bytes <= end;
                self.target.write(lpn, if whole { Extent::Whole } else { Extent::Part })
            };
            self.take(when, &mut parts);
        }
        Ok(parts)
    }

    /// Trims the pages that lie in the range whole.
    fn trim(&mut self, request: &Request, arrival: Time) -> Result<Parts, OutOfSpace> {
        let bytes = self.page_bytes;
        let pages = request.offset.div_ceil(bytes)..(request.offset + request.length) / bytes;
        for page in pages.clone() {
            self.address.page(page).ok_or(OutOfSpace)?;
        }
        let first = if pages.is_empty() { None } else { self.address.page(pages.start) };
        self.begin(request, arrival, first, &pages);
        for page in pages {
            let lpn = self.address.page(page).ok_or(OutOfSpace)?;
            self.meters.host_trims_pages += 1;
            self.target.trim(lpn);
        }
        Ok(Parts { latest: Time::ZERO, waiting: 0, tag: None })
    }

    fn flush(&mut self, arrival: Time) -> Parts {
        self.meters.flushes += 1;
        let command = Command { op: Op::Flush, arrival, length_bytes: 0, first: None, pages: 0 };
        self.target.begin(&command);
        let mut flushed = std::mem::take(&mut self.flushed);
        self.target.flush(&mut flushed);
        let mut parts = Parts { latest: Time::ZERO, waiting: 0, tag: None };
        flushed.drain(..).for_each(|when| self.take(when, &mut parts));
        self.flushed = flushed;
        parts
    }

    #[inline(always)]
    fn begin(&mut self, request: &Request, arrival: Time, first: Option<Lpn>, pages: &std::ops::Range<u64>) {
        self.target.begin(&Command {
            op: request.op,
            arrival,
            length_bytes: request.length,
            first,
            // No more than the target has.
            pages: pages.end.saturating_sub(pages.start) as u32,
        });
    }

    /// Takes in a part of the request that is being issued.
    #[inline(always)]
    fn take(&mut self, when: T::When, parts: &mut Parts) {
        match when.known() {
            Some(at) => parts.latest = parts.latest.max(at),
            None => {
                let tag =
                    *parts.tag.get_or_insert_with(|| self.vacant.pop().unwrap_or(self.pending.len() as u32));
                self.target.tell(when, tag);
                parts.waiting += 1;
            }
        }
    }

    /// Takes in the parts that the target reports as ended.
    #[inline]
    fn settle(&mut self, mut answered: impl FnMut(Time)) {
        for index in 0..self.finished.len() {
            let Finished { tag, at } = self.finished[index];
            let pending = &mut self.pending[tag as usize];
            pending.latest = pending.latest.max(at);
            pending.parts -= 1;
            if pending.parts == 0 {
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
        let flash = self.target.ftl().tally().since(&self.tally_before);
        let (cache, _) = self.target.cache();
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
        let Busy { gc, other } = self.target.busy();
        self.meters.last_answer > Time::LAST || gc.ns.max(other.ns) == u64::MAX
    }

    /// Requests under way, and the bytes they take.
    pub(crate) fn under_way(&self) -> (usize, u64) {
        let requests = self.pending.len() - self.vacant.len();
        let table = self.pending.capacity() * size_of::<Pending>();
        (requests, (table + self.target.heap_bytes().1) as u64)
    }

    /// The bytes of state on the heap, for each physical page: what the device needs, without the meters.
    pub(crate) fn state_bytes_per_page(&self, pages: u32) -> f64 {
        let (state, media) = self.target.heap_bytes();
        (state + media) as f64 / f64::from(pages)
    }

    /// What was measured until now.
    pub(crate) fn so_far(&self) -> SoFar {
        let programs = self.target.ftl().tally().since(&self.tally_before).programs();
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
        let flash = self.target.ftl().tally().since(&self.tally_before);
        let (cache, cache_pages) = self.target.cache();
        let programs = flash.programs();
        let ftl_writes = flash.programs_for(Cause::Host) + flash.programs_for(Cause::Evict);
        let erases: Vec<u32> = std::iter::zip(self.target.ftl().erase_counts(), &self.erases_before)
            .map(|(after, before)| after - before)
            .collect();
        let all = self.meters.all();
        let Busy { gc, other } = self.target.busy();
        let mut metrics = Metrics {
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
            cache: CacheMetrics::of(&cache, cache_pages),
            consistency: None,
            sole_copies: None,
            host: None,
            hybrid: None,
            shadows: None,
            device_buffer: None,
            host_buffer: None,
            response_ns: Responses {
                all: all.summary(),
                read: self.meters.read.summary(),
                write: self.meters.write.summary(),
            },
            erase_count: EraseCounts::of(&erases),
        };
        self.target.add_sections(&mut metrics);
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
