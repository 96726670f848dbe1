//! Sizes and zones of the enterprise workload of JESD219, and the sizes as a policy.
//!
//! Half of the accesses go to the first 5 % of the addresses, 30 % to the next 15 %, 20 % to the rest; two thirds of
//! them are 4 KiB long.
//!
//! Source: JEDEC JESD219, "Solid-state drive (SSD) endurance workloads" (2010); the same numbers are in fio's example
//! `jesd219.fio`. Cost: one random number per size.

use super::hot_cold::{HotColdConfig, Zone};
use super::size::{Choice, ChoiceConfig};
use super::{GeneratorConfig, Length, SizeConfig, SizePolicy, SyntheticConfig};
use crate::{Op, WorkloadError};
use coflash_base::policy::NoParameters;
use coflash_base::{Bytes, Policy, RandomStream};

/// The zones of the address space.
#[must_use]
pub fn zones() -> Vec<Zone> {
    vec![Zone::percent(50, 5), Zone::percent(30, 15), Zone::percent(20, 80)]
}

/// Requests of these sizes to these zones, whose blocks are scattered over the space.
pub(crate) fn workload(scatter_block: Bytes) -> SyntheticConfig {
    let generator = HotColdConfig { zones: zones(), scattered: true, scatter_block: Some(scatter_block) };
    SyntheticConfig {
        generator: GeneratorConfig::HotCold(generator),
        size: SizeConfig::Jesd219(NoParameters {}),
        ..SyntheticConfig::default()
    }
}

/// Sizes `"jesd219"`.
#[derive(Clone, Debug)]
pub struct Jesd219(Choice);

impl Policy for Jesd219 {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Sizes of the enterprise workload of JESD219: two thirds are 4 KiB.";
    const SOURCE: &'static str = "JEDEC JESD219, \"Solid-state drive (SSD) endurance workloads\" (2010)";
}

impl SizePolicy for Jesd219 {
    fn new(_: &NoParameters, align: u64) -> Result<Self, WorkloadError> {
        Choice::new(&ChoiceConfig::default(), align).map(Self)
    }

    fn longest(&self) -> Length {
        self.0.longest()
    }

    #[inline]
    fn length(&mut self, op: Op, stream: &mut RandomStream) -> Length {
        self.0.length(op, stream)
    }
}
