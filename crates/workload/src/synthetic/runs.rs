//! Sequential runs that begin where another generator says, as of scans and appends between scattered requests.
//!
//! A request goes on where the one before it ended with a fixed probability, so the length of runs is geometric: with a
//! share s, 1 / (1 - s) requests on average. A run ends early at the end of the space.
//!
//! Source: DiskSim 4.0, synthetic generator, for the probability of sequential access; the popularity underneath is the
//! other generator's. Cost: one random number more than the other generator.

use super::draw::Weighted;
use super::zipf::ZipfConfig;
use super::{Generator, GeneratorConfig, Placing, Space, share_at_most_all};
use crate::WorkloadError;
use coflash_base::{Policy, Share, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of `"runs"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunsConfig {
    /// The share of requests, by number, that go on where the one before ended.
    pub sequential_share: Share,
    /// Where runs begin: another generator.
    pub from: Box<GeneratorConfig>,
}

impl Default for RunsConfig {
    fn default() -> Self {
        Self {
            sequential_share: Share::percent(50),
            from: Box::new(GeneratorConfig::Zipf(ZipfConfig::default())),
        }
    }
}

/// The generator `"runs"`.
#[derive(Clone)]
pub struct Runs {
    space_units: u64,
    next: u64,
    goes_on: Weighted,
    from: Box<Generator>,
}

impl Policy for Runs {
    type Config = RunsConfig;
    const SUMMARY: &'static str = "Sequential runs of random length that begin where another generator says.";
    const SOURCE: &'static str = "DiskSim 4.0, synthetic generator";
}

impl Placing for Runs {
    fn new(config: &RunsConfig, space: Space) -> Result<Self, WorkloadError> {
        let sequential = config.sequential_share;
        share_at_most_all("generator.sequential_share", sequential)?;
        let from = config.from.build(space);
        Ok(Self {
            space_units: space.units,
            // At first nothing has ended anywhere.
            next: space.units,
            goes_on: Weighted::new(&[Share::ONE.ppb - sequential.ppb, sequential.ppb]),
            from: Box::new(
                from.map_err(|error| error.at(|key| key.replacen("generator", "generator.from", 1)))?,
            ),
        })
    }

    #[inline]
    fn start(&mut self, length_units: u64, stream: &mut Stream) -> u64 {
        let goes_on = self.goes_on.draw(stream) == 1 && self.next + length_units <= self.space_units;
        let start = if goes_on { self.next } else { self.begin(length_units, stream) };
        self.next = start + length_units;
        start
    }
}

impl Runs {
    /// Out of line: a generator within a generator cannot be inlined into itself.
    #[inline(never)]
    fn begin(&mut self, length_units: u64, stream: &mut Stream) -> u64 {
        self.from.start(length_units, stream)
    }
}
