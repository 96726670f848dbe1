//! A run: warm up, replay, measure.

use crate::buffered::Buffered;
use crate::build::{build_ftl, with_cache, with_host_cache};
use crate::device::{Device, Firmware};
use crate::engine::{Engine, OutOfSpace};
use crate::error::RunError;
use crate::hybrid::Hybrid;
use crate::input::Inputs;
use crate::memory::{self, human};
use crate::observer::{Cancelled, Observer, Phase, Silent};
use crate::opened::{Opened, open_workload};
use crate::precondition::precondition;
use crate::result::{RunResult, Simulator, Workload};
use crate::scenario::{Remap, ReplayMode, Scenario, ScenarioError};
use crate::target::Target;
use crate::warm::WarmDevice;
use coflash_base::{Seed, Time};
use coflash_controller::Placement;
use coflash_ftl::Ftl;
use coflash_hybrid::HybridConfig;
use coflash_workload::{BATCH_REQUESTS, Request, Source};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Runs a scenario.
///
/// # Errors
/// What is wrong with scenario or workload; or the observer stopped it.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    scenario.check()?;
    if let Some(config) = &scenario.hybrid {
        return run_hybrid(scenario, config, observer);
    }
    on_device(scenario, build_ftl(scenario)?, observer, |ftl, observer| {
        precondition(ftl, &scenario.precondition, Seed(scenario.seed), observer)
    })
}

/// Runs a scenario on a device that has been warmed up for it: the result is that of [`run`].
///
/// # Errors
/// As [`run`]; and that the device was warmed up for another scenario.
pub fn run_from(
    warm: &WarmDevice,
    scenario: &Scenario,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    scenario.check()?;
    let ftl = warm.device(scenario)?;
    // Whatever it was warmed up to: a flash cache is empty at first.
    if let Some(config) = &scenario.hybrid {
        return run_hybrid(scenario, config, observer);
    }
    on_device(scenario, ftl, observer, |_, _| Ok(()))
}

/// Puts the cache before the FTL, on whichever side of the link, and runs.
fn on_device(
    scenario: &Scenario,
    ftl: Ftl,
    observer: &mut dyn Observer,
    warm_up: impl FnOnce(&mut Ftl, &mut dyn Observer) -> Result<(), Cancelled>,
) -> Result<RunResult, RunError> {
    match scenario.cache.placement {
        Placement::InStorage if scenario.host_buffer.exists() => {
            let buffered = |device| Buffered::new(scenario, device);
            simulate(scenario, with_cache(scenario, ftl)?, buffered, observer, warm_up)
        }
        Placement::InStorage => simulate(scenario, with_cache(scenario, ftl)?, Ok, observer, warm_up),
        Placement::Host => simulate(scenario, with_host_cache(scenario, ftl)?, Ok, observer, warm_up),
    }
}

/// Opens the workload, brings the device into its state, puts before it what `target` does, and measures.
fn simulate<F: Firmware, T: Target>(
    scenario: &Scenario,
    mut firmware: F,
    target: impl FnOnce(Device<F>) -> Result<T, ScenarioError>,
    observer: &mut dyn Observer,
    warm_up: impl FnOnce(&mut Ftl, &mut dyn Observer) -> Result<(), Cancelled>,
) -> Result<RunResult, RunError> {
    let logical_pages = firmware.ftl().logical_pages();
    // A workload that cannot be opened should say so before the device is warmed up.
    let workload = Opened::new(scenario, logical_pages, observer)?;
    warm_up(firmware.ftl_mut(), observer)?;
    let target = target(Device::new(scenario, firmware))?;
    measure(scenario, Engine::new(scenario, target, logical_pages), workload, observer)
}

/// Runs a scenario of a flash cache in front of disks.
fn run_hybrid(
    scenario: &Scenario,
    config: &HybridConfig,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    memory::check(scenario)?;
    let hybrid = Hybrid::new(scenario, config)?;
    let logical_pages = hybrid.logical_pages();
    let workload = Opened::new(scenario, logical_pages, observer)?;
    measure(scenario, Engine::new(scenario, hybrid, logical_pages), workload, observer)
}

/// Replays the workload, and puts together what was measured.
fn measure<T: Target>(
    scenario: &Scenario,
    mut engine: Engine<T>,
    workload: Opened<'_>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let Opened { mut source, description, inputs, logical_bytes } = workload;
    let stopwatch = Stopwatch::start();
    replay(scenario, &mut engine, source.as_mut(), observer)?;
    let wall_seconds = stopwatch.seconds();

    let state_bytes_per_page = engine.state_bytes_per_page(scenario.flash.pages());
    let measured = engine.finish();
    let simulator = Simulator::new(wall_seconds, &measured.metrics, state_bytes_per_page);
    let remarks = source.remarks();
    drop(source);
    let workload = Workload { description, logical_bytes, inputs: inputs.finish(observer)?, remarks };
    Ok(RunResult::new(scenario.clone(), workload, measured, simulator))
}

/// Pages between two looks at the observer within a batch: long requests must not hold up Ctrl-C.
const LOOK_PAGES: u64 = 1 << 14;

