//! OP-FCL: read cache, write cache and over-provisioned space are all sized by the cost model.

use super::{PartitionScheme, Period, two_caches};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The costs for the cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Save)]
#[serde(rename_all = "kebab-case")]
pub enum CostsOf {
    /// The paper's equations 3 to 6: costs of flash by its data sheet, random invalidations, and the disk of the paper's table 2,
    /// whatever the disk is.
    #[default]
    Constants,
    /// The same equations with the mean times of the disk behind the cache.
    OfDisk,
    /// Measured costs of disks and garbage collection, including waiting times. This is not in the paper.
    Measured,
}

coflash_base::config! {
    /// The OP-FCL scheme, with its parameters.
    #[derive(Eq, Save)]
    pub struct OpFclConfig {
        /// Initial caching space as a share of flash.
        pub initial_caching: Share = Share::percent(95),
        /// Initial read cache as a share of caching space.
        pub initial_read: Share = Share::percent(50),
        /// The costs for the cost model.
        pub costs: CostsOf,
    }
}

impl Policy for OpFclConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "Read cache, write cache and over-provisioned space are sized by the cost model.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl PartitionScheme for OpFclConfig {
    fn first(&self) -> (Partition, Orders) {
        two_caches(self.initial_caching, self.initial_read)
    }

    fn divides(&self) -> bool {
        true
    }

    fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        let Period { demand, costs, costs_of_disk, measured, step, caching_max } = *period;
        match self.costs {
            CostsOf::Constants => Some(costs.best(demand, step, caching_max)),
            CostsOf::OfDisk => Some(costs_of_disk.best(demand, step, caching_max)),
            // Before garbage collection begins, over-provisioned space has no benefit.
            CostsOf::Measured if measured.cleaning.is_unknown() => None,
            CostsOf::Measured => Some(measured.best(&costs.flash, demand, step, caching_max)),
        }
    }
}
