//! A run: warm up, replay, measure.

use crate::engine::{Engine, OutOfSpace};
use crate::precondition::precondition;
use crate::result::{Input, RunResult, Simulator, Workload};
use crate::scenario::{Fill, Remap, ReplayMode, Scenario, ScenarioError};
use coflash_base::{Bytes, Seed, Time};
use coflash_controller::Controller;
use coflash_workload::disksim_generator::DiskSimGenerator;
use coflash_workload::synthetic::{Synthetic, SyntheticConfig};
use coflash_workload::{BATCH_REQUESTS, ReadAhead, Request, Source, WorkloadError, trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading the inputs once, for their digest.
    Inputs,
    /// Bringing the device into its state.
    Precondition,
    /// Replaying the workload.
    Replay,
}

/// The user wants no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Whoever watches a run. Called often (thousands of times a second): it decides itself how often to show anything.
pub trait Observer: Send {
    /// Told of progress: the phase, how far it is where that is known, and requests (pages, while warming up) so far.
    ///
    /// # Errors
    /// To stop the run.
    fn progress(&mut self, phase: Phase, fraction: Option<f64>, requests: u64) -> Result<(), Cancelled>;
}

/// An observer that only watches.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }
}

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario does not fit together.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The workload is unusable.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The workload goes beyond the device.
    #[error("{0}")]
    OutOfSpace(String),
    /// The observer wanted no more.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Runs a scenario.
///
/// # Errors
/// What is wrong with scenario or workload; or the observer stopped it.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    scenario.check()?;
    let seed = Seed(scenario.seed);
    let mut controller = build(scenario)?;
    let logical_bytes = u64::from(controller.ftl().logical_pages()) * scenario.flash.page_size.count;
    // A workload that cannot be opened should say so before the device is warmed up.
    let (mut source, description) = open_workload(scenario, logical_bytes, seed)?;
    let inputs = Input::digest(&scenario.workload.trace, observer)?;
    precondition(controller.ftl_mut(), &scenario.precondition, seed, observer)?;

    let mut engine = Engine::new(scenario, controller);
    let stopwatch = Stopwatch::start();
    replay(scenario, &mut engine, source.as_mut(), observer)?;
    let wall_seconds = stopwatch.seconds();

    let state_bytes_per_page = engine.state_bytes_per_page(scenario.flash.pages());
    let measured = engine.finish();
    let simulator = Simulator::new(wall_seconds, &measured.metrics, state_bytes_per_page);
    let workload = Workload { description, logical_bytes, inputs, remarks: source.remarks() };
    Ok(RunResult::new(scenario.clone(), workload, measured, simulator))
}

/// Builds the device of a scenario, erased.
///
/// # Errors
/// What does not fit together.
pub(crate) fn build(scenario: &Scenario) -> Result<Controller, ScenarioError> {
    let refused = |(key, problem): (&str, String)| ScenarioError::new(key, problem);
    let seed = Seed(scenario.seed);
    if let Some(mark) = scenario.precondition.until_free {
        let pool_blocks = match scenario.ftl.pools {
            coflash_ftl::Pools::Plane => scenario.flash.blocks_per_plane,
            coflash_ftl::Pools::Die => scenario.flash.blocks_per_die(),
        };
        if mark.of(pool_blocks) < scenario.gc.low_mark.of(pool_blocks) {
            let problem = format!(
                "{mark} is less than gc.low_mark ({}): GC never lets it come to that",
                scenario.gc.low_mark
            );
            return Err(ScenarioError::new("precondition.until_free", problem));
        }
    }
    if scenario.precondition.fill == Fill::Mapped && scenario.flash.pages_per_block < 2 {
        return Err(ScenarioError::new("flash.pages_per_block", "1 is too few to map blocks".to_owned()));
    }
    Controller::new(
        &scenario.flash,
        &scenario.ftl,
        &scenario.gc,
        &scenario.cache,
        &scenario.cooperation,
        seed,
    )
    .map_err(refused)
}

fn open_workload(
    scenario: &Scenario,
    logical_bytes: u64,
    seed: Seed,
) -> Result<(Box<dyn Source>, String), WorkloadError> {
    let workload = &scenario.workload;
    if !workload.trace.is_empty() {
        let source = trace::open(&workload.trace, &workload.trace_options)?;
        let description = format!("trace {} ({})", workload.trace.join(", "), source.formats().join(", "));
        return Ok((Box::new(ReadAhead::new(source)?), description));
    }
    if let Some(config) = &workload.disksim {
        let source = DiskSimGenerator::new(config)?;
        return Ok((Box::new(source), format!("disksim generator, {:?}", config.pattern)));
    }
    let default = SyntheticConfig::default();
    let config = workload.synthetic.as_ref().unwrap_or(&default);
    let source = Synthetic::new(config, logical_bytes, seed.child("workload"))?;
    Ok((Box::new(ReadAhead::new(source)?), format!("synthetic, {}", config.generator.name())))
}

