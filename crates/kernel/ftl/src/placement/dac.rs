//! Dynamic data clustering: regions from cold to hot. An overwritten page moves to the next hotter region, a
//! page copied by GC to the next colder one.
//!
//! Source: Chiang, Lee & Chang, "Using data clustering to improve cleaning performance for flash memory",
//! Software: Practice and Experience 1999; written from the comparison by SepBIT's authors (Wang et al., FAST
//! 2022, and its repository). In the paper a page changes its region only if it is young enough; here, as in
//! the comparison, always.

use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Misfit, Policy, Save};

coflash_base::config! {
    /// The parameters of DAC.
    #[derive(Eq)]
    pub struct DacConfig {
        /// Number of regions, from 2 to 16.
        pub regions: u32 = 6,
    }
}

/// Dynamic data clustering.
#[derive(Clone, Save)]
pub struct Dac {
    hottest: u8,
    /// The region of each page.
    regions: Vec<u8>,
}

impl Policy for Dac {
    type Config = DacConfig;
    const SUMMARY: &'static str = "Regions of heat: up with each overwrite, down with each copy by GC.";
    const SOURCE: &'static str = "Chiang, Lee & Chang 1999 (DAC)";
}

impl PlacementPolicy for Dac {
    const BYTES_PER_PAGE: u32 = 1;

    fn classes(config: &DacConfig) -> Result<Classes, Misfit> {
        check_count("regions", config.regions, 2)?;
        Ok(Classes::Own { count: config.regions, gc: 0..config.regions - 1 })
    }

    fn new(config: &DacConfig, shape: Shape) -> Self {
        Self { hottest: config.regions as u8 - 1, regions: vec![0; shape.pages as usize] }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let region = &mut self.regions[page.lpn.index()];
        *region = if page.replaces.is_some() { self.hottest.min(region.saturating_add(1)) } else { 0 };
        Class::new((*region).into())
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        let region = &mut self.regions[page.lpn.index()];
        *region = (*region).min(self.hottest).saturating_sub(1);
        Class::new((*region).into())
    }
}
