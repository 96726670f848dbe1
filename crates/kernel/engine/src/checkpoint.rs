//! Checkpoints: what a long run has become, in a file from which it goes on after an interruption.
//!
//! A run that goes on gives byte for byte the result of one that was never interrupted: the whole state of its levels, its media
//! and its measures is kept, and the requests before the checkpoint are read once more without being served.

use crate::error::{RunError, StateFileError};
use crate::input::Inputs;
use crate::memory;
use crate::observer::Observer;
use crate::precondition::Preconditioned;
use crate::result::RunResult;
use crate::run::{Given, begin, begin_on};
use crate::simulation::Simulation;
use crate::state_file::{Kind, write_whole};
use coflash_base::suggest::unread;
use coflash_scenario::{Scenario, digest, leaves};
use coflash_workload::recorded::STANDARD_INPUT;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::PathBuf;

const KIND: Kind = Kind { name: "checkpoint", magic: b"COFLCHKP", format: 1 };

/// The run to which a checkpoint belongs.
#[derive(PartialEq, Serialize, Deserialize)]
struct Header {
    /// The digest of the scenario.
    scenario: String,
    /// The digests of the files that it reads.
    inputs: Vec<String>,
}

impl Header {
    fn of(scenario: &Scenario, simulation: &Simulation<'_>) -> Self {
        Self { scenario: digest(&leaves(scenario)), inputs: simulation.digests() }
    }
}

/// Where a run keeps its checkpoint, and what became of it.
#[derive(Debug, Default)]
pub struct Checkpoints {
    /// The file. A run reads it at its beginning, if it exists, and replaces it at each checkpoint. Who keeps the result removes it.
    pub file: PathBuf,
    /// The requests that were served already.
    pub resumed: Option<u64>,
    /// The reason why the run began with its first request although the file exists.
    pub unusable: Option<String>,
    /// The reason why no checkpoint could be written. The run goes on without.
    pub unwritten: Option<String>,
}

impl Checkpoints {
    /// Go on from the checkpoint, if there is one that fits.
    fn resume<'a>(
        &mut self,
        scenario: &'a Scenario,
        given: &Given<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Simulation<'a>>, RunError> {
        let bytes = match fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                self.unusable = Some(unread(&self.file, &error));
                return Ok(None);
            }
        };
        memory::check(scenario)?;
        // What was restored is another device than the one that is preconditioned.
        let erased = Preconditioned { ftl: scenario.erased_flash()?, remarks: Vec::new() };
        let mut simulation = begin_on(scenario, given, Some(erased), observer)?;
        let mut failed = None;
        let read = KIND.read(&bytes, |header: Header, state| {
            if header != Header::of(scenario, &simulation) {
                return Err(StateFileError::AnotherRun);
            }
            simulation.restore(state, observer).map_err(|error| match error {
                RunError::Checkpoint(problem) => StateFileError::Damaged(problem.to_string()),
                error => {
                    failed = Some(error);
                    StateFileError::AnotherRun
                }
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        match read {
            Ok(()) => self.resumed = Some(simulation.served()),
            Err(problem) => {
                self.unusable = Some(problem.to_string());
                return Ok(None);
            }
        }
        Ok(Some(simulation))
    }

    fn write(&mut self, scenario: &Scenario, simulation: &Simulation<'_>) {
        let header = Header::of(scenario, simulation);
        let made = self.file.parent().map_or(Ok(()), fs::create_dir_all);
        let written = made.and_then(|()| {
            write_whole(&self.file, |out| KIND.write(out, header, |state| simulation.save(state)))
        });
        self.unwritten = written.err().map(|problem| problem.to_string());
    }
}

/// Run a scenario from its checkpoint, if there is one, and write others when the observer says that one is due.
///
/// A run of jobs, one with code from outside, one of slices side by side and one that reads what can be read only once have none.
///
/// # Errors
/// See [`run`](crate::run).
pub fn run_with_checkpoints(
    scenario: &Scenario,
    given: &Given<'_>,
    checkpoints: &mut Checkpoints,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    scenario.check()?;
    let inputs = Inputs::of(scenario.workload.files());
    // Nobody could tell whether another run reads the same.
    let once = inputs.stream().map(|file| {
        let file = if file == STANDARD_INPUT { "the standard input" } else { file };
        format!("{file} can be read only once")
    });
    let resumed = if once.is_none() { checkpoints.resume(scenario, given, observer)? } else { None };
    let mut simulation = match resumed {
        Some(simulation) => simulation,
        None => begin(scenario, given, observer)?,
    };
    while simulation.step(usize::MAX, observer)? {
        if observer.wants_checkpoint() {
            match &once {
                None => checkpoints.write(scenario, &simulation),
                Some(problem) => checkpoints.unwritten = Some(problem.clone()),
            }
        }
    }
    simulation.finish(observer)
}
