//! Requests and the trait of their sources.

pub use coflash_base::Op;
use coflash_base::{PlacementId, Time};

/// One request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival time; never earlier than that of the previous request.
    pub arrival: Time,
    /// First byte.
    pub offset: u64,
    /// Bytes; at least one, except for a flush (zero). `offset + length` is at most 2^63.
    pub length: u64,
    /// Operation.
    pub op: Op,
    /// Placement hint of a write; a policy that takes none ignores it.
    pub placement: Option<PlacementId>,
}

/// The problem of a placement hint beyond the handles of `ftl.placement`.
#[must_use]
pub fn no_handle(placement: PlacementId, handles: u32) -> String {
    let number = placement.get();
    match handles {
        1 => format!("placement {number} was given; ftl.placement has the handle 0 only"),
        _ => format!("placement {number} was given; ftl.placement has the handles 0 to {}", handles - 1),
    }
}

/// Upper bound of requests in one batch: large enough to hide the cost of a batch, small enough for a second-level
/// cache.
pub const BATCH_REQUESTS: usize = 8192;

/// A source of requests: a generator or a trace.
pub trait Source: Send {
    /// Replace the content of `batch` by the next requests, at most [`BATCH_REQUESTS`]; leave it empty at the end.
    ///
    /// # Errors
    /// An error of the input, in the terms of the input. The source yields nothing after an error.
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError>;

    /// The source that this one changes, if it is of that kind: its progress and its remarks hold.
    fn inner(&self) -> Option<&dyn Source> {
        None
    }

    /// Progress from 0 to 1; `None` if unknown.
    fn progress(&self) -> Option<f64> {
        self.inner()?.progress()
    }

    /// Assumptions and omissions of the source, in sentences for the user (skipped lines, ambiguous units).
    fn remarks(&self) -> Vec<String> {
        self.inner().map(Source::remarks).unwrap_or_default()
    }
}

/// Errors of workloads. Every message names the given and the expected value.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A record of a trace violates its format.
    #[error("{file}:{line}: {field}: {problem}")]
    Malformed {
        /// The file as the user named it.
        file: String,
        /// The line, from 1; for a binary format the record, from 1.
        line: u64,
        /// The field of the record.
        field: &'static str,
        /// The found and the expected value.
        problem: String,
    },
    /// The trace as a whole is unusable.
    #[error("{file}: {problem}")]
    Trace {
        /// The file as the user named it.
        file: String,
        /// The problem and its remedy.
        problem: String,
    },
    /// The arguments of a trace tool are invalid.
    #[error("{tool}: {problem}")]
    Tool {
        /// The tool.
        tool: &'static str,
        /// The given and the allowed value.
        problem: String,
    },
    /// A parameter of a generator, or an option of a trace, is invalid.
    #[error("{key}: {problem}")]
    Parameters {
        /// The key, relative to the table of the generator or of the options.
        key: &'static str,
        /// The given and the allowed value.
        problem: String,
    },
    /// Like [`Parameters`](Self::Parameters), in a part of a workload.
    #[error("workload.{key}: {problem}")]
    Part {
        /// The key in the scenario, as a full path.
        key: String,
        /// The given and the allowed value.
        problem: String,
    },
}

impl WorkloadError {
    /// Create the error of an unusable trace file.
    pub fn trace(file: &str, problem: impl Into<String>) -> Self {
        Self::Trace { file: file.to_owned(), problem: problem.into() }
    }

    /// Create the error of invalid arguments of `tool`.
    pub fn tool(tool: &'static str, problem: impl Into<String>) -> Self {
        Self::Tool { tool, problem: problem.into() }
    }

    /// Change the key of the error, if it has one.
    pub(crate) fn with_key(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Parameters { key, problem } => Self::Part { key: change(key), problem },
            Self::Part { key, problem } => Self::Part { key: change(&key), problem },
            other => other,
        }
    }

    /// Prefix the key of the error with the table `outer`.
    #[must_use]
    pub fn inside(self, outer: &str) -> Self {
        self.with_key(|key| format!("{outer}.{key}"))
    }
}

/// Refuse a parameter or an option.
///
/// # Errors
/// Always.
pub fn refuse<T>(key: &'static str, problem: impl Into<String>) -> Result<T, WorkloadError> {
    Err(WorkloadError::Parameters { key, problem: problem.into() })
}
