//! The fit of a synthetic workload to a trace: the statistics of the trace as a [`SyntheticConfig`], and a comparison
//! of both.
//!
//! | trace | workload |
//! |---|---|
//! | shares of reads, trims and flushes | the same shares |
//! | frequency of each size, for reads, writes and trims | `size = "by-op"`, by sixteenth of an octave |
//! | pages from each of 32 windows that are accessed next in each other one, with which operation | `reuse-flows` |
//! | their runs, short and long ones apart, and the part of the window in which they are | `reuse-flows` |
//! | distances inside a window | `reuse-flows`, by octave |
//! | footprint | the space |
//! | pages accessed | more requests where adjacent pages are too few |
//! | interarrival times | `quantiles`, by quarter of an octave |
//! | correlation of interarrival times at distances from 1 to 4,096 requests | `quantiles` with clustering |
//!
//! Not reproduced: the distance between addresses, which of the pages of a flow are used together with which of another
//! one, and times that depend on operations or addresses. The comparison shows the effect on the statistics.
//!
//! Cost: one pass over the trace, and one over the fitted workload. Memory is bounded: see `accesses.rs`.
//!
//! Source: Delimitrou et al., "Storage I/O generation and replay for datacenter applications" (2011), for the idea of
//! validating a generated workload feature by feature; the details are ours.

mod accesses;
mod clustering;
mod distributions;
mod flows;
#[cfg(test)]
mod tests;

use crate::Result;
use crate::info::{InfoOptions, OpInfo, WorkloadInfo, page_bytes, summarise_each};
use crate::numbers::SECTOR_BYTES;
use accesses::Accesses;
use clustering::Gaps;
use coflash_base::{Bytes, Seed, Share};
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, Synthetic, SyntheticConfig};
use coflash_workload::{Op, Request, Source, refuse};
use distributions::sizes;
use serde::Serialize;

/// A workload, as it is compared with another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Its statistics.
    #[serde(flatten)]
    pub info: WorkloadInfo,
    /// The correlation of the logarithms of gaps: 0 without clustering.
    pub interarrival_correlation: Correlations,
}

/// The correlation of gaps at a distance in requests; `None` for a trace that is too short.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "distances")]
pub struct Correlations {
    pub of_neighbours: Option<f64>,
    pub over_64_requests: Option<f64>,
    pub over_4096_requests: Option<f64>,
}

/// Fit a workload to `source`, which is read to its end, and describe the source; each request is handed to `each`. A page is a
/// power of two of at least 512 bytes.
///
/// # Errors
/// An error of the source; a source without addresses.
pub fn fit(
    source: &mut dyn Source,
    page: Bytes,
    mut each: impl FnMut(&Request),
) -> Result<(SyntheticConfig, Profile)> {
    let mut accesses = Accesses::new(page_bytes(page)?);
    let (profile, gaps) = described(source, page, |request| {
        accesses.add(request);
        each(request);
    })?;
    Ok((config(&accesses, &gaps, &profile.info)?, profile))
}

/// Describe a workload, which is read to its end, as [`fit`] describes the original.
///
/// # Errors
/// See [`fit`].
pub fn describe(source: &mut dyn Source, page: Bytes, each: impl FnMut(&Request)) -> Result<Profile> {
    described(source, page, each).map(|(profile, _)| profile)
}

/// Describe a workload and its gaps.
fn described(
    source: &mut dyn Source,
    page: Bytes,
    mut each: impl FnMut(&Request),
) -> Result<(Profile, Gaps)> {
    let mut gaps = Gaps::new();
    let info = summarise_each(source, InfoOptions { page, ..InfoOptions::default() }, |request| {
        gaps.add(request.arrival);
        each(request);
    })?;
    Ok((Profile { info, interarrival_correlation: gaps.correlations() }, gaps))
}

/// Compute the configuration that fits.
fn config(accesses: &Accesses, gaps: &Gaps, info: &WorkloadInfo) -> Result<SyntheticConfig> {
    let WorkloadInfo { requests, .. } = *info;
    if info.flush.requests == requests {
        return refuse("trace", "no request has an address; reads, writes or trims are needed");
    }
    let share = |op: &OpInfo| ratio(op.requests, requests);
    let size = sizes([&info.read, &info.write, &info.trim]);
    let generator = flows::config(accesses);
    // The space must contain the longest request.
    let sizes = [&size.read, &size.write, &size.trim].into_iter().flat_map(|choice| &choice.sizes);
    let longest = sizes.map(|entry| entry.size.count).max().unwrap_or(SECTOR_BYTES);
    let config = SyntheticConfig {
        space: Some(Bytes { count: generator.pages_bytes().max(longest).next_multiple_of(SECTOR_BYTES) }),
        generator: GeneratorConfig::ReuseFlows(generator),
        requests,
        read_share: share(&info.read),
        trim_share: share(&info.trim),
        flush_share: share(&info.flush),
        size: SizeConfig::ByOp(size),
        align: Bytes { count: SECTOR_BYTES },
        // All at once if no time passes between them.
        arrival: gaps.config().map_or_else(ArrivalConfig::default, ArrivalConfig::Quantiles),
    };
    complete(config, accesses.count(), info.page_bytes)
}

/// The most requests of a likeness, as a multiple of those of the trace.
const REQUESTS_MAX: u64 = 4;

/// Take as many requests as access as many pages as those of the trace, at intervals that give the same duration.
fn complete(mut config: SyntheticConfig, wanted: u64, page_bytes: u64) -> Result<SyntheticConfig> {
    let given = config.requests;
    config.requests *= REQUESTS_MAX;
    // Some pages of flows are never reached.
    let needed = requests_for(&config, wanted - wanted / 50, page_bytes)?;
    let is_near = needed.abs_diff(given) * 50 <= given;
    config.requests = if is_near || needed == config.requests { given } else { needed };
    if let ArrivalConfig::Quantiles(arrival) = &mut config.arrival {
        arrival.gaps.iter_mut().for_each(|quantile| {
            quantile.gap.ns =
                (u128::from(quantile.gap.ns) * u128::from(given) / u128::from(config.requests)) as u64;
        });
    }
    Ok(config)
}

/// The number of requests that access as many pages, at most those of the workload.
fn requests_for(config: &SyntheticConfig, pages: u64, page_bytes: u64) -> Result<u64> {
    let mut source = Synthetic::new(config, config.space.map_or(0, |space| space.count), Seed(0))?;
    let (mut batch, mut requests, mut accessed) = (Vec::new(), 0, 0);
    loop {
        source.next_batch(&mut batch)?;
        for request in &batch {
            if accessed >= pages {
                return Ok(requests);
            }
            requests += 1;
            if request.op != Op::Flush {
                accessed +=
                    (request.offset + request.length - 1) / page_bytes - request.offset / page_bytes + 1;
            }
        }
        if batch.is_empty() {
            return Ok(requests);
        }
    }
}

/// A share, rounded down, so that the sum of shares is at most the whole.
fn ratio(part: u64, whole: u64) -> Share {
    Share { ppb: (u128::from(part) * 1_000_000_000 / u128::from(whole.max(1))) as u64 }
}
