//! Statistics and tools of traces, cancellable like a run.

use coflash_engine::{Cancellable, Observer, Phase, RunError};
use coflash_trace::TraceOptions;
use coflash_trace::info::{InfoOptions, WorkloadInfo, summarise};
use coflash_trace::tools::split::Spilled;
use coflash_trace::tools::{Steps, Volume, Written, write};
use coflash_workload::Source;
use std::path::Path;

/// Compute the statistics of the trace in `paths`, in one pass.
///
/// # Errors
/// An error of the trace, or a cancellation.
pub fn inspect(
    paths: &[String],
    options: &TraceOptions,
    info: InfoOptions,
    observer: &mut dyn Observer,
) -> Result<WorkloadInfo, RunError> {
    let mut source = Cancellable::new(coflash_trace::open(paths, options)?, observer);
    let summary = summarise(&mut source, info);
    let (source, summary) = source.finish(summary);
    Ok(WorkloadInfo { formats: source.formats().iter().map(ToString::to_string).collect(), ..summary? })
}

/// Apply the steps to the trace in `paths` and write it to `out`, in the given format or that of the extension.
///
/// # Errors
/// An error of the trace, a step or the file, or a cancellation. The file is then unchanged.
pub fn rewrite(
    paths: &[String],
    options: &TraceOptions,
    steps: &Steps,
    out: (&str, Option<&str>),
    observer: &mut dyn Observer,
) -> Result<Written, RunError> {
    let mut source = Cancellable::new(steps.open(paths, options)?, observer);
    let written = write(&mut source, out.0, out.1);
    source.finish(written).1
}

/// Write each device of the trace in `paths` to a Parquet file of its own in `folder`; also returns the remarks on the trace.
///
/// # Errors
/// An error of the trace or of the folder, or a cancellation. The folder then has some of the files.
pub fn split(
    paths: &[String],
    options: &TraceOptions,
    folder: &Path,
    observer: &mut dyn Observer,
) -> Result<(Vec<Volume>, Vec<String>), RunError> {
    let mut source = Cancellable::new(coflash_trace::open(paths, options)?, observer);
    let spilled = Spilled::read(&mut source, options.device_stride.count, folder);
    let (source, spilled) = source.finish(spilled);
    let mut cancelled = None;
    let mut goes_on = |share| {
        cancelled = observer.progress(Phase::Inputs, Some(share), 0).err();
        cancelled.is_none()
    };
    let volumes = spilled?.write(&source.device_names(), folder, &mut goes_on);
    match cancelled {
        Some(cancelled) => Err(cancelled.into()),
        None => Ok((volumes?, source.remarks())),
    }
}
