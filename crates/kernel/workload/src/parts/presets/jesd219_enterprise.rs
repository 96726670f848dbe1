//! The enterprise workload of JESD219: 60 % writes, most of 4 KiB, half of them to 5 % of the addresses.
//!
//! The standard numbers the zones from the first address and scatters their blocks over the space; the size of a block
//! (`scatter_block`) is left open. It defines no times: the device sets the pace.
//!
//! Source: JEDEC JESD219, "Solid-state drive (SSD) endurance workloads" (2010): sizes, zones, 40 % reads, 4 KiB
//! alignment; the same numbers are in fio's example `jesd219.fio`. Cost: as hot-cold, two scatter passes per request.

use super::PresetWorkload;
use crate::WorkloadError;
use crate::parts::Part;
use crate::synthetic::{ArrivalConfig, SyntheticConfig, jesd219};
use coflash_base::{Bytes, Policy, Share};

coflash_base::config! {
    /// The workload `"jesd219-enterprise"`, by its parameters.
    pub struct Jesd219EnterpriseConfig {
        /// Number of requests.
        pub requests: u64 = 1_000_000,
        /// Share of reads among the requests; the others are writes.
        pub read_share: Share = Share::percent(40),
        /// Alignment: every request begins at a multiple of this.
        pub align: Bytes = Bytes { count: 4096 },
        /// Size of the used address range, a multiple of `align`; it begins at 0. Default: the whole device.
        pub space: Option<Bytes>,
        /// Granularity of the random layout of the zones, a multiple of `align`.
        pub scatter_block: Bytes = Bytes { count: 1 << 20 },
        /// Arrival process.
        pub arrival: ArrivalConfig,
    }
}

impl Policy for Jesd219EnterpriseConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "The enterprise endurance workload: 60% writes, most of 4 KiB, in three zones.";
    const SOURCE: &'static str = "JEDEC JESD219, \"Solid-state drive (SSD) endurance workloads\" (2010)";
}

impl PresetWorkload for Jesd219EnterpriseConfig {
    fn part(&self, _: u64) -> Result<Part, WorkloadError> {
        let Jesd219EnterpriseConfig { requests, read_share, align, space, scatter_block, .. } = *self;
        Ok(Part::from(SyntheticConfig {
            requests,
            read_share,
            align,
            space,
            arrival: self.arrival.clone(),
            ..jesd219::workload(scatter_block)
        }))
    }
}
