//! Reports to a Python callback, and lets Ctrl-C through.

use coflash_sim::{Cancelled, Observer, Phase};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Often enough to look alive, seldom enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(50);

/// An observer that takes the interpreter ten or twenty times a second.
pub(crate) struct PythonObserver {
    callback: Option<Py<PyAny>>,
    phase: Option<Phase>,
    last: Instant,
    raised: Option<PyErr>,
}

impl PythonObserver {
    #[allow(clippy::disallowed_methods, reason = "wall time decides only when to report")]
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, phase: None, last: Instant::now(), raised: None }
    }

    /// The exception for which the run was stopped.
    pub(crate) fn raised(self) -> Option<PyErr> {
        self.raised
    }

    fn report(&self, py: Python<'_>, phase: Phase, fraction: Option<f64>, requests: u64) -> PyResult<()> {
        py.check_signals()?;
        if let Some(callback) = &self.callback {
            let name = match phase {
                Phase::Inputs => "inputs",
                Phase::Precondition => "precondition",
                Phase::Replay => "replay",
            };
            callback.call1(py, (name, fraction, requests))?;
        }
        Ok(())
    }
}

impl Observer for PythonObserver {
    #[allow(clippy::disallowed_methods, reason = "wall time decides only when to report")]
    fn progress(&mut self, phase: Phase, fraction: Option<f64>, requests: u64) -> Result<(), Cancelled> {
        let now = Instant::now();
        if self.phase == Some(phase) && now.duration_since(self.last) < INTERVAL {
            return Ok(());
        }
        (self.phase, self.last) = (Some(phase), now);
        Python::attach(|py| self.report(py, phase, fraction, requests)).map_err(|error| {
            self.raised = Some(error);
            Cancelled
        })
    }
}
