//! The errors of a container.

use coflash_media::Ppn;
use std::fmt;

/// A failed operation of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The power of the simulated device is off.
    #[error("the power of the device is off")]
    PowerCut,
    /// The data of a page does not match its checksum, or cannot be read. Other pages may still be readable.
    #[error("physical page {} cannot be read: its data does not match its checksum", .0.get())]
    Unreadable(Ppn),
    /// A read, write or sync of the host failed. After a failed write or sync the store is read-only.
    #[error("{action} failed: {problem}")]
    Host {
        /// The action.
        action: &'static str,
        /// The host's reason.
        problem: String,
    },
    /// The files are not a container of this version, or not the requested one.
    #[error("{0}")]
    Foreign(String),
    /// The container is damaged.
    #[error("the container is damaged: {}", list(.0))]
    Damaged(Vec<Finding>),
}

/// The first few findings, and how many more there are.
fn list(findings: &[Finding]) -> String {
    const SHOWN: usize = 3;
    let mut text = findings.iter().take(SHOWN).map(Finding::to_string).collect::<Vec<_>>().join("; ");
    if findings.len() > SHOWN {
        text += &format!("; and {} more", findings.len() - SHOWN);
    }
    text
}

/// Name the action that failed.
pub(crate) fn while_doing(action: &'static str) -> impl Fn(std::io::Error) -> StoreError {
    move |error| StoreError::Host { action, problem: error.to_string() }
}

/// Damage in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the part, such as "block" or "page".
    pub part: &'static str,
    /// Its number.
    pub number: u64,
    /// The problem.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.part, self.number, self.problem)
    }
}
