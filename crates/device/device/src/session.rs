//! A session: a device from power on to power off, over the bytes of a container.
//!
//! Requests have byte granularity. Each has its time of arrival, so a session needs no clock: the same
//! requests at the same times give the same result, and so does the trace of the session in a simulation
//! ([`twin`](crate::twin)).

mod whole;

use crate::loss::Unsettled;
use crate::power_on::{StartError, power_on};
use crate::recorder::Recorder;
use crate::restarts::{Armed, Restart};
use crate::timed_bytes::TimedBytes;
use coflash_base::seed::RngExt;
use coflash_base::{Index, Lpn, Seed, Time};
use coflash_engine::{Engine, Payload, RunResult, ServiceError, WarmUp, Workload};
use coflash_ftl::{CopyAll, Ftl, Io};
use coflash_level::Tower;
use coflash_media::{Contents, Side, When};
use coflash_record::LiveRecorder;
use coflash_scenario::{ReplayMode, Scenario};
use coflash_store::{Damage, DeviceBytes, Disk, Store, StoreError};
use coflash_workload::{Op, Request};
use std::io;
use std::sync::{Arc, Mutex};

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It reaches beyond the end of the device.
    #[error("the request reaches beyond the end of the device")]
    BeyondEnd,
    /// The power of the device is off, a page is damaged, or the host's files cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data of a cache slot is damaged.
    #[error("a cache slot cannot be read: {0}")]
    DamagedSlot(Damage),
    /// The device has lost power alone and cannot come back.
    #[error("{0}")]
    Restart(String),
}

impl From<ServiceError<StoreError>> for Failure {
    fn from(error: ServiceError<StoreError>) -> Self {
        match error {
            ServiceError::OutOfSpace => Self::BeyondEnd,
            ServiceError::Media(error) => Self::Store(error),
        }
    }
}

/// The moment at which a request is answered on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The latest of the known moments.
    pub at: Time,
    /// The number of its parts with moments not known yet: with shared channels, reads that go before
    /// programs, or a write buffer, they depend on later requests.
    pub awaited: u32,
}

impl Due {
    /// A known moment.
    pub(crate) fn at(at: Time) -> Self {
        Self { at, awaited: 0 }
    }

    /// The later of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { at: self.at.max(other.at), awaited: self.awaited + other.awaited }
    }
}

/// The moment of an answer, or the failure.
pub type AnsweredAt = Result<Due, Failure>;

/// The owner number of requests without a waiting client.
pub(crate) const NOBODY: u16 = 0;

/// A planned power cut: at a step that `seed` draws, from a request on, and [`CUT_REQUESTS`] requests later at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The interrupted request.
    pub at: CutAt,
    /// The side that loses power.
    pub side: Side,
    /// The seed of the step, and of the surviving stores.
    pub seed: u64,
}

/// A request at which power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutAt {
    /// A write or a flush.
    pub op: Op,
    /// Its number among those since power on, from 1.
    pub number: u64,
}

impl std::str::FromStr for CutAt {
    type Err = String;

    /// Read `writes=1000` or `flush=37`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, number) = text.split_once('=').unwrap_or((text, ""));
        let number = number.parse().ok().filter(|&number| number > 0);
        match (kind, number) {
            ("writes", Some(number)) => Ok(Self { op: Op::Write, number }),
            ("flush", Some(number)) => Ok(Self { op: Op::Flush, number }),
            _ => Err(format!("\"{text}\" was given; \"writes=N\" or \"flush=N\", with N from 1, is allowed")),
        }
    }
}

/// The maximal number of media steps before power is cut: some requests take fewer.
const CUT_STEPS: u64 = 16;
/// The maximal number of requests before power is cut: requests that a cache serves take no steps of the device.
const CUT_REQUESTS: u64 = 64;

/// The result of a session.
pub struct Ended<S> {
    /// The result of all requests before the one that a power cut interrupted.
    pub result: RunResult,
    /// The time up to which the result goes.
    pub end: Time,
    /// The store at the end.
    pub store: S,
    /// The restarts of the device alone.
    pub restarts: Vec<Restart>,
}

