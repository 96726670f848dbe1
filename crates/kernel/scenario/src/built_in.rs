//! Built-in scenarios, and the measured drives, whose files `coflash truth` writes.

use crate::read::ScenarioError;
use crate::scenario::Scenario;
use coflash_base::suggest;
use std::io::ErrorKind;
use std::path::Path;

/// A built-in scenario: a name and its file.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name, as an argument of `coflash run`.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* ; in $folder:literal: $($drive:literal),* $(,)?) => {
        /// Every built-in scenario.
        pub const BUILT_IN: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        },)* $(BuiltIn {
            name: $drive,
            text: include_str!(concat!("../../../../scenarios/", $folder, "/", $drive, ".toml")),
        }),*];
    };
}

built_in!(
    "demo",
    "ssd",
    "random-5g",
    "msr-ssd",
    "cdm-64g",
    "shadowgc-1t",
    "shadowgc-64g",
    "opfcl-config1",
    "opfcl-config2",
    "tlc-enterprise",
    "qlc",
    "qlc-122t",
    "z-nand",
    "nvmevirt-970pro",
    "nvmevirt-zn540";
    in "drives": "7450-max", "cm7-r", "p5520", "pe8110", "pm9a3", "pm9d3a-drive-a", "wd",
);

impl Scenario {
    /// Read a built-in scenario.
    ///
    /// # Errors
    /// An unknown name, with the nearest match.
    pub fn built_in(name: &str) -> Result<Self, ScenarioError> {
        let found = BUILT_IN.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
            let names: Vec<_> = BUILT_IN.iter().map(|scenario| scenario.name).collect();
            let hint = suggest::hint(name, &names);
            let of_file = || Path::new(name).is_file().then(|| of_trace(name));
            let step = meant(name).or_else(of_file).unwrap_or_default();
            ScenarioError::whole(format!(
                "no scenario \"{name}\"{hint}; the name of a file ends in .toml{step}"
            ))
        })?;
        Self::from_toml(found.text)
    }

    /// Read a scenario: a built-in one by its name, or a file.
    ///
    /// # Errors
    /// An unknown name, a missing file, or an invalid scenario.
    pub fn load(name_or_path: &str) -> Result<Self, ScenarioError> {
        if !is_path(name_or_path) {
            return Self::built_in(name_or_path);
        }
        let text = std::fs::read_to_string(name_or_path).map_err(|error| {
            let problem = suggest::unread(Path::new(name_or_path), &error);
            let step = match error.kind() {
                ErrorKind::NotFound => "; `coflash init` writes one".to_owned(),
                ErrorKind::IsADirectory => meant(name_or_path).unwrap_or_default(),
                ErrorKind::InvalidData => of_trace(name_or_path),
                _ => String::new(),
            };
            ScenarioError::whole(format!("{name_or_path}: {problem}{step}"))
        })?;
        Self::from_toml(&text).map_err(|error| {
            let step = if name_or_path.ends_with(".toml") { String::new() } else { of_trace(name_or_path) };
            ScenarioError::whole(format!("{name_or_path}: {error}{step}"))
        })
    }

    /// Whether the text names a scenario: a built-in one, or a file.
    #[must_use]
    pub fn is_named(name_or_path: &str) -> bool {
        is_path(name_or_path) || BUILT_IN.iter().any(|scenario| scenario.name == name_or_path)
    }
}

/// The file that may be meant by a path without its ending, or by a folder: the one beside it, or the one in it.
fn meant(path: &str) -> Option<String> {
    let files = [Path::new(path).with_extension("toml"), Path::new(path).join("scenario.toml")];
    files.iter().find(|file| file.is_file()).map(|file| format!("; did you mean {}?", file.display()))
}

/// What is meant if a file is no scenario.
fn of_trace(file: &str) -> String {
    format!("; `coflash run demo --trace {file}` replays a file that is a trace")
}

fn is_path(name_or_path: &str) -> bool {
    name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\'])
}
