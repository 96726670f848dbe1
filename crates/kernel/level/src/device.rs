//! The configuration of a device: an FTL under the cache of its cooperation scheme.

use crate::config::CacheConfig;
use crate::cooperation::{Cooperation, CooperationConfig, Setting};
use coflash_base::{Misfit, Seed};
use coflash_ftl::{Ftl, FtlConfig, GcConfig};
use coflash_media::{Geometry, Memory};

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
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn cache(
        &self,
        memory: Memory,
        logical_pages: u32,
        grants: bool,
    ) -> Result<(Setting, Cooperation), Misfit> {
        let setting = self.cache.setting(memory, self.geometry.page_size.count, logical_pages, grants)?;
        Ok((setting, self.cooperation.build(&setting)?))
    }
}
