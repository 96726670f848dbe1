//! The progress of preconditioning.

use crate::observer::{Cancelled, Observer, Phase};

/// The progress of all parts of preconditioning, as of one.
pub(crate) struct Course<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    /// Pages of all parts; unknown if the last one ends at a state.
    pub(crate) pages: Option<u64>,
    /// Pages of the parts that are done.
    pub(crate) before: u64,
}

impl Course<'_> {
    /// Report the pages written in this part.
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn report(&mut self, written: u64) -> Result<(), Cancelled> {
        let done = self.before + written;
        self.observer.progress(
            Phase::Precondition,
            self.pages.map(|pages| done as f64 / pages.max(1) as f64),
            done,
        )
    }
}
