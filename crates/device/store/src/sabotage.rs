//! Mistakes that the tests must catch.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// The place of released data is used again before a sync point.
    EarlyReuse,
    /// Records of pages are valid in every generation of their block.
    NoGeneration,
    /// The journal refers to data that still waits in memory.
    EntryBeforeData,
    /// A page with the data of another is not counted: the place is free when the other is erased.
    UncountedCopy,
    /// After a loss of power the data of a copy is taken for durable.
    UncheckedCopy,
    /// A copy gets a new checksum, computed from the data read.
    RecomputedChecksum,
}

/// Whether a mistake is active; outside of tests none is.
#[cfg(not(test))]
pub(crate) const fn is_sabotaged(_: Sabotage) -> bool {
    false
}

#[cfg(test)]
pub(crate) use in_tests::{is_sabotaged, with};

#[cfg(test)]
mod in_tests {
    use super::Sabotage;
    use std::cell::Cell;

    thread_local!(static MADE: Cell<Option<Sabotage>> = const { Cell::new(None) });

    pub(crate) fn is_sabotaged(sabotage: Sabotage) -> bool {
        MADE.get() == Some(sabotage)
    }

    /// Run work with a mistake.
    pub(crate) fn with<T>(sabotage: Option<Sabotage>, work: impl FnOnce() -> T) -> T {
        MADE.set(sabotage);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        MADE.set(None);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
