//! A run from its scenario: what is opened and prepared before the first request.

use crate::course::{Course, WarmUp};
use crate::error::RunError;
use crate::input::Inputs;
use crate::memory;
use crate::observer::Observer;
use crate::open_workload::{OpenWorkload, Supply};
use crate::own_writes::write_through;
use crate::precondition::{Preconditioned, precondition};
use crate::result::RunResult;
use crate::simulation::Simulation;
use crate::traces::Traces;
use crate::warm::WarmDevice;
use coflash_ftl::DecisionRecorder;
use coflash_hybrid::HybridConfig;
use coflash_media::{OperationRecorder, Timeline};
use coflash_scenario::{Scenario, Stack};
use coflash_workload::Source;
use std::sync::Arc;

/// What a run may be given beside its scenario.
#[derive(Clone, Debug)]
pub struct RunInputs<'a> {
    /// The reader of traces.
    pub traces: Traces,
    /// A warm device: the result is the same as without.
    pub warm: Option<&'a WarmDevice>,
    /// What hears of the operations of flash.
    pub operations: Option<OperationRecorder>,
    /// What hears of the decisions of GC.
    pub decisions: Option<DecisionRecorder>,
}

impl RunInputs<'_> {
    /// A reader of traces, and nothing else.
    #[must_use]
    pub fn only(traces: Traces) -> Self {
        Self { traces, warm: None, operations: None, decisions: None }
    }

    fn record_decisions(&self, stack: &mut Stack) {
        if let Some(recorder) = &self.decisions {
            stack.record_in(Arc::clone(recorder));
        }
    }

    fn record_operations(&self, mut media: Timeline) -> Timeline {
        if let Some(recorder) = &self.operations {
            media.record_in(Arc::clone(recorder));
        }
        media
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
    given: &RunInputs<'_>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    begin(scenario, given, observer)?.finish(observer)
}

/// Begin a run: check the scenario, open its workload, and precondition the device. No request is served yet.
///
/// # Errors
/// See [`run`].
pub fn begin<'a>(
    scenario: &'a Scenario,
    given: &RunInputs<'_>,
    observer: &mut dyn Observer,
) -> Result<Simulation<'a>, RunError> {
    scenario.check()?;
    let warm = match given.warm {
        Some(warm) => Some(warm.device(scenario)?),
        None => memory::check(scenario).map(|()| None)?,
    };
    begin_on(scenario, given, warm, observer)
}

/// Begin a run on a device that is preconditioned already, if one is given.
pub(crate) fn begin_on<'a>(
    scenario: &'a Scenario,
    given: &RunInputs<'_>,
    warm: Option<Preconditioned>,
    observer: &mut dyn Observer,
) -> Result<Simulation<'a>, RunError> {
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
        (Some(config), _) => over_disks(scenario, config, given, observer),
        (None, warm) => on_flash(scenario, warm, given, open, observer),
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
    let open = |_: &Scenario, _, _: &mut dyn Observer| {
        Ok(OpenWorkload {
            supply: Supply::Requests(source),
            description: String::new(),
            inputs: Inputs::new(&[]),
            warm_up: WarmUp::default(),
        })
    };
    on_flash(scenario, None, &RunInputs::only(Traces::NONE), open, observer)?.finish(observer)
}

/// Open the workload with `open` for its logical pages, prepare the flash unless it is warm, and put the other levels above it.
fn on_flash<'a>(
    scenario: &'a Scenario,
    warm: Option<Preconditioned>,
    given: &RunInputs<'_>,
    open: impl FnOnce(&'a Scenario, u32, &mut dyn Observer) -> Result<OpenWorkload<'a>, RunError>,
    observer: &mut dyn Observer,
) -> Result<Simulation<'a>, RunError> {
    // Report errors of the workload or of the levels before the long warm-up.
    let logical_pages = scenario.ftl.logical_pages(&scenario.flash);
    let mut workload = open(scenario, logical_pages, observer)?;
    let levels = scenario.levels(logical_pages)?;
    let Preconditioned { ftl: flash, warm_up } = match warm {
        Some(device) => device,
        None => precondition(scenario.erased_flash()?, scenario, given.traces, observer)?,
    };
    workload.warm_up = warm_up;
    let media = given.record_operations(scenario.timeline());
    let mut tower = levels.over(flash);
    if scenario.precondition.through_caches && (scenario.has_cache() || scenario.host_buffer.exists()) {
        let course = &mut Course { observer, pages: None, before: 0, warm_up: workload.warm_up };
        write_through(&mut tower, scenario, given.traces, course)?;
        workload.warm_up = std::mem::take(&mut course.warm_up);
    }
    let mut stack = Stack::Flash(tower);
    given.record_decisions(&mut stack);
    Ok(Simulation::new(scenario, stack, media, workload))
}

/// Open the workload, and put a flash cache in front of disks.
fn over_disks<'a>(
    scenario: &'a Scenario,
    config: &HybridConfig,
    given: &RunInputs<'_>,
    observer: &mut dyn Observer,
) -> Result<Simulation<'a>, RunError> {
    let disks = scenario.disks(config)?;
    let mut stack = scenario.hybrid_stack(config, &disks)?;
    given.record_decisions(&mut stack);
    let workload = OpenWorkload::new(scenario, given.traces, disks.pages() as u32, observer)?;
    let media = given.record_operations(scenario.timeline().with_disks(disks));
    Ok(Simulation::new(scenario, stack, media, workload))
}
