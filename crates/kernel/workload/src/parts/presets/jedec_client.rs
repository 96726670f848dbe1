//! A substitute for JEDEC's client workload, a licensed trace: the operations of the trace, with the zones and sizes
//! of the enterprise workload.
//!
//! Known facts of the trace, as the CDM paper replayed it: 5,000,000 commands (89 % writes, 6 % trims, 5 % flushes)
//! over 31.2 GB. Other properties of the trace are missing here (its sequential runs, its order, trims of written
//! data), and the remarks of every run say so.
//!
//! Source: JEDEC JESD219A (2012) for the original; the CDM paper's evaluation for the shares; JESD219 for zones and
//! sizes. Cost: as hot-cold.

use super::PresetWorkload;
use crate::parts::Part;
use crate::synthetic::{ArrivalConfig, SyntheticConfig, jesd219};
use crate::{WorkloadError, refuse};
use coflash_base::{Bytes, Policy, Share};

coflash_base::config! {
    /// The workload `"jedec-client"`, by its parameters.
    pub struct JedecClientConfig {
        /// Number of requests.
        pub requests: u64 = 5_000_000,
        /// Alignment: every request begins at a multiple of this.
        pub align: Bytes = Bytes { count: 4096 },
        /// Size of the used address range, rounded down to a multiple of `align`; it begins at 0.
        pub space: Bytes = Bytes { count: 31_200_000_000 },
        /// Granularity of the random layout of the zones, a multiple of `align`.
        pub scatter_block: Bytes = Bytes { count: 1 << 20 },
        /// Arrival process.
        pub arrival: ArrivalConfig,
    }
}

impl Policy for JedecClientConfig {
    type Config = Self;
    const SUMMARY: &'static str = "A substitute for the licensed client trace: its shares of operations, with the enterprise zones and sizes.";
    const SOURCE: &'static str = "substitute for JEDEC JESD219A (2012)";
}

impl PresetWorkload for JedecClientConfig {
    const TITLE: Option<&'static str> = Some("jedec-client (a substitute for JEDEC's trace)");

    fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError> {
        let JedecClientConfig { requests, align, space, scatter_block, .. } = *self;
        let most = Bytes { count: space_bytes };
        if space > most {
            let problem = format!("{space} is set; at most the available space, {most}, is allowed");
            return refuse("preset.space", problem);
        }
        let whole = space.count.checked_div(align.count).map_or(space.count, |units| units * align.count);
        Ok(Part::from(SyntheticConfig {
            requests,
            trim_share: Share::percent(6),
            flush_share: Share::percent(5),
            align,
            space: Some(Bytes { count: whole }),
            arrival: self.arrival.clone(),
            ..jesd219::workload(scatter_block)
        }))
    }

    fn remarks(&self) -> Vec<String> {
        vec![
            "jedec-client is a substitute for the licensed JESD219A client trace: it has that trace's shares of writes, \
             trims and flushes, and the zones and sizes of the JESD219 enterprise workload."
                .to_owned(),
        ]
    }
}
