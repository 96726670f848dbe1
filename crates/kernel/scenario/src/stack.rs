//! The stack of levels that a scenario describes.

use crate::read::ScenarioError;
use crate::scenario::Scenario;
use coflash_base::Seed;
use coflash_ftl::{Ftl, Pools};
use coflash_hybrid::{Hybrid, HybridConfig, HybridParts};
use coflash_level::{BufferedDiskStack, BufferedStack, DiskStack, FlashStack, Levels, StackConfig};
use coflash_media::disk::Disks;
use coflash_media::{CacheTimings, ProgramDistribution, Timeline, When};

/// The levels of a scenario.
#[allow(clippy::large_enum_variant, reason = "a run has a single stack")]
pub enum Stack {
    /// Flash, and the levels above it.
    Flash(FlashStack),
    /// The same below the host's write buffer.
    BufferedFlash(BufferedStack),
    /// A flash cache in front of disks, and the levels above it.
    Hybrid(DiskStack<Hybrid<When>>),
    /// The same below the host's write buffer.
    BufferedHybrid(BufferedDiskStack<Hybrid<When>>),
}

/// Evaluate an expression for the stack's variant. The variants with disks may have an expression of their own.
#[macro_export]
macro_rules! for_stack {
    ($stack:expr, $name:pat => $call:expr) => {
        $crate::for_stack!($stack, flash $name => $call, hybrid $name => $call)
    };
    ($stack:expr, flash $flash:pat => $on_flash:expr, hybrid $hybrid:pat => $on_hybrid:expr) => {
        match $stack {
            $crate::Stack::Flash(stack) => $crate::for_flash_stack!(stack, $flash => $on_flash),
            $crate::Stack::BufferedFlash(stack) => $crate::for_flash_stack!(stack, $flash => $on_flash),
            $crate::Stack::Hybrid(stack) => $crate::for_flash_stack!(stack, $hybrid => $on_hybrid),
            $crate::Stack::BufferedHybrid(stack) => $crate::for_flash_stack!(stack, $hybrid => $on_hybrid),
        }
    };
}

impl Stack {
    /// Put levels over flash, erased or preconditioned.
    #[must_use]
    pub fn over(levels: Levels<'_>, flash: Ftl) -> Self {
        match levels.buffer() {
            Some(buffer) => Self::BufferedFlash(levels.buffered_over(flash, &buffer)),
            None => Self::Flash(levels.over(flash)),
        }
    }

    /// The flash cache in front of disks, if the stack has one.
    #[must_use]
    pub fn hybrid(&self) -> Option<&Hybrid<When>> {
        match self {
            Self::Hybrid(stack) => Some(stack.lowest()),
            Self::BufferedHybrid(stack) => Some(stack.lowest()),
            Self::Flash(_) | Self::BufferedFlash(_) => None,
        }
    }

    /// See [`hybrid`](Self::hybrid).
    pub fn hybrid_mut(&mut self) -> Option<&mut Hybrid<When>> {
        match self {
            Self::Hybrid(stack) => Some(stack.lowest_mut()),
            Self::BufferedHybrid(stack) => Some(stack.lowest_mut()),
            Self::Flash(_) | Self::BufferedFlash(_) => None,
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
        Ok(self.device().erased_flash()?)
    }

    /// Check the levels above flash of this many logical pages.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn levels(&self, logical_pages: u32) -> Result<Levels<'_>, ScenarioError> {
        Ok(self.stack_config().levels(logical_pages)?)
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
        let parts = HybridParts {
            geometry: &self.flash,
            timing: &self.timing,
            ftl: &self.ftl,
            gc: &self.gc,
            hybrid: config,
            cooperation: self.cooperation.requirements(),
            seed: Seed(self.seed),
        };
        let (hybrid, levels) = (Hybrid::new(&parts, disks)?, self.levels(disks.pages() as u32)?);
        Ok(match levels.buffer() {
            Some(buffer) => Stack::BufferedHybrid(levels.buffered_over_disks(hybrid, &buffer)),
            None => Stack::Hybrid(levels.over_disks(hybrid)),
        })
    }

    /// Create the disks of a flash cache, idle.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn disks(&self, config: &HybridConfig) -> Result<Disks, ScenarioError> {
        let disks = Disks::new(&config.disks, self.page_bytes());
        Ok(disks.map_err(|misfit| misfit.within("hybrid.disks"))?)
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
