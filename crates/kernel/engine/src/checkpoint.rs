//! Checkpoints: what a long run has become, in a file from which it goes on after an interruption.
//!
//! A run that goes on gives byte for byte the result of one that was never interrupted: the whole state of its levels, its media
//! and its measures is kept, and the requests before the checkpoint are read once more without being served.

use crate::course::WarmUp;
use crate::differences::differences;
use crate::error::{RunError, StateFileError};
use crate::input::Inputs;
use crate::memory;
use crate::observer::{Cancelled, CheckpointEvent, Observer};
use crate::precondition::Preconditioned;
use crate::result::RunResult;
use crate::run::{RunInputs, begin, begin_on};
use crate::simulation::Simulation;
use crate::state_file::{Kind, write_whole};
use coflash_base::AtomicFile;
use coflash_base::suggest::unread;
use coflash_scenario::{Scenario, leaves};
use coflash_workload::recorded::STANDARD_INPUT;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

const KIND: Kind = Kind { name: "checkpoint", magic: b"COFLCHKP", format: 10 };

const OR_FORCE: &str = ", or give --force,";

/// The run to which a checkpoint belongs.
#[derive(PartialEq, Serialize, Deserialize)]
struct Header {
    /// The values of the keys of the scenario; of files how their names end, by which formats are recognised.
    keys: BTreeMap<String, Value>,
    /// The digests of the files that it reads.
    inputs: Vec<String>,
}

impl Header {
    fn for_run(scenario: &Scenario, simulation: &Simulation<'_>) -> Self {
        let mut keys = leaves(scenario);
        for key in ["workload.trace", "workload.like", "workload.fio"] {
            if let Some(files) = keys.get_mut(key).filter(|files| **files != Value::Array(Vec::new())) {
                *files = scenario.workload.files().iter().map(|file| ending(file)).collect();
            }
        }
        Self { keys, inputs: simulation.inputs.digests() }
    }

    /// What differs in another run, as text.
    fn differences(&self, wanted: &Self) -> String {
        let keys = differences(&self.keys, &wanted.keys, |_| None);
        let inputs = "its requests came from other files, or from files with another content";
        if keys.is_empty() { inputs.to_owned() } else { keys }
    }
}

/// The name of a file from its first point on.
fn ending(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.find('.').map_or("", |at| &name[at..])
}

/// Where a run keeps its checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file. A run reads it at its beginning, if it exists, and replaces it at each checkpoint. Who keeps the result removes it.
    pub file: PathBuf,
    /// Whether a checkpoint of another run is replaced. Otherwise it is refused.
    pub replaces_another: bool,
}

impl Checkpoints {
    /// The bytes of the file, which is a checkpoint; `None` if there is none.
    fn read(&self) -> Result<Option<Vec<u8>>, RunError> {
        match fs::metadata(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(about) if !about.is_file() => return Err(self.refused("is no regular file", "")),
            _ => {}
        }
        let bytes = fs::read(&self.file).map_err(|error| self.refused(&unread(&self.file, &error), ""))?;
        if bytes.starts_with(KIND.magic) {
            Ok(Some(bytes))
        } else {
            Err(self.refused(&StateFileError::AnotherKind { kind: KIND.name }.to_string(), ""))
        }
    }

    /// Go on from the checkpoint, if it fits.
    fn resume<'a>(
        &self,
        bytes: &[u8],
        scenario: &'a Scenario,
        given: &RunInputs<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Simulation<'a>>, RunError> {
        match given.warm {
            Some(warm) => warm.check(scenario)?,
            None => memory::check(scenario)?,
        }
        // What was restored is another device than the one that is preconditioned.
        let erased = Preconditioned { ftl: scenario.erased_flash()?, warm_up: WarmUp::default() };
        let mut simulation = begin_on(scenario, given, Some(erased), observer)?;
        let mut failed = None;
        let read = KIND.read(bytes, |there: Header, state| {
            let wanted = Header::for_run(scenario, &simulation);
            if there != wanted {
                return Err(StateFileError::AnotherRun(there.differences(&wanted)));
            }
            simulation.restore(state, observer).or_else(|error| match error {
                RunError::Checkpoint(problem) => Err(StateFileError::Damaged(problem.to_string())),
                error => {
                    failed = Some(error);
                    Ok(())
                }
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let event = match read {
            Ok(()) => CheckpointEvent::Resumed(simulation.served()),
            Err(problem @ StateFileError::AnotherRun(_)) if !self.replaces_another => {
                return Err(self.refused(&problem.to_string(), OR_FORCE));
            }
            Err(problem) => CheckpointEvent::Unusable(problem.to_string()),
        };
        let goes_on = matches!(event, CheckpointEvent::Resumed(_));
        observer.checkpoint(event)?;
        Ok(goes_on.then_some(simulation))
    }

    /// The error of a file that must not be replaced.
    fn refused(&self, problem: &str, or: &str) -> RunError {
        let problem = format!("{problem}: delete it{or} to begin with the first request");
        RunError::NoCheckpoint { file: self.file.display().to_string(), problem }
    }

    fn write(&self, scenario: &Scenario, simulation: &Simulation<'_>) -> io::Result<()> {
        self.file.parent().map_or(Ok(()), fs::create_dir_all)?;
        let header = Header::for_run(scenario, simulation);
        write_whole(&self.file, |out| KIND.write(out, header, |state| simulation.save(state)))
    }
}

/// Run a scenario from its checkpoint, if there is one, and write others when the observer says that one is due.
///
/// A run of jobs, one with code from outside and one that reads what can be read only once have none,
/// nor has the preconditioning before a run.
///
/// # Errors
/// See [`run`](crate::run); a file in the place of the checkpoint that is none, or is of another run and not to be replaced.
pub fn run_with_checkpoints(
    scenario: &Scenario,
    given: &RunInputs<'_>,
    checkpoints: &Checkpoints,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    scenario.check()?;
    let inputs = Inputs::new(scenario.workload.files());
    // Nobody could tell whether another run reads the same.
    let once = inputs.stream().map(|file| {
        let file = if file == STANDARD_INPUT { "the standard input" } else { file };
        format!("{file} can be read only once")
    });
    AtomicFile::clear(&checkpoints.file);
    let resumed = match (checkpoints.read()?, &once) {
        (Some(bytes), None) => checkpoints.resume(&bytes, scenario, given, observer)?,
        (Some(_), Some(problem)) if !checkpoints.replaces_another => {
            return Err(checkpoints.refused(&format!("is there, and {problem}"), OR_FORCE));
        }
        _ => None,
    };
    let mut simulation = match resumed {
        Some(simulation) => simulation,
        None => begin(scenario, given, observer)?,
    };
    loop {
        let more = simulation.step(usize::MAX, observer);
        if !matches!(more, Ok(true) | Err(RunError::Cancelled(Cancelled))) {
            more?;
            break;
        }
        if observer.wants_checkpoint() {
            let written = match &once {
                None => checkpoints.write(scenario, &simulation).map_err(|problem| problem.to_string()),
                Some(problem) => Err(problem.clone()),
            };
            observer
                .checkpoint(written.map_or_else(CheckpointEvent::Unwritten, |()| CheckpointEvent::Written))?;
        }
        more?;
    }
    simulation.finish(observer)
}
