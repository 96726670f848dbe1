//! Sequential runs with first positions from another generator, like scans and appends between random
//! requests.
//!
//! A request continues the previous one with a fixed probability s, so the length of runs is geometrically
//! distributed, with a mean of 1 / (1 - s) requests. A run ends early at the end of the space.
//!
//! Source: DiskSim 4.0, synthetic generator, for the probability of sequential access. Cost: one random
//! number more than the other generator.

use super::draw::AliasTable;
use super::zipf::ZipfConfig;
use super::{AddressPolicy, Generator, GeneratorConfig, Space};
use crate::{Op, WorkloadError};
use coflash_base::{Policy, RandomStream, Share};

coflash_base::config! {
    /// The parameters of `"runs"`.
    pub struct RunsConfig {
        /// Share of requests that begin at the end of the previous one.
        pub sequential_share: Share = Share::percent(50),
        /// Generator of the first positions of runs.
        pub from: Box<GeneratorConfig> = Box::new(GeneratorConfig::Zipf(ZipfConfig::default())),
    }
}

/// The generator `"runs"`.
#[derive(Clone)]
pub struct Runs {
    space_units: u64,
    next: u64,
    continues: AliasTable,
    from: Box<Generator>,
}

impl Policy for Runs {
    type Config = RunsConfig;
    const SUMMARY: &'static str =
        "Sequential runs of random length; another generator gives their first positions.";
    const SOURCE: &'static str = "DiskSim 4.0, synthetic generator";
}

impl AddressPolicy for Runs {
    fn new(config: &RunsConfig, space: Space) -> Result<Self, WorkloadError> {
        let sequential = config.sequential_share;
        let from = config.from.build(space);
        Ok(Self {
            space_units: space.units,
            // No request precedes the first one: it begins a run.
            next: space.units,
            continues: AliasTable::new(&[Share::ONE.ppb - sequential.ppb, sequential.ppb]),
            from: Box::new(
                from.map_err(|error| error.with_key(|key| key.replacen("generator", "generator.from", 1)))?,
            ),
        })
    }

    #[inline]
    fn start(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let continues = self.continues.draw(stream) == 1 && self.next + length_units <= self.space_units;
        let start = if continues { self.next } else { self.begin(op, length_units, stream) };
        self.next = start + length_units;
        start
    }
}

impl Runs {
    /// Begin a run. Not inlined, because generators may be nested.
    #[inline(never)]
    fn begin(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        self.from.start(op, length_units, stream)
    }
}
