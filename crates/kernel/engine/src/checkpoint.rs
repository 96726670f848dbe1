//! Checkpoints: what a long run has become, in a file from which it goes on after an interruption.
//!
//! A run that goes on gives byte for byte the result of one that was never interrupted: the whole state of its levels, its media
//! and its measures is kept, and the requests before the checkpoint are read once more without being served.

use crate::error::{RunError, StateFileError};
use crate::observer::Observer;
use crate::precondition::Preconditioned;
use crate::result::RunResult;
use crate::run::{Given, begin, begin_on};
use crate::simulation::Simulation;
use crate::state_file::{Kind, write_whole};
use coflash_base::suggest::unread;
use coflash_scenario::{Scenario, digest, leaves};
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
    /// The file: it is read before the run, if it exists, and written anew at each checkpoint. What keeps the result removes it.
    pub file: PathBuf,
    /// The requests that were served already.
    pub resumed: Option<u64>,
    /// The reason why the file was not used, and the run began anew.
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
/// A run of jobs, one with code from outside and one of slices side by side write none.
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
    let mut simulation = match checkpoints.resume(scenario, given, observer)? {
        Some(simulation) => simulation,
        None => begin(scenario, given, observer)?,
    };
    while simulation.step(usize::MAX, observer)? {
        if observer.wants_checkpoint() {
            checkpoints.write(scenario, &simulation);
        }
    }
    simulation.finish(observer)
}
