//! Silent eviction: as FP-FCL, but GC drops clean pages instead of copying them, since the disk holds them, too.
//!
//! M. Saxena, M. M. Swift & Y. Zhang, "FlashTier: a lightweight, consistent and durable storage cache", EuroSys 2012.

use super::{PartitionScheme, one_cache};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;

coflash_base::config! {
    /// The silent eviction scheme, with its parameters.
    #[derive(Eq, Save)]
    pub struct SilentEvictionConfig {
        /// Caching space as a share of flash.
        pub caching: Share = Share::percent(80),
    }
}

impl Policy for SilentEvictionConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "One cache of a fixed share of flash, whose clean pages GC drops instead of copying them.";
    const SOURCE: &'static str = "M. Saxena, M. M. Swift & Y. Zhang, EuroSys 2012";
}

impl PartitionScheme for SilentEvictionConfig {
    fn first(&self) -> (Partition, Orders) {
        one_cache(self.caching)
    }

    fn drops_clean_from(&self) -> Option<f64> {
        Some(0.0)
    }
}
