//! The levels of a scenario that can be served, erased or recovered.

use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_ftl::{CopyAll, GcHook, Io, PageRead, PageWrite};
use coflash_level::nvm::Layout;
use coflash_level::{Command, Cooperates, Device, Level, Placement, RecoveryError};
use coflash_media::{Contents, DieId, Media, When};
use coflash_scenario::{HostCacheStack, PlainStack, Scenario, ScenarioError};

/// A device cannot be powered on.
#[derive(Debug, thiserror::Error)]
pub enum StartError<E: std::fmt::Debug> {
    /// The scenario cannot be served.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Its contents cannot be recovered.
    #[error("the device cannot be recovered: {0:?}")]
    Recovery(RecoveryError<E>),
}

/// The levels of a served device.
#[allow(clippy::large_enum_variant, reason = "a session has a single stack")]
pub(crate) enum ServedStack {
    /// All memory is in the device.
    Plain(PlainStack),
    /// The cache is in the host, which may lose power without the device.
    HostCache(HostCacheStack),
}

macro_rules! stack_dispatch {
    ($self:expr, $stack:pat => $call:expr) => {
        match $self {
            ServedStack::Plain($stack) => $call,
            ServedStack::HostCache($stack) => $call,
        }
    };
}

impl ServedStack {
    /// An erased device under an empty cache.
    pub(crate) fn erased(scenario: &Scenario) -> Result<Self, ScenarioError> {
        Ok(match scenario.cache.placement {
            Placement::InStorage => Self::Plain(scenario.link_over(Device::new(&scenario.device())?)),
            Placement::Host => Self::HostCache(scenario.host_cache_over(scenario.erased_flash()?)?),
        })
    }

    /// A device, and a cache in the host, over the contents of a container.
    pub(crate) fn recovered<M: Media<When = When>>(
        scenario: &Scenario,
        contents: &Contents,
        media: &mut M,
    ) -> Result<Self, StartError<M::Error>> {
        let io = &mut Io { media, hook: CopyAll, start: When::at(Time::ZERO) };
        if scenario.cache.placement == Placement::InStorage {
            let device = Device::recover(&scenario.device(), contents, io).map_err(StartError::Recovery)?;
            return Ok(Self::Plain(scenario.link_over(device)));
        }
        let erased = scenario.erased_flash()?;
        let mut cache = scenario.host_cache_over(erased).map_err(ScenarioError::from)?;
        cache.recover_both(contents, io).map_err(StartError::Recovery)?;
        Ok(Self::HostCache(cache))
    }

    /// Recover the device below a cache in the host, which has kept its power.
    pub(crate) fn recover_device<M: Media<When = When>>(
        &mut self,
        scenario: &Scenario,
        contents: &Contents,
        now: Time,
        media: &mut M,
    ) -> Result<(), StartError<M::Error>> {
        let Self::HostCache(cache) = self else { unreachable!("it has no memory in the host") };
        let io = &mut Io { media, hook: CopyAll, start: When::at(now) };
        let erased = scenario.controller_over(scenario.erased_flash()?);
        cache.recover_device(erased, contents, io).map_err(StartError::Recovery)
    }

    /// Whether the cache is in the host.
    pub(crate) fn is_in_host(&self) -> bool {
        matches!(self, Self::HostCache(_))
    }

    /// The words of non-volatile memory.
    pub(crate) fn layout(&self) -> Layout {
        match self {
            Self::Plain(link) => link.below().below().below().layout(),
            Self::HostCache(cache) => cache.layout(),
        }
    }

    /// The logical pages of the FTL.
    pub(crate) fn flash_pages(&self) -> u32 {
        stack_dispatch!(self, stack => stack.with_flash(|flash| flash.logical_pages()))
    }

    /// Whether a page has data, cached or in flash.
    pub(crate) fn holds(&self, lpn: Lpn) -> bool {
        match self {
            Self::Plain(link) => link.below().below().below().holds(lpn),
            Self::HostCache(cache) => cache.holds(lpn),
        }
    }
}

impl<M: Media> Level<M> for ServedStack {
    coflash_level::forward_level!(stack_dispatch);
}