fn replay(
    scenario: &Scenario,
    engine: &mut Engine,
    source: &mut dyn Source,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let mut issuer = Issuer::new(scenario);
    let mut left = scenario.workload.requests_max.unwrap_or(u64::MAX);
    let mut batch = Vec::with_capacity(BATCH_REQUESTS);
    let mut served = 0;
    loop {
        observer.progress(Phase::Replay, source.progress(), served)?;
        source.next_batch(&mut batch)?;
        batch.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if batch.is_empty() {
            break;
        }
        for (index, request) in batch.iter().enumerate() {
            if issuer.issue(request, engine).is_err() {
                let rest = batch[index..].to_vec();
                return Err(out_of_space(scenario, engine, source, &rest, observer)?);
            }
        }
        served += batch.len() as u64;
        left -= batch.len() as u64;
    }
    engine.drain();
    Ok(())
}

/// Decides when each request is issued.
enum Issuer {
    Open {
        time_scale: f64,
    },
    /// Answers to come whose times are known.
    Closed {
        queue_depth: usize,
        under_way: usize,
        answers: BinaryHeap<Reverse<Time>>,
        now: Time,
    },
}

impl Issuer {
    fn new(scenario: &Scenario) -> Self {
        match scenario.replay.mode {
            ReplayMode::Open => Self::Open { time_scale: scenario.replay.time_scale },
            ReplayMode::Closed => Self::Closed {
                queue_depth: scenario.replay.queue_depth as usize,
                under_way: 0,
                answers: BinaryHeap::new(),
                now: Time::ZERO,
            },
        }
    }

    #[inline]
    fn issue(&mut self, request: &Request, engine: &mut Engine) -> Result<(), OutOfSpace> {
        match self {
            Self::Open { time_scale } => {
                let arrival = if *time_scale == 1.0 {
                    request.arrival
                } else {
                    Time { ns: (request.arrival.ns as f64 * *time_scale).round() as u64 }
                };
                engine.issue(request, arrival).map(drop)
            }
            Self::Closed { queue_depth, under_way, answers, now } => {
                if under_way == queue_depth {
                    *now = Self::next_answer(answers, engine).max(*now);
                    *under_way -= 1;
                }
                engine.advance(*now, |at| answers.push(Reverse(at)));
                if let Some(at) = engine.issue(request, *now)? {
                    answers.push(Reverse(at));
                }
                *under_way += 1;
                Ok(())
            }
        }
    }

    /// The earliest answer: of those known, unless an event before it brings an earlier one.
    fn next_answer(answers: &mut BinaryHeap<Reverse<Time>>, engine: &mut Engine) -> Time {
        loop {
            match (answers.peek(), engine.next_event()) {
                (Some(Reverse(known)), Some(event)) if *known < event => break,
                (Some(_), None) => break,
                (_, Some(_)) => {
                    engine.step(|at| answers.push(Reverse(at)));
                }
                (None, None) => unreachable!("a request under way has an answer to come"),
            }
        }
        answers.pop().expect("peeked").0
    }
}

/// Reads the rest of the workload to tell which size it needs.
fn out_of_space(
    scenario: &Scenario,
    engine: &mut Engine,
    source: &mut dyn Source,
    rest: &[Request],
    observer: &mut dyn Observer,
) -> Result<RunError, RunError> {
    let dense = scenario.workload.remap == Remap::Dense;
    let mut end = 0;
    let mut look = |request: &Request, engine: &mut Engine| {
        end = end.max(request.offset + request.length);
        if dense {
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
    let page = scenario.flash.page_size.count;
    let device = build(scenario).map(|device| u64::from(device.ftl().logical_pages()) * page)?;
    let human = |bytes: u64| format!("{bytes} B ({:.2} GiB)", bytes as f64 / (1_u64 << 30) as f64);
    let problem = if let Some(touched) = engine.pages_touched() {
        format!(
            "the workload touches {touched} pages, {}; the device exports {}: give it more blocks (flash.blocks_per_plane)",
            human(touched * page),
            human(device)
        )
    } else {
        format!(
            "the workload's addresses reach {}; the device exports {}: give it more blocks (flash.blocks_per_plane), or \
             set workload.remap to \"dense\" (touched pages are packed) or \"modulo\" (addresses wrap)",
            human(end),
            human(device)
        )
    };
    Ok(RunError::OutOfSpace(problem))
}

/// The one place where wall time is read: for the rates in a result, never for the result itself.
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

impl Scenario {
    /// Builds the device and tells what it is, in sentences.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn describe(&self) -> Result<Vec<String>, ScenarioError> {
        self.check()?;
        let controller = build(self)?;
        let pages = u64::from(controller.ftl().logical_pages());
        let human = |bytes: u64| format!("{:.2} GiB", bytes as f64 / (1_u64 << 30) as f64);
        let logical = Bytes { count: pages * self.flash.page_size.count };
        let physical = self.flash.capacity();
        Ok(vec![
            format!("exports {} ({pages} pages) of {}", human(logical.count), human(physical.count)),
            format!("cache of {} pages, {}", controller.cache().capacity(), self.cooperation.name()),
            format!(
                "state of {:.1} MiB, {:.2} bytes a physical page",
                controller.heap_bytes() as f64 / f64::from(1 << 20),
                controller.heap_bytes() as f64 / f64::from(self.flash.pages())
            ),
        ])
    }
}
