//! A run over the slices of a device side by side, each on a thread of its own, with the result of one thread.
//!
//! All slices see all requests in order, and each serves its own pages. A request with pages in several is answered with the last one.
//! A few batches are served at a time, while the next ones are read; in between nothing is under way on another thread.

use crate::engine::{Answer, Engine, Share, Totals};
use crate::error::RunError;
use crate::metrics::Metrics;
use crate::observer::{Cancelled, Observer, Phase, SoFar};
use crate::precondition::{Preconditioned, precondition};
use crate::replay::{Issuer, Replay};
use crate::result::RunResult;
use crate::slice::Slice;
use crate::steps::{Steps, Told, drain};
use crate::traces::Traces;
use coflash_base::{Lpn, Seed, Time};
use coflash_ftl::Ftl;
use coflash_level::nvm::MetadataCounters;
use coflash_level::{Elsewhere, FlashStack, Level, PlainStack};
use coflash_media::Timeline;
use coflash_scenario::{ReplayMode, Scenario, ScenarioError};
use coflash_workload::Request;
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The batches that are served between two meetings of all slices: those that a source has ready.
const BATCHES: usize = 4;

/// The simulation of a slice.
struct Lane {
    engine: Engine<PlainStack, Timeline, true>,
    slice: Slice,
    issuer: Issuer,
    /// Whether the link or the firmware have a state that depends on every request.
    takes_all: bool,
    /// Of a batch: the requests with work for the slice first, and their places.
    own: Vec<Request>,
    places: Vec<u32>,
    /// The requests up to the last one taken.
    taken: u64,
    /// The requests with a fence, and the fences so far.
    fenced: Vec<u64>,
    fences: u64,
}

impl Lane {
    fn new(slice: Slice, scenario: &Scenario, flash: Ftl) -> Result<Self, RunError> {
        let own = slice.scenario(scenario);
        let FlashStack::Plain(levels) = own.levels(flash.logical_pages())?.over(flash) else {
            unreachable!("a cache in the host couples the slices")
        };
        Ok(Self {
            engine: Engine::of_slice(&own, levels, own.timeline(), slice),
            slice,
            issuer: Issuer::new(scenario, ReplayMode::Open),
            takes_all: scenario.controller.cores.is_some() || scenario.link.cost().is_shared,
            own: Vec::new(),
            places: Vec::new(),
            taken: 0,
            fenced: Vec::new(),
            fences: 0,
        })
    }

    /// Take the requests of a batch with work for the slice, the first of `own`, and those at which a window of the series may turn: windows double, so
    /// that their ends stay multiples of the length so far.
    fn take(&mut self, batch: &[Request]) -> usize {
        let Self { engine, issuer, takes_all, own, places, .. } = self;
        if let Some(any) = batch.first().filter(|_| own.len() < batch.len()) {
            own.resize(batch.len(), *any);
            places.resize(batch.len(), 0);
        }
        let mut count = 0;
        let (mut window_end, window_ns) = engine.window();
        for (place, request) in (0..).zip(batch) {
            let arrival = issuer.arrival(request);
            let turns = arrival >= window_end;
            // Without a branch, which could not be predicted.
            (own[count], places[count]) = (*request, place);
            count += usize::from(engine.has_work(request) | turns | *takes_all);
            if turns {
                window_end = Time { ns: (arrival.ns / window_ns + 1).saturating_mul(window_ns) };
            }
        }
        count
    }

    /// Serve the slice's part of batches; the first request has this number. Returns the number of a request that does not fit.
    fn serve(
        &mut self,
        batches: &[Vec<Request>],
        mut first: u64,
        fraction: Option<f64>,
        observer: &mut dyn Observer,
    ) -> Result<Option<u64>, RunError> {
        for batch in batches {
            let count = self.take(batch);
            let Self { engine, issuer, own, places, taken, fenced, fences, .. } = self;
            let number = |place: usize| first + u64::from(places[place]);
            let mut note = |engine: &Engine<PlainStack, Timeline, true>, next: usize| {
                let now = engine.level().below().under().fences();
                if now > *fences {
                    fenced.push(next.checked_sub(1).map_or(0, number));
                    *fences = now;
                }
            };
            let before = |engine: &mut Engine<_, _, true>, place| {
                note(engine, place);
                engine.number(number(place));
            };
            let look = |place| observer.progress(Phase::Replay, fraction, number(place));
            if let Some(place) = issuer.issue_all(engine, &own[..count], 0..count, before, look)? {
                return Ok(Some(number(place)));
            }
            note(engine, count);
            *taken = count.checked_sub(1).map_or(*taken, |place| number(place) + 1);
            first += batch.len() as u64;
        }
        Ok(None)
    }

    /// Serve what is under way. Idle time is used up to the arrival of the last request of the workload.
    fn end(
        &mut self,
        requests: u64,
        last_arrival: Time,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        if self.taken < requests {
            let Ok(()) = self.engine.advance(last_arrival, |_| {});
        }
        drain(&mut self.engine, &mut || observer.progress(Phase::Replay, None, requests))
    }
}

