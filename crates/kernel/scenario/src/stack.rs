//! The stack of levels that a scenario describes.

use crate::read::ScenarioError;
use crate::scenario::Scenario;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Save, Seed, Time};
use coflash_ftl::{DecisionRecorder, Ftl, GcHook, Io, PageRead, PageWrite, Pools};
use coflash_hybrid::{Hybrid, HybridConfig, TierMedia};
use coflash_level::{Command, Level, Levels, LostPages, OnLevel, StackConfig, Tower};
use coflash_media::disk::Disks;
use coflash_media::{CacheTimings, DieId, ProgramDistribution, Timeline, When};

/// The levels of a scenario.
#[derive(Save)]
#[save(in_place)]
#[allow(clippy::large_enum_variant, reason = "a run has a single stack")]
pub enum Stack {
    /// Over flash.
    Flash(Tower<Ftl>),
    /// Over a flash cache in front of disks.
    Disks(Tower<Hybrid<When>>),
}

/// Evaluate an expression for the tower of a [`Stack`].
macro_rules! stack_dispatch {
    ($stack:expr, $tower:pat => $call:expr) => {
        match $stack {
            Stack::Flash($tower) => $call,
            Stack::Disks($tower) => $call,
        }
    };
}

impl<M: TierMedia<When = When>> Level<M> for Stack {
    coflash_level::forward_level!(stack_dispatch);
}

impl Stack {
    /// Do work on the uppermost level that is there.
    pub fn work<M: TierMedia<When = When>, W: OnLevel<M>>(&mut self, work: W) -> W::Output {
        stack_dispatch!(self, tower => tower.work(work))
    }

    /// The flash cache in front of disks, if the stack has one.
    #[must_use]
    pub fn hybrid(&self) -> Option<&Hybrid<When>> {
        match self {
            Self::Disks(tower) => Some(tower.lowest()),
            Self::Flash(_) => None,
        }
    }

    /// Report each decision of GC to a recorder from now on.
    pub fn record_in(&mut self, recorder: DecisionRecorder) {
        match self {
            Self::Flash(tower) => tower.record_in(recorder),
            Self::Disks(tower) => tower.lowest_mut().flash_mut().record_in(recorder),
        }
    }
}

impl Scenario {
    /// Create the erased flash of the scenario.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn erased_flash(&self) -> Result<Ftl, ScenarioError> {
        self.flash.check_size().map_err(|misfit| misfit.within("flash"))?;
        self.device().erased_flash()
    }

    /// Check the levels above flash of this many logical pages.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn levels(&self, logical_pages: u32) -> Result<Levels<'_>, ScenarioError> {
        self.stack_config().levels(logical_pages)
    }

    /// The part of the scenario about the levels above flash, or above disks.
    #[must_use]
    pub fn stack_config(&self) -> StackConfig<'_> {
        StackConfig {
            device: self.device(),
            pages_per_unit: self.pages_per_unit(),
            controller: &self.controller,
            link: self.link.cost(),
            host: &self.host,
            buffer: &self.host_buffer,
        }
    }

    /// Create the levels of a flash cache in front of disks.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn hybrid_stack(&self, config: &HybridConfig, disks: &Disks) -> Result<Stack, ScenarioError> {
        let hybrid = Hybrid::new(&self.device(), &self.timing, config, disks)?;
        Ok(Stack::Disks(self.levels(disks.pages() as u32)?.over_cache(hybrid)))
    }

    /// Create the disks of a flash cache, idle.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn disks(&self, config: &HybridConfig) -> Result<Disks, ScenarioError> {
        let disks = Disks::new(&config.disks, self.page_bytes());
        disks.map_err(|misfit| misfit.within("hybrid.disks"))
    }

    /// Create the simulated media of the scenario, without disks.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        let cache = self.cache.timing();
        let caches = CacheTimings { host: cache, device: cache, host_buffer: self.host_buffer.timing() };
        let timeline = Timeline::new(&self.flash, &self.timing, caches);
        let timeline = match self.ftl.pools {
            Pools::Device => {
                let copies = self.gc.copies(self.page_bytes());
                timeline.with_superblocks(self.ftl.superblocks_per_unit(&self.flash), copies)
            }
            Pools::Plane | Pools::Die => timeline,
        };
        let timeline = match self.timing.program_distribution {
            ProgramDistribution::Fixed => timeline,
            ProgramDistribution::Exponential => timeline.with_exponential_programs(Seed(self.seed)),
        };
        match self.controller.buffer(self.page_bytes()) {
            Some((pages, page_drain)) => timeline.with_write_buffer(pages, page_drain),
            None => timeline,
        }
    }

    /// The pages of an indirection unit.
    #[must_use]
    pub fn pages_per_unit(&self) -> u32 {
        let unit = self.ftl.indirection_unit.map_or(1, |unit| unit.count / self.page_bytes());
        u32::try_from(unit).unwrap_or(u32::MAX)
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.flash.page_size.count
    }
}
