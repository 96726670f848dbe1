//! OP-FCL: read cache, write cache and over-provisioned space are all sized by the cost model.

use super::{PartitionScheme, Period, two_caches};
use crate::costmodel::Partition;
use coflash_base::{Policy, Save, Share};
use coflash_cache::Orders;

coflash_base::config! {
    /// The costs for the cost model.
    pub enum CostsOf, default Constants {
        /// The paper's equations 3 to 6: costs of flash by its data sheet, random invalidations, and the disk of the paper's table 2,
        /// whatever the disk is.
        Constants,
        /// The same equations with the mean times of the disk behind the cache.
        OfDisk,
        /// The same equations with u′ lowered by the share of victims' pages that GC drops since other memories have them. This is not in
        /// the paper.
        Spared,
        /// Measured costs of disks and garbage collection, including waiting times. This is not in the paper.
        Measured,
    }

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
            CostsOf::Constants => Some(costs.best(demand, 0.0, step, caching_max)),
            CostsOf::OfDisk => Some(costs_of_disk.best(demand, 0.0, step, caching_max)),
            CostsOf::Spared => Some(costs.best(demand, measured.spared, step, caching_max)),
            // Before garbage collection begins, over-provisioned space has no benefit.
            CostsOf::Measured if measured.cleaning.is_unknown() => None,
            CostsOf::Measured => Some(measured.best(&costs.flash, demand, step, caching_max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costmodel::{Cleaning, Costs, Demand, FlashCosts, HitCurve, Measured};
    use crate::write_policy::WritePolicy;
    use coflash_base::{Bytes, Duration};
    use coflash_media::disk::{ConstantConfig, DiskConfig};
    use coflash_media::{Geometry, Timing};

    /// The partition by either disk, under the same demand.
    #[test]
    fn equation_6_has_the_papers_disk_unless_it_is_told_the_simulated_one() {
        let slow = ConstantConfig {
            read_positioning: Duration { ns: 100_000 },
            write_positioning: Duration { ns: 100_000 },
            capacity: Bytes { count: 1 << 30 },
            ..ConstantConfig::default()
        };
        let costs_of = |disk: DiskConfig| Costs {
            flash: FlashCosts::new(&Geometry::default(), &Timing::default()),
            disk: disk.build().costs(4096),
            write_policy: WritePolicy::WriteBack,
        };
        let (costs, costs_of_disk) = (costs_of(DiskConfig::default()), costs_of(DiskConfig::Constant(slow)));
        let curve = || HitCurve::new((1..=16).map(|segments| f64::from(segments) / 20.0), 1.0 / 16.0);
        let demand = Demand {
            reads: 0.5,
            writes: 0.5,
            read_hits: curve(),
            write_hits: curve(),
            reads_of_write_hits: 0.2,
        };
        let measured = Measured {
            pages_per_s: 0.0,
            fetched_page_ns: 0.0,
            destaged_page_ns: 0.0,
            past_the_cache: 0.0,
            cleaning: Cleaning::default(),
            spared: 0.0,
            writes_wait: true,
            write_policy: WritePolicy::WriteBack,
            disks: 1.0,
            dies: 1.0,
        };
        let period = Period {
            demand: &demand,
            costs: &costs,
            costs_of_disk: &costs_of_disk,
            measured: &measured,
            step: 1.0 / 16.0,
            caching_max: 0.97,
        };
        let caching = |costs| {
            let scheme = OpFclConfig { costs, ..OpFclConfig::default() };
            scheme.divide(&period).expect("a partition").caching
        };
        let (papers, of_disk) = (caching(CostsOf::Constants), caching(CostsOf::OfDisk));
        assert!(
            papers > of_disk,
            "a disk that hardly costs anything is worth less flash: {papers}, {of_disk}"
        );
    }
}
