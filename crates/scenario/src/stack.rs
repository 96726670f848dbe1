//! The stack of levels that a scenario describes.

use crate::read::ScenarioError;
use crate::scenario::Scenario;
use coflash_base::{Misfit, Seed};
use coflash_ftl::{Ftl, Pools};
use coflash_hybrid::{Hybrid, HybridConfig, HybridParts};
use coflash_level::{
    Announces, CacheLevel, Controller, Cooperates, Device, HostConfig, Linked, Placement, Protecting, Units,
    WriteBack,
};
use coflash_media::disk::Disks;
use coflash_media::{CacheTimings, Memory, ProgramDistribution, Timeline, When};

/// A device behind a link that carries whole requests.
pub type PlainStack = Linked<Controller<Units<Device>>>;
/// A cache in the host, above a link that carries pages.
pub type HostCacheStack = CacheLevel<Linked<Controller<Units<Ftl>>>>;
/// A flash cache in front of disks.
pub type HybridStack = Linked<Hybrid<When>>;
/// The host's write buffer above another stack.
pub type Buffered<L> = WriteBack<L, Announces>;

/// The levels of a scenario.
#[allow(clippy::large_enum_variant, reason = "a run has a single stack")]
pub enum Stack {
    /// See [`PlainStack`].
    Plain(PlainStack),
    /// The same below the host's write buffer.
    BufferedPlain(Buffered<PlainStack>),
    /// See [`HostCacheStack`].
    HostCache(HostCacheStack),
    /// The same below the host's write buffer.
    BufferedHostCache(Buffered<HostCacheStack>),
    /// See [`HybridStack`].
    Hybrid(HybridStack),
    /// The same below the host's write buffer.
    BufferedHybrid(Buffered<HybridStack>),
}

/// Evaluate an expression for the stack's variant. The variants with disks may have an expression of their own.
#[macro_export]
macro_rules! for_stack {
    ($stack:expr, $name:pat => $call:expr) => {
        $crate::for_stack!($stack, flash $name => $call, hybrid $name => $call)
    };
    ($stack:expr, flash $flash:pat => $on_flash:expr, hybrid $hybrid:pat => $on_hybrid:expr) => {
        match $stack {
            $crate::Stack::Plain($flash) => $on_flash,
            $crate::Stack::BufferedPlain($flash) => $on_flash,
            $crate::Stack::HostCache($flash) => $on_flash,
            $crate::Stack::BufferedHostCache($flash) => $on_flash,
            $crate::Stack::Hybrid($hybrid) => $on_hybrid,
            $crate::Stack::BufferedHybrid($hybrid) => $on_hybrid,
        }
    };
}

impl Stack {
    /// The flash cache in front of disks, if the stack has one.
    #[must_use]
    pub fn hybrid(&self) -> Option<&Hybrid<When>> {
        match self {
            Self::Hybrid(link) => Some(link.below()),
            Self::BufferedHybrid(buffer) => Some(buffer.below().below()),
            _ => None,
        }
    }

    /// See [`hybrid`](Self::hybrid).
    pub fn hybrid_mut(&mut self) -> Option<&mut Hybrid<When>> {
        match self {
            Self::Hybrid(link) => Some(link.below_mut()),
            Self::BufferedHybrid(buffer) => Some(buffer.below_mut().below_mut()),
            _ => None,
        }
    }

    /// Take the flash from the bottom of the stack; `None` for a flash cache, whose flash has its own state.
    #[must_use]
    pub fn into_flash(self) -> Option<Ftl> {
        match self {
            Self::Plain(link) => Some(link.into_below().into_below().into_below().into_below()),
            Self::BufferedPlain(buffer) => {
                Some(buffer.into_below().into_below().into_below().into_below().into_below())
            }
            Self::HostCache(cache) => Some(cache.into_below().into_below().into_below().into_below()),
            Self::BufferedHostCache(buffer) => {
                Some(buffer.into_below().into_below().into_below().into_below().into_below())
            }
            Self::Hybrid(_) | Self::BufferedHybrid(_) => None,
        }
    }
}

