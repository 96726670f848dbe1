//! A device: an FTL under the cache of its cooperation scheme.

use crate::config::CacheConfig;
use crate::cooperation::{Cooperation, CooperationConfig, Setting};
use crate::recovery_error::RecoveryError;
use crate::write_back::WriteBack;
use coflash_base::{Misfit, Seed};
use coflash_ftl::{Ftl, FtlConfig, GcConfig, GcHook, Io};
use coflash_media::{Contents, Geometry, Media, Memory};

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

/// A device: the cache of its scheme over its FTL.
pub type Device = WriteBack<Ftl>;

/// A device.
impl Device {
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
}
