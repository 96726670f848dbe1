//! A sequential stream interrupted by random requests, as of a log beside a table.
//!
//! The sequential stream is not moved by the random requests: it goes on where it stopped.
//!
//! Source: folklore. Cost: two random numbers a request.

use super::draw::Weighted;
use super::{Placing, Space, sequential::Sequential, share_at_most_all, uniform::Uniform};
use crate::WorkloadError;
use coflash_base::policy::NoParameters;
use coflash_base::{Policy, Share, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of `"mixed"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MixedConfig {
    /// The share of requests, by number, that go to a uniformly random position; the rest are sequential.
    pub random_share: Share,
}

impl Default for MixedConfig {
    fn default() -> Self {
        Self { random_share: Share::percent(50) }
    }
}

/// The generator `"mixed"`.
#[derive(Clone, Debug)]
pub struct Mixed {
    is_random: Weighted,
    random: Uniform,
    sequential: Sequential,
}

impl Policy for Mixed {
    type Config = MixedConfig;
    const SUMMARY: &'static str =
        "A share of the requests is uniformly random, the rest one sequential stream.";
    const SOURCE: &'static str = "folklore";
}

impl Placing for Mixed {
    fn new(config: &MixedConfig, space: Space) -> Result<Self, WorkloadError> {
        let random = config.random_share;
        share_at_most_all("generator.random_share", random)?;
        Ok(Self {
            is_random: Weighted::new(&[Share::ONE.ppb - random.ppb, random.ppb]),
            random: Uniform::new(&NoParameters {}, space)?,
            sequential: Sequential::new(&NoParameters {}, space)?,
        })
    }

    #[inline]
    fn start(&mut self, length_units: u64, stream: &mut Stream) -> u64 {
        match self.is_random.draw(stream) {
            0 => self.sequential.start(length_units, stream),
            _ => self.random.start(length_units, stream),
        }
    }
}