fn replay<T: Target>(
    scenario: &Scenario,
    engine: &mut Engine<T>,
    source: &mut dyn Source,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    let mut issuer = Issuer::new(scenario);
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
        if batch.last().is_some_and(|last| issuer.arrival(last) > Time::LAST) {
            return Err(out_of_time());
        }
        let mut bytes = 0;
        for (index, request) in batch.iter().enumerate() {
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
            return Err(out_of_time());
        }
        let (waiting, waiting_bytes) = engine.under_way();
        if waiting_bytes > memory_bytes {
            return Err(RunError::TooFar(format!(
                "requests arrive faster than the device answers: {waiting} wait and fill the memory; set replay.mode to \
                 \"closed\", or a larger replay.time_scale"
            )));
        }
    }
    loop {
        observer.progress(Phase::Replay, source.progress(), served)?;
        if !engine.drain(LOOK_PAGES) {
            break;
        }
    }
    if engine.is_out_of_time() { Err(out_of_time()) } else { Ok(()) }
}

fn out_of_time() -> RunError {
    RunError::TooFar(
        "simulated time runs beyond 36 years: shorter times are needed in the trace, in timing, cache or link, or a \
         smaller replay.time_scale"
            .to_owned(),
    )
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

    /// When the workload has the request arrive; in a closed loop it does not say.
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

    #[inline]
    fn issue<T: Target>(&mut self, request: &Request, engine: &mut Engine<T>) -> Result<(), OutOfSpace> {
        let arrival = self.arrival(request);
        match self {
            Self::Open { .. } => engine.issue(request, arrival).map(drop),
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
    fn next_answer<T: Target>(answers: &mut BinaryHeap<Reverse<Time>>, engine: &mut Engine<T>) -> Time {
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
fn out_of_space<T: Target>(
    scenario: &Scenario,
    engine: &mut Engine<T>,
    source: &mut dyn Source,
    rest: &[Request],
    observer: &mut dyn Observer,
) -> Result<RunError, RunError> {
    let dense = scenario.workload.remap == Remap::Dense;
    let device = engine.logical_bytes();
    let (mut end, mut longest) = (0, 0);
    let mut look = |request: &Request, engine: &mut Engine<T>| {
        end = end.max(request.offset + request.length);
        longest = longest.max(request.length);
        // What can never fit is not worth the memory of counting it.
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
    let needed = if longest > device && remap != Remap::None {
        format!("a request of the workload is {} long", human(longest))
    } else if let Some(touched) = engine.pages_touched() {
        format!("the workload touches {touched} pages, {}", human(touched * scenario.flash.page_size.count))
    } else {
        format!("the workload's addresses reach {} ({end} bytes)", human(end))
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
        format!("the device exports {room} ({device} bytes): give it more blocks (flash.blocks_per_plane)")
    };
    Ok(RunError::TooFar(format!("{needed}; {larger}{otherwise}")))
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
    /// Builds the device, opens the workload, and tells what they are, in sentences.
    ///
    /// # Errors
    /// What does not fit together, or cannot be opened.
    pub fn describe(&self) -> Result<Vec<String>, RunError> {
        self.check()?;
        if let Some(config) = &self.hybrid {
            let hybrid = Hybrid::new(self, config)?;
            let workload = self.describe_workload(hybrid.logical_pages())?;
            return Ok([hybrid.describe(), vec![workload]].concat());
        }
        let ftl = build_ftl(self)?;
        if self.host_buffer.exists() {
            Buffered::buffer(self, ftl.logical_pages())?;
        }
        match self.cache.placement {
            Placement::InStorage => self.describe_on(&with_cache(self, ftl)?, ""),
            Placement::Host => self.describe_on(&with_host_cache(self, ftl)?, " in the host"),
        }
    }

    fn describe_workload(&self, logical_pages: u32) -> Result<String, RunError> {
        let logical_bytes = u64::from(logical_pages) * self.flash.page_size.count;
        let inputs = Inputs::of(self.workload.files());
        let workload = match inputs.stream() {
            // Looking at it would take it from the run.
            Some(stream) => format!("trace {stream}, which can be read only once"),
            None => open_workload(self, logical_bytes, Seed(self.seed), &inputs, &mut Silent)?.1,
        };
        Ok(format!("workload: {workload}"))
    }

    fn describe_on<F: Firmware>(&self, firmware: &F, place: &str) -> Result<Vec<String>, RunError> {
        let logical_bytes = firmware.ftl().logical_bytes();
        let workload = self.describe_workload(firmware.ftl().logical_pages())?;
        let cache = match (self.host_buffer.exists(), self.cache.volatile) {
            (true, _) => {
                let pages = self
                    .host_buffer
                    .size
                    .pages(self.flash.page_size.count, firmware.ftl().logical_pages().into());
                format!("write buffers: one of {pages} pages in the host, one")
            }
            (false, true) => "write buffer".to_owned(),
            (false, false) => "cache".to_owned(),
        };
        Ok(vec![
            format!(
                "exports {} ({} pages) of {}",
                human(logical_bytes),
                firmware.ftl().logical_pages(),
                human(self.flash.capacity().count)
            ),
            format!("{cache} of {} pages{place}, {}", firmware.cache().1, self.cooperation.name()),
            workload,
            format!(
                "state of {}, {:.2} bytes a physical page",
                human(firmware.heap_bytes() as u64),
                firmware.heap_bytes() as f64 / f64::from(self.flash.pages())
            ),
        ])
    }
}
