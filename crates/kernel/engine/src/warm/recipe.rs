//! The keys of a scenario that determine its warm device.

use crate::differences::differences;
use coflash_base::{Misfit, Seed};
use coflash_ftl::{Ftl, FtlConfig, GcConfig, PlacementConfig, Requirements, VictimConfig};
use coflash_media::Geometry;
use coflash_scenario::{PreconditionConfig, Scenario, WorkloadConfig, digest, leaves};
use serde::{Deserialize, Serialize};

/// Everything that determines a warm device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipe {
    seed: u64,
    pub(super) flash: Geometry,
    ftl: FtlConfig,
    gc: GcConfig,
    /// The only influence of the cooperation: preconditioning bypasses the cache.
    cooperation: Requirements,
    precondition: PreconditionConfig,
    /// The workload, if it writes the device.
    workload: Option<WorkloadConfig>,
}

impl Recipe {
    pub(super) fn for_scenario(scenario: &Scenario) -> Self {
        // Exhaustive, so that a new key must be added to one side or the other.
        let Scenario {
            name: _,
            description: _,
            limits: _,
            measured: _,
            seed,
            flash,
            timing: _,
            endurance: _,
            energy: _,
            ftl,
            gc,
            cache: _,
            host_buffer: _,
            cooperation,
            // A flash cache begins empty.
            hybrid: _,
            link: _,
            host: _,
            precondition,
            workload,
            replay: _,
            restart: _,
            controller: _,
        } = scenario;
        Self {
            seed: *seed,
            flash: flash.clone(),
            ftl: ftl.clone(),
            gc: gc.clone(),
            // Nothing is programmed fast before the workload.
            cooperation: Requirements { fast_programs: false, ..cooperation.requirements() },
            // Caches are warmed up over the warm device.
            precondition: PreconditionConfig { through_caches: false, ..precondition.clone() },
            workload: precondition.until_steady.then(|| workload.clone()),
        }
    }

    /// The code of an external policy; a file cannot store its state.
    pub(super) fn external(&self) -> Option<&str> {
        match (&self.gc.victim, &self.ftl.placement) {
            (VictimConfig::External(external), _) => Some(&external.code),
            (_, PlacementConfig::External(external)) => Some(&external.code),
            _ => None,
        }
    }

    /// The files whose requests wrote the device.
    pub(super) fn files(&self) -> &[String] {
        self.workload.as_ref().map_or(&[], WorkloadConfig::files)
    }

    /// The digest of the recipe.
    pub(super) fn key(&self) -> String {
        digest(&leaves(self))
    }

    /// Create the erased device into which the warm state is restored.
    pub(super) fn erased(&self) -> Result<Ftl, Misfit> {
        self.flash.check()?;
        Ftl::new(&self.flash, &self.ftl, &self.gc, self.cooperation, Seed(self.seed))
    }

    /// The differing keys and their values, as text.
    pub(super) fn differences(&self, wanted: &Self) -> String {
        let told = |key: &str| {
            key.starts_with("cooperation.")
                .then_some("cooperation is a scheme with other weights of pages or write streams in it")
        };
        differences(&leaves(self), &leaves(wanted), told)
    }
}

/// The digest of everything that determines the warm device of a scenario: scenarios with the same key can share a
/// device.
///
/// It covers flash, FTL, garbage collection, preconditioning, seed, and the requirements of the cooperation on the FTL
/// (weights of pages, a separate write stream); the workload, if its own writes precondition the device; not timing, cache, link or
/// replay.
#[must_use]
pub fn warm_key(scenario: &Scenario) -> String {
    Recipe::for_scenario(scenario).key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_scenario::BUILT_IN;

    fn key(assignments: &[(&str, &str)]) -> String {
        warm_key(&Scenario::default().set(assignments).unwrap())
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
            ("ftl.wear_levelling", "{ name = 'static', gap = 7 }"),
            ("gc.mode", "background"),
            ("gc.mode", "{ name = 'preemptive', steps_max = 3 }"),
            ("gc.victim", "fifo"),
            ("precondition.random_passes", "1"),
            ("precondition.until_steady", "true"),
        ];
        for assignment in other {
            assert_ne!(key(&[assignment]), key(&[]), "{assignment:?}");
        }
        let cdm = |weight| key(&[("cooperation", "cdm"), ("cooperation.removable_weight", weight)]);
        assert_eq!(cdm("1.0"), key(&[]));
        assert_ne!(cdm("0.5"), key(&[]));
        assert_eq!(cdm("0.5"), cdm("adaptive"));
        let steady =
            |requests| key(&[("precondition.until_steady", "true"), ("workload.requests_max", requests)]);
        assert_ne!(steady("1"), steady("2"), "the workload writes the device");
    }

    #[test]
    fn every_difference_is_named() {
        let recipe = |assignments: &[(&str, &str)]| {
            Recipe::for_scenario(&Scenario::default().set(assignments).unwrap())
        };
        let warm = recipe(&[("gc.victim", "d-choices"), ("precondition.until_free", "7%")]);
        assert_eq!(
            warm.differences(&recipe(&[("seed", "2"), ("gc.victim", "d-choices"), ("gc.victim.d", "3")])),
            "gc.victim.d is 10 in it and 3 in the scenario; precondition.until_free is \"7%\" in it and not given in the \
             scenario; seed is 0 in it and 2 in the scenario"
        );
    }

    #[test]
    fn a_recipe_reads_back() {
        for built_in in BUILT_IN {
            let recipe = Recipe::for_scenario(&Scenario::built_in(built_in.name).unwrap());
            assert_eq!(coflash_base::read::read::<Recipe>(&recipe).unwrap(), recipe);
        }
    }
}
