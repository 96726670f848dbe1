//! The service of requests. A request is split into pages, each page goes to the uppermost level, and the
//! request completes with its last page. In simulation requests carry no data; where the media holds bytes,
//! they have a [`Payload`].

use crate::address::{AddressMap, Lpns};
use crate::host::HostCounters;
use crate::payload::{PartOfPage, Payload};
use crate::series::Recorder;
use coflash_base::{Ahead, Duration, Lpn, Save, Time, measure::Report};
use coflash_ftl::{CopyAll, Coverage, GcMode, Io, PageRead, PageWrite};
use coflash_level::{Command, Crossing, Level};
use coflash_media::{Busy, DieId, Finished, Media, SimulatedMedia, Tag, When};
use coflash_scenario::Scenario;
use coflash_workload::{Op, Request};

mod measurement;
mod restart;
#[cfg(test)]
mod tests;

use measurement::Meters;
use restart::Restarts;

/// An outstanding request.
#[derive(Clone, Copy, Debug, Save)]
struct Pending {
    arrival: Time,
    op: Op,
    owner: u16,
    /// Outstanding parts.
    parts: u32,
    latest: Time,
    /// Delay from the last part to the host.
    tail: Duration,
}

/// The answer to a pending request. Answers are in the order of time, then of the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// The time of the answer.
    pub at: Time,
    /// The loop that issued it ([`Engine::issue_for`]).
    pub owner: u16,
    /// The time of the request's arrival.
    pub arrival: Time,
    /// The operation.
    pub op: Op,
}

/// A request was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceError<E> {
    /// It reaches beyond the capacity of the stack. It had no effect.
    OutOfSpace,
    /// A flash operation failed. The pages before it were served.
    Media(E),
}

impl<E> From<E> for ServiceError<E> {
    fn from(error: E) -> Self {
        Self::Media(error)
    }
}

/// The parts of the request being issued.
struct Parts {
    /// Start of its pages.
    start: When,
    /// Latest known completion of a part.
    latest: Time,
    /// Parts with unknown completion, and the index of their request in `pending`.
    waiting: u32,
    tag: Option<u32>,
}

/// The requests of a group, which are far two groups before it and near one before it. More would wait for each other's memory.
pub(crate) const GROUP: usize = 8;

/// The media of a stack of levels, and the outstanding requests. Each call borrows the levels: always the same.
#[derive(Save)]
pub struct Engine<M: Media> {
    media: M,
    dies: u32,
    /// Whether levels may have work when time passes.
    is_timed: bool,
    /// Whether anything may happen between two requests: work of levels, an event, a restart, GC on an idle die.
    acts_between: bool,
    /// Whether GC works on idle dies.
    collects_idly: bool,
    address: AddressMap,
    /// The logical pages of the request being issued.
    #[save(skip)]
    lpns: Lpns,
    looks_ahead: bool,
    /// Whether the last look pays, too.
    looks_at_last: bool,
    /// The pages of the group of requests that comes after the next one, and those of the next one.
    looked_at: Vec<Lpn>,
    near: Vec<Lpn>,
    pending: Vec<Pending>,
    vacant: Vec<u32>,
    finished: Vec<Finished>,
    #[save(skip)]
    flushed: Vec<When>,
    meters: Meters,
    #[save(each)]
    restarts: Option<Restarts>,
    erases_before: Vec<u32>,
    /// The counters of the levels at the beginning.
    #[save(skip)]
    before: Report,
    owner: u16,
}

