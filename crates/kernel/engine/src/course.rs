//! The progress of preconditioning.

use crate::observer::{Cancelled, Observer, Phase};
use coflash_base::Save;
use serde::{Deserialize, Serialize};

/// What a result says of what went before the run.
#[derive(Clone, Debug, Default, PartialEq, Save, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// Assumptions and omissions.
    pub remarks: Vec<String>,
    /// The write amplification of whole passes of the workload through the levels of the run, if it was steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_waf: Option<f64>,
}

/// The progress of all parts of preconditioning, as of one.
pub(crate) struct Course<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    /// Pages of all parts; unknown if the last one ends at a state.
    pub(crate) pages: Option<u64>,
    /// Pages of the parts that are done.
    pub(crate) before: u64,
    pub(crate) warm_up: WarmUp,
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
