//! Observers of a run. They may cancel it.

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Digest of the inputs.
    Inputs,
    /// Preconditioning of the device.
    Precondition,
    /// The requests before a checkpoint are read once more.
    Resume,
    /// Replay of the workload.
    Replay,
}

/// Interim metrics of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoFar {
    /// Pages written by the host.
    pub host_writes_pages: u64,
    /// Flash programs.
    pub programs_pages: u64,
    /// Flash programs per page written by the host.
    pub waf_host: Option<f64>,
    /// Mean response time of all requests.
    pub response_mean_ns: Option<f64>,
}

/// What became of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointEvent {
    /// The run goes on after this number of requests.
    Resumed(u64),
    /// The file holds what the run has become.
    Written,
    /// The reason why the run begins with its first request although there is a file.
    Unusable(String),
    /// The reason why no checkpoint was written. The run goes on without.
    Unwritten(String),
}

/// The request to cancel a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// An observer of a run. It is called thousands of times per second and must limit its own output.
pub trait Observer: Send {
    /// Report progress: the phase, its share done if known, and requests so far (pages, during preconditioning).
    ///
    /// # Errors
    /// An error cancels the run.
    fn progress(&mut self, phase: Phase, fraction: Option<f64>, requests: u64) -> Result<(), Cancelled>;

    /// Whether a checkpoint is due: asked between batches of requests and after a cancellation, where the run has a file for it.
    fn wants_checkpoint(&mut self) -> bool {
        false
    }

    /// Hear what became of the checkpoint, at once.
    ///
    /// # Errors
    /// An error cancels the run.
    fn checkpoint(&mut self, event: CheckpointEvent) -> Result<(), Cancelled> {
        let _ = event;
        Ok(())
    }
}

/// An observer that never cancels.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }
}