impl<M: SimulatedMedia> Engine<M> {
    /// Create an engine that measures from the current state of the levels on.
    #[must_use]
    pub fn new(scenario: &Scenario, level: &(impl Level<M> + Save), media: M) -> Self {
        let looks = Ahead::that_pay(level.heap_bytes());
        let mut engine = Self {
            acts_between: media.timeline().has_events(),
            address: AddressMap::new(scenario, level.logical_pages()),
            lpns: Lpns::default(),
            looks_ahead: looks.contains(&Ahead::Near),
            looks_at_last: looks.contains(&Ahead::Last),
            looked_at: Vec::new(),
            near: Vec::new(),
            dies: scenario.flash.dies(),
            is_timed: level.is_timed(),
            collects_idly: matches!(scenario.gc.mode, GcMode::Background { .. }),
            pending: Vec::new(),
            vacant: Vec::new(),
            finished: Vec::new(),
            flushed: Vec::new(),
            meters: Meters::default(),
            restarts: Restarts::schedule(scenario),
            erases_before: level.ftl().erase_counts().collect(),
            before: measurement::before(scenario, level),
            owner: 0,
            media,
        };
        engine.acts_between |= engine.is_timed || engine.collects_idly || engine.restarts.is_some();
        engine.meters.series = Recorder::begin(&engine.report(level));
        engine
    }

