//! Errors of warm devices.

use super::file::WarmFileError;
use std::io;

/// Errors of warm devices.
#[derive(Debug, thiserror::Error)]
pub enum WarmError {
    /// The file cannot be read or written.
    #[error("{file}: {problem}")]
    Io {
        /// As the user named it.
        file: String,
        /// The message of the system.
        problem: io::Error,
    },
    /// The file is no warm device of this version.
    #[error("{file}: {problem}")]
    Unusable {
        /// As the user named it.
        file: String,
        /// The problem.
        problem: WarmFileError,
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
    #[error("the warm device does not fit the scenario: {0}; warm it up again")]
    Differs(String),
}
