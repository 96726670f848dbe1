//! Errors of runs.

use crate::observer::Cancelled;
use crate::warm::error::WarmError;
use coflash_scenario::ScenarioError;
use coflash_workload::WorkloadError;

/// The error of a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The workload is unusable.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The warm device cannot be used.
    #[error(transparent)]
    Warm(#[from] WarmError),
    /// The workload exceeds the device, or the range of time.
    #[error("{0}")]
    TooFar(String),
    /// A recording cannot be written.
    #[error("{0}")]
    Record(String),
    /// The observer cancelled the run.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl RunError {
    pub(crate) fn out_of_time() -> Self {
        Self::TooFar(
            "simulated time runs beyond 36 years: shorter times are needed in the trace, in timing, cache or link, or a \
             smaller replay.time_scale"
                .to_owned(),
        )
    }
}
