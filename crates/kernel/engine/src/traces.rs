//! The readers of traces and of job files, which a run is given: formats are no matter of the simulation.

use coflash_workload::jobs::OpenJobs;
use coflash_workload::recorded::{Tap, TraceOptions};
use coflash_workload::synthetic::SyntheticConfig;
use coflash_workload::{Source, WorkloadError};

/// A trace that has been opened, and the names of the formats of its files.
pub type Opened = Result<(Box<dyn Source>, Vec<&'static str>), WorkloadError>;

/// What can be done with traces and job files. A scenario without them needs none of it.
#[derive(Clone, Copy, Debug)]
pub struct Traces {
    /// Open files as one trace; pipes are read through the tap.
    pub open: fn(&[String], &TraceOptions, Option<Tap>) -> Opened,
    /// Fit a synthetic workload to a trace that was opened with these options.
    pub fit: fn(&mut dyn Source, &TraceOptions) -> Result<SyntheticConfig, WorkloadError>,
    /// Open a job file.
    pub open_jobs: OpenJobs,
}

impl Traces {
    /// A program that reads no files: scenarios with a trace or a job file are refused.
    pub const NONE: Self = Self {
        open: |files, _, _| Err(WorkloadError::trace(&files.join(", "), "this program reads no traces")),
        fit: |_, _| unreachable!("no trace has been opened"),
        open_jobs: |file, _, _, _| Err(WorkloadError::trace(file, "this program reads no job files")),
    };
}
