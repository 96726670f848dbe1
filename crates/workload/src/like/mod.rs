//! A made-up workload like a recorded one: its statistics, written down as a [`SyntheticConfig`], and both side by side.
//!
//! | of the recording | becomes |
//! |---|---|
//! | shares of reads, trims and flushes | the same shares |
//! | how often each size comes | `size = "choice"`: the most frequent sizes as they are, the rest gathered by octave |
//! | where requests begin that go on nowhere | `zipf` with the exponent and the number of places that give as many asked for once, twice, four times … |
//! | the pages that are touched | blocks in which places lie together, so that as many pages are |
//! | requests that go on where a recent one ended | `runs` with the same share |
//! | gaps between requests | `quantiles` with the same mean between any two of them |
//!
//! What is not kept: any difference between reads and writes in place and size, popularity that changes with time,
//! neighbourhoods of popular places, bursts longer than a gap. The comparison shows what that does to the numbers.
//!
//! One pass over the recording, one over what was fitted, and a few over the beginning of candidates; memory is bounded (see [`popularity`] and [`profile`]).
//! Source: Delimitrou et al., "Storage I/O generation and replay for datacenter applications" (2011), for the idea of
//! validating a generated workload feature by feature; the details are ours.

mod popularity;
mod profile;
#[cfg(test)]
mod tests;

pub use profile::{Gaps, Profile, Sizes};

use crate::synthetic::quantiles::QuantilesConfig;
use crate::synthetic::runs::RunsConfig;
use crate::synthetic::size::ChoiceConfig;
use crate::synthetic::zipf::ZipfConfig;
use crate::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, Synthetic, SyntheticConfig};
use crate::trace::{TraceOptions, open};
use crate::{Op, Source, WorkloadError};
use coflash_base::{Bytes, Seed, Share};
use profile::Tally;
use serde::{Deserialize, Serialize};

/// How to fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitOptions {
    /// How to read the trace.
    pub trace: TraceOptions,
    /// Popularity and footprint are counted in pages of this size, a power of two of at least 512 bytes.
    pub page: Bytes,
    /// The seed with which candidates are tried, and the fitted workload is run for the comparison.
    pub seed: u64,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { trace: TraceOptions::default(), page: Bytes { count: 4096 }, seed: 1 }
    }
}

/// A workload like a recorded one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The workload, as it stands under `synthetic` in a scenario.
    pub config: SyntheticConfig,
    /// How like it is.
    pub comparison: Comparison,
}

/// The recorded workload and the fitted one, measured the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The recorded one.
    pub original: Profile,
    /// The fitted one.
    pub fitted: Profile,
}

/// A workload like the trace in `paths`.
///
/// # Errors
/// As [`open`], whatever is wrong with a record, and a trace that asks for no address.
pub fn fit(paths: &[String], options: &FitOptions) -> Result<Fitted, WorkloadError> {
    fit_source(&mut open(paths, &options.trace)?, options)
}

/// A workload like that of `source`, which is read to its end.
///
/// # Errors
/// What is wrong with the source; a source that asks for no address.
pub fn fit_source(source: &mut dyn Source, options: &FitOptions) -> Result<Fitted, WorkloadError> {
    let original = tally(source, options)?;
    let seed = Seed(options.seed);
    let config = config(&original, seed)?;
    let mut fitted = Tally::new(options.page.count);
    fitted.read(&mut run(&config, seed)?)?;
    Ok(Fitted { config, comparison: Comparison { original: original.profile(), fitted: fitted.profile() } })
}

/// The workload alone, without the pass that measures it.
///
/// # Errors
/// As [`fit_source`].
pub fn config_like(source: &mut dyn Source, options: &FitOptions) -> Result<SyntheticConfig, WorkloadError> {
    config(&tally(source, options)?, Seed(options.seed))
}

/// What is counted in one pass.
fn tally(source: &mut dyn Source, options: &FitOptions) -> Result<Tally, WorkloadError> {
    let page = options.page;
    if page.count < 512 || !page.count.is_power_of_two() {
        let problem = format!("{page} was given; a power of two of at least 512B is allowed");
        return Err(WorkloadError::Parameters { key: "page", problem });
    }
    let mut tally = Tally::new(page.count);
    tally.read(source)?;
    Ok(tally)
}

/// The requests of a fitted workload.
fn run(config: &SyntheticConfig, seed: Seed) -> Result<Synthetic, WorkloadError> {
    Synthetic::new(config, config.space.map_or(0, |space| space.count), seed)
}

/// What was counted as a configuration.
fn config(tally: &Tally, seed: Seed) -> Result<SyntheticConfig, WorkloadError> {
    if tally.ranged() == 0 {
        let problem = "no request has an address; reads, writes or trims are needed".to_owned();
        return Err(WorkloadError::Parameters { key: "trace", problem });
    }
    let requests = tally.requests();
    let share = |op: Op| ratio(tally.of(op), requests);
    let align = tally.align();
    let sizes = tally.sizes.choice();
    // Room for every address and for the longest request.
    let longest = sizes.iter().map(|entry| entry.size.count).max().unwrap_or(align);
    let space_units = tally.end().max(longest).div_ceil(align);
    let law = tally.starts.law(space_units);
    let generator = |block: u64| {
        let zipf = GeneratorConfig::Zipf(ZipfConfig {
            exponent: law.exponent,
            scatter_block: (block > align).then_some(Bytes { count: block }),
            footprint: Some(Bytes { count: law.places * align }),
            ..ZipfConfig::default()
        });
        match ratio(tally.sequential, tally.ranged()) {
            Share::ZERO => zipf,
            sequential_share => GeneratorConfig::Runs(RunsConfig { sequential_share, from: Box::new(zipf) }),
        }
    };
    let gaps = tally.gaps.quantiles();
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
    // Long requests reach beyond the place where they begin. Whether they meet other places there depends on how places
    // lie together: in blocks of the size that gives the footprint nearest to the recorded one.
    let mut nearest = (f64::INFINITY, config(align));
    let mut block = align;
    while block <= (space_units * align).min(BLOCK_BYTES_MAX) {
        let candidate = config(block);
        let distance = tally.distance_of_footprint(&candidate, seed)?;
        if distance < nearest.0 {
            nearest = (distance, candidate);
        }
        block *= 4;
    }
    Ok(nearest.1)
}

/// The largest block in which places are kept together.
const BLOCK_BYTES_MAX: u64 = 16 << 20;

/// Rounded down, so that shares together stay within the whole.
fn ratio(part: u64, whole: u64) -> Share {
    Share { ppb: (u128::from(part) * 1_000_000_000 / u128::from(whole.max(1))) as u64 }
}
