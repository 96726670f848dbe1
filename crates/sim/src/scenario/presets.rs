//! The scenarios that ship.

use super::{Scenario, ScenarioError};
use coflash_base::suggest;

/// A scenario that ships: a name and its file.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What `coflash run` takes.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        /// Every scenario that ships.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        }),*];
    };
}

presets!(
    "demo",
    "random-5g",
    "msr-ssd",
    "cdm-64g",
    "shadowgc-1t",
    "shadowgc-64g",
    "opfcl-config1",
    "opfcl-config2",
);

impl Scenario {
    /// A scenario that ships, by name.
    ///
    /// # Errors
    /// An unknown name, with the nearest match.
    pub fn preset(name: &str) -> Result<Self, ScenarioError> {
        let preset = PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            let hint = suggest::hint(name, &names);
            ScenarioError::whole(format!("no scenario \"{name}\"{hint}; a file's name ends in .toml"))
        })?;
        Self::from_toml(preset.text)
    }

    /// The scenario that a user names: one that ships, or a file.
    ///
    /// # Errors
    /// No such scenario or file, or what is wrong with it.
    pub fn load(name_or_path: &str) -> Result<Self, ScenarioError> {
        if !is_path(name_or_path) {
            return Self::preset(name_or_path);
        }
        let text = std::fs::read_to_string(name_or_path)
            .map_err(|error| ScenarioError::whole(format!("{name_or_path}: {error}")))?;
        Self::from_toml(&text).map_err(|error| ScenarioError::whole(format!("{name_or_path}: {error}")))
    }
}

impl Scenario {
    /// Whether a user who says this means a scenario: one that ships, or a file.
    #[must_use]
    pub fn is_named(name_or_path: &str) -> bool {
        is_path(name_or_path) || PRESETS.iter().any(|preset| preset.name == name_or_path)
    }
}

fn is_path(name_or_path: &str) -> bool {
    name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_sound_and_carries_its_name() {
        for preset in PRESETS {
            let scenario =
                Scenario::preset(preset.name).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            assert_eq!(scenario.name, preset.name);
            assert!(!scenario.description.is_empty());
        }
    }
}