/// The observer of all threads but the first, which looks whether that one has failed.
struct Follower<'a>(&'a AtomicBool);

impl Observer for Follower<'_> {
    fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        if self.0.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}

/// Work for all slices side by side: for the first one on this thread with its observer, after something else.
fn side_by_side<T: Send, R: Send>(
    slices: impl IntoIterator<Item = T>,
    observer: &mut dyn Observer,
    before: impl FnOnce(),
    work: impl Fn(T, &mut dyn Observer) -> Result<R, RunError> + Sync,
) -> Result<Vec<R>, RunError> {
    let (has_failed, work) = (&AtomicBool::new(false), &work);
    thread::scope(|scope| {
        let mut slices = slices.into_iter();
        let first = slices.next().expect("a device has a slice");
        let others: Vec<_> =
            slices.map(|slice| scope.spawn(move || work(slice, &mut Follower(has_failed)))).collect();
        before();
        let first = work(first, observer);
        has_failed.store(first.is_err(), Ordering::Relaxed);
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

fn nothing() {}

/// The requests that are served between two meetings.
#[derive(Default)]
struct Window {
    /// The number of its first request, and the share of the workload read before it, if known.
    first: u64,
    fraction: Option<f64>,
    batches: Vec<Vec<Request>>,
}

impl Window {
    /// Read the next one in place of an old one. It has no requests after the last one of the workload.
    fn read(mut self, replay: &mut Replay<'_>) -> Result<Self, RunError> {
        (self.fraction, self.first) = replay.progress();
        self.batches.resize(BATCHES, Vec::new());
        self.batches.iter_mut().for_each(Vec::clear);
        for batch in &mut self.batches {
            if !replay.read_into(batch)? {
                break;
            }
        }
        Ok(self)
    }

    fn last(&self) -> Option<&Request> {
        self.batches.iter().filter_map(|batch| batch.last()).next_back()
    }
}

/// A run over slices.
pub(crate) struct SlicedRun<'a> {
    told: Told<'a>,
    scenario: &'a Scenario,
    replay: Replay<'a>,
    lanes: Vec<Lane>,
    window: Window,
    /// Those that are served next, or what is wrong with them.
    next: Result<Window, RunError>,
    /// Of requests that some slices have served and others not: the pages left, and the latest end.
    open: FxHashMap<u64, (u32, Time)>,
    shares: Vec<(Share, Answer)>,
    last_arrival: Time,
    /// Fences of requests that another slice has counted.
    fenced_twice: u64,
}

/// Create the erased flash of a slice.
fn erased(slice: &Slice, scenario: &Scenario) -> Result<Ftl, ScenarioError> {
    let Scenario { flash, ftl, gc, cooperation, seed, .. } = &slice.scenario(scenario);
    Ok(Ftl::numbered(flash, ftl, gc, cooperation.requirements(), Seed(*seed), |die| slice.die(die))?)
}

/// Check the configuration of a device by its least slice: what does not fit is refused before the workload is opened.
///
/// # Errors
/// The first part that does not fit the others.
pub(crate) fn check_slice(scenario: &Scenario) -> Result<(), ScenarioError> {
    erased(&Slice::cut(scenario, u32::MAX)[0], scenario).map(drop)
}

/// Precondition the slices of a device.
///
/// # Errors
/// A slice that does not fit its configuration, or a cancellation.
pub(crate) fn precondition_slices(
    scenario: &Scenario,
    threads: u32,
    observer: &mut dyn Observer,
) -> Result<Vec<(Slice, Preconditioned)>, RunError> {
    side_by_side(Slice::cut(scenario, threads), observer, nothing, |slice, observer| {
        let erased = erased(&slice, scenario)?;
        Ok((slice, precondition(erased, Some(&slice), scenario, Traces::NONE, observer)?))
    })
}

impl<'a> SlicedRun<'a> {
    /// Begin the replay over preconditioned slices.
    ///
    /// # Errors
    /// Levels that do not fit their configuration.
    pub(crate) fn new(
        scenario: &'a Scenario,
        slices: Vec<(Slice, Preconditioned)>,
        mut replay: Replay<'a>,
        told: Told<'a>,
    ) -> Result<Self, RunError> {
        let lane = |(slice, Preconditioned { ftl, .. })| Lane::new(slice, scenario, ftl);
        Ok(Self {
            told,
            scenario,
            lanes: slices.into_iter().map(lane).collect::<Result<_, _>>()?,
            window: Window::default(),
            next: Window::default().read(&mut replay),
            replay,
            open: FxHashMap::default(),
            shares: Vec::new(),
            last_arrival: Time::ZERO,
            fenced_twice: 0,
        })
    }

    /// Answer the requests of which all shares are served.
    fn join(&mut self) {
        let Self { lanes, shares, open, fenced_twice, .. } = self;
        let mut fenced: Vec<_> = lanes.iter_mut().flat_map(|lane| lane.fenced.drain(..)).collect();
        let all = fenced.len();
        fenced.sort_unstable();
        fenced.dedup();
        *fenced_twice += (all - fenced.len()) as u64;
        lanes.iter_mut().for_each(|lane| lane.engine.take_shares(shares));
        for (Share { request, pages: [here, elsewhere] }, answer) in shares.drain(..) {
            let (left, at) = open.entry(request).or_insert((here + elsewhere, Time::ZERO));
            (*left, *at) = (*left - here, answer.at.max(*at));
            if *left == 0 {
                lanes[0].engine.answer(answer.op, answer.arrival, *at);
                open.remove(&request);
            }
        }
    }

    fn totals(&self) -> Totals {
        let mut lanes = self.lanes.iter().map(|lane| &lane.engine);
        let mut totals = lanes.next().expect("a device has a slice").totals();
        lanes.for_each(|lane| totals.add_slice(&lane.totals()));
        let timelines = self.lanes.iter().map(|lane| lane.engine.media());
        let metadata: MetadataCounters = totals.report.get();
        totals.report.set(&MetadataCounters { fences: metadata.fences - self.fenced_twice, ..metadata });
        totals.report.set(&Timeline::die_time(timelines, totals.report.end()));
        totals
    }

    /// The erases and the invalid pages of each block of the device.
    fn blocks(&self) -> (Vec<u32>, Vec<u32>) {
        let flash = &self.scenario.flash;
        let (mut erases, mut invalid) = (vec![0; flash.blocks() as usize], vec![0; flash.blocks() as usize]);
        let of_die = flash.blocks_per_die() as usize;
        for lane in &self.lanes {
            let (own_erases, own_invalid) = lane.engine.blocks();
            let dies = own_erases.chunks(of_die).zip(own_invalid.chunks(of_die));
            for (die, (own_erases, own_invalid)) in (0..).zip(dies) {
                let first = lane.slice.die(die) as usize * of_die;
                erases[first..first + of_die].copy_from_slice(own_erases);
                invalid[first..first + of_die].copy_from_slice(own_invalid);
            }
        }
        (erases, invalid)
    }
}

impl Steps for SlicedRun<'_> {
    fn step(&mut self, _: usize, observer: &mut dyn Observer) -> Result<bool, RunError> {
        let used = std::mem::take(&mut self.window);
        self.window = std::mem::replace(&mut self.next, Ok(Window::default()))?;
        let Window { first, fraction, batches } = &self.window;
        observer.replaying(*fraction, *first, &|| self.so_far())?;
        let Some(last) = self.window.last() else {
            self.next = used.read(&mut self.replay);
            return Ok(false);
        };
        self.last_arrival = self.lanes[0].issuer.arrival(last);
        let Self { lanes, replay, next, .. } = self;
        let read = || *next = used.read(replay);
        let served = side_by_side(lanes, observer, read, |lane, observer| {
            lane.serve(batches, *first, *fraction, observer)
        })?;
        if let Some(number) = served[0] {
            let mut rest = batches.concat().split_off((number - first) as usize);
            rest.extend(self.next.iter().flat_map(|next| next.batches.concat()));
            self.replay.put_back(rest);
            return Err(self.replay.out_of_space(0, &mut self.lanes[0].engine, observer)?);
        }
        self.join();
        let is_late = self.lanes.iter().any(|lane| lane.engine.is_out_of_time());
        if is_late { Err(RunError::out_of_time()) } else { Ok(true) }
    }

    fn so_far(&self) -> SoFar {
        self.totals().so_far()
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.totals().report)
    }

    /// Up to the last meeting.
    fn progress(&self) -> (Option<f64>, u64) {
        let served = self.window.batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        (self.window.fraction, self.window.first + served)
    }

    /// That of the first slice.
    fn ftl(&self) -> &Ftl {
        Level::<Timeline>::ftl(self.lanes[0].engine.level())
    }

    fn elsewhere(&self, _: Lpn) -> Option<Elsewhere> {
        None
    }

    fn digests(&self) -> Vec<String> {
        self.told.digests()
    }

    fn save(&self, _: &mut dyn Write) -> io::Result<()> {
        Err(io::Error::other("slices of a device have no common moment"))
    }

    fn restore(&mut self, _: &mut dyn Read, _: &mut dyn Observer) -> Result<(), RunError> {
        unreachable!("slices are never saved")
    }

    fn finish(mut self: Box<Self>, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
        while self.step(usize::MAX, observer)? {}
        let ((_, requests), last_arrival) = (self.progress(), self.last_arrival);
        side_by_side(&mut self.lanes, observer, nothing, |lane, observer| {
            lane.end(requests, last_arrival, observer)
        })?;
        self.join();
        let (mode, remarks) = self.replay.end();
        let (totals, blocks) = (self.totals(), self.blocks());
        self.told.result(totals, blocks, mode, remarks, observer)
    }
}
