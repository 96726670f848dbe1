//! The enterprise workload of JESD219 in numbers: its sizes, its zones, and the sizes as a policy of their own.
//!
//! Half of the accesses go to the first 5 % of the addresses, 30 % to the next 15 %, 20 % to the rest; two thirds of
//! them are 4 KiB long.
//!
//! Source: JEDEC JESD219, "Solid-state drive (SSD) endurance workloads" (2010); the same numbers are in fio's example
//! `jesd219.fio`. Cost: one random number a size.

use super::hot_cold::Zone;
use super::size::{Choice, ChoiceConfig, WeightedSize};
use super::{Length, Sizing};
use crate::WorkloadError;
use coflash_base::policy::NoParameters;
use coflash_base::{Bytes, Policy, Share, Stream};

/// The sizes and how often they come, in percent.
#[must_use]
pub fn sizes() -> Vec<WeightedSize> {
    const SECTORS_AND_PERCENT: [(u64, u32); 12] = [
        (1, 4),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 67),
        (16, 10),
        (32, 7),
        (64, 3),
        (128, 3),
    ];
    let entry = |(sectors, weight)| WeightedSize { size: Bytes { count: sectors * 512 }, weight };
    SECTORS_AND_PERCENT.map(entry).to_vec()
}

/// The zones of the address space.
#[must_use]
pub fn zones() -> Vec<Zone> {
    [(50, 5), (30, 15), (20, 80)]
        .map(|(traffic, space)| Zone { traffic: Share::percent(traffic), space: Share::percent(space) })
        .to_vec()
}

/// Sizes `"jesd219"`.
#[derive(Clone, Debug)]
pub struct Jesd219(Choice);

impl Policy for Jesd219 {
    type Config = NoParameters;
    const SUMMARY: &'static str = "The sizes of the enterprise workload of JESD219: two thirds are 4 KiB.";
    const SOURCE: &'static str = "JEDEC JESD219, \"Solid-state drive (SSD) endurance workloads\" (2010)";
}

impl Sizing for Jesd219 {
    fn new(_: &NoParameters, align: u64) -> Result<Self, WorkloadError> {
        Choice::new(&ChoiceConfig { sizes: sizes() }, align).map(Self)
    }

    fn longest(&self) -> Length {
        self.0.longest()
    }

    #[inline]
    fn length(&mut self, stream: &mut Stream) -> Length {
        self.0.length(stream)
    }
}
