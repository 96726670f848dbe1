//! A run: warm up, replay, measure.

use crate::engine::{Engine, GROUP, ServiceError};
use crate::error::RunError;
use crate::input::Inputs;
use crate::memory::{self, human};
use crate::observer::{Cancelled, Observer, Phase};
use crate::open_workload::{OpenWorkload, Supply};
use crate::precondition::{Preconditioned, precondition};
use crate::result::{RunResult, Workload};
use crate::traces::Traces;
use crate::warm::WarmDevice;
use coflash_base::Time;
use coflash_ftl::{DecisionRecorder, Ftl};
use coflash_hybrid::HybridConfig;
use coflash_level::Level;
use coflash_media::{OperationRecorder, SimulatedMedia, Timeline};
#[cfg(not(test))]
use coflash_scenario::for_stack;
use coflash_scenario::{Remap, ReplayMode, Scenario, ScenarioError, Stack};
use coflash_workload::{BATCH_REQUESTS, Request, Source, no_handle};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::sync::Arc;

/// Unit tests run the plain stack alone: for each, the whole simulator is compiled once more. `tests/` runs them all.
#[cfg(test)]
macro_rules! for_stack {
    ($stack:expr, flash $flash:pat => $on_flash:expr, hybrid $hybrid:pat => $on_hybrid:expr) => {
        match $stack {
            Stack::Flash(coflash_level::FlashStack::Plain($flash)) => $on_flash,
            _ => unreachable!("a unit test of another stack"),
        }
    };
}

/// What a run may be given beside its scenario.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The reader of traces.
    pub traces: Traces,
    /// A warm device: the result is the same as without.
    pub warm: Option<&'a WarmDevice>,
    /// What hears of the operations of flash.
    pub operations: Option<OperationRecorder>,
    /// What hears of the decisions of GC.
    pub decisions: Option<DecisionRecorder>,
}

impl Given<'_> {
    /// A reader of traces, and nothing else.
    #[must_use]
    pub fn only(traces: Traces) -> Self {
        Self { traces, warm: None, operations: None, decisions: None }
    }

    fn record_decisions(&self, flash: &mut Ftl) {
        if let Some(recorder) = &self.decisions {
            flash.record_in(Arc::clone(recorder));
        }
    }

    fn record_operations(&self, media: Timeline) -> Timeline {
        match &self.operations {
            Some(recorder) => media.with_recorder(Arc::clone(recorder)),
            None => media,
        }
    }
}

/// Check that a scenario can run here.
///
/// # Errors
/// An invalid scenario; one that takes more memory than there is.
pub fn check(scenario: &Scenario) -> Result<(), RunError> {
    scenario.check()?;
    Ok(memory::check(scenario)?)
}

/// Run a scenario.
///
/// # Errors
/// An invalid scenario, an error of the workload, a device that was warmed up for another scenario, or a cancellation.
pub fn run(
    scenario: &Scenario,
    given: &Given<'_>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    scenario.check()?;
    let warm = match given.warm {
        Some(warm) => Some(warm.device(scenario)?),
        None => memory::check(scenario).map(|()| None)?,
    };
    let traces = given.traces;
    let open = move |scenario, pages, observer: &mut dyn Observer| {
        let opened = OpenWorkload::new(scenario, traces, pages, observer)?;
        if let Some(warm) = given.warm {
            warm.check_inputs(&opened.inputs.digests())?;
        }
        Ok(opened)
    };
    match (&scenario.hybrid, warm) {
        // A warm device is ignored: a flash cache is empty at first.
        (Some(config), _) => run_hybrid(scenario, config, given, observer),
        (None, Some(Preconditioned { ftl, remarks })) => {
            let as_it_is = |ftl, _: &mut dyn Observer| Ok(Preconditioned { ftl, remarks });
            on_flash(scenario, ftl, given, open, observer, as_it_is)
        }
        (None, None) => on_erased_flash(scenario, given, open, observer),
    }
}

/// Run a scenario of flash with the requests of `source` in place of its own.
///
/// # Errors
/// See [`run`].
pub fn run_source(
    scenario: &Scenario,
    source: Box<dyn Source>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let open = |scenario: &Scenario, logical_pages, _: &mut dyn Observer| {
        Ok(OpenWorkload {
            supply: Supply::Requests(source),
            description: String::new(),
            inputs: Inputs::of(&[]),
            logical_bytes: u64::from(logical_pages) * scenario.flash.page_size.count,
            future: None,
            remarks: Vec::new(),
        })
    };
    on_erased_flash(scenario, &Given::only(Traces::NONE), open, observer)
}

/// Run a scenario of flash with a workload that `open` opens for its logical pages.
fn on_erased_flash<'a>(
    scenario: &'a Scenario,
    given: &Given<'_>,
    open: impl FnOnce(&'a Scenario, u32, &mut dyn Observer) -> Result<OpenWorkload<'a>, RunError>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let warm_up = |flash, observer: &mut dyn Observer| precondition(flash, scenario, given.traces, observer);
    on_flash(scenario, scenario.erased_flash()?, given, open, observer, warm_up)
}

