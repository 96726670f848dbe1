//! RW-FCL: caching space is fixed; the cost model divides it into read and write cache.

use super::{PartitionScheme, Period, two_caches};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;

coflash_base::config! {
    /// The RW-FCL scheme, with its parameters.
    #[derive(Eq, Save)]
    pub struct RwFclConfig {
        /// Caching space as a share of flash.
        pub caching: Share = Share::percent(80),
        /// Initial read cache as a share of caching space.
        pub initial_read: Share = Share::percent(50),
    }
}

impl Policy for RwFclConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "Read and write cache are sized by the cost model, within a fixed caching space.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl PartitionScheme for RwFclConfig {
    fn first(&self) -> (Partition, Orders) {
        two_caches(self.caching, self.initial_read)
    }

    fn divides(&self) -> bool {
        true
    }

    fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        let caching = self.caching.as_f64().min(period.caching_max);
        Some(period.costs.least_within(period.demand, 0.0, caching, period.step).1)
    }
}
