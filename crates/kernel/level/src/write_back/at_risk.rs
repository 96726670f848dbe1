//! What a power cut of a cache would lose.

use super::WriteBack;
use crate::cooperates::Cooperates;
use crate::cooperation::{CommitCounters, Scheme};

/// The answered writes that a power cut of a cache would lose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtRisk {
    /// None.
    #[default]
    Nothing,
    /// This many pages, dirty in a volatile cache.
    Dirty(u32),
    /// All writes and trims since the last commit.
    Uncommitted,
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// Whether a power cut loses its dirty pages.
    pub(super) fn is_volatile(&self) -> bool {
        self.own.options.setting.is_volatile
    }

    /// What a power cut of this cache would lose.
    #[must_use]
    pub fn at_risk(&self) -> AtRisk {
        if self.own.consistency.as_ref().is_some_and(|consistency| !consistency.is_committed()) {
            AtRisk::Uncommitted
        } else if self.is_volatile() && self.own.cache.dirty_len() > 0 {
            AtRisk::Dirty(self.own.cache.dirty_len())
        } else {
            AtRisk::Nothing
        }
    }

    /// The commits so far; none of a scheme without commits.
    #[must_use]
    pub fn commits(&self) -> CommitCounters {
        self.own.consistency.as_ref().map(|consistency| consistency.counters).unwrap_or_default()
    }
}
