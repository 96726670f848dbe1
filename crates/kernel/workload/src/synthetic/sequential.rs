//! Each request begins at the end of the previous one.
//!
//! Source: folklore. Cost: no random number.

use super::{AddressPolicy, Space};
use crate::{Op, WorkloadError};
use coflash_base::policy::NoParameters;
use coflash_base::{Policy, RandomStream};

/// The generator `"sequential"`.
#[derive(Clone, Debug)]
pub struct Sequential {
    space_units: u64,
    next: u64,
}

impl Policy for Sequential {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Each request begins at the end of the previous one; one that would leave the space \
                                   begins at its start.";
    const SOURCE: &'static str = "folklore";
}

impl AddressPolicy for Sequential {
    fn new(_: &NoParameters, space: Space) -> Result<Self, WorkloadError> {
        Ok(Self { space_units: space.units, next: 0 })
    }

    #[inline]
    fn start(&mut self, _: Op, length_units: u64, _: &mut RandomStream) -> u64 {
        let start = if self.next + length_units <= self.space_units { self.next } else { 0 };
        self.next = start + length_units;
        start
    }
}