/// A device under power, with the host's part of its cache.
pub struct Session<S: DeviceBytes> {
    pub(crate) scenario: Scenario,
    stack: Tower<Ftl>,
    engine: Engine<TimedBytes<S>>,
    recorder: Recorder,
    live: Option<Arc<Mutex<LiveRecorder>>>,
    restarts: Vec<Restart>,
    /// Restarts that were taken note of.
    told: usize,
    armed: Option<Armed>,
    now: Time,
    /// The number of the client that waits for the next requests, and the answers that became known later, with their numbers.
    pub(crate) owner: u16,
    pub(crate) answers: Vec<(u16, Time)>,
    page_bytes: u64,
    zeros: Vec<u8>,
    cut: Option<Cut>,
    /// The number of requests before which a planned cut that was begun has come.
    cut_before: Option<u64>,
    /// Requests so far of the kind at which it is planned.
    counted: u64,
    /// Around a power cut: the time and the result before the current request.
    before: Option<(Time, RunResult)>,
    /// Answered requests that a power cut would undo now.
    pub(crate) unsettled: Unsettled,
}

impl<S: DeviceBytes> Session<S> {
    /// Power the device of a scenario on: an erased one, or the contents `found` in its container.
    ///
    /// # Errors
    /// The scenario cannot be served, or the device cannot be recovered.
    pub fn start(
        mut scenario: Scenario,
        store: S,
        found: Option<&Contents>,
        recorder: Recorder,
        cut: Option<Cut>,
    ) -> Result<Self, StartError<StoreError>> {
        // Requests come when clients send them.
        scenario.replay.mode.get_or_insert(ReplayMode::Open);
        let mut timeline = scenario.timeline();
        found.into_iter().for_each(|contents| timeline.find(contents));
        let mut media = TimedBytes { store, timeline };
        let stack = power_on(&scenario, found, &mut media)?;
        let page_bytes = scenario.flash.page_size.count;
        let engine = Engine::new(&scenario, &stack, media);
        Ok(Self {
            scenario,
            stack,
            engine,
            recorder,
            live: None,
            restarts: Vec::new(),
            told: 0,
            armed: None,
            now: Time::ZERO,
            owner: NOBODY,
            answers: Vec::new(),
            page_bytes,
            zeros: Vec::new(),
            cut,
            cut_before: None,
            counted: 0,
            before: None,
            unsettled: Unsettled::default(),
        })
    }

