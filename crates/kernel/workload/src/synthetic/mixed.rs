//! A sequential stream interrupted by random requests, like a log beside a table.
//!
//! After a random request, the sequential stream continues at its own position.
//!
//! Source: folklore. Cost: two random numbers per request.

use super::draw::AliasTable;
use super::{AddressPolicy, Space, sequential::Sequential, uniform::Uniform};
use crate::{Op, WorkloadError};
use coflash_base::policy::NoParameters;
use coflash_base::{Policy, RandomStream, Share};

coflash_base::config! {
    /// The parameters of `"mixed"`.
    #[derive(Eq)]
    pub struct MixedConfig {
        /// Share of requests to uniformly random positions; the others are sequential.
        pub random_share: Share = Share::percent(50),
    }
}

/// The generator `"mixed"`.
#[derive(Clone, Debug)]
pub struct Mixed {
    is_random: AliasTable,
    random: Uniform,
    sequential: Sequential,
}

impl Policy for Mixed {
    type Config = MixedConfig;
    const SUMMARY: &'static str =
        "A share of the requests is uniformly random, the rest is one sequential stream.";
    const SOURCE: &'static str = "folklore";
}

impl AddressPolicy for Mixed {
    fn new(config: &MixedConfig, space: Space) -> Result<Self, WorkloadError> {
        let random = config.random_share;
        Ok(Self {
            is_random: AliasTable::new(&[Share::ONE.ppb - random.ppb, random.ppb]),
            random: Uniform::new(&NoParameters {}, space)?,
            sequential: Sequential::new(&NoParameters {}, space)?,
        })
    }

    #[inline]
    fn start(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        match self.is_random.draw(stream) {
            0 => self.sequential.start(op, length_units, stream),
            _ => self.random.start(op, length_units, stream),
        }
    }
}
