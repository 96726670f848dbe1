//! Statistics and tools of traces, cancellable like a run.

use crate::parallel::{Watched, in_parallel};
use coflash_base::AtomicFile;
use coflash_engine::{Cancellable, Observer, RunError};
use coflash_trace::info::{InfoOptions, WorkloadInfo, summarise};
use coflash_trace::tools::split::{Gathered, Spilled};
use coflash_trace::tools::{Steps, Volume, Written, write};
use coflash_trace::{Parts, TraceOptions};
use coflash_workload::{Source, WorkloadError};
use std::fs;
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
    AtomicFile::clear(Path::new(out.0));
    let written = write(&mut source, out.0, out.1);
    source.finish(written).1
}

/// The bytes from which a text is cut into parts, and of a part.
const CUT_BYTES: u64 = 64 << 20;

/// Write each device of the trace in `paths` to a Parquet file of its own in `folder`, on `threads` threads or one for each core;
/// also returns the remarks on the trace.
///
/// # Errors
/// An error of the trace or of the folder, or a cancellation. The folder then has some of the files.
pub fn split(
    paths: &[String],
    options: &TraceOptions,
    folder: &Path,
    threads: Option<usize>,
    observer: &mut dyn Observer,
) -> Result<(Vec<Volume>, Vec<String>), RunError> {
    let spills = folder.join(".requests");
    let remade = || {
        let removed = if spills.exists() { fs::remove_dir_all(&spills) } else { Ok(()) };
        let made = removed.and_then(|()| fs::create_dir(&spills));
        made.map_err(|error| WorkloadError::trace(&spills.display().to_string(), error.to_string()))
    };
    let mut gathered = |trace: &Parts| {
        remade()?;
        let parts = in_parallel(trace.len(), threads, observer, |number, watch| {
            let mut source = Watched { source: trace.open(number)?, number, watch };
            let place = spills.join(number.to_string());
            let mut part = Spilled::read(&mut source, options.device_stride.count, &place)?;
            (part.names, part.remarks) = (source.source.device_names(), source.remarks());
            part.dates = source.source.dates();
            Ok(part)
        })?;
        Ok::<_, RunError>(Gathered::gather(trace, parts)?)
    };
    let trace = Parts::divide(paths, options, Some(CUT_BYTES))?;
    let found = match gathered(&trace) {
        // The lines of an error, and what is said of a file, count from its beginning.
        Ok(None) => gathered(&Parts::divide(paths, options, None)?)?,
        Err(error) if trace.is_cut() && !matches!(error, RunError::Cancelled(_)) => {
            gathered(&Parts::divide(paths, options, None)?)?
        }
        found => found?,
    };
    let found = found.expect("no file was cut");
    let volumes = in_parallel(found.len(), threads, observer, |number, _| found.write(number, folder))?;
    let removed = fs::remove_dir_all(&spills);
    removed.map_err(|error| WorkloadError::trace(&spills.display().to_string(), error.to_string()))?;
    Ok((volumes, found.remarks()))
}
