//! Reports to a Python callback, and cancellation by Ctrl-C.

use crate::external;
use coflash_sim::{Cancelled, CheckpointEvent, Observer, Phase};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// The interval of reports: short enough for a smooth progress bar, long enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(50);

/// An observer that acquires the interpreter ten or twenty times a second.
pub(crate) struct PythonObserver {
    callback: Option<Py<PyAny>>,
    phase: Option<Phase>,
    last: Instant,
    raised: Option<PyErr>,
    checkpoints: Option<DueCheckpoints>,
}

/// When checkpoints are due, and what hears of them.
struct DueCheckpoints {
    every: Duration,
    last: Instant,
    told: Py<PyAny>,
}

impl PythonObserver {
    #[allow(clippy::disallowed_methods, reason = "wall time decides only when to report")]
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, phase: None, last: Instant::now(), raised: None, checkpoints: None }
    }

    /// Ask for a checkpoint at this interval, in seconds; never for 0. `told` is called with what becomes of it.
    pub(crate) fn checkpoints_every(&mut self, seconds: f64, told: Py<PyAny>) {
        let every = Duration::try_from_secs_f64(seconds).ok().filter(|every| !every.is_zero());
        self.checkpoints =
            Some(DueCheckpoints { every: every.unwrap_or(Duration::MAX), last: self.last, told });
    }

    /// The exception that cancelled the run.
    pub(crate) fn raised(self) -> Option<PyErr> {
        self.raised
    }

    /// Whether a report is due.
    #[allow(clippy::disallowed_methods, reason = "wall time decides only when to report")]
    fn is_due(&mut self, phase: Phase) -> bool {
        let now = Instant::now();
        let due = self.phase != Some(phase) || now.duration_since(self.last) >= INTERVAL;
        if due {
            (self.phase, self.last) = (Some(phase), now);
        }
        due
    }

    fn unless_raised(&mut self, done: PyResult<()>) -> Result<(), Cancelled> {
        done.map_err(|error| {
            self.raised = Some(error);
            Cancelled
        })
    }
}

fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Inputs => "inputs",
        Phase::Precondition => "precondition",
        Phase::Resume => "resume",
        Phase::Replay => "replay",
    }
}

impl Observer for PythonObserver {
    fn progress(&mut self, phase: Phase, fraction: Option<f64>, requests: u64) -> Result<(), Cancelled> {
        if external::has_failed() {
            return Err(Cancelled);
        }
        if !self.is_due(phase) {
            return Ok(());
        }
        let done = Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &self.callback {
                callback.call1(py, (name_of(phase), fraction, requests))?;
            }
            Ok(())
        });
        self.unless_raised(done)
    }

    #[allow(clippy::disallowed_methods, reason = "wall time decides only when to keep a checkpoint")]
    fn wants_checkpoint(&mut self) -> bool {
        let is_cancelled = self.raised.is_some();
        // What was begun a moment before it is cancelled is soon done again.
        let is_due = |one: &DueCheckpoints| {
            Instant::now().duration_since(one.last) >= if is_cancelled { one.every / 10 } else { one.every }
        };
        self.checkpoints.as_ref().is_some_and(is_due)
    }

    #[allow(clippy::disallowed_methods, reason = "wall time decides only when to keep a checkpoint")]
    fn checkpoint(&mut self, event: CheckpointEvent) -> Result<(), Cancelled> {
        let Some(DueCheckpoints { last, told, .. }) = &mut self.checkpoints else { return Ok(()) };
        *last = Instant::now();
        let done = Python::attach(|py| match event {
            CheckpointEvent::Resumed(requests) => told.call1(py, ("resumed", requests)),
            CheckpointEvent::Written => told.call1(py, ("written", "")),
            CheckpointEvent::Unusable(reason) => told.call1(py, ("unusable", reason)),
            CheckpointEvent::Unwritten(reason) => told.call1(py, ("unwritten", reason)),
        });
        self.unless_raised(done.map(drop))
    }
}
