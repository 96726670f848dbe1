//! Every position is as likely as any other.
//!
//! Source: folklore. Cost: one random number a request.

use super::{Placing, Space, draw};
use crate::WorkloadError;
use coflash_base::policy::NoParameters;
use coflash_base::{Policy, Stream};

/// The generator `"uniform"`.
#[derive(Clone, Debug)]
pub struct Uniform {
    space_units: u64,
}

impl Policy for Uniform {
    type Config = NoParameters;
    const SUMMARY: &'static str = "Every position that the request fits at is equally likely.";
    const SOURCE: &'static str = "folklore";
}

impl Placing for Uniform {
    fn new(_: &NoParameters, space: Space) -> Result<Self, WorkloadError> {
        Ok(Self { space_units: space.units })
    }

    #[inline]
    fn start(&mut self, length_units: u64, stream: &mut Stream) -> u64 {
        draw::below(stream, self.space_units - length_units + 1)
    }
}
