//! Why there is no result.

use crate::observer::Cancelled;
use crate::scenario::ScenarioError;
use crate::warm::WarmError;
use coflash_workload::WorkloadError;

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario does not fit together.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The workload is unusable.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The warm device cannot be used.
    #[error(transparent)]
    Warm(#[from] WarmError),
    /// The workload goes beyond the device, or beyond time.
    #[error("{0}")]
    TooFar(String),
    /// The observer wanted no more.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
