//! Warm devices: a device is preconditioned once, and many runs start from it.
//!
//! A run from a warm device gives byte for byte the same result as a run that preconditions its own device.

mod file;
mod recipe;

use crate::error::{RunError, StateFileError, WarmError};
use crate::input::Inputs;
use crate::memory;
use crate::observer::Observer;
use crate::precondition::{Preconditioned, precondition};
use crate::state_file::write_whole;
use crate::traces::Traces;
use coflash_base::Save;
use coflash_base::suggest::unread;
use coflash_scenario::Scenario;
use recipe::Recipe;
use std::path::Path;
use std::sync::Arc;

pub use recipe::warm_key;

/// A preconditioned device. Clones share its state: a run copies the state before changing it.
#[derive(Clone)]
pub struct WarmDevice(Arc<Warm>);

struct Warm {
    recipe: Recipe,
    device: Preconditioned,
    /// The digests of the files whose requests wrote it.
    written_by: Vec<String>,
}

/// Precondition the device of a scenario.
///
/// # Errors
/// An invalid scenario, or a cancellation.
pub fn warm(
    scenario: &Scenario,
    traces: Traces,
    observer: &mut dyn Observer,
) -> Result<WarmDevice, RunError> {
    scenario.check()?;
    memory::check(scenario)?;
    let recipe = Recipe::for_scenario(scenario);
    let mut inputs = Inputs::new(recipe.files());
    inputs.digest_files(observer)?;
    let written_by = inputs.digests();
    let device = precondition(scenario.erased_flash()?, scenario, traces, observer)?;
    Ok(WarmDevice(Arc::new(Warm { recipe, device, written_by })))
}

impl WarmDevice {
    /// The [`warm_key`] of the matching scenarios.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.recipe.key()
    }

    /// Heap memory of the state.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.0.device.ftl.heap_bytes()
    }

    /// Write the device to a file, atomically.
    ///
    /// # Errors
    /// An error of the file system, or an external policy: a file cannot store its state.
    pub fn save(&self, path: &Path) -> Result<(), WarmError> {
        if let Some(code) = self.0.recipe.external() {
            let file = path.display().to_string();
            return Err(WarmError::External { file, policy: code.to_owned() });
        }
        write_whole(path, |out| file::write(out, &self.0))
            .map_err(|problem| WarmError::Io { file: path.display().to_string(), problem })
    }

    /// Read a file written by [`save`](Self::save).
    ///
    /// # Errors
    /// An error of the file system; a file that is no warm device, is damaged, or was written by another version.
    pub fn load(path: &Path) -> Result<Self, WarmError> {
        let unusable = |problem| WarmError::Unusable { file: path.display().to_string(), problem };
        let bytes =
            std::fs::read(path).map_err(|error| unusable(StateFileError::Unread(unread(path, &error))))?;
        Self::from_bytes(&bytes).map_err(unusable)
    }

    /// Read the content of a file written by [`save`](Self::save).
    ///
    /// # Errors
    /// Bytes that are no warm device, are damaged, or were written by another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateFileError> {
        file::read(bytes).map(|warm| Self(Arc::new(warm)))
    }

    /// Create a device for a run of `scenario`.
    ///
    /// # Errors
    /// A scenario with another recipe; the message names the differing keys.
    pub(crate) fn device(&self, scenario: &Scenario) -> Result<Preconditioned, WarmError> {
        self.check(scenario).map(|()| self.0.device.clone())
    }

    /// Check that the device is one of `scenario`.
    ///
    /// # Errors
    /// See [`device`](Self::device).
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), WarmError> {
        let wanted = Recipe::for_scenario(scenario);
        if wanted == self.0.recipe {
            Ok(())
        } else {
            Err(WarmError::Differs(self.0.recipe.differences(&wanted)))
        }
    }

    /// Check that the files whose requests wrote the device are those of a run.
    ///
    /// # Errors
    /// A file with another content.
    pub(crate) fn check_inputs(&self, of_run: &[String]) -> Result<(), WarmError> {
        let written_by = &self.0.written_by;
        if written_by.is_empty() || written_by == of_run {
            return Ok(());
        }
        let files = self.0.recipe.files().join(", ");
        Err(WarmError::Differs(format!("its writes came from {files} with another content")))
    }
}

impl std::fmt::Debug for WarmDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WarmDevice({})", self.key())
    }
}
