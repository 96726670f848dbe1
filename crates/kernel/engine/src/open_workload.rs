//! The workload of a scenario as a source: a trace, jobs, or a generated workload.

use crate::cancellable::Cancellable;
use crate::course::WarmUp;
use crate::error::RunError;
use crate::input::Inputs;
use crate::jobs::Jobs;
use crate::observer::Observer;
use crate::traces::Traces;
use coflash_base::Seed;
use coflash_scenario::{Requests, Scenario, ScenarioError};
use coflash_workload::disksim_generator::{DiskSimConfig, DiskSimGenerator};
use coflash_workload::read_ahead::read_ahead;
use coflash_workload::{Part, Repeat, Source, WorkloadError};
use std::num::NonZeroU32;

/// A workload that is ready for replay.
pub(crate) struct OpenWorkload<'a> {
    pub(crate) supply: Supply,
    pub(crate) description: String,
    pub(crate) inputs: Inputs<'a>,
    pub(crate) warm_up: WarmUp,
}

/// The requests of a workload.
pub(crate) enum Supply {
    /// Requests in one order, with times or for one closed loop.
    Requests(Box<dyn Source>),
    /// Closed loops side by side.
    Jobs(Jobs),
}

impl<'a> OpenWorkload<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        traces: Traces,
        logical_pages: u32,
        observer: &mut dyn Observer,
    ) -> Result<Self, RunError> {
        let logical_bytes = u64::from(logical_pages) * scenario.flash.page_size.count;
        let mut inputs = Inputs::new(scenario.workload.files());
        let (supply, description) = open_workload(scenario, traces, logical_bytes, 0, &inputs, observer)?;
        if let Supply::Jobs(jobs) = &supply {
            inputs.set_files(&jobs.files);
        }
        inputs.digest_files(observer)?;
        Ok(Self { supply, description, inputs, warm_up: WarmUp::default() })
    }
}

/// Open the requests of a scenario, laid out over `space_bytes`.
///
/// # Errors
/// A workload that cannot be opened, or one of jobs.
pub fn requests(
    scenario: &Scenario,
    traces: Traces,
    space_bytes: u64,
    observer: &mut dyn Observer,
) -> Result<Box<dyn Source>, RunError> {
    let inputs = Inputs::new(scenario.workload.files());
    match open_workload(scenario, traces, space_bytes, 0, &inputs, observer)?.0 {
        Supply::Requests(source) => Ok(source),
        Supply::Jobs(_) => {
            let problem =
                "its jobs wait for the answers of a device, so they are no trace: run it".to_owned();
            Err(ScenarioError::new("workload.fio", problem).into())
        }
    }
}

/// Open the workload of a scenario in a turn for one more reading before the run, as the value of a key needs.
///
/// # Errors
/// A workload that can be read only once, or whose order depends on answers; the workload's own errors.
pub(crate) fn open_again(
    scenario: &Scenario,
    traces: Traces,
    logical_pages: u32,
    turn: u64,
    key: &'static str,
    observer: &mut dyn Observer,
) -> Result<Box<dyn Source>, RunError> {
    let refuse = |problem: String| {
        let problem = format!("it must know what is written later, {problem}");
        Err(ScenarioError::new(key, problem).into())
    };
    let inputs = Inputs::new(scenario.workload.files());
    if let Some(stream) = inputs.stream() {
        return refuse(format!("and {stream} can be read only once"));
    }
    let logical_bytes = u64::from(logical_pages) * scenario.flash.page_size.count;
    match open_workload(scenario, traces, logical_bytes, turn, &inputs, observer)?.0 {
        Supply::Requests(source) => Ok(source),
        Supply::Jobs(_) => refuse("which depends on answers here".to_owned()),
    }
}

/// Open the workload of a scenario over `space_bytes`, and describe it. A generated workload has other draws in each turn; the run has
/// those of turn 0.
pub(crate) fn open_workload(
    scenario: &Scenario,
    traces: Traces,
    space_bytes: u64,
    turn: u64,
    inputs: &Inputs<'_>,
    observer: &mut dyn Observer,
) -> Result<(Supply, String), RunError> {
    let workload = &scenario.workload;
    let seed = Seed(scenario.seed).child("workload");
    let of_options = |error: WorkloadError| error.inside("trace_options");
    match &workload.requests {
        Requests::Trace(files) => {
            let (source, formats) =
                (traces.open)(files, &workload.trace_options, Some(inputs.tap())).map_err(of_options)?;
            let description = format!("trace {} ({})", files.join(", "), formats.join(", "));
            if let Some(stream) = inputs.stream() {
                if workload.repeat.is_some_and(|rounds| rounds.get() > 1) {
                    let problem = format!("{stream} can be read only once, so it cannot be repeated");
                    return Err(ScenarioError::new("workload.repeat", problem).into());
                }
                // A signal interrupts a blocked read only on this thread, so no other thread may read the trace.
                return Ok((Supply::Requests(source), description));
            }
            let (files, options) = (files.clone(), workload.trace_options.clone());
            let open =
                move || (traces.open)(&files, &options, None).map(|(source, _)| source).map_err(of_options);
            repeated(scenario, source, open, description)
        }
        Requests::Fio(file) => {
            let handles = scenario.ftl.placement.handles();
            let opened = (traces.open_jobs)(file, space_bytes, handles, seed)?;
            let description = opened.description.clone();
            Ok((Supply::Jobs(Jobs::new(opened, seed)), description))
        }
        Requests::DiskSim(config) => {
            let requests = config.requests.min(workload.most_requests());
            let config = DiskSimConfig { requests, ..config.clone() };
            let description = format!("disksim generator, {:?}", config.pattern);
            let open = move || DiskSimGenerator::new(&config).map_err(|error| error.inside("disksim"));
            repeated(scenario, open()?, open, description)
        }
        Requests::Like(files) => {
            let options = &workload.trace_options;
            let (source, _) = (traces.open)(files, options, Some(inputs.tap())).map_err(of_options)?;
            let mut source = Cancellable::new(source, observer);
            let config = (traces.fit)(&mut source, options);
            let (_, config) = source.finish(config);
            let config = config?;
            // As for a trace, `remap` applies to addresses beyond the device.
            let own_bytes = config.space.map_or(space_bytes, |space| space.count);
            let part = Part { requests_max: workload.requests_max, ..Part::from(config) };
            let description = format!("{}, like the trace {}", part.description(), files.join(", "));
            let open = move || part.open_turn(own_bytes, seed, turn);
            repeated(scenario, open()?, open, description)
        }
        Requests::Default
        | Requests::Synthetic(_)
        | Requests::Preset(_)
        | Requests::Phases(_)
        | Requests::Tenants(_) => {
            let part = workload.generated().expect("these are parts");
            let description = part.description();
            let open = move || part.open_turn(space_bytes, seed, turn);
            repeated(scenario, open()?, open, description)
        }
    }
}

/// Start the workload on its own thread, with the rounds of the scenario.
fn repeated<S: Source + 'static>(
    scenario: &Scenario,
    first: S,
    open: impl FnMut() -> Result<S, WorkloadError> + Send + 'static,
    description: String,
) -> Result<(Supply, String), RunError> {
    let rounds = scenario.workload.repeat.map_or(1, NonZeroU32::get);
    let times = if rounds > 1 { format!(", {rounds} times") } else { String::new() };
    let source = read_ahead(Repeat::new(first, rounds, open))?;
    Ok((Supply::Requests(source), description + &times))
}
