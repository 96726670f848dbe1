//! The part of a scenario that determines its warm device: the one place that says which keys those are.

use crate::scenario::{PreconditionConfig, Scenario, ScenarioError};
use coflash_base::Seed;
use coflash_flash::Geometry;
use coflash_ftl::{Demands, Ftl, FtlConfig, GcConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Everything that determines a warm device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipe {
    seed: u64,
    flash: Geometry,
    ftl: FtlConfig,
    gc: GcConfig,
    /// All that warming up, which bypasses the cache, knows of the cooperation.
    cooperation: Demands,
    precondition: PreconditionConfig,
}

impl Recipe {
    pub(super) fn of(scenario: &Scenario) -> Self {
        // All of them, so that a new key must be put on one side or the other.
        let Scenario {
            name: _,
            description: _,
            seed,
            flash,
            timing: _,
            ftl,
            gc,
            cache: _,
            host_buffer: _,
            cooperation,
            // A flash cache is empty at first.
            hybrid: _,
            link: _,
            host: _,
            precondition,
            workload: _,
            replay: _,
        } = scenario;
        Self {
            seed: *seed,
            flash: flash.clone(),
            ftl: ftl.clone(),
            gc: gc.clone(),
            cooperation: cooperation.demands(),
            precondition: precondition.clone(),
        }
    }

    /// A digest of it.
    pub(super) fn key(&self) -> String {
        let canonical = serde_json::to_vec(self).expect("a recipe is plain data");
        Sha256::digest(canonical)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// An erased device to restore the warm one into.
    pub(super) fn erased(&self) -> Result<Ftl, ScenarioError> {
        let refused = |(key, problem): (&str, String)| ScenarioError::new(key, problem);
        self.flash.check().map_err(refused)?;
        let seed = Seed(self.seed);
        Ftl::new(&self.flash, &self.ftl, &self.gc, self.cooperation, seed).map_err(refused)
    }

    /// Every key whose value differs, in words.
    pub(super) fn differences(&self, wanted: &Self) -> String {
        let value = |recipe: &Self| serde_json::to_value(recipe).expect("a recipe is plain data");
        let mut found = Vec::new();
        compare("", Some(&value(self)), Some(&value(wanted)), &mut found);
        if found.len() > DIFFERENCES_SHOWN {
            let more = found.len() - DIFFERENCES_SHOWN;
            found.truncate(DIFFERENCES_SHOWN);
            found.push(format!("and {more} more differences"));
        }
        found.join("; ")
    }
}

/// As many as a line has room for.
const DIFFERENCES_SHOWN: usize = 4;

/// Lists the leaves that differ.
fn compare(key: &str, warm: Option<&Value>, wanted: Option<&Value>, found: &mut Vec<String>) {
    if let (Some(Value::Object(warm)), Some(Value::Object(wanted))) = (warm, wanted) {
        let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
        for name in warm.keys().chain(wanted.keys().filter(|name| !warm.contains_key(*name))) {
            compare(&inner(name), warm.get(name), wanted.get(name), found);
        }
    } else if warm != wanted {
        let show = |value: Option<&Value>| value.map_or_else(|| "not given".to_owned(), Value::to_string);
        found.push(format!("{key} is {} in it and {} in the scenario", show(warm), show(wanted)));
    }
}

impl Scenario {
    /// A digest of everything that determines the warm device: scenarios with the same key can start from the same one.
    /// It is the flash, the FTL, garbage collection, the preconditioning, the seed, and what the cooperation asks of
    /// the FTL (pages that count in part or more than others, a stream of its own); not the timing, the cache, the link, the workload or its replay.
    #[must_use]
    pub fn warm_key(&self) -> String {
        Recipe::of(self).key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PRESETS;

    fn key(assignments: &[(&str, &str)]) -> String {
        Scenario::default().set(assignments).unwrap().warm_key()
    }

    #[test]
    fn the_key_is_of_what_determines_the_warm_device() {
        let same = [
            ("name", "other"),
            ("description", "other"),
            ("timing.page_read", "1us"),
            ("cache.size", "1MiB"),
            ("cooperation", "cdm"),
            ("host_buffer.size", "1MiB"),
            ("link.lanes", "2"),
            ("cache.placement", "host"),
            ("host.notices", "each"),
            ("workload.requests_max", "1"),
            ("replay.mode", "closed"),
        ];
        for assignment in same {
            assert_eq!(key(&[assignment]), key(&[]), "{assignment:?}");
        }
        let other = [
            ("seed", "2"),
            ("flash.channels", "4"),
            ("ftl.wear_levelling", "dynamic"),
            ("ftl.wear_levelling", "static"),
            ("ftl.wear_gap", "7"),
            ("gc.mode", "background"),
            ("gc.steps_max", "3"),
            ("gc.victim", "fifo"),
            ("precondition.random_passes", "1"),
        ];
        for assignment in other {
            assert_ne!(key(&[assignment]), key(&[]), "{assignment:?}");
        }
        let cdm = |weight| key(&[("cooperation", "cdm"), ("cooperation.removable_weight", weight)]);
        assert_eq!(cdm("1.0"), key(&[]));
        assert_ne!(cdm("0.5"), key(&[]));
        assert_eq!(cdm("0.5"), cdm("adaptive"));
    }

    #[test]
    fn every_difference_is_named() {
        let recipe =
            |assignments: &[(&str, &str)]| Recipe::of(&Scenario::default().set(assignments).unwrap());
        let warm = recipe(&[("gc.victim", "d-choices"), ("precondition.until_free", "7%")]);
        assert_eq!(
            warm.differences(&recipe(&[("seed", "2"), ("gc.victim", "d-choices"), ("gc.victim.d", "3")])),
            "gc.victim.d is 10 in it and 3 in the scenario; precondition.until_free is \"7%\" in it and not given in the \
             scenario; seed is 0 in it and 2 in the scenario"
        );
    }

    #[test]
    fn a_recipe_reads_back() {
        for preset in PRESETS {
            let recipe = Recipe::of(&Scenario::preset(preset.name).unwrap());
            let written = serde_json::to_string(&recipe).unwrap();
            assert_eq!(serde_json::from_str::<Recipe>(&written).unwrap(), recipe);
        }
    }
}
