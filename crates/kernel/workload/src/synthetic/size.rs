//! Sizes of requests: constant, exponentially distributed, or drawn from a list, or from one for each operation.
//!
//! Source: folklore; DiskSim's generator for the exponential distribution rounded up to the alignment; JESD219 for the
//! default list. Cost: at most one random number per request.

use super::draw::{self, AliasTable};
use super::{Length, SizePolicy, refuse};
use crate::{Op, WorkloadError};
use coflash_base::{Bytes, Policy, RandomStream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Convert a size of at least one byte.
fn length(key: &'static str, size: Bytes, align: u64) -> Result<Length, WorkloadError> {
    match size.count {
        0 => refuse(key, "0B was given; at least 1B is allowed"),
        bytes => Ok(Length { bytes, units: bytes.div_ceil(align) }),
    }
}

coflash_base::config! {
    /// The parameters of `"fixed"`.
    #[derive(Eq)]
    pub struct FixedConfig {
        /// Size of every request.
        pub size: Bytes = Bytes { count: 4096 },
    }
}

/// Sizes `"fixed"`.
#[derive(Clone, Debug)]
pub struct Fixed(Length);

impl Policy for Fixed {
    type Config = FixedConfig;
    const SUMMARY: &'static str = "Every request has the same size.";
    const SOURCE: &'static str = "folklore";
}

impl SizePolicy for Fixed {
    fn new(config: &FixedConfig, align: u64) -> Result<Self, WorkloadError> {
        length("size.size", config.size, align).map(Self)
    }

    fn longest(&self) -> Length {
        self.0
    }

    #[inline]
    fn length(&mut self, _: Op, _: &mut RandomStream) -> Length {
        self.0
    }
}

coflash_base::config! {
    /// The parameters of `"exponential"`.
    #[derive(Eq)]
    pub struct ExponentialConfig {
        /// Mean size before rounding up to the alignment (with a mean of one alignment unit, 63% of the sizes are one
        /// unit).
        pub mean: Bytes = Bytes { count: 4096 },
        /// Largest size, a multiple of the alignment; larger draws are reduced to it.
        pub max: Bytes = Bytes { count: 1 << 20 },
    }
}

/// Sizes `"exponential"`.
#[derive(Clone, Debug)]
pub struct Exponential {
    mean_units: f64,
    max_units: u64,
    align: u64,
}

impl Policy for Exponential {
    type Config = ExponentialConfig;
    const SUMMARY: &'static str = "Sizes are exponentially distributed and rounded up to the alignment.";
    const SOURCE: &'static str = "DiskSim 4.0, synthetic generator";
}

impl SizePolicy for Exponential {
    fn new(config: &ExponentialConfig, align: u64) -> Result<Self, WorkloadError> {
        let ExponentialConfig { mean, max } = *config;
        if mean.count == 0 || mean > max {
            return refuse("size.mean", format!("{mean} was given; from 1B to size.max, {max}, is allowed"));
        }
        if !max.count.is_multiple_of(align) {
            let align = Bytes { count: align };
            return refuse("size.max", format!("{max} was given; a multiple of align, {align}, is allowed"));
        }
        Ok(Self { mean_units: mean.count as f64 / align as f64, max_units: max.count / align, align })
    }

    fn longest(&self) -> Length {
        Length { bytes: self.max_units * self.align, units: self.max_units }
    }

    #[inline]
    fn length(&mut self, _: Op, stream: &mut RandomStream) -> Length {
        let units = (self.mean_units * draw::exponential(stream)).ceil() as u64;
        let units = units.clamp(1, self.max_units);
        Length { bytes: units * self.align, units }
    }
}

/// One entry of `"choice"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// Size; not necessarily a multiple of the alignment.
    pub size: Bytes,
    /// Frequency relative to the other weights.
    pub weight: u32,
}

coflash_base::config! {
    /// The parameters of `"choice"`.
    #[derive(Eq)]
    pub struct ChoiceConfig {
        /// Sizes and their weights. Default: those of the enterprise workload of JESD219.
        pub sizes: Vec<WeightedSize> = jesd219_sizes(),
    }
}

/// The sizes of JEDEC JESD219 and their frequencies in percent.
fn jesd219_sizes() -> Vec<WeightedSize> {
    const SECTORS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128];
    const PERCENT: [u32; 12] = [4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3];
    let entry = |(sectors, weight)| WeightedSize { size: Bytes { count: sectors * 512 }, weight };
    SECTORS.into_iter().zip(PERCENT).map(entry).collect()
}

/// Sizes `"choice"`.
#[derive(Clone, Debug)]
pub struct Choice {
    lengths: Vec<Length>,
    weights: AliasTable,
}

impl Policy for Choice {
    type Config = ChoiceConfig;
    const SUMMARY: &'static str = "Sizes are drawn from a list of weighted sizes.";
    const SOURCE: &'static str = "folklore; the default is the enterprise mix of JESD219";
}

impl SizePolicy for Choice {
    fn new(config: &ChoiceConfig, align: u64) -> Result<Self, WorkloadError> {
        const KEY: &str = "size.sizes";
        let (mut lengths, mut weights) = (Vec::new(), Vec::new());
        for entry in &config.sizes {
            lengths.push(length(KEY, entry.size, align)?);
            weights.push(u64::from(entry.weight));
        }
        if weights.iter().all(|&weight| weight == 0) {
            let problem = "no size of weight above 0 was given; at least one is needed".to_owned();
            return refuse(KEY, problem);
        }
        Ok(Self { lengths, weights: AliasTable::new(&weights) })
    }

    fn longest(&self) -> Length {
        self.lengths.iter().copied().max_by_key(|length| length.bytes).expect("there is a size")
    }

    #[inline]
    fn length(&mut self, _: Op, stream: &mut RandomStream) -> Length {
        self.lengths[self.weights.draw(stream)]
    }
}

coflash_base::config! {
    /// The parameters of `"by-op"`.
    #[derive(Eq)]
    pub struct ByOpConfig {
        /// Sizes of reads.
        pub read: ChoiceConfig,
        /// Sizes of writes.
        pub write: ChoiceConfig,
        /// Sizes of trims.
        pub trim: ChoiceConfig,
    }
}

/// Sizes `"by-op"`.
#[derive(Clone, Debug)]
pub struct ByOp([Choice; 3]);

impl Policy for ByOp {
    type Config = ByOpConfig;
    const SUMMARY: &'static str = "Sizes are drawn from a list for each operation.";
    const SOURCE: &'static str = "folklore";
}

impl SizePolicy for ByOp {
    fn new(config: &ByOpConfig, align: u64) -> Result<Self, WorkloadError> {
        let list = |config, key: &'static str| {
            Choice::new(config, align).map_err(|error| error.with_key(|_| key.to_owned()))
        };
        Ok(Self([
            list(&config.read, "size.read.sizes")?,
            list(&config.write, "size.write.sizes")?,
            list(&config.trim, "size.trim.sizes")?,
        ]))
    }

    fn longest(&self) -> Length {
        self.0.iter().map(Choice::longest).max_by_key(|length| length.bytes).expect("there are three")
    }

    #[inline]
    fn length(&mut self, op: Op, stream: &mut RandomStream) -> Length {
        self.0[op as usize].length(op, stream)
    }
}
