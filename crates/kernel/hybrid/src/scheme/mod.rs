//! Partition schemes: the division of flash. Each is one file and one line in the list below.

use crate::costmodel::{Costs, Demand, Measured, Partition};
use coflash_base::Share;
use coflash_cache::Orders;

mod drop_evict;
mod fp_fcl;
mod op_fcl;
mod rw_fcl;
mod silent_eviction;

coflash_base::policy_family! { ($)
    /// The partition of flash into read cache, write cache and over-provisioned space.
    pub family Scheme: Save, config SchemeConfig, dispatch scheme_dispatch, build scheme_build {
        "op-fcl" => OpFcl(op_fcl::OpFclConfig),
        "rw-fcl" => RwFcl(rw_fcl::RwFclConfig),
        "fp-fcl" => FpFcl(fp_fcl::FpFclConfig),
        "silent-eviction" => SilentEviction(silent_eviction::SilentEvictionConfig),
        "drop-evict" => DropEvict(drop_evict::DropEvictConfig),
    }
}

/// The input of a scheme at the end of a period.
#[derive(Clone, Copy, Debug)]
pub struct Period<'a> {
    /// The demand.
    pub demand: &'a Demand,
    /// The costs of flash, and of the paper's disk.
    pub costs: &'a Costs,
    /// The costs of flash, and of the disk behind the cache.
    pub costs_of_disk: &'a Costs,
    /// The measurements of both.
    pub measured: &'a Measured,
    /// The size of a segment as a share of flash.
    pub step: f64,
    /// The largest u that leaves enough space to garbage collection.
    pub caching_max: f64,
}

/// The contract of a partition scheme, which is its parameters. `first` is called once, `divide` at the end of each period.
pub trait PartitionScheme: coflash_base::Policy<Config = Self> {
    /// The initial partition, and the eviction orders of clean and dirty pages.
    fn first(&self) -> (Partition, Orders);

    /// The next partition; `None` for no change.
    fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        let _ = period;
        None
    }

    /// Whether `divide` ever returns a partition. If not, nothing is tracked.
    fn divides(&self) -> bool {
        false
    }

    /// From which share of the time between its last use and its eviction on GC drops a clean page of its victims; `None` if it
    /// never does.
    fn drops_clean_from(&self) -> Option<f64> {
        None
    }
}

/// One cache for clean and dirty pages, which share its limit and an eviction order.
fn one_cache(caching: Share) -> (Partition, Orders) {
    (Partition { caching: caching.as_f64(), read: 0.5 }, Orders::Common)
}

/// A read cache with this share of the caching space, and a write cache.
fn two_caches(caching: Share, read: Share) -> (Partition, Orders) {
    (Partition { caching: caching.as_f64(), read: read.as_f64() }, Orders::Own)
}

impl SchemeConfig {
    /// Create the scheme.
    #[must_use]
    pub fn build(&self) -> Scheme {
        scheme_build!(self, config => config.clone())
    }
}

impl Scheme {
    coflash_base::forward_to_variant! { scheme_dispatch;
        /// The initial partition, and the eviction orders of clean and dirty pages.
        pub fn first(&self) -> (Partition, Orders);
        pub(crate) fn divide(&self, period: &Period<'_>) -> Option<Partition>;
        /// Whether the partition ever changes.
        pub fn divides(&self) -> bool;
        pub(crate) fn drops_clean_from(&self) -> Option<f64>;
    }
}
