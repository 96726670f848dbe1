//! Contradictions in a scenario that neither its types nor the construction of its stack exclude.

use crate::precondition::{Fill, PreconditionConfig, RandomPasses};
use crate::read::ScenarioError;
use crate::replay::ReplayMode;
use crate::scenario::Scenario;
use crate::workload::Remap;
use coflash_base::Misfit;
use coflash_cache::EvictionConfig;
use coflash_hybrid::{HybridConfig, WritePolicy};
use coflash_level::{ControllerConfig, CooperationConfig, Placement};
use coflash_workload::no_handle;

impl Scenario {
    /// Check the scenario for contradictions, and its size.
    ///
    /// # Errors
    /// The first invalid value, with its key; a device that is too large to be simulated.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_parts()?;
        self.flash.check_size().map_err(|misfit| misfit.within("flash"))
    }

    /// Check all but the size, so that a larger device can be read and [`scaled`](Self::scaled).
    pub(crate) fn check_parts(&self) -> Result<(), Misfit> {
        self.flash.check_shape().map_err(|misfit| misfit.within("flash"))?;
        self.timing.check(&self.flash)?;
        self.check_controller()?;
        self.ftl.check_spare(&self.flash)?;
        self.ftl.check_reclaim_unit(&self.flash)?;
        self.gc.check_copies(self.ftl.pools, self.page_bytes())?;
        self.check_unit()?;
        self.check_cache()?;
        self.link.check()?;
        self.host.check()?;
        self.check_replay()?;
        self.check_workload()?;
        self.check_precondition()?;
        self.check_restart()?;
        self.check_external()?;
        self.hybrid.as_ref().map_or(Ok(()), |hybrid| self.check_hybrid(hybrid))
    }

    fn check_controller(&self) -> Result<(), Misfit> {
        self.controller.check(self.flash.page_size.count)?;
        if self.controller == ControllerConfig::default() || self.hybrid.is_none() {
            return Ok(());
        }
        let problem =
            "a flash cache before disks has no controller of its own; with controller none is allowed";
        Err(Misfit::new("hybrid", problem))
    }

    fn check_cache(&self) -> Result<(), Misfit> {
        let size = self.cache.size;
        if size.is_zero() || self.has_cache() {
            return Ok(());
        }
        let problem = format!("{size} holds no page of {} bytes: \"0B\" is no cache", self.page_bytes());
        Err(Misfit::new("cache.size", problem))
    }

    fn check_unit(&self) -> Result<(), Misfit> {
        let (Some(unit), page) = (self.ftl.indirection_unit, self.page_bytes()) else { return Ok(()) };
        let (key, problem) = if unit.count == 0 || unit.count % page != 0 || unit.count > 1 << 24 {
            let problem = format!("{unit} was given; whole pages of {page} B up to 16MiB are allowed");
            return Err(Misfit::new("ftl.indirection_unit", problem));
        } else if unit.count == page {
            return Ok(());
        } else if self.hybrid.is_some() {
            ("hybrid", "a flash cache before disks maps pages; with ftl.indirection_unit none is allowed")
        } else if self.has_cache() && self.cache.placement == Placement::InStorage {
            (
                "cache.size",
                "a device with ftl.indirection_unit evicts whole units, and this cache pages: \"0B\" is allowed, or \
                 cache.placement \"host\"",
            )
        } else if self.workload.remap == Remap::Dense && 1024 % (unit.count / page) != 0 {
            (
                "workload.remap",
                "\"dense\" packs units of 2, 4 … 1024 pages; with this ftl.indirection_unit \"none\" is allowed",
            )
        } else {
            return Ok(());
        };
        Err(Misfit::new(key, problem))
    }

    fn check_replay(&self) -> Result<(), Misfit> {
        let (depth, scale) = (self.replay.queue_depth, self.replay.time_scale);
        if !(1..=1 << 20).contains(&depth) {
            return Err(Misfit::out_of_range("replay.queue_depth", depth, "from 1 to 1048576"));
        }
        if !(1e-9..=1e9).contains(&scale) {
            return Err(Misfit::out_of_range("replay.time_scale", scale, "from 1e-9 to 1e9"));
        }
        Ok(())
    }

    fn check_workload(&self) -> Result<(), Misfit> {
        let workload = &self.workload;
        if workload.has_jobs() {
            if self.replay.mode == Some(ReplayMode::Open) {
                return Err(Misfit::new(
                    "replay.mode",
                    "the jobs of workload.fio wait for answers: \"closed\" is allowed",
                ));
            }
            if workload.repeat.is_some() {
                return Err(Misfit::new(
                    "workload.repeat",
                    "jobs repeat by themselves: set loops in workload.fio",
                ));
            }
        }
        if let (Some(handles), Some(part)) = (self.ftl.placement.handles(), workload.generated())
            && let Some(placement) = part.highest_placement()
            && placement.get() >= handles
        {
            return Err(Misfit::new("workload", no_handle(placement, handles)));
        }
        Ok(())
    }

    fn check_precondition(&self) -> Result<(), Misfit> {
        let PreconditionConfig { fill, until_free, random_passes, until_steady, .. } = self.precondition;
        let through_caches = self.precondition.through_caches;
        if (until_steady || through_caches) && self.workload.has_jobs() {
            let problem = "the order of the requests of workload.fio depends on answers, so they cannot be written beforehand; \
                           precondition.random_passes = \"steady\" writes uniformly until write amplification is steady";
            return Err(Misfit::new("precondition.until_steady", problem));
        }
        if fill == Fill::None && random_passes != RandomPasses::default() {
            let problem = "random writes need a filled device: set precondition.fill";
            return Err(Misfit::new("precondition.random_passes", problem));
        }
        if fill == Fill::Mapped && self.flash.pages_per_block < 2 {
            return Err(Misfit::new("flash.pages_per_block", "1 is too few to map blocks"));
        }
        let Some(mark) = until_free else { return Ok(()) };
        if fill != Fill::Sequential {
            return Err(Misfit::new("precondition.until_free", "it goes with fill = \"sequential\" only"));
        }
        let pool_blocks = self.ftl.pools.blocks(&self.ftl.erase_units(&self.flash));
        if mark.blocks(pool_blocks) < self.gc.low_mark.blocks(pool_blocks) {
            let problem = format!(
                "{mark} is less than gc.low_mark ({}): GC never lets it come to that",
                self.gc.low_mark
            );
            return Err(Misfit::new("precondition.until_free", problem));
        }
        Ok(())
    }

    fn check_external(&self) -> Result<(), Misfit> {
        let is_external = matches!(self.cache.policy, EvictionConfig::External(_));
        if is_external && self.cooperation.name() == "cdm-consistent" {
            let problem = "\"external\" was given, which names pages, and cdm-consistent may hold two versions of one: the policies \
                           of coflash are allowed";
            return Err(Misfit::new("cache.policy", problem));
        }
        Ok(())
    }

    fn check_restart(&self) -> Result<(), Misfit> {
        if self.restart.at.is_empty() || self.hybrid.is_none() {
            return Ok(());
        }
        let problem =
            "requests wait for transfers of disks, which a restart would end; with hybrid none is allowed";
        Err(Misfit::new("restart.at", problem))
    }

    fn check_hybrid(&self, hybrid: &HybridConfig) -> Result<(), Misfit> {
        hybrid.check().map_err(|misfit| misfit.within("hybrid"))?;
        let refuse = |key, problem: &str| Err(Misfit::new(key, problem));
        if self.precondition.until_steady {
            let problem =
                "a flash cache is empty at first: a longer run, or workload.repeat, shows its steady state";
            return refuse("precondition.until_steady", problem);
        }
        if self.precondition != PreconditionConfig::nothing() {
            let problem = "a flash cache is empty at first: \"none\" is allowed, and nothing after it";
            return refuse("precondition.fill", problem);
        }
        if !self.has_cache() && self.cache.placement != Placement::InStorage {
            let problem = "\"host\" was given, and there is no cache to be placed (cache.size)";
            return refuse("cache.placement", problem);
        }
        if self.has_cache() && hybrid.write_policy == WritePolicy::WriteThrough {
            let problem = "\"write-through\" was given, and the cache above (cache.size) writes back: what it holds is not on the disk; \
                           \"write-back\" is allowed";
            return refuse("hybrid.write_policy", problem);
        }
        if self.ftl.placement.handles().is_some() {
            let problem = format!(
                "\"{}\" was given, and a flash cache writes pages from the disks and of the host at places of its own: no handle of the \
                 host reaches flash; \"none\" and all other policies are allowed",
                self.ftl.placement.name()
            );
            return Err(Misfit::new("ftl.placement", problem));
        }
        if let given @ ("move-in" | "expected-cost") = self.cooperation.name() {
            let problem = format!(
                "\"{given}\" was given, which takes pages from flash into the cache; a flash cache does not hand over the pages that \
                 it has to write to the disks: \"none\", \"cdm\" and ShadowGC's schemes are allowed"
            );
            return Err(Misfit::new("cooperation", problem));
        }
        if self.cooperation.name() == "cdm-consistent" {
            let problem = "\"cdm-consistent\" was given, whose checkpoints must find room at any time; a flash cache that is full of \
                           pages on their way to the disks has none: \"none\", \"cdm\" and ShadowGC's schemes are allowed";
            return refuse("cooperation", problem);
        }
        if let CooperationConfig::Cdm(config) | CooperationConfig::CdmRemovable(config) = &self.cooperation
            && config.sole_copies_max.is_some()
        {
            let problem = "a bound was given, and a flash cache that is full of pages on their way to the disks takes no page that \
                           would have to be cleaned: with hybrid none is allowed";
            return refuse("cooperation.sole_copies_max", problem);
        }
        Ok(())
    }
}
