//! What a trace is like, and what can be done to it, watched like a run.

use crate::error::RunError;
use crate::observer::Observer;
use crate::watched::Watched;
use coflash_workload::info::{InfoOptions, WorkloadInfo, summarise};
use coflash_workload::tools::{Steps, Written, write};
use coflash_workload::{TraceOptions, trace};

/// Reads the trace in `paths` once and tells what it is like.
///
/// # Errors
/// What is wrong with the trace; or the observer stopped it.
pub fn inspect(
    paths: &[String],
    options: &TraceOptions,
    info: InfoOptions,
    observer: &mut dyn Observer,
) -> Result<WorkloadInfo, RunError> {
    let mut watched = Watched::new(trace::open(paths, options)?, observer);
    let summary = summarise(&mut watched, info);
    let (source, summary) = watched.finish(summary);
    Ok(WorkloadInfo { formats: source.formats().iter().map(ToString::to_string).collect(), ..summary? })
}

/// Writes the trace in `paths` to `out`, with the steps taken, in the format named or that of the extension.
///
/// # Errors
/// What is wrong with the trace, a step or the file; or the observer stopped it. The file is then as it was before.
pub fn rewrite(
    paths: &[String],
    options: &TraceOptions,
    steps: &Steps,
    out: (&str, Option<&str>),
    observer: &mut dyn Observer,
) -> Result<Written, RunError> {
    let mut watched = Watched::new(steps.open(paths, options)?, observer);
    let written = write(&mut watched, out.0, out.1);
    watched.finish(written).1
}
