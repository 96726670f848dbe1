//! Drop and evict: as FP-FCL, but GC drops those clean pages that the cache would soon evict anyway, and copies the others. The
//! disk holds them, too.
//!
//! A page is to be evicted soon if of the time from its last use to its eviction, as it was for the pages evicted before it,
//! only the share `soon` is left. With 100 % it is silent eviction, with 0 % FP-FCL.
//!
//! Z-CacheLib (arXiv 2410.11260) drops the pages of a zone that its cache would soon evict.

use super::{PartitionScheme, one_cache};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;

coflash_base::config! {
    /// The drop and evict scheme, with its parameters.
    #[derive(Eq, Save)]
    pub struct DropEvictConfig {
        /// Caching space as a share of flash.
        pub caching: Share = Share::percent(80),
        /// The last share of the time from a page's last use to its eviction, in which GC drops it if it is clean: "0%" is
        /// fp-fcl, "100%" silent-eviction.
        pub soon: Share = Share::percent(50),
    }
}

impl Policy for DropEvictConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "One cache of a fixed share of flash, whose clean pages GC drops if they would soon be evicted.";
    const SOURCE: &'static str = "after Z-CacheLib, arXiv 2410.11260, 2024";
}

impl PartitionScheme for DropEvictConfig {
    fn first(&self) -> (Partition, Orders) {
        one_cache(self.caching)
    }

    fn drops_clean_from(&self) -> Option<f64> {
        (self.soon > Share::ZERO).then(|| (1.0 - self.soon.as_f64()).max(0.0))
    }
}
