//! Who decides how flash is divided: one file each, one line in the list below.

use crate::costmodel::{Costs, Demand, Measured, Partition};
use coflash_cache::Orders;

mod fp_fcl;
mod op_fcl;
mod rw_fcl;
mod silent_eviction;

coflash_base::policy_family! { ($)
    /// How flash is divided into read cache, write cache and over-provisioned space.
    pub family Scheme, config SchemeConfig, dispatch scheme_dispatch, build scheme_build {
        "op-fcl" => OpFcl(op_fcl::OpFcl),
        "rw-fcl" => RwFcl(rw_fcl::RwFcl),
        "fp-fcl" => FpFcl(fp_fcl::FpFcl),
        "silent-eviction" => SilentEviction(silent_eviction::SilentEviction),
    }
}

/// What a scheme knows when a period ends.
#[derive(Clone, Copy, Debug)]
pub struct Period<'a> {
    /// What was asked for.
    pub demand: &'a Demand,
    /// What flash and disk take.
    pub costs: &'a Costs,
    /// What was measured of them.
    pub measured: &'a Measured,
    /// The size of a segment as a share of flash.
    pub step: f64,
    /// The largest u that leaves garbage collection room to work in.
    pub caching_max: f64,
}

/// The contract. `first` is asked once, `divide` at the end of each period.
pub trait PartitionScheme: coflash_base::Policy {
    /// The scheme with its parameters.
    fn new(config: &Self::Config) -> Self;

    /// How flash is divided at first.
    fn first(&self) -> Partition;

    /// How flash is to be divided from now on; none to leave it as it is.
    fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        let _ = period;
        None
    }

    /// Whether `divide` ever says anything: if not, nothing is tracked.
    fn divides(&self) -> bool {
        false
    }

    /// Whether clean and dirty pages leave by orders of their own.
    fn orders(&self) -> Orders {
        Orders::Own
    }

    /// Whether GC drops the clean pages of its victims.
    fn drops_clean(&self) -> bool {
        false
    }
}

impl SchemeConfig {
    /// The scheme.
    #[must_use]
    pub fn build(&self) -> Scheme {
        scheme_build!(self, config => PartitionScheme::new(config))
    }
}

impl Scheme {
    /// How flash is divided at first.
    #[must_use]
    pub fn first(&self) -> Partition {
        scheme_dispatch!(self, scheme => scheme.first())
    }

    pub(crate) fn divide(&self, period: &Period<'_>) -> Option<Partition> {
        scheme_dispatch!(self, scheme => scheme.divide(period))
    }

    pub(crate) fn divides(&self) -> bool {
        scheme_dispatch!(self, scheme => scheme.divides())
    }

    pub(crate) fn orders(&self) -> Orders {
        scheme_dispatch!(self, scheme => scheme.orders())
    }

    pub(crate) fn drops_clean(&self) -> bool {
        scheme_dispatch!(self, scheme => scheme.drops_clean())
    }
}
