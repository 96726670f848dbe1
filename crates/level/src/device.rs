//! A level under the cache of its cooperation scheme; over an FTL this is a device.

use crate::config::CacheConfig;
use crate::consistent::Consistent;
use crate::cooperates::{Cached, Cooperates, OverFlash};
use crate::cooperation::{Cooperation, CooperationConfig, Setting};
use crate::level::{Command, Level, LostPages, Restart};
use crate::linked::Linked;
use crate::nvm::Layout;
use crate::recovery_error::RecoveryError;
use crate::write_back::WriteBack;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Misfit, Seed, Time};
use coflash_cache::Cache;
use coflash_ftl::{CopyAll, Ftl, FtlConfig, GcConfig, GcHook, Io, Marks, PageRead, PageWrite};
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
}

/// The cache of a cooperation scheme, over a level.
#[derive(Clone)]
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

impl<L: Cooperates> CacheLevel<L> {
    /// Put the empty cache of a scheme over a level.
    ///
    /// # Errors
    /// A parameter out of range, or an unsupported environment.
    pub fn with_scheme(
        below: L,
        config: &CacheConfig,
        setting: &Setting,
        cooperation: &CooperationConfig,
    ) -> Result<Self, Misfit> {
        Ok(match cooperation.build(setting)? {
            Cooperation::CdmConsistent(scheme) => {
                Self::Consistent(Consistent::over(below, config, setting, scheme))
            }
            scheme => Self::WriteBack(WriteBack::over(below, config, setting, scheme)),
        })
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

    /// Whether a page has data, cached or in flash; true also for a page with an uncommitted trim.
    #[must_use]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.cache().lookup(lpn).is_some() || self.below().with_flash(|flash| flash.lookup(lpn).is_some())
    }
}

/// A cache in the host, across a link.
impl<L: OverFlash> CacheLevel<Linked<L>> {
    /// Recover an empty cache over an erased device after both sides have started anew.
    ///
    /// # Errors
    /// Contents that no stack of this configuration left, or a failed flash operation.
    pub fn recover_both<M: Media, H: GcHook>(
        &mut self,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>>
    where
        L: Level<M>,
    {
        recover_flash(self.below_mut().below_mut().flash_mut(), contents, io)?;
        cache_level_dispatch!(self, cache => cache.recover_host(&contents.words, io.media))?;
        self.connect(io).map_err(RecoveryError::Flash)
    }

    /// Recover the device after it alone has lost power; the cache in the host has gone on. Messages on their way are
    /// lost. `erased` is the erased device.
    ///
    /// # Errors
    /// See [`recover_both`](Self::recover_both).
    pub fn recover_device<M: Media, H: GcHook>(
        &mut self,
        mut erased: L,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>>
    where
        L: Level<M>,
    {
        let flash = erased.flash_mut();
        self.below().with_flash(|before| flash.continue_counters(before));
        recover_flash(flash, contents, io)?;
        self.below_mut().restart_device(erased);
        self.connect(io).map_err(RecoveryError::Flash)
    }

    /// The handshake of host and device after either has restarted.
    fn connect<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        cache_level_dispatch!(self, cache => cache.connect(io))
    }
}

/// Recover a device across a link. Whatever the host knows better follows in the handshake.
fn recover_flash<M: Media, H: GcHook>(
    flash: &mut Ftl,
    contents: &Contents,
    io: &mut Io<'_, M, H>,
) -> Result<(), RecoveryError<M::Error>> {
    flash.recover(contents, |_| true)?;
    // The host is not asked before the handshake: nothing is marked.
    let mut io = Io { media: &mut *io.media, hook: CopyAll, start: io.start };
    flash.finish_gc(&mut io).map_err(RecoveryError::Flash)
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
        let (page_bytes, pages) = (config.geometry.page_size.count, flash.logical_pages());
        let setting = config.cache.setting(Memory::Device, page_bytes, pages, false)?;
        Self::with_scheme(flash, config.cache, &setting, config.cooperation)
    }

    /// Recover a device after a power cut, to the extent that its scheme [promises](crate::nvm). Void labels
    /// are erased through the media, so that a later commit cannot revive them; a power cut in the meantime
    /// does no harm.
    /// # Errors
    /// A part that does not fit, contents that no device of this configuration left, or a failed flash operation.
    pub fn recover<M: Media, H: GcHook>(
        config: &DeviceConfig<'_>,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<Self, RecoveryError<M::Error>> {
        let mut device = Self::new(config)?;
        cache_level_dispatch!(&mut device, cache => cache.recover(contents, io))?;
        Ok(device)
    }
}

impl<M: Media, L: Level<M> + Cooperates> Level<M> for CacheLevel<L> {
    crate::forward_level!(cache_level_dispatch);
}

impl<M: Media, L: Restart<M> + Cooperates> Restart<M> for CacheLevel<L> {
    coflash_base::forward_to_variant! { cache_level_dispatch as Restart<M>;
        fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error>;
    }
}

/// Messages of a buffer in the host go to flash if the scheme uses them.
impl<L: Cooperates> Cooperates for CacheLevel<L> {
    coflash_base::forward_to_variant! { cache_level_dispatch;
        fn announce(&mut self, page: Cached);
        fn shadow(&mut self, lpn: Lpn, memory: Memory, newer: bool);
        fn shadows(&self, lpn: Lpn) -> Marks;
        fn track_host(&mut self);
    }

    fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T {
        self.below().with_flash(look)
    }
}
