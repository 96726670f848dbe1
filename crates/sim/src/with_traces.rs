//! Runs whose workload may be a trace.

use coflash_engine::{Checkpoints, Observer, RunError, RunInputs, RunResult, Scenario, Traces, WarmDevice};
use coflash_record::{Records, RunRecording};
use coflash_trace::info::InfoOptions;
use coflash_trace::like::fit;

/// The readers of traces, with all formats, and of job files.
pub const TRACES: Traces = Traces {
    open: |files, options, tap| {
        let source = coflash_trace::open_tapped(files, options, tap)?;
        let formats = source.formats().to_vec();
        Ok((Box::new(source), formats))
    },
    fit: |source, _| fit(source, InfoOptions::default().page, |_| {}).map(|(config, _)| config),
    open_jobs: coflash_fio::open,
};

/// Run a scenario.
///
/// # Errors
/// An invalid scenario, an error of the workload, or a cancellation.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    coflash_engine::run(scenario, &RunInputs::only(TRACES), observer)
}

/// Run a scenario, on a warm device if one is given, and record it; with checkpoints, if it is not
/// recorded.
///
/// # Errors
/// See [`run`]; a device that was warmed up for another scenario; a file that cannot be written.
pub fn run_recorded(
    scenario: &Scenario,
    warm: Option<&WarmDevice>,
    records: &Records,
    checkpoints: Option<&Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let recording = RunRecording::begin(records, scenario)?;
    let given = RunInputs { warm, ..recording.given(RunInputs::only(TRACES)) };
    let result = match checkpoints {
        Some(checkpoints) if *records == Records::default() => {
            coflash_engine::run_with_checkpoints(scenario, &given, checkpoints, observer)?
        }
        _ => coflash_engine::run(scenario, &given, observer)?,
    };
    recording.finish()?;
    Ok(result)
}
