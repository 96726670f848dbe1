//! The fit of a synthetic workload to a trace: the statistics of the trace as a [`SyntheticConfig`], and a comparison
//! of both.
//!
//! | trace | workload |
//! |---|---|
//! | shares of reads, trims and flushes | the same shares |
//! | frequency of each size | `size = "choice"`: the most frequent sizes exactly, the rest by octave |
//! | starts of requests that continue no other | `zipf` with the exponent and the number of start addresses that fit the counts |
//! | footprint | `scatter_block` with the same number of accessed pages |
//! | requests that continue a recent one | `runs` with the same share |
//! | interarrival times | `quantiles` with the same mean between any two of them |
//!
//! Not reproduced: differences between reads and writes in address and size, changes of popularity over time,
//! neighbourhoods of popular addresses, and bursts longer than a gap. The comparison shows the effect on the
//! statistics.
//!
//! Cost: one pass over the trace, one over the fitted workload, and a few over the beginning of candidates. Memory is
//! bounded (see [`popularity`] and [`profile`]).
//!
//! Source: Delimitrou et al., "Storage I/O generation and replay for datacenter applications" (2011), for the idea of
//! validating a generated workload feature by feature; the details are ours.

mod popularity;
mod profile;
#[cfg(test)]
mod tests;

pub use profile::{Gaps, Profile, Sizes};

use crate::options::TraceOptions;
use crate::source::open;
use coflash_base::{Bytes, Seed, Share};
use coflash_workload::synthetic::quantiles::QuantilesConfig;
use coflash_workload::synthetic::runs::RunsConfig;
use coflash_workload::synthetic::size::ChoiceConfig;
use coflash_workload::synthetic::zipf::ZipfConfig;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, Synthetic, SyntheticConfig};
use coflash_workload::{Op, Source, WorkloadError};
use profile::Counters;
use serde::{Deserialize, Serialize};

/// Options of the fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitOptions {
    /// Options of the trace reader.
    pub trace: TraceOptions,
    /// Size of a page for popularity and footprint, a power of two of at least 512 bytes.
    pub page: Bytes,
    /// Seed of the candidates and of the comparison.
    pub seed: u64,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { trace: TraceOptions::default(), page: Bytes { count: 4096 }, seed: 1 }
    }
}

/// A workload fitted to a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The workload, as under `synthetic` in a scenario.
    pub config: SyntheticConfig,
    /// The comparison with the trace.
    pub comparison: Comparison,
}

/// The trace and the fitted workload, measured in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The trace.
    pub original: Profile,
    /// The fitted workload.
    pub fitted: Profile,
}

/// Fit a workload to the trace in `paths`.
///
/// # Errors
/// See [`open`]; a malformed record; a trace without addresses.
pub fn fit(paths: &[String], options: &FitOptions) -> Result<Fitted, WorkloadError> {
    fit_source(&mut open(paths, &options.trace)?, options)
}

/// Fit a workload to `source`, which is read to its end.
///
/// # Errors
/// An error of the source; a source without addresses.
pub fn fit_source(source: &mut dyn Source, options: &FitOptions) -> Result<Fitted, WorkloadError> {
    let original = count(source, options)?;
    let seed = Seed(options.seed);
    let config = config(&original, seed)?;
    let mut fitted = Counters::new(options.page.count);
    fitted.read(&mut run(&config, seed)?)?;
    Ok(Fitted { config, comparison: Comparison { original: original.profile(), fitted: fitted.profile() } })
}

/// Fit a workload without the comparison.
///
/// # Errors
/// See [`fit_source`].
pub fn config_like(source: &mut dyn Source, options: &FitOptions) -> Result<SyntheticConfig, WorkloadError> {
    config(&count(source, options)?, Seed(options.seed))
}

/// Count in one pass.
fn count(source: &mut dyn Source, options: &FitOptions) -> Result<Counters, WorkloadError> {
    let page = options.page;
    if page.count < 512 || !page.count.is_power_of_two() {
        let problem = format!("{page} was given; a power of two of at least 512B is allowed");
        return Err(WorkloadError::Parameters { key: "page", problem });
    }
    let mut counters = Counters::new(page.count);
    counters.read(source)?;
    Ok(counters)
}

/// Open a fitted workload.
fn run(config: &SyntheticConfig, seed: Seed) -> Result<Synthetic, WorkloadError> {
    Synthetic::new(config, config.space.map_or(0, |space| space.count), seed)
}

/// Compute the configuration that fits the counters.
fn config(counters: &Counters, seed: Seed) -> Result<SyntheticConfig, WorkloadError> {
    if counters.ranged() == 0 {
        let problem = "no request has an address; reads, writes or trims are needed".to_owned();
        return Err(WorkloadError::Parameters { key: "trace", problem });
    }
    let requests = counters.requests();
    let share = |op: Op| ratio(counters.of(op), requests);
    let align = counters.align();
    let sizes = counters.sizes.choice();
    // The space must contain all addresses and the longest request.
    let longest = sizes.iter().map(|entry| entry.size.count).max().unwrap_or(align);
    let space_units = counters.end().max(longest).div_ceil(align);
    let law = counters.starts.law(space_units);
    let generator = |block: u64| {
        let zipf = GeneratorConfig::Zipf(ZipfConfig {
            exponent: law.exponent,
            scatter_block: (block > align).then_some(Bytes { count: block }),
            footprint: Some(Bytes { count: law.places * align }),
            ..ZipfConfig::default()
        });
        match ratio(counters.sequential, counters.ranged()) {
            Share::ZERO => zipf,
            sequential_share => GeneratorConfig::Runs(RunsConfig { sequential_share, from: Box::new(zipf) }),
        }
    };
    let gaps = counters.gaps.quantiles();
    let config = |block| SyntheticConfig {
        generator: generator(block),
        requests,
        read_share: share(Op::Read),
        trim_share: share(Op::Trim),
        flush_share: share(Op::Flush),
        size: SizeConfig::Choice(ChoiceConfig { sizes: sizes.clone() }),
        align: Bytes { count: align },
        space: Some(Bytes { count: space_units * align }),
        arrival: match gaps.is_empty() {
            true => ArrivalConfig::default(),
            false => ArrivalConfig::Quantiles(QuantilesConfig { gaps: gaps.clone() }),
        },
    };
    // Long requests reach beyond their start addresses and may overlap others, depending on the scatter block: choose
    // the size of block with the footprint nearest to that of the trace.
    let mut nearest = (f64::INFINITY, config(align));
    let mut block = align;
    while block <= (space_units * align).min(BLOCK_BYTES_MAX) {
        let candidate = config(block);
        let distance = counters.distance_of_footprint(&candidate, seed)?;
        if distance < nearest.0 {
            nearest = (distance, candidate);
        }
        block *= 4;
    }
    Ok(nearest.1)
}

/// The largest scatter block.
const BLOCK_BYTES_MAX: u64 = 16 << 20;

/// A share, rounded down, so that the sum of shares is at most the whole.
fn ratio(part: u64, whole: u64) -> Share {
    Share { ppb: (u128::from(part) * 1_000_000_000 / u128::from(whole.max(1))) as u64 }
}
