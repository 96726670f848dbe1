//! A request, and whatever yields them.

use coflash_base::Time;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
    /// The range is no longer needed (discard, deallocate).
    Trim,
    /// Make everything written so far durable; has no range.
    Flush,
}

/// One request of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it arrives; never earlier than the request before it.
    pub arrival: Time,
    /// First byte.
    pub offset: u64,
    /// Bytes; at least one, except for a flush (zero). `offset + length` is at most 2^63.
    pub length: u64,
    /// What it asks for.
    pub op: Op,
}

/// The most requests a source puts into one batch: large enough that the cost of a batch vanishes, small enough for a
/// second-level cache.
pub const BATCH_REQUESTS: usize = 8192;

/// Whatever yields requests.
pub trait Source: Send {
    /// Replaces the content of `batch` by the next requests, at most [`BATCH_REQUESTS`]; leaves it empty at the end.
    ///
    /// # Errors
    /// What is wrong with the input, in the terms of the input. The source yields nothing after an error.
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError>;

    /// How far the source is, from 0 to 1, where it knows.
    fn progress(&self) -> Option<f64>;

    /// What the source had to assume or left out, in sentences for the user (skipped lines, ambiguous units).
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What can be wrong with a workload. Every message names what was given and what was expected.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A record of a trace is not what its format says.
    #[error("{file}:{line}: {field}: {problem}")]
    Malformed {
        /// The file as the user named it.
        file: String,
        /// The line, from 1; for a binary format the record, from 1.
        line: u64,
        /// The field of the record.
        field: &'static str,
        /// What was found and what was expected.
        problem: String,
    },
    /// The trace as a whole is unusable.
    #[error("{file}: {problem}")]
    Trace {
        /// The file as the user named it.
        file: String,
        /// What is wrong and what to do about it.
        problem: String,
    },
    /// The parameters of a generator, or the options of a trace, do not fit together.
    #[error("{key}: {problem}")]
    Parameters {
        /// The key, from the generator's or the options' own table on.
        key: &'static str,
        /// What was given and what is allowed.
        problem: String,
    },
    /// As [`Parameters`](Self::Parameters), in a part of a workload.
    #[error("workload.{key}: {problem}")]
    Part {
        /// The key in the scenario, by its whole path.
        key: String,
        /// What was given and what is allowed.
        problem: String,
    },
}

impl WorkloadError {
    /// The same error with another key, where it has one.
    pub(crate) fn at(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Parameters { key, problem } => Self::Part { key: change(key), problem },
            Self::Part { key, problem } => Self::Part { key: change(&key), problem },
            other => other,
        }
    }

    /// The same error, its key inside the table `outer`.
    #[must_use]
    pub fn inside(self, outer: &str) -> Self {
        self.at(|key| format!("{outer}.{key}"))
    }
}
