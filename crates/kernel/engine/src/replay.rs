//! The replay of a workload: its requests are issued at their times, or in a closed loop.

use crate::engine::{Engine, GROUP, ServiceError};
use crate::error::RunError;
use crate::memory::{self, human};
use crate::observer::{Cancelled, Observer, Phase};
use coflash_base::{Save, Time};
use coflash_level::Level;
use coflash_media::SimulatedMedia;
use coflash_scenario::{Remap, ReplayMode, Scenario, ScenarioError};
use coflash_workload::{BATCH_REQUESTS, Request, Source, no_handle};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::ops::Range;

/// Pages between two calls of the observer within a batch: long requests must not delay Ctrl-C.
pub(crate) const LOOK_PAGES: u64 = 1 << 14;

/// The replay of requests in one order.
pub(crate) struct Replay<'a> {
    scenario: &'a Scenario,
    source: Box<dyn Source>,
    issuer: Issuer,
    /// The remark on a workload without times, for which a closed loop is used.
    at_once: Option<String>,
    memory_bytes: u64,
    batch: Vec<Request>,
    /// The place of the next request in the batch.
    next: usize,
    /// Requests in the batches before this one.
    served: u64,
    /// Requests that may still be read; none after the end.
    left: u64,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(scenario: &'a Scenario, source: Box<dyn Source>) -> Self {
        Self {
            scenario,
            source,
            issuer: Issuer::new(scenario, scenario.replay_mode()),
            at_once: None,
            memory_bytes: memory::available_bytes().unwrap_or(u64::MAX),
            batch: Vec::with_capacity(BATCH_REQUESTS),
            next: 0,
            served: 0,
            left: scenario.workload.most_requests(),
        }
    }

    /// Issue the next requests, at most `requests_max` and those of a batch. Returns false after the last one.
    pub(crate) fn step<M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
        requests_max: usize,
        observer: &mut dyn Observer,
    ) -> Result<bool, RunError> {
        if self.next == self.batch.len() {
            let (progress, requests) = self.progress();
            observer.progress(Phase::Replay, progress, requests)?;
            if !self.read()? {
                return Ok(false);
            }
        }
        let end = self.batch.len().min(self.next.saturating_add(requests_max));
        let Self { issuer, source, batch, served, next, .. } = self;
        let places = *next..end;
        let look = |place| {
            *next = place + 1; // where a run goes on that is cancelled here
            observer.progress(Phase::Replay, source.progress(), *served + place as u64)
        };
        if let Some(place) = issuer.issue_all(engine, level, batch, places, look)? {
            return Err(self.out_of_space(place, engine, observer)?);
        }
        self.next = end;
        if engine.is_out_of_time() {
            return Err(RunError::out_of_time());
        }
        let (waiting, waiting_bytes) = engine.under_way();
        // A table that grows takes three times its memory: as much as before, and twice as much.
        if waiting_bytes.saturating_mul(3) > self.memory_bytes {
            return Err(RunError::TooFar(format!(
                "requests arrive faster than the device answers: {waiting} wait and fill the memory; set replay.mode to \
                 \"closed\", or a larger replay.time_scale"
            )));
        }
        Ok(true)
    }

    /// Read the next batch. Returns false if there is none.
    fn read(&mut self) -> Result<bool, RunError> {
        self.served += self.batch.len() as u64;
        self.batch.clear();
        if self.left > 0 {
            self.source.next_batch(&mut self.batch)?;
        }
        self.batch.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        (self.next, self.left) = (0, self.left - self.batch.len() as u64);
        if self.batch.is_empty() {
            self.left = 0;
            return Ok(false);
        }
        if let Some(handles) = self.scenario.ftl.placement.handles() {
            check_hints(&self.batch, handles)?;
        }
        if self.served == 0 {
            self.at_once = without_times(self.scenario, &self.batch);
            if self.at_once.is_some() {
                self.issuer = Issuer::new(self.scenario, ReplayMode::Closed);
            }
        }
        if let Issuer::Open { time_scale } = self.issuer {
            if time_scale != 1.0 {
                let scaled = |at: Time| Time { ns: (at.ns as f64 * time_scale).round() as u64 };
                self.batch.iter_mut().for_each(|request| request.arrival = scaled(request.arrival));
            }
            if self.batch.last().is_some_and(|last| last.arrival > Time::LAST) {
                return Err(RunError::out_of_time());
            }
        }
        Ok(true)
    }

    /// Write the place in the workload, between two requests.
    pub(crate) fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.served, self.next).save(out)?;
        self.issuer.save(out)
    }

    /// Return to the place that was saved. The requests before it are read once more.
    pub(crate) fn restore(
        &mut self,
        from: &mut dyn Read,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let mut place = (0, 0);
        place.restore(from)?;
        while self.read()? && self.served < place.0 {
            observer.progress(Phase::Resume, self.source.progress(), self.served)?;
        }
        if self.served != place.0 || self.batch.len() < place.1 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the workload is another").into());
        }
        self.next = place.1;
        Ok(self.issuer.restore(from)?)
    }

    /// The share of the workload that has been read, if known, and the number of requests issued.
    pub(crate) fn progress(&self) -> (Option<f64>, u64) {
        (self.source.progress(), self.served + self.next as u64)
    }

    /// The mode of the replay, and the remarks on the workload.
    pub(crate) fn end(&self) -> (ReplayMode, Vec<String>) {
        let mode = if self.at_once.is_some() { ReplayMode::Closed } else { self.scenario.replay_mode() };
        (mode, self.source.remarks().into_iter().chain(self.at_once.clone()).collect())
    }

    /// Read the rest of the workload, from a request of the batch on, to determine the required capacity.
    fn out_of_space<M: SimulatedMedia>(
        &mut self,
        first: usize,
        engine: &mut Engine<M>,
        observer: &mut dyn Observer,
    ) -> Result<RunError, RunError> {
        let Self { scenario, source, batch, .. } = self;
        let dense = scenario.workload.remap == Remap::Dense;
        let device = engine.logical_bytes();
        let (mut end, mut longest) = (0, 0);
        let mut look = |request: &Request, engine: &mut Engine<M>| {
            end = end.max(request.offset + request.length);
            longest = longest.max(request.length);
            // A workload that can never fit is not counted, to save memory.
            if dense && request.length <= device {
                engine.touch(request);
            }
        };
        batch[first..].iter().for_each(|request| look(request, engine));
        let mut seen = 0;
        loop {
            observer.progress(Phase::Replay, source.progress(), seen)?;
            source.next_batch(batch)?;
            if batch.is_empty() {
                break;
            }
            batch.iter().for_each(|request| look(request, engine));
            seen += batch.len() as u64;
        }
        let remap = scenario.workload.remap;
        let (needed_bytes, needed) = if longest > device && remap != Remap::None {
            (longest, format!("a request of the workload is {} long", human(longest)))
        } else if let Some(touched) = engine.pages_touched() {
            let bytes = touched * scenario.flash.page_size.count;
            (bytes, format!("the workload touches {touched} pages, {}", human(bytes)))
        } else {
            (end, format!("the workload's addresses reach {} ({end} bytes)", human(end)))
        };
        let otherwise = match remap {
            Remap::None => {
                ", or set workload.remap to \"dense\" (touched pages are packed) or \"modulo\" (addresses wrap)"
            }
            Remap::Dense | Remap::Modulo => "",
        };
        let room = human(device);
        let larger = if scenario.hybrid.is_some() {
            format!(
                "the disks hold {room} ({device} bytes): give them more (hybrid.disks.model.capacity, hybrid.disks.count)"
            )
        } else {
            let enough_mib = needed_bytes.div_ceil(1 << 20);
            format!(
                "the device exports {room} ({device} bytes): set flash.exported to \"{enough_mib}MiB\" or more"
            )
        };
        Ok(RunError::TooFar(format!("{needed}; {larger}{otherwise}")))
    }
}

