//! Uniformly random positions.
//!
//! Source: folklore. Cost: one random number per request.

use super::{AddressPolicy, Space, draw};
use crate::{Op, WorkloadError};
use coflash_base::policy::NoParameters;
use coflash_base::{Policy, RandomStream};

/// The generator `"uniform"`.
#[derive(Clone, Debug)]
pub struct Uniform {
    space_units: u64,
}

impl Policy for Uniform {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Uniformly random positions among those where the request fits.";
    const SOURCE: &'static str = "folklore";
}

impl AddressPolicy for Uniform {
    fn new(_: &NoParameters, space: Space) -> Result<Self, WorkloadError> {
        Ok(Self { space_units: space.units })
    }

    #[inline]
    fn start(&mut self, _: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        draw::below(stream, self.space_units - length_units + 1)
    }
}