/// Open the workload, prepare the flash, put the other levels above it, and measure.
fn on_flash<'a>(
    scenario: &'a Scenario,
    flash: Ftl,
    given: &Given<'_>,
    open: impl FnOnce(&'a Scenario, u32, &mut dyn Observer) -> Result<OpenWorkload<'a>, RunError>,
    observer: &mut dyn Observer,
    warm_up: impl FnOnce(Ftl, &mut dyn Observer) -> Result<Preconditioned, RunError>,
) -> Result<RunResult, RunError> {
    // Report errors of the workload or of the levels before the long warm-up.
    let mut workload = open(scenario, flash.logical_pages(), observer)?;
    let oracle = scenario.ftl.placement.needs_future();
    assert_eq!(oracle, workload.future.is_some(), "an oracle is told of the workload that runs, of no other");
    let levels = scenario.levels(flash.logical_pages())?;
    let Preconditioned { ftl: mut flash, remarks } = warm_up(flash, observer)?;
    workload.remarks = remarks;
    if let Some(future) = workload.future.take() {
        flash.foresee(future);
    }
    given.record_decisions(&mut flash);
    let media = given.record_operations(scenario.timeline());
    measure(scenario, Stack::over(levels, flash), media, workload, observer)
}

/// Run a scenario of a flash cache in front of disks.
fn run_hybrid(
    scenario: &Scenario,
    config: &HybridConfig,
    given: &Given<'_>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let disks = scenario.disks(config)?;
    let mut stack = scenario.hybrid_stack(config, &disks)?;
    given.record_decisions(stack.hybrid_mut().expect("it has just been put there").flash_mut());
    let workload = OpenWorkload::new(scenario, given.traces, disks.pages() as u32, observer)?;
    let media = given.record_operations(scenario.timeline().with_disks(disks));
    measure(scenario, stack, media, workload, observer)
}

/// Replay the workload, and collect the result.
fn measure(
    scenario: &Scenario,
    stack: Stack,
    media: Timeline,
    workload: OpenWorkload<'_>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    for_stack!(stack,
        flash level => {
            let engine = Engine::new(scenario, level, media).with_restarts(scenario);
            measure_engine(scenario, engine, workload, observer)
        },
        hybrid level => measure_engine(scenario, Engine::new(scenario, level, media), workload, observer)
    )
}

fn measure_engine<L: Level<M>, M: SimulatedMedia<Error = Infallible>>(
    scenario: &Scenario,
    mut engine: Engine<L, M>,
    workload: OpenWorkload<'_>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let OpenWorkload { supply, description, inputs, logical_bytes, mut remarks, .. } = workload;
    let stopwatch = Stopwatch::start();
    let mut mode = scenario.replay_mode();
    let (more, jobs) = match supply {
        Supply::Requests(mut source) => {
            let at_once = replay(scenario, &mut engine, source.as_mut(), observer)?;
            let remark = at_once.inspect(|_| mode = ReplayMode::Closed);
            (source.remarks().into_iter().chain(remark).collect(), Vec::new())
        }
        Supply::Jobs(mut jobs) => {
            jobs.run(&mut engine, scenario.workload.requests_max, observer)?;
            drain(&mut engine, &mut || observer.progress(Phase::Replay, None, 0))?;
            jobs.reports()
        }
    };
    remarks.extend(more);
    let wall_seconds = stopwatch.seconds();
    let (replay, inputs) = (scenario.replay_told(Some(mode)), inputs.finish(observer)?);
    let workload = Workload { description, replay, logical_bytes, inputs, remarks };
    Ok(engine.result(scenario, mode, workload, wall_seconds).with_jobs(jobs))
}

/// Pages between two calls of the observer within a batch: long requests must not delay Ctrl-C.
const LOOK_PAGES: u64 = 1 << 14;

/// Replay the workload. Returns a remark if the workload has no times, so that a closed loop was used.
fn replay<L: Level<M>, M: SimulatedMedia<Error = Infallible>>(
    scenario: &Scenario,
    engine: &mut Engine<L, M>,
    source: &mut dyn Source,
    observer: &mut dyn Observer,
) -> Result<Option<String>, RunError> {
    let mut issuer = Issuer::new(scenario, scenario.replay_mode());
    let handles = scenario.ftl.placement.handles();
    let mut at_once = None;
    let memory_bytes = memory::available_bytes().unwrap_or(u64::MAX);
    let look_bytes = LOOK_PAGES * scenario.flash.page_size.count;
    let mut left = scenario.workload.requests_max.unwrap_or(u64::MAX);
    let mut batch = Vec::with_capacity(BATCH_REQUESTS);
    let mut served = 0;
    loop {
        observer.replaying(source.progress(), served, &|| engine.so_far())?;
        source.next_batch(&mut batch)?;
        batch.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if batch.is_empty() {
            break;
        }
        if let Some(handles) = handles {
            check_hints(&batch, handles)?;
        }
        if served == 0 {
            at_once = without_times(scenario, &batch);
            if at_once.is_some() {
                issuer = Issuer::new(scenario, ReplayMode::Closed);
            }
        }
        if batch.last().is_some_and(|last| issuer.arrival(last) > Time::LAST) {
            return Err(RunError::out_of_time());
        }
        let mut bytes = 0;
        for (index, request) in batch.iter().enumerate() {
            if index % GROUP == 0 {
                engine.look_ahead(&batch[index..]);
            }
            if issuer.issue(request, engine).is_err() {
                let rest = batch[index..].to_vec();
                return Err(out_of_space(scenario, engine, source, &rest, observer)?);
            }
            bytes += request.length;
            if bytes >= look_bytes {
                observer.progress(Phase::Replay, source.progress(), served + index as u64)?;
                bytes = 0;
            }
        }
        served += batch.len() as u64;
        left -= batch.len() as u64;
        if engine.is_out_of_time() {
            return Err(RunError::out_of_time());
        }
        let (waiting, waiting_bytes) = engine.under_way();
        if waiting_bytes > memory_bytes {
            return Err(RunError::TooFar(format!(
                "requests arrive faster than the device answers: {waiting} wait and fill the memory; set replay.mode to \
                 \"closed\", or a larger replay.time_scale"
            )));
        }
    }
    drain(engine, &mut || observer.progress(Phase::Replay, source.progress(), served))?;
    Ok(at_once)
}

