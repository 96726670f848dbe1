//! The twin of a session: a simulation of the same requests at the same times, from the same state.

use crate::folder::{DeviceError, SessionFolder};
use crate::power_on::{StartError, power_on, timeline};
use coflash_base::Time;
use coflash_media::Contents;
use coflash_scenario::{Scenario, Stack};
use coflash_sim::{Observer, RunError, RunResult, run_on};
use std::convert::Infallible;

/// A session cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum TwinError {
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The device cannot be powered on.
    #[error(transparent)]
    Start(#[from] StartError<Infallible>),
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] DeviceError),
}

/// Simulate the session of a folder.
///
/// # Errors
/// See [`twin`]; or the session has not ended.
pub fn twin_of(session: &SessionFolder, observer: &mut dyn Observer) -> Result<RunResult, TwinError> {
    let (scenario, found, end) = session.read()?;
    twin(&scenario, found.as_ref(), end, observer)
}

/// Simulate a session that began with the contents `found` in its container, or erased, and ended at `end`.
/// The scenario's workload is the trace of the session.
///
/// # Errors
/// The trace cannot be read, or the device cannot be recovered.
pub fn twin(
    scenario: &Scenario,
    found: Option<&Contents>,
    end: Time,
    observer: &mut dyn Observer,
) -> Result<RunResult, TwinError> {
    let mut timeline = timeline(scenario, found);
    let stack = power_on(scenario, found, &mut timeline)?;
    Ok(run_on(scenario, Stack::Plain(stack), timeline, end, observer)?)
}
