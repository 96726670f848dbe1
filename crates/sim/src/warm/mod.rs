//! Warm devices: a device is brought into its state once, and many runs start from it.
//!
//! A run that starts from a warm device gives the same result, byte for byte, as one that warms its own.

mod file;
mod recipe;

use crate::build::build_ftl;
use crate::error::RunError;
use crate::observer::Observer;
use crate::precondition::precondition;
use crate::scenario::Scenario;
use coflash_base::Seed;
use coflash_ftl::Ftl;
use recipe::Recipe;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub use file::Unusable;

/// A device that has been warmed up. A clone shares it: a run copies what it changes.
#[derive(Clone)]
pub struct WarmDevice(Arc<Warm>);

struct Warm {
    recipe: Recipe,
    ftl: Ftl,
}

/// Why a warm device cannot be kept, or used.
#[derive(Debug, thiserror::Error)]
pub enum WarmError {
    /// The file cannot be read or written.
    #[error("{file}: {problem}")]
    Io {
        /// As the user named it.
        file: String,
        /// What the system says.
        problem: io::Error,
    },
    /// The file holds no device that this version can use.
    #[error("{file}: {problem}")]
    Unusable {
        /// As the user named it.
        file: String,
        /// What is wrong with it.
        problem: Unusable,
    },
    /// The device was warmed up for another scenario.
    #[error("the warm device does not fit the scenario: {0}; warm it anew")]
    Differs(String),
}

/// Brings the device of a scenario into the state from which it is measured.
///
/// # Errors
/// What is wrong with the scenario; or the observer stopped it.
pub fn warm(scenario: &Scenario, observer: &mut dyn Observer) -> Result<WarmDevice, RunError> {
    scenario.check()?;
    let mut ftl = build_ftl(scenario)?;
    precondition(&mut ftl, &scenario.precondition, Seed(scenario.seed), observer)?;
    Ok(WarmDevice(Arc::new(Warm { recipe: Recipe::of(scenario), ftl })))
}

impl WarmDevice {
    /// The [`Scenario::warm_key`] of the scenarios that it fits.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.recipe.key()
    }

    /// The bytes of state on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.0.ftl.heap_bytes()
    }

    /// Writes it to a file: whole, or not at all.
    ///
    /// # Errors
    /// What the system reports.
    pub fn save(&self, path: &Path) -> Result<(), WarmError> {
        file::write_whole(path, |out| file::write(out, &self.0.recipe, &self.0.ftl))
            .map_err(|problem| WarmError::Io { file: path.display().to_string(), problem })
    }

    /// Reads one that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// What the system reports; that it is no warm device, is damaged, or was written by another version.
    pub fn load(path: &Path) -> Result<Self, WarmError> {
        let file = || path.display().to_string();
        let bytes = std::fs::read(path).map_err(|problem| WarmError::Io { file: file(), problem })?;
        Self::from_bytes(&bytes).map_err(|problem| WarmError::Unusable { file: file(), problem })
    }

    /// As [`save`](Self::save) writes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        file::write(&mut bytes, &self.0.recipe, &self.0.ftl).expect("memory takes everything");
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) gave.
    ///
    /// # Errors
    /// They are no warm device, are damaged, or are of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unusable> {
        file::read(bytes).map(|(recipe, ftl)| Self(Arc::new(Warm { recipe, ftl })))
    }

    /// A device for one run of `scenario`.
    ///
    /// # Errors
    /// The scenario's device would be warmed up otherwise; the message names every key that differs.
    pub(crate) fn device(&self, scenario: &Scenario) -> Result<Ftl, WarmError> {
        let wanted = Recipe::of(scenario);
        if wanted == self.0.recipe {
            Ok(self.0.ftl.clone())
        } else {
            Err(WarmError::Differs(self.0.recipe.differences(&wanted)))
        }
    }
}

impl std::fmt::Debug for WarmDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WarmDevice({})", self.key())
    }
}