    /// Read into `data`. Sectors never written, or trimmed, read as zeros.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn read(&mut self, offset: u64, data: &mut [u8], now: Time) -> AnsweredAt {
        self.issue(Op::Read, offset, data.len() as u64, data, now)
    }

    /// Write `data`.
    ///
    /// # Errors
    /// A page cannot be written: from then on, all writes fail.
    pub fn write(&mut self, offset: u64, data: &[u8], now: Time) -> AnsweredAt {
        let length = data.len() as u64;
        self.whole(offset, length, now, |session| session.issue(Op::Write, offset, length, data, now))
    }

    /// Trim the whole pages of a range. Other parts of it keep their data.
    ///
    /// # Errors
    /// A flash operation failed.
    pub fn trim(&mut self, offset: u64, length: u64, now: Time) -> AnsweredAt {
        self.whole(offset, length, now, |session| session.issue(Op::Trim, offset, length, (), now))
    }

    /// The runs of a range, in order: bytes, and whether they are a hole, never written or trimmed.
    pub fn runs(&self, offset: u64, length: u64) -> impl Iterator<Item = (u64, bool)> + '_ {
        let (stack, bytes, end) = (&self.stack, self.page_bytes, offset + length);
        let is_hole = move |page: u64| !stack.holds(Lpn::from_index(page as usize));
        let mut from = offset;
        std::iter::from_fn(move || {
            let mut page = from / bytes;
            let hole = from < end && is_hole(page);
            while page * bytes < end && is_hole(page) == hole {
                page += 1;
            }
            let to = (page * bytes).min(end);
            let run = to.checked_sub(from).filter(|&run| run > 0)?;
            from = to;
            Some((run, hole))
        })
    }

    /// Advance time, and do the work that is due by then: timed commits, background garbage collection.
    ///
    /// # Errors
    /// A flash operation failed.
    pub fn pass_time(&mut self, now: Time) -> Result<(), Failure> {
        let passed = self.under_power(now, |_| Ok(()));
        self.unsettled.look(self.stack.at_risk());
        passed
    }

    /// The time of the next event on the timeline; `None` if it has none.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.engine.media().timeline.next_event()
    }

    /// Wait until the requests under way end.
    ///
    /// # Errors
    /// A flash operation failed.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        while self.engine.under_way().0 > 0
            && let Some(event) = self.next_event()
        {
            self.pass_time(event)?;
        }
        Ok(())
    }

    /// Cut the power of a side, between two requests; it ends the session.
    pub fn cut(&mut self, side: Side) {
        self.before = Some((self.now, self.result()));
        self.engine.media_mut().store.cut_side_after(side, 0);
    }

    /// Cut the power of the device alone at `now`, between two requests. The host goes on with its cache, and the session
    /// with it.
    ///
    /// # Errors
    /// The device cannot come back.
    pub fn cut_device(&mut self, now: Time) -> Result<(), Failure> {
        let before = self.restarts.len();
        self.pass_time(now)?;
        if self.restarts.len() == before {
            self.armed = None;
            self.engine.media_mut().store.cut_side_after(Side::Device, 0);
            self.restart_device()?;
        }
        Ok(())
    }

    /// Cut the power of the device alone after this number of its steps.
    pub(crate) fn arm(&mut self, steps: u64) {
        self.armed = Some(Armed { requests: self.recorder.requests(), steps });
        self.engine.media_mut().store.cut_side_after(Side::Device, steps);
    }

    /// The restarts of the device alone.
    pub fn restarts(&self) -> &[Restart] {
        &self.restarts
    }

    /// Have a recorder hear of the operations of flash, and of the decisions of GC, from now on.
    pub(crate) fn record_in(&mut self, live: Arc<Mutex<LiveRecorder>>) {
        self.stack.record_in(live.clone());
        self.engine.media_mut().timeline.record_in(live.clone());
        self.live = Some(live);
    }

    /// The number of restarts of the device alone since the last call.
    pub(crate) fn take_restarted(&mut self) -> usize {
        let told = std::mem::replace(&mut self.told, self.restarts.len());
        self.restarts.len() - told
    }

    /// Power the device on again. The host, which has gone on, shakes hands with it.
    fn restart_device(&mut self) -> Result<(), Failure> {
        let restart =
            Restart { requests: self.recorder.requests(), at_ns: self.now.ns, armed: self.armed.take() };
        self.restarts.push(restart);
        let Self { stack, engine, .. } = self;
        let media = engine.media_mut();
        let found = media.store.restart_device()?;
        self.recorder.keep_contents(self.restarts.len(), &found);
        let io = &mut Io { media, hook: CopyAll, start: When::at(self.now) };
        let recovered = stack.recover_device(&self.scenario.stack_config(), &found, io);
        if let Some(live) = &self.live {
            stack.record_in(live.clone());
        }
        recovered.map_err(|problem| Failure::Restart(StartError::Recovery(problem).to_string()))
    }

    /// Cancel a power cut that has not come yet.
    pub(crate) fn disarm(&mut self) {
        (self.cut, self.cut_before, self.before) = (None, None, None);
        self.engine.media_mut().store.cut_side_after(Side::Both, u64::MAX);
    }

    /// Whether the power of the device is off.
    pub fn is_off(&self) -> bool {
        self.engine.media().store.is_off()
    }

    /// Bytes that the device holds.
    pub fn size_bytes(&self) -> u64 {
        self.engine.logical_bytes()
    }

    /// End the session.
    ///
    /// # Errors
    /// The trace of the session cannot be written.
    pub fn end(mut self) -> io::Result<Ended<S>> {
        let before = if self.is_off() { self.before.take() } else { None };
        let (end, result) = before.unwrap_or_else(|| (self.now, self.result()));
        self.recorder.finish()?;
        Ok(Ended { result, end, store: self.engine.into_media().store, restarts: self.restarts })
    }

    /// Serve a recorded request, without its data.
    pub(crate) fn repeat(&mut self, request: &Request) -> AnsweredAt {
        self.issue(request.op, request.offset, request.length, (), request.arrival)
    }

    /// The result so far.
    pub fn result(&self) -> RunResult {
        let workload = Workload {
            description: "a served device".to_owned(),
            replay: "at the times at which clients sent requests".to_owned(),
            logical_bytes: self.size_bytes(),
            inputs: Vec::new(),
            warm_up: WarmUp::default(),
        };
        self.engine.result(
            &self.stack,
            &self.scenario,
            self.scenario.replay_mode(),
            workload,
            self.now.ns as f64 / 1e9,
        )
    }

    fn issue(
        &mut self,
        op: Op,
        offset: u64,
        length: u64,
        payload: impl Payload<TimedBytes<S>>,
        now: Time,
    ) -> AnsweredAt {
        self.count(op);
        self.cut_at_the_latest(now)?;
        self.issue_uncounted(op, offset, length, payload, now)
    }

    /// Issue a request that no client has sent, or that was counted before.
    fn issue_uncounted(
        &mut self,
        op: Op,
        offset: u64,
        length: u64,
        mut payload: impl Payload<TimedBytes<S>>,
        now: Time,
    ) -> AnsweredAt {
        let mut is_recorded = false;
        let served = self.under_power(now, |session| {
            let request = Request { arrival: session.now, offset, length, op, placement: None };
            let served = session.engine.issue_for(
                &mut session.stack,
                session.owner,
                &request,
                session.now,
                &mut payload,
            );
            let store = &session.engine.media().store;
            if !is_recorded && (!store.is_off() || store.outlives_device()) {
                session.recorder.record(&request);
                is_recorded = true;
            }
            let at = served?;
            Ok(Due { at: at.unwrap_or(session.now), awaited: u32::from(at.is_none()) })
        })?;
        self.unsettled.look(self.stack.at_risk());
        self.unsettled.add(op, length);
        Ok(served)
    }

    /// Count a request, and arm the power cut if it is due at this request.
    fn count(&mut self, op: Op) {
        let Some(Cut { at, side, seed }) = self.cut.filter(|cut| cut.at.op == op) else { return };
        self.counted += 1;
        if self.counted != at.number {
            return;
        }
        let steps = Seed(seed).stream("cut").random_range(0..=CUT_STEPS);
        self.cut_before = Some(self.recorder.requests() + CUT_REQUESTS);
        if self.goes_on_after(side) {
            self.arm(steps);
        } else {
            self.engine.media_mut().store.cut_side_after(side, steps);
            self.before = Some((self.now, self.result()));
        }
    }

    /// Whether the host goes on with its cache when a side loses power.
    fn goes_on_after(&self, side: Side) -> bool {
        side == Side::Device && self.stack.has_host_cache()
    }

    /// Make a planned cut if too few steps were taken for it.
    fn cut_at_the_latest(&mut self, now: Time) -> Result<(), Failure> {
        let requests = self.recorder.requests();
        let Some(Cut { side, .. }) = self.cut else { return Ok(()) };
        if self.cut_before.take_if(|before| *before <= requests).is_none() {
            return Ok(());
        }
        if !self.goes_on_after(side) {
            self.engine.media_mut().store.cut_side_after(side, 0);
        } else if self.armed.is_some() {
            self.cut_device(now)?;
        }
        Ok(())
    }

    /// Run an operation at `now`. It fails if the power is off, or goes off meanwhile. If only the device loses power,
    /// the host repeats what was interrupted.
    fn under_power<T>(
        &mut self,
        now: Time,
        mut work: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = &self.engine.media().store;
        if store.is_off() && !store.outlives_device() {
            return Err(StoreError::PowerCut.into());
        }
        if self.before.is_some() {
            self.before = Some((self.now, self.result()));
        }
        // The clocks of several threads may differ.
        self.now = self.now.max(now);
        loop {
            let Self { stack, engine, answers, .. } = self;
            let passed = engine.advance(stack, self.now, |answer| {
                answers.extend((answer.owner != NOBODY).then_some((answer.owner, answer.at)));
            });
            let done = passed.map_err(Failure::from).and_then(|()| work(self));
            let store = &mut self.engine.media_mut().store;
            if !store.is_off() {
                return store.take_slot_damage().map_or(done, |damage| Err(Failure::DamagedSlot(damage)));
            }
            if !store.outlives_device() {
                return Err(StoreError::PowerCut.into());
            }
            self.restart_device()?;
            if !matches!(done, Err(Failure::Store(StoreError::PowerCut))) {
                return done;
            }
        }
    }
}

/// A session over a container.
impl<D: Disk> Session<Store<D>> {
    /// Make all answered writes and trims durable, in the device and in its container.
    ///
    /// # Errors
    /// A flash operation failed, or the container cannot be written.
    pub fn flush(&mut self, now: Time) -> AnsweredAt {
        let at = self.issue(Op::Flush, 0, 0, (), now)?;
        self.store().sync_point()?;
        Ok(at)
    }

    /// The container.
    pub fn store(&mut self) -> &mut Store<D> {
        &mut self.engine.media_mut().store
    }

    /// Why writes are refused, if they are: a write to the host's files has failed.
    pub fn refusal(&self) -> Option<&StoreError> {
        self.engine.media().store.failure()
    }

    /// Record no more: what was recorded cannot be written.
    pub(crate) fn stop_recording(&mut self) {
        self.recorder.stop();
    }
}