/// The remark on a workload without times of its own: more requests arrive first, all at the same time, than
/// a closed loop has outstanding. `None` for any other workload, and if the scenario sets the mode of replay.
fn without_times(scenario: &Scenario, first: &[Request]) -> Option<String> {
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

/// Go on until all requests are completed; `look` reports progress.
fn drain<L: Level<M>, M: SimulatedMedia<Error = Infallible>>(
    engine: &mut Engine<L, M>,
    look: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<(), RunError> {
    loop {
        look()?;
        let Ok(more) = engine.drain(LOOK_PAGES);
        if !more {
            break;
        }
    }
    if engine.is_out_of_time() { Err(RunError::out_of_time()) } else { Ok(()) }
}

/// The issue times of requests.
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

    /// The arrival time of the request in the workload; ignored in a closed loop.
    #[inline]
    fn arrival(&self, request: &Request) -> Time {
        match self {
            Self::Open { time_scale } if *time_scale == 1.0 => request.arrival,
            Self::Open { time_scale } => {
                Time { ns: (request.arrival.ns as f64 * *time_scale).round() as u64 }
            }
            Self::Closed { .. } => Time::ZERO,
        }
    }

    /// Issue `request`.
    #[inline(always)]
    fn issue<L: Level<M>, M: SimulatedMedia<Error = Infallible>>(
        &mut self,
        request: &Request,
        engine: &mut Engine<L, M>,
    ) -> Result<(), ServiceError<Infallible>> {
        let mut arrival = self.arrival(request);
        let mut answers = match self {
            Self::Open { .. } => None,
            Self::Closed { queue_depth, under_way, answers, now } => {
                if under_way == queue_depth {
                    *now = Self::next_answer(answers, engine).max(*now);
                } else {
                    *under_way += 1;
                }
                arrival = *now;
                Some(answers)
            }
        };
        let known = engine.issue(request, arrival, (), |answer| {
            answers.iter_mut().for_each(|answers| answers.push(Reverse(answer.at)));
        })?;
        if let Some(answers) = answers {
            answers.extend(known.map(Reverse));
        }
        Ok(())
    }

    /// The earliest completion, after processing all events before it.
    fn next_answer<L: Level<M>, M: SimulatedMedia<Error = Infallible>>(
        answers: &mut BinaryHeap<Reverse<Time>>,
        engine: &mut Engine<L, M>,
    ) -> Time {
        loop {
            let known = answers.peek().map_or(Time { ns: u64::MAX }, |Reverse(at)| *at);
            let Ok(is_first) = engine.await_report(known, |answer| answers.push(Reverse(answer.at)));
            if is_first {
                break;
            }
        }
        answers.pop().expect("a request under way has an answer to come").0
    }
}

/// Read the rest of the workload to determine the required capacity.
fn out_of_space<L: Level<M>, M: SimulatedMedia<Error = Infallible>>(
    scenario: &Scenario,
    engine: &mut Engine<L, M>,
    source: &mut dyn Source,
    rest: &[Request],
    observer: &mut dyn Observer,
) -> Result<RunError, RunError> {
    let dense = scenario.workload.remap == Remap::Dense;
    let device = engine.logical_bytes();
    let (mut end, mut longest) = (0, 0);
    let mut look = |request: &Request, engine: &mut Engine<L, M>| {
        end = end.max(request.offset + request.length);
        longest = longest.max(request.length);
        // A workload that can never fit is not counted, to save memory.
        if dense && request.length <= device {
            engine.touch(request);
        }
    };
    rest.iter().for_each(|request| look(request, engine));
    let mut batch = Vec::new();
    let mut seen = 0;
    loop {
        observer.progress(Phase::Replay, source.progress(), seen)?;
        source.next_batch(&mut batch)?;
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

/// The only reader of wall time: for the speed of the simulator, never for a metric.
struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "see above")]
    fn start() -> Self {
        Self(std::time::Instant::now())
    }

    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
