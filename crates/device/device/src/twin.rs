//! The twin of a session: a simulation of the same requests at the same times, from the same state.

use crate::folder::{DeviceError, SessionFolder};
use crate::no_bytes::NoBytes;
use crate::power_on::StartError;
use crate::recorder::{HEADER, Recorder};
use crate::restarts::Restarts;
use crate::session::{Failure, Session};
use coflash_base::Time;
use coflash_engine::{Observer, Phase, RunError, RunResult};
use coflash_media::Contents;
use coflash_scenario::Scenario;
use coflash_store::StoreError;
use coflash_workload::Source;
use std::{fs, io};

/// A session cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum TwinError {
    /// The trace cannot be read, or the simulation was cancelled.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The device cannot be powered on.
    #[error(transparent)]
    Start(#[from] StartError<StoreError>),
    /// A request fails.
    #[error(transparent)]
    Request(#[from] Failure),
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] DeviceError),
}

/// Simulate the session of a folder.
///
/// # Errors
/// See [`twin`]; or the session has not ended.
pub fn twin_of(session: &SessionFolder, observer: &mut dyn Observer) -> Result<RunResult, TwinError> {
    let (scenario, found, restarts, end) = session.read()?;
    twin(&scenario, found.as_ref(), restarts, end, observer)
}

/// Simulate a session that began with the contents `found` in its container, or erased, in which the device alone
/// restarted, and which ended at `end`. The scenario's workload is the trace of the session.
///
/// # Errors
/// The trace cannot be read, or the device cannot be recovered.
pub fn twin(
    scenario: &Scenario,
    found: Option<&Contents>,
    restarts: Restarts,
    end: Time,
    observer: &mut dyn Observer,
) -> Result<RunResult, TwinError> {
    let workload = &scenario.workload;
    // A trace without requests is refused elsewhere.
    let is_empty = |file: &String| fs::metadata(file).is_ok_and(|file| file.len() == HEADER.len() as u64);
    let open = || coflash_trace::open(workload.files(), &workload.trace_options).map_err(RunError::from);
    let mut source = (!workload.files().iter().all(is_empty)).then(open).transpose()?;
    let list = restarts.list.clone();
    let bytes = NoBytes::new(restarts);
    let mut session = Session::start(scenario.clone(), bytes, found, Recorder::to(io::sink()), None)?;
    let (mut batch, mut served) = (Vec::new(), 0);
    while let Some(source) = &mut source {
        let progress = observer.progress(Phase::Replay, source.progress(), served);
        progress.map_err(RunError::from)?;
        source.next_batch(&mut batch).map_err(RunError::from)?;
        if batch.is_empty() {
            break;
        }
        for request in &batch {
            while let Some(restart) =
                list.get(session.restarts().len()).filter(|next| next.requests == served)
            {
                session.cut_device(Time { ns: restart.at_ns })?;
            }
            let armed = list.get(session.restarts().len()).and_then(|restart| restart.armed);
            if let Some(armed) = armed.filter(|armed| armed.requests == served) {
                session.arm(armed.steps);
            }
            session.repeat(request)?;
            served += 1;
        }
    }
    while let Some(restart) = list.get(session.restarts().len()) {
        session.cut_device(Time { ns: restart.at_ns })?;
    }
    session.pass_time(end)?;
    Ok(session.result())
}
