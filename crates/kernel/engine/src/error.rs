//! Errors of runs and of warm devices.

use crate::observer::Cancelled;
use coflash_scenario::ScenarioError;
use coflash_workload::WorkloadError;
use std::io;

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
    /// A checkpoint does not fit the run.
    #[error("the checkpoint: {0}")]
    Checkpoint(#[from] io::Error),
    /// The file for a checkpoint must not be replaced.
    #[error("{file}: {problem}")]
    NoCheckpoint {
        /// As the user named it.
        file: String,
        /// What it is, and what to do.
        problem: String,
    },
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

/// Errors of warm devices.
#[derive(Debug, thiserror::Error)]
pub enum WarmError {
    /// The file cannot be written.
    #[error("{file}: {problem}")]
    Io {
        /// As the user named it.
        file: String,
        /// The message of the system.
        problem: io::Error,
    },
    /// The file is no warm device of this version.
    #[error("{file}: {problem}; `coflash warm SCENARIO -o FILE` makes one")]
    Unusable {
        /// As the user named it.
        file: String,
        /// The problem.
        problem: StateFileError,
    },
    /// The state of an external policy cannot be stored in a file.
    #[error("{file}: a device with the policy {policy:?} cannot be kept in a file, which has not its state")]
    External {
        /// As the user named it.
        file: String,
        /// The code of the policy.
        policy: String,
    },
    /// The device was warmed up for another scenario.
    #[error("the warm device does not fit the scenario: {0}; `coflash warm` with this scenario makes one")]
    Differs(String),
}

/// The error of an unusable file of state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateFileError {
    /// It cannot be read.
    #[error("{0}")]
    Unread(String),
    /// A file of another kind.
    #[error("is not a {kind} of coflash")]
    AnotherKind {
        /// The kind that was expected.
        kind: &'static str,
    },
    /// An unknown layout.
    #[error("is a {kind} in format {given}, and this version reads format {read}")]
    Format {
        /// Its kind.
        kind: &'static str,
        /// Its format.
        given: u32,
        /// The format of this version.
        read: u32,
    },
    /// Written under another revision of results, whose runs may be other ones.
    #[error(
        "is of revision {given} of results (coflash {coflash}), and this is revision {read} (coflash {version})",
        version = crate::VERSION
    )]
    Revision {
        /// Its revision.
        given: u32,
        /// The revision of this version.
        read: u32,
        /// The version that wrote it.
        coflash: String,
    },
    /// A checkpoint of another run: the differences.
    #[error("is a checkpoint of another run ({0})")]
    AnotherRun(String),
    /// Damaged.
    #[error("is damaged ({0})")]
    Damaged(String),
}
