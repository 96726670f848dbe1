//! Whoever watches a run, and may stop it.

use crate::metrics::SoFar;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading the inputs once, for their digest.
    Inputs,
    /// Bringing the device into its state.
    Precondition,
    /// Replaying the workload.
    Replay,
}

/// The user wants no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Whoever watches a run. Called often (thousands of times a second): it decides itself how often to show anything.
pub trait Observer: Send {
    /// Told of progress: the phase, how far it is where that is known, and requests (pages, while warming up) so far.
    ///
    /// # Errors
    /// To stop the run.
    fn progress(&mut self, phase: Phase, fraction: Option<f64>, requests: u64) -> Result<(), Cancelled>;

    /// Told of progress in the replay. `so_far` sums up what was measured when it is called, and costs nothing before.
    ///
    /// # Errors
    /// To stop the run.
    fn replaying(
        &mut self,
        fraction: Option<f64>,
        requests: u64,
        so_far: &dyn Fn() -> SoFar,
    ) -> Result<(), Cancelled> {
        let _ = so_far;
        self.progress(Phase::Replay, fraction, requests)
    }
}

/// An observer that only watches.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }
}
