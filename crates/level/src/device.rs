//! A device: an FTL and the cache of its cooperation scheme.

use crate::config::CacheConfig;
use crate::consistent::Consistent;
use crate::cooperates::{Cached, Cooperates};
use crate::cooperation::CooperationConfig;
use crate::level::{Command, Level};
use crate::recovery_error::RecoveryError;
use crate::write_back::WriteBack;
use coflash_base::measure::Report;
use coflash_base::{Duration, Lpn, Misfit, Seed, Time};
use coflash_cache::Cache;
use coflash_ftl::{Ftl, FtlConfig, GcConfig, GcHook, Io, Marks, PageRead, PageWrite};
use coflash_media::{DieId, Geometry, Media, Memory, Oob, Ppn};

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
    /// The first part that does not fit the others.
    pub fn erased_flash(&self) -> Result<Ftl, Misfit> {
        Ftl::new(self.geometry, self.ftl, self.gc, self.cooperation.requirements(), self.seed)
    }
}

/// A device.
#[derive(Clone)]
pub enum Device {
    /// With a write-back cache.
    WriteBack(WriteBack<Ftl>),
    /// With a crash-consistent cache.
    Consistent(Consistent),
}

macro_rules! device_dispatch {
    ($self:expr, $cache:pat => $call:expr) => {
        match $self {
            Device::WriteBack($cache) => $call,
            Device::Consistent($cache) => $call,
        }
    };
}

impl Device {
    /// Create an erased device with an empty cache.
    ///
    /// # Errors
    /// The first part that does not fit the others.
    pub fn new(config: &DeviceConfig<'_>) -> Result<Self, Misfit> {
        Self::over(config.erased_flash()?, config)
    }

    /// Put an empty cache over flash that was made, and perhaps warmed up, for a scheme with the same requirements.
    ///
    /// # Errors
    /// The first part that does not fit the others.
    pub fn over(flash: Ftl, config: &DeviceConfig<'_>) -> Result<Self, Misfit> {
        let page_bytes = config.geometry.page_size.count;
        match config.cooperation {
            CooperationConfig::CdmConsistent(consistency) => {
                Consistent::new(flash, page_bytes, config.cache, consistency).map(Self::Consistent)
            }
            scheme => WriteBack::in_device(flash, page_bytes, config.cache, scheme).map(Self::WriteBack),
        }
    }

    /// Recover a device after a power cut. With a volatile cache every page has the newest version in flash. With
    /// `cdm-consistent` every page has its version of the last completed commit, or of the commit under way if its one
    /// word was stored. Other non-volatile caches keep nothing to recover from.
    ///
    /// `words` are the words of non-volatile memory in the order of [`Layout`](crate::nvm::Layout); empty for a
    /// volatile cache. `pages` are all programmed pages in any order, with their out-of-band data, or `None` for a torn
    /// page. The data of slots stay where they are. Void labels are erased through the media, so that a later commit
    /// cannot revive them; a power cut during that does no harm.
    ///
    /// # Errors
    /// A part that does not fit, words that no cache of this device wrote, or a failed flash operation.
    pub fn recover<M: Media, H: GcHook>(
        config: &DeviceConfig<'_>,
        words: &[u64],
        pages: impl Iterator<Item = (Ppn, Option<Oob>)>,
        io: &mut Io<'_, M, H>,
    ) -> Result<Self, RecoveryError<M::Error>> {
        let mut device = Self::new(config)?;
        match &mut device {
            Self::Consistent(consistent) => consistent.recover(words, pages, io)?,
            Self::WriteBack(cache) if cache.is_volatile() => cache.recover(pages, io)?,
            Self::WriteBack(_) => {
                let problem = format!(
                    "with \"{}\" nothing is kept to recover a non-volatile cache from",
                    config.cooperation.name()
                );
                return Err(Misfit::new("cooperation", problem).into());
            }
        }
        Ok(device)
    }

    /// The FTL.
    #[inline]
    #[must_use]
    pub fn flash(&self) -> &Ftl {
        match self {
            Self::WriteBack(cache) => cache.below(),
            Self::Consistent(cache) => cache.flash(),
        }
    }

    /// Convert into the FTL, without the cache.
    #[must_use]
    pub fn into_flash(self) -> Ftl {
        match self {
            Self::WriteBack(cache) => cache.into_below(),
            Self::Consistent(cache) => cache.into_flash(),
        }
    }

    /// Mutable access to the FTL, past the cache. For warming up.
    pub fn flash_mut(&mut self) -> &mut Ftl {
        match self {
            Self::WriteBack(cache) => cache.below_mut(),
            Self::Consistent(cache) => cache.flash_mut(),
        }
    }

    /// The cached pages.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        device_dispatch!(self, cache => cache.cache())
    }
}

impl<M: Media> Level<M> for Device {
    coflash_base::forward_to_variant! { device_dispatch as Level<M>;
        fn logical_pages(&self) -> u32;
        fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn next_due(&self) -> Option<Time>;
        fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When;
        fn read<H: GcHook>(&mut self, page: PageRead, after: M::When, io: &mut Io<'_, M, H>) -> Result<Option<M::When>, M::Error>;
        fn write<H: GcHook>(&mut self, page: PageWrite, after: M::When, io: &mut Io<'_, M, H>) -> Result<M::When, M::Error>;
        fn trim<H: GcHook>(&mut self, lpn: Lpn, after: M::When, io: &mut Io<'_, M, H>) -> Result<M::When, M::Error>;
        fn flush<H: GcHook>(&mut self, after: M::When, io: &mut Io<'_, M, H>, parts: &mut Vec<M::When>) -> Result<(), M::Error>;
        fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error>;
        fn told<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn has_idle_work(&self, die: DieId) -> bool;
        fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error>;
        fn report(&self, report: &mut Report);
        fn erase_counts(&self) -> Vec<u32>;
        fn invalid_pages(&self) -> Vec<u32>;
        fn heap_bytes(&self) -> usize;
        fn assert_invariants(&self);
    }
}

/// Messages of a buffer in the host are for flash, as far as the scheme uses them.
impl Cooperates for Device {
    coflash_base::forward_to_variant! { device_dispatch;
        fn announce(&mut self, page: Cached);
        fn shadow(&mut self, lpn: Lpn, memory: Memory, newer: bool);
        fn shadows(&self, lpn: Lpn) -> Marks;
        fn track_host(&mut self);
    }

    fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T {
        look(self.flash())
    }
}
