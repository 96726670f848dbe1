//! A level under the cache of its cooperation scheme; over an FTL this is a device.

use crate::config::CacheConfig;
use crate::consistent::Consistent;
use crate::cooperates::Cooperates;
use crate::cooperation::{CommitCounters, Cooperation, CooperationConfig, Setting};
use crate::level::{Command, Level, Restart};
use crate::nvm::Layout;
use crate::recovery_error::RecoveryError;
use crate::write_back::WriteBack;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Misfit, Seed, Time};
use coflash_cache::Cache;
use coflash_ftl::{Ftl, FtlConfig, GcConfig, GcHook, Io, PageRead, PageWrite};
use coflash_media::{Contents, DieId, Geometry, Media, Memory};

/// The configuration of a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceConfig<'a> {
    /// The flash.
    pub geometry: &'a Geometry,
    /// The FTL.
    pub ftl: &'a FtlConfig,
    /// Garbage collection.
    pub gc: &'a GcConfig,
    /// The cache.
    pub cache: &'a CacheConfig,
    /// The cooperation scheme.
    pub cooperation: &'a CooperationConfig,
    /// The seed of all random choices.
    pub seed: Seed,
}

impl DeviceConfig<'_> {
    /// Create the FTL of an erased device with the tables that the cooperation scheme requires.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn erased_flash(&self) -> Result<Ftl, Misfit> {
        Ftl::new(self.geometry, self.ftl, self.gc, self.cooperation.requirements(), self.seed)
    }

    /// Check the cache in a memory, over flash of this many logical pages, and create its scheme. `grants`: whether flash
    /// may drop granted pages without asking.
    pub(crate) fn cache(
        &self,
        memory: Memory,
        logical_pages: u32,
        grants: bool,
    ) -> Result<(Setting, Cooperation), Misfit> {
        let setting = self.cache.setting(memory, self.geometry.page_size.count, logical_pages, grants)?;
        Ok((setting, self.cooperation.build(&setting)?))
    }
}

/// The answered writes that a power cut of a cache would lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRisk {
    /// None.
    Nothing,
    /// This many pages, dirty in a volatile cache.
    Dirty(u32),
    /// All writes and trims since the last commit.
    Uncommitted,
}

/// The cache of a cooperation scheme, over a level.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "a stack has a single one")]
pub enum CacheLevel<L> {
    /// A write-back cache.
    WriteBack(WriteBack<L>),
    /// A crash-consistent cache.
    Consistent(Consistent<L>),
}

/// A device.
pub type Device = CacheLevel<Ftl>;

macro_rules! cache_level_dispatch {
    ($self:expr, $cache:pat => $call:expr) => {
        match $self {
            CacheLevel::WriteBack($cache) => $call,
            CacheLevel::Consistent($cache) => $call,
        }
    };
}

pub(crate) use cache_level_dispatch;

impl<L: Cooperates> CacheLevel<L> {
    /// Put the empty cache of a scheme over a level.
    pub fn with_scheme(below: L, config: &CacheConfig, setting: &Setting, scheme: Cooperation) -> Self {
        match scheme {
            Cooperation::CdmConsistent(scheme) => {
                Self::Consistent(Consistent::over(below, config, setting, scheme))
            }
            scheme => Self::WriteBack(WriteBack::over(below, config, setting, scheme)),
        }
    }

    /// The level below.
    #[inline]
    #[must_use]
    pub fn below(&self) -> &L {
        cache_level_dispatch!(self, cache => cache.below())
    }

    /// Convert into the level below, without the cache.
    #[must_use]
    pub fn into_below(self) -> L {
        cache_level_dispatch!(self, cache => cache.into_below())
    }

    /// Mutable access to the level below, past the cache. For warming up.
    pub fn below_mut(&mut self) -> &mut L {
        cache_level_dispatch!(self, cache => cache.below_mut())
    }

    /// The layout of its metadata in non-volatile memory.
    #[must_use]
    pub fn layout(&self) -> Layout {
        cache_level_dispatch!(self, cache => cache.metadata().layout)
    }

    /// The cached pages.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        cache_level_dispatch!(self, cache => cache.cache())
    }

    /// What a power cut of this cache would lose.
    #[must_use]
    pub fn at_risk(&self) -> AtRisk {
        match self {
            Self::WriteBack(cache) if cache.is_volatile() && cache.cache().dirty_len() > 0 => {
                AtRisk::Dirty(cache.cache().dirty_len())
            }
            Self::Consistent(cache) if !cache.is_committed() => AtRisk::Uncommitted,
            _ => AtRisk::Nothing,
        }
    }

    /// The commits so far; none of a scheme without commits.
    #[must_use]
    pub fn commits(&self) -> CommitCounters {
        match self {
            Self::WriteBack(_) => CommitCounters::default(),
            Self::Consistent(cache) => cache.commits(),
        }
    }

    /// Whether a page has data, cached or in flash; true also for a page with an uncommitted trim.
    #[must_use]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.cache().lookup(lpn).is_some() || self.below().with_flash(|flash| flash.lookup(lpn).is_some())
    }
}

/// A device.
impl CacheLevel<Ftl> {
    /// Create an erased device with an empty cache.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn new(config: &DeviceConfig<'_>) -> Result<Self, Misfit> {
        Self::over(config.erased_flash()?, config)
    }

    /// Put an empty cache over flash that was created, and perhaps warmed up, for a scheme with the same
    /// requirements.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn over(flash: Ftl, config: &DeviceConfig<'_>) -> Result<Self, Misfit> {
        let (setting, scheme) = config.cache(Memory::Device, flash.logical_pages(), false)?;
        Ok(Self::with_scheme(flash, config.cache, &setting, scheme))
    }

    /// Recover a device after a power cut, to the extent that its scheme [promises](crate::nvm). Void labels
    /// are erased through the media, so that a later commit cannot revive them; a power cut in the meantime
    /// does no harm.
    ///
    /// # Errors
    /// A part that does not fit, contents that no device of this configuration left, or a failed flash operation.
    pub fn recover<M: Media, H: GcHook>(
        config: &DeviceConfig<'_>,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<Self, RecoveryError<M::Error>> {
        let mut device = Self::new(config)?;
        device.restore(contents, io)?;
        Ok(device)
    }

    /// Bring an erased device to the state that was found.
    pub(crate) fn restore<M: Media, H: GcHook>(
        &mut self,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        cache_level_dispatch!(self, cache => cache.recover(contents, io))
    }
}

impl<M: Media, L: Level<M> + Cooperates> Level<M> for CacheLevel<L> {
    crate::forward_level!(cache_level_dispatch);
}

impl<M: Media, L: Restart<M> + Cooperates> Restart<M> for CacheLevel<L> {
    crate::forward_restart!(cache_level_dispatch);
}

/// Messages of a buffer in the host go to flash if the scheme uses them.
impl<L: Cooperates> Cooperates for CacheLevel<L> {
    crate::cooperates::forward_cooperates!(cache_level_dispatch, lags: false);
}
