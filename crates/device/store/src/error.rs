//! The errors of a container.

use coflash_media::Ppn;
use std::io::{self, ErrorKind};

/// A failed operation of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The power of the simulated device is off.
    #[error("the power of the device is off")]
    PowerCut,
    /// The data of a page is damaged. Other pages may still be readable.
    #[error("physical page {page} cannot be read: {damage}", page = .0.get(), damage = .1)]
    Unreadable(Ppn, Damage),
    /// A read, write or sync of the host failed. After a failed write or sync the store is read-only.
    #[error("{action} failed: {problem}")]
    Host {
        /// The action.
        action: &'static str,
        /// The host's reason.
        problem: String,
        /// The kind of failure.
        kind: ErrorKind,
    },
    /// The files are not a container of this version, or not the requested one.
    #[error("{0}")]
    Foreign(String),
    /// The container is damaged.
    #[error("the container is damaged: {}", list(.0))]
    Damaged(Vec<Finding>),
}

/// The first few findings, and how many more there are.
#[must_use]
pub fn list(findings: &[Finding]) -> String {
    const SHOWN: usize = 3;
    let mut text = findings.iter().take(SHOWN).map(Finding::to_string).collect::<Vec<_>>().join("; ");
    if findings.len() > SHOWN {
        text += &format!("; and {} more", findings.len() - SHOWN);
    }
    text
}

/// Name the action that failed.
pub(crate) fn while_doing(action: &'static str) -> impl Fn(io::Error) -> StoreError {
    move |error| StoreError::host(action, &error)
}

impl StoreError {
    /// A failure of the host in an action.
    #[must_use]
    pub fn host(action: &'static str, error: &io::Error) -> Self {
        Self::Host { action, problem: error.to_string(), kind: error.kind() }
    }
}

/// Why data cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It was changed, or was damaged before it came here.
    #[error("its data does not match its checksum")]
    Changed,
    /// The disk of the host cannot read it.
    #[error("the host cannot read its data: {0}")]
    Unread(String),
}

/// Damage in a container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {number}: {problem}")]
pub struct Finding {
    /// The kind of the part, such as "block" or "page".
    pub part: &'static str,
    /// Its number.
    pub number: u64,
    /// The problem.
    pub problem: String,
}