/// The remark on a workload without times of its own: more requests arrive first, all at the same time, than
/// a closed loop has outstanding. `None` for any other workload, and if the scenario sets the mode of replay.
fn without_times(scenario: &Scenario, first: &[Request]) -> Option<String> {
    let left = scenario.workload.most_requests();
    let first = &first[..first.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
    let depth = scenario.replay.queue_depth;
    // A generated workload says itself whether it has times.
    let is_recorded = scenario.workload.is_recorded();
    let at_once = first.len() > depth as usize && first.iter().all(|one| one.arrival == first[0].arrival);
    (scenario.replay.mode.is_none() && is_recorded && at_once).then(|| {
        format!(
            "the first {} requests arrive at the same time, so that times are taken for missing: requests follow one \
             another in a closed loop with {depth} outstanding (replay.mode = \"closed\"; \"open\" keeps to the times)",
            first.len()
        )
    })
}

/// Refuse hints beyond the handles of the device.
fn check_hints(batch: &[Request], handles: u32) -> Result<(), RunError> {
    let highest = batch.iter().filter_map(|request| request.placement).max();
    match highest.filter(|placement| placement.get() >= handles) {
        None => Ok(()),
        Some(placement) => Err(ScenarioError::new("workload", no_handle(placement, handles)).into()),
    }
}

/// The issue times of requests.
#[derive(Save)]
enum Issuer {
    Open {
        time_scale: f64,
    },
    /// Pending completions with known times.
    Closed {
        queue_depth: usize,
        under_way: usize,
        answers: BinaryHeap<Reverse<Time>>,
        now: Time,
    },
}

impl Issuer {
    fn new(scenario: &Scenario, mode: ReplayMode) -> Self {
        match mode {
            ReplayMode::Open => Self::Open { time_scale: scenario.replay.time_scale },
            ReplayMode::Closed => Self::Closed {
                queue_depth: scenario.replay.queue_depth as usize,
                under_way: 0,
                answers: BinaryHeap::new(),
                now: Time::ZERO,
            },
        }
    }

    /// Issue these requests of a batch, and call `look` at each [`LOOK_PAGES`]. Returns the place of the first one that does not fit.
    #[inline(always)]
    fn issue_all<M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
        batch: &[Request],
        places: Range<usize>,
        mut look: impl FnMut(usize) -> Result<(), Cancelled>,
    ) -> Result<Option<usize>, Cancelled> {
        let look_bytes = LOOK_PAGES * engine.page_bytes();
        let mut bytes = 0;
        for place in places {
            if place % GROUP == 0 {
                engine.look_ahead(level, &batch[place..]);
            }
            let request = &batch[place];
            if self.issue(request, engine, level).is_err() {
                return Ok(Some(place));
            }
            bytes += request.length;
            if bytes >= look_bytes {
                look(place)?;
                bytes = 0;
            }
        }
        Ok(None)
    }

    /// Issue `request`.
    #[inline(always)]
    fn issue<M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        request: &Request,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
    ) -> Result<(), ServiceError<Infallible>> {
        let (arrival, mut answers) = match self {
            Self::Open { .. } => (request.arrival, None),
            Self::Closed { queue_depth, under_way, answers, now } => {
                if under_way == queue_depth {
                    *now = Self::next_answer(answers, engine, level).max(*now);
                } else {
                    *under_way += 1;
                }
                (*now, Some(answers))
            }
        };
        let known = engine.issue(level, request, arrival, (), |answer| {
            answers.iter_mut().for_each(|answers| answers.push(Reverse(answer.at)));
        })?;
        if let Some(answers) = answers {
            answers.extend(known.map(Reverse));
        }
        Ok(())
    }

    /// The earliest completion, after processing all events before it.
    fn next_answer<M: SimulatedMedia<Error = Infallible>>(
        answers: &mut BinaryHeap<Reverse<Time>>,
        engine: &mut Engine<M>,
        level: &mut impl Level<M>,
    ) -> Time {
        loop {
            let known = answers.peek().map_or(Time { ns: u64::MAX }, |Reverse(at)| *at);
            let Ok(is_first) = engine.await_report(level, known, |answer| answers.push(Reverse(answer.at)));
            if is_first {
                break;
            }
        }
        answers.pop().expect("a request under way has an answer to come").0
    }
}