impl Scenario {
    /// Create the erased flash of the scenario.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn erased_flash(&self) -> Result<Ftl, ScenarioError> {
        Ok(self.device().erased_flash()?)
    }

    /// Create the levels above the flash of a device, erased or preconditioned.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn stack_over(&self, flash: Ftl) -> Result<Stack, ScenarioError> {
        Ok(match self.cache.placement {
            Placement::InStorage => self.plain(flash),
            Placement::Host => self.host_cache(flash),
        }?)
    }

    /// Put the link over a device in any state, under a host without a cache.
    #[must_use]
    pub fn link_over(&self, device: Device) -> PlainStack {
        Linked::new(self.controller_over(device), self.page_bytes(), &self.link.cost())
    }

    /// Put the controller over flash, or over the device's cache.
    #[must_use]
    pub fn controller_over<L>(&self, below: L) -> Controller<Units<L>> {
        Controller::new(Units::new(below, self.pages_per_unit()), &self.controller, self.page_bytes())
    }

    /// Create the levels of a flash cache in front of disks.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn hybrid_stack(&self, config: &HybridConfig, disks: &Disks) -> Result<Stack, ScenarioError> {
        Ok(self.hybrid(config, disks)?)
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

    fn plain(&self, flash: Ftl) -> Result<Stack, Misfit> {
        let device = Device::over(flash, &self.device())?;
        if self.host_buffer.exists() {
            let pages = device.below().logical_pages();
            return self
                .buffered(pages, |slots| self.link_to_buffer(self.controller_over(device), slots))
                .map(Stack::BufferedPlain);
        }
        Ok(Stack::Plain(self.link_over(device)))
    }

    /// Put an empty cache in the host, and the link, over flash.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn host_cache_over(&self, flash: Ftl) -> Result<HostCacheStack, Misfit> {
        let grants = self.host.protecting == Protecting::Grants;
        let setting = self.cache.setting(Memory::Host, self.page_bytes(), flash.logical_pages(), grants)?;
        let device = self.link_under(self.controller_over(flash), Memory::Host, setting.slots, &self.host);
        CacheLevel::with_scheme(device, &self.cache, &setting, &self.cooperation)
    }

    fn host_cache(&self, flash: Ftl) -> Result<Stack, Misfit> {
        let pages = flash.logical_pages();
        let cache = self.host_cache_over(flash)?;
        if self.host_buffer.exists() {
            return self.buffered(pages, |_| cache).map(Stack::BufferedHostCache);
        }
        Ok(Stack::HostCache(cache))
    }

    fn hybrid(&self, config: &HybridConfig, disks: &Disks) -> Result<Stack, Misfit> {
        let parts = HybridParts {
            geometry: &self.flash,
            timing: &self.timing,
            ftl: &self.ftl,
            gc: &self.gc,
            hybrid: config,
            seed: Seed(self.seed),
        };
        let hybrid = Hybrid::new(&parts, disks)?;
        if self.host_buffer.exists() {
            let pages = disks.pages() as u32;
            return self
                .buffered(pages, |slots| self.link_to_buffer(hybrid, slots))
                .map(Stack::BufferedHybrid);
        }
        Ok(Stack::Hybrid(Linked::new(hybrid, self.page_bytes(), &self.link.cost())))
    }

    /// Create the host's write buffer; `below` creates the level below it, given the slots of the buffer.
    fn buffered<L: Cooperates>(
        &self,
        pages: u32,
        below: impl FnOnce(u32) -> L,
    ) -> Result<Buffered<L>, Misfit> {
        WriteBack::in_host(&self.host_buffer, self.page_bytes(), pages, below)
    }

    /// Create the link between a device and a write buffer of `slots` slots in the host.
    fn link_to_buffer<L>(&self, device: L, slots: u32) -> Linked<L> {
        let host = self.host.under_buffer(self.host_buffer.notices);
        self.link_under(device, Memory::HostBuffer, slots, &host)
    }

    /// Create the link between a device and a cache of `slots` slots in a memory of the host.
    fn link_under<L>(&self, device: L, memory: Memory, slots: u32, host: &HostConfig) -> Linked<L> {
        let (cost, seed) = (self.link.cost(), Seed(self.seed));
        Linked::under_cache(device, self.page_bytes(), &cost, memory, slots, host, seed)
    }
}