    /// The access of a level's call to the media.
    #[inline(always)]
    fn io(media: &mut M, start: When) -> Io<'_, M, CopyAll> {
        Io { media, hook: CopyAll, start }
    }

    /// Ask for the memory that later requests will need, before each group of requests. The first of `upcoming` is issued next.
    ///
    /// Their addresses are looked up once: pages that were far when the last group began are near now. A request that continues
    /// the one before it is left out: the processor prefetches adjacent memory by itself.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self, level: &impl Level<M>, upcoming: &[Request]) {
        if !self.looks_ahead {
            return;
        }
        let Self { address, looked_at, near, .. } = self;
        if self.looks_at_last {
            near.iter().for_each(|&lpn| level.look_ahead(lpn, Ahead::Last));
        }
        std::mem::swap(looked_at, near);
        near.iter().for_each(|&lpn| level.look_ahead(lpn, Ahead::Near));
        looked_at.clear();
        if let Some(group) = upcoming.get(4 * GROUP..5 * GROUP) {
            address.prefetch(group);
        }
        if let Some(group) = upcoming.get(2 * GROUP - 1..3 * GROUP) {
            let apart = group.windows(2).filter(|pair| pair[1].offset != pair[0].offset + pair[0].length);
            address.look_ahead(apart.map(|pair| &pair[1]), looked_at);
        }
        looked_at.iter().for_each(|&lpn| level.look_ahead(lpn, Ahead::Far));
    }

    /// Issue a request of a loop; its [`Answer`] names the loop.
    ///
    /// # Errors
    /// See [`issue`](Self::issue).
    pub fn issue_for(
        &mut self,
        level: &mut impl Level<M>,
        owner: u16,
        request: &Request,
        arrival: Time,
        payload: impl Payload<M>,
    ) -> Result<Option<Time>, ServiceError<M::Error>> {
        self.owner = owner;
        self.issue(level, request, arrival, payload, |_| {})
    }

    /// Issue a request at `arrival`, after the answers to others before it; return its completion time if it is known at once.
    /// Arrivals never decrease.
    ///
    /// # Errors
    /// A request beyond the stack's capacity, or a failed flash operation.
    #[inline(always)]
    pub fn issue(
        &mut self,
        level: &mut impl Level<M>,
        request: &Request,
        arrival: Time,
        payload: impl Payload<M>,
        answered: impl FnMut(Answer),
    ) -> Result<Option<Time>, ServiceError<M::Error>> {
        let pages = self.address.pages(request);
        let first = pages.start;
        let fits = self.address.look_up(request, pages, &mut self.lpns);
        if self.acts_between {
            self.advance(level, arrival, answered)?;
        }
        if self.meters.series.is_due(arrival) {
            let report = self.report(level);
            self.meters.series.turn(arrival, &report, self.media.timeline().backlog_max(arrival));
        }
        self.meters.last_arrival = arrival;
        if self.is_timed {
            level.pass_time(arrival, &mut Self::io(&mut self.media, When::at(arrival)))?;
        }
        // All or nothing: a request that does not fit must have no effect.
        if !fits {
            return Err(ServiceError::OutOfSpace);
        }
        let mut parts = Parts { start: When::at(Time::ZERO), latest: Time::ZERO, waiting: 0, tag: None };
        let served = match request.op {
            Op::Read => self.transfer::<true>(level, request, first, arrival, payload, &mut parts),
            Op::Write => self.transfer::<false>(level, request, first, arrival, payload, &mut parts),
            Op::Trim => self.trim(level, request, arrival, &mut parts),
            Op::Flush => self.flush(level, request, arrival, &mut parts),
        };
        // A request that fails ends with the pages before the failure.
        let tail = level.end(&mut Self::io(&mut self.media, parts.start))?;
        let Some(tag) = parts.tag else {
            let at = parts.latest + tail;
            self.answer(request.op, arrival, at);
            return served.map(|()| Some(at)).map_err(ServiceError::Media);
        };
        let Parts { waiting: parts, latest, .. } = parts;
        let pending = Pending { arrival, op: request.op, owner: self.owner, parts, latest, tail };
        if tag as usize == self.pending.len() {
            self.pending.push(pending);
        } else {
            self.pending[tag as usize] = pending;
        }
        served.map(|()| None).map_err(ServiceError::Media)
    }

    /// Advance time to `until` and report each completion. Scheduled actions of levels and restarts run at their time.
    ///
    /// # Errors
    /// A failed flash operation.
    pub fn advance(
        &mut self,
        level: &mut impl Level<M>,
        until: Time,
        mut answered: impl FnMut(Answer),
    ) -> Result<(), M::Error> {
        while let Some(at) = self.restarts.as_mut().and_then(|restarts| restarts.next_until(until)) {
            self.advance_levels(level, at, &mut answered)?;
            self.restart(level, at)?;
        }
        self.advance_levels(level, until, &mut answered)
    }

    #[inline(never)]
    fn advance_levels(
        &mut self,
        level: &mut impl Level<M>,
        until: Time,
        answered: &mut impl FnMut(Answer),
    ) -> Result<(), M::Error> {
        while self.is_timed
            && let Some(due) = level.next_due().filter(|&due| due < until)
        {
            self.advance_media(level, due, answered)?;
            level.pass_time(due, &mut Self::io(&mut self.media, When::at(due)))?;
        }
        self.advance_media(level, until, answered)
    }

    #[inline(always)]
    fn advance_media(
        &mut self,
        level: &mut impl Level<M>,
        until: Time,
        answered: &mut impl FnMut(Answer),
    ) -> Result<(), M::Error> {
        if self.collects_idly {
            self.advance_idly(level, until, answered)?;
        }
        while !self.media.timeline_mut().advance(until, &mut self.finished) {
            self.settle(level, answered)?;
        }
        Ok(())
    }

    /// Process the events up to `until`, but stop after one that reports something. Returns whether none is left.
    #[inline]
    pub(crate) fn await_report(
        &mut self,
        level: &mut impl Level<M>,
        until: Time,
        mut answered: impl FnMut(Answer),
    ) -> Result<bool, M::Error> {
        let is_over = if self.collects_idly {
            self.await_report_idly(level, until)?
        } else {
            self.media.timeline_mut().run(until, &mut self.finished)
        };
        self.settle(level, &mut answered)?;
        Ok(is_over)
    }

    /// As `Timeline::run`, with garbage collection on idle dies.
    fn await_report_idly(&mut self, level: &mut impl Level<M>, until: Time) -> Result<bool, M::Error> {
        while let Some(event) = self.media.timeline().next_event().filter(|&at| at <= until) {
            self.use_idle_time(level, event)?;
            self.media.timeline_mut().step(&mut self.finished);
            if !self.finished.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Advance time by up to `events` events; returns false if none is left, so that all requests are completed. Idle
    /// dies stay idle, since no request follows.
    pub(crate) fn drain(&mut self, level: &mut impl Level<M>, events: u64) -> Result<bool, M::Error> {
        for _ in 0..events {
            let more = self.media.timeline_mut().step(&mut self.finished);
            self.settle(level, &mut |_| {})?;
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Advance time to just before `until`, with garbage collection on idle dies.
    #[inline(never)]
    fn advance_idly(
        &mut self,
        level: &mut impl Level<M>,
        until: Time,
        answered: &mut impl FnMut(Answer),
    ) -> Result<(), M::Error> {
        loop {
            let event = |media: &M| media.timeline().next_event().filter(|&at| at < until);
            self.use_idle_time(level, event(&self.media).unwrap_or(until))?;
            // Idle work may have created an earlier event.
            if event(&self.media).is_none() {
                return Ok(());
            }
            self.media.timeline_mut().step(&mut self.finished);
            self.settle(level, answered)?;
        }
    }

    /// Collect garbage on idle dies, in the order in which they become idle. A step that begins before `until` runs to
    /// its end. No event may be pending before `until`.
    fn use_idle_time(&mut self, level: &mut impl Level<M>, until: Time) -> Result<(), M::Error> {
        let Self { media, .. } = self;
        let dies = || (0..self.dies).map(DieId::new);
        loop {
            let idle = dies().filter_map(|die| Some((media.timeline().idle_since(die)?, die)));
            let next = idle.filter(|&(since, die)| since < until && level.ftl().has_idle_work(die)).min();
            let Some((since, die)) = next else { return Ok(()) };
            if !level.work_idle(die, &mut Self::io(media, When::at(since)))? {
                return Ok(());
            }
        }
    }

    /// The size of a page.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.address.page_bytes
    }

    /// The capacity for requests in bytes.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.address.logical_bytes()
    }

    /// Pages assigned by a dense address map.
    pub(crate) fn pages_touched(&self) -> Option<u64> {
        self.address.touched()
    }

    /// Enter a request's pages into the address map without serving it, to count them.
    pub(crate) fn touch(&mut self, request: &Request) {
        let pages = self.address.pages(request);
        self.address.look_up(request, pages, &mut self.lpns);
    }

    #[inline(always)]
    fn transfer<const IS_READ: bool>(
        &mut self,
        level: &mut impl Level<M>,
        request: &Request,
        first: u64,
        arrival: Time,
        mut payload: impl Payload<M>,
        parts: &mut Parts,
    ) -> Result<(), M::Error> {
        let bytes = self.address.page_bytes;
        let HostCounters { host_reads_bytes, host_writes_bytes, .. } = &mut self.meters.host;
        *if IS_READ { host_reads_bytes } else { host_writes_bytes } += request.length;
        let start = self.begin(level, request, arrival, parts);
        for index in 0..self.lpns.len() {
            let (lpn, page) = (self.lpns.get(index), (first + index as u64) * bytes);
            let part = PartOfPage::within(request, page, bytes);
            let done = if IS_READ {
                self.meters.host.host_reads_pages += 1;
                let done = level.read(PageRead::host(lpn), start, &mut Self::io(&mut self.media, start))?;
                payload.take(part, done.map(|_| &self.media));
                done
            } else {
                self.meters.host.host_writes_pages += 1;
                let is_cut = page < request.offset || page + bytes > request.offset + request.length;
                let coverage = if is_cut { Coverage::Partial } else { Coverage::Full };
                payload.give(part, &mut self.media);
                let io = &mut Self::io(&mut self.media, start);
                let write = PageWrite { placement: request.placement, ..PageWrite::host(lpn, coverage) };
                Some(level.write(write, start, io)?)
            };
            if let Some(done) = done {
                self.take(done, parts);
            }
        }
        Ok(())
    }

    /// Trim the pages that are completely inside the range.
    #[inline(always)]
    fn trim(
        &mut self,
        level: &mut impl Level<M>,
        request: &Request,
        arrival: Time,
        parts: &mut Parts,
    ) -> Result<(), M::Error> {
        let mut after = self.begin(level, request, arrival, parts);
        for index in 0..self.lpns.len() {
            let lpn = self.lpns.get(index);
            self.meters.host.host_trims_pages += 1;
            after = level.trim(lpn, after, &mut Self::io(&mut self.media, parts.start))?;
        }
        self.take(after, parts);
        Ok(())
    }

    #[inline(always)]
    fn flush(
        &mut self,
        level: &mut impl Level<M>,
        request: &Request,
        arrival: Time,
        parts: &mut Parts,
    ) -> Result<(), M::Error> {
        self.meters.host.flushes += 1;
        let start = self.begin(level, request, arrival, parts);
        let mut flushed = std::mem::take(&mut self.flushed);
        let outcome = level.flush(start, &mut Self::io(&mut self.media, start), &mut flushed);
        flushed.drain(..).for_each(|when| self.take(when, parts));
        self.flushed = flushed;
        outcome
    }

    /// Begin a request; return the start of its pages.
    #[inline(always)]
    fn begin(
        &mut self,
        level: &mut impl Level<M>,
        request: &Request,
        arrival: Time,
        parts: &mut Parts,
    ) -> When {
        let command = Command {
            op: request.op,
            bytes: request.length,
            first: self.lpns.first(),
            // Limited to the pages of the stack.
            pages: self.lpns.len() as u32,
            crossing: Crossing::Whole,
        };
        parts.start = level.begin(&command, &mut Self::io(&mut self.media, When::at(arrival)));
        parts.latest = parts.start.known().expect("the beginning of a request waits for no other");
        parts.start
    }

    /// Add a part to the request being issued.
    #[inline(always)]
    fn take(&mut self, when: When, parts: &mut Parts) {
        match when.known() {
            Some(at) => parts.latest = parts.latest.max(at),
            None => {
                let tag =
                    *parts.tag.get_or_insert_with(|| self.vacant.pop().unwrap_or(self.pending.len() as u32));
                self.media.timeline_mut().tell(when, tag);
                parts.waiting += 1;
            }
        }
    }

    /// Process the media's reports: completed parts of requests, and completions requested by levels.
    #[inline]
    fn settle(
        &mut self,
        level: &mut impl Level<M>,
        answered: &mut impl FnMut(Answer),
    ) -> Result<(), M::Error> {
        for index in 0..self.finished.len() {
            let Finished { tag, at } = self.finished[index];
            match tag {
                Tag::Part(tag) => self.end_part(tag, at, answered),
                Tag::Level(tag) => {
                    level.notify(tag, at, &mut Self::io(&mut self.media, When::at(at)))?;
                }
            }
        }
        self.finished.clear();
        Ok(())
    }

    #[inline(always)]
    fn end_part(&mut self, tag: u32, at: Time, answered: &mut impl FnMut(Answer)) {
        let pending = &mut self.pending[tag as usize];
        pending.latest = pending.latest.max(at);
        pending.parts -= 1;
        if pending.parts == 0 {
            let Pending { arrival, op, owner, latest, tail, .. } = *pending;
            self.vacant.push(tag);
            let at = latest + tail;
            self.answer(op, arrival, at);
            answered(Answer { at, arrival, op, owner });
        }
    }

    #[inline(always)]
    fn answer(&mut self, op: Op, arrival: Time, at: Time) {
        let response = at.since(arrival);
        match op {
            Op::Read => self.meters.read.record(response, 1),
            Op::Write => self.meters.write.record(response, 1),
            Op::Trim | Op::Flush => self.meters.other.record(response, 1),
        }
        self.meters.series.respond(arrival, response);
        self.meters.last_answer = self.meters.last_answer.max(at);
    }

    /// Whether time is near the end of its range.
    pub(crate) fn is_out_of_time(&self) -> bool {
        let Busy { gc, other, .. } = self.media.timeline().busy();
        self.meters.last_answer > Time::LAST || gc.ns.max(other.ns) == u64::MAX
    }

    /// Outstanding requests, and their memory in bytes.
    #[must_use]
    pub fn under_way(&self) -> (usize, u64) {
        let requests = self.pending.len() - self.vacant.len();
        let table = self.pending.capacity() * size_of::<Pending>();
        (requests, (table + self.media.timeline().heap_bytes()) as u64)
    }

    /// The media.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// The media, for uses that are no operation of the levels.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// Convert into the media, as after a power cut: the state of the levels is lost.
    #[must_use]
    pub fn into_media(self) -> M {
        self.media
    }
}
