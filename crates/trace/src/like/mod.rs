//! The fit of a synthetic workload to a trace: the statistics of the trace as a [`SyntheticConfig`], and a comparison
//! of both.
//!
//! | trace | workload |
//! |---|---|
//! | shares of reads, trims and flushes | the same shares |
//! | frequency of each size, for reads, writes and trims | `size = "by-op"`: the most frequent sizes exactly, the rest by octave |
//! | reuse distances, for reads, writes and trims after reads and after writes | `lru-stack` |
//! | accesses to the same pages again and again | `lru-stack`, by the number of accesses |
//! | footprint | the space |
//! | requests that continue one of their kind | `lru-stack`, after new and after old pages |
//! | interarrival times | `quantiles` with the same mean between any two of them |
//! | correlation of interarrival times at distances from 1 to 2^15 requests | `quantiles` with clustering |
//!
//! Not reproduced: the order of reads and writes, the course over time (phases, growth of the footprint), the distance
//! between addresses, and sizes that depend on the address. The comparison shows the effect on the statistics.
//!
//! Cost: one pass over the trace, and one over the fitted workload. Memory is bounded (see [`profile`]).
//!
//! Source: Delimitrou et al., "Storage I/O generation and replay for datacenter applications" (2011), for the idea of
//! validating a generated workload feature by feature; the details are ours.

mod accesses;
mod clustering;
mod profile;
#[cfg(test)]
mod tests;

pub use profile::{Correlations, Gaps, Profile, Sizes};

use crate::info::page_bytes;
use crate::options::TraceOptions;
use crate::source::open;
use coflash_base::{Bytes, Seed, Share};
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
    let config = config(&original)?;
    let mut fitted = Counters::new(options.page.count);
    fitted.read(&mut Synthetic::new(&config, config.space.map_or(0, |space| space.count), seed)?)?;
    Ok(Fitted { config, comparison: Comparison { original: original.profile(), fitted: fitted.profile() } })
}

/// Fit a workload without the comparison.
///
/// # Errors
/// See [`fit_source`].
pub fn config_like(source: &mut dyn Source, options: &FitOptions) -> Result<SyntheticConfig, WorkloadError> {
    config(&count(source, options)?)
}

/// Count in one pass.
fn count(source: &mut dyn Source, options: &FitOptions) -> Result<Counters, WorkloadError> {
    let mut counters = Counters::new(page_bytes(options.page)?);
    counters.read(source)?;
    Ok(counters)
}

/// Compute the configuration that fits the counters.
fn config(counters: &Counters) -> Result<SyntheticConfig, WorkloadError> {
    if counters.ranged() == 0 {
        let problem = "no request has an address; reads, writes or trims are needed".to_owned();
        return Err(WorkloadError::Parameters { key: "trace", problem });
    }
    let requests = counters.requests();
    let share = |op: Op| ratio(counters.of(op), requests);
    let align = counters.align();
    let size = counters.size();
    // The space must contain the longest request.
    let sizes = [&size.read, &size.write, &size.trim].into_iter().flat_map(|choice| &choice.sizes);
    let longest = sizes.map(|entry| entry.size.count).max().unwrap_or(align);
    Ok(SyntheticConfig {
        generator: GeneratorConfig::LruStack(counters.generator()),
        requests,
        read_share: share(Op::Read),
        trim_share: share(Op::Trim),
        flush_share: share(Op::Flush),
        size: SizeConfig::ByOp(size),
        align: Bytes { count: align },
        space: Some(Bytes { count: counters.footprint_bytes().max(longest).next_multiple_of(align) }),
        arrival: counters.arrival().map_or_else(ArrivalConfig::default, ArrivalConfig::Quantiles),
    })
}

/// A share, rounded down, so that the sum of shares is at most the whole.
fn ratio(part: u64, whole: u64) -> Share {
    Share { ppb: (u128::from(part) * 1_000_000_000 / u128::from(whole.max(1))) as u64 }
}
