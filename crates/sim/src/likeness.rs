//! Workloads fitted to traces, and both replayed side by side to compare the effects of caches and GC.

use crate::generate::{Generated, Rounds};
use coflash_base::measure::ratio;
use coflash_base::{Bytes, Seed};
use coflash_engine::{Amplification, Cancellable, Observer, RunError, run_source};
use coflash_level::CacheCounters;
use coflash_scenario::{Requests, Scenario, ScenarioError, to_toml};
use coflash_trace::TraceOptions;
use coflash_trace::like::{Profile, describe, fit};
use coflash_workload::synthetic::{Synthetic, SyntheticConfig};
use coflash_workload::{Op, Request, Source};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A synthetic workload fitted to a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedWorkload {
    /// The workload, as under `workload.synthetic` in a scenario.
    pub workload: SyntheticConfig,
    /// The trace.
    pub original: Measured,
    /// The fitted workload, measured in the same way.
    pub fitted: Measured,
    /// Assumptions and omissions of the trace reader.
    pub remarks: Vec<String>,
}

/// A workload, and the measures of simulated devices under it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Its statistics.
    #[serde(flatten)]
    pub profile: Profile,
    /// By the size of the cache as a share of the flash. Empty if the first requests are too long to be replayed.
    #[serde(flatten)]
    pub caches: BTreeMap<String, Cached>,
}

/// A simulated device with an LRU cache; `None` is an undefined value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cached {
    /// Pages programmed for each page written by the host.
    pub waf_host: Option<f64>,
    /// The share of pages read that were in the cache.
    pub read_hits_share: Option<f64>,
    /// The share of pages written that were in the cache.
    pub write_hits_share: Option<f64>,
}

impl FittedWorkload {
    /// The workload as a scenario file; all other keys have their defaults.
    #[must_use]
    pub fn to_toml(&self, seed: u64) -> String {
        to_toml(&json!({ "seed": seed, "workload": { "synthetic": self.workload } }))
    }

    /// A scenario with this workload and defaults for all other keys.
    #[must_use]
    pub fn generated(&self, seed: u64) -> Generated {
        let mut scenario = Scenario { seed, ..Scenario::default() };
        scenario.workload.requests = Requests::Synthetic(self.workload.clone());
        Generated { scenario, space: space(&self.workload) }
    }
}

/// Fit a workload to the trace in `paths`, with the given number of requests, or else that of the trace. A page is a power
/// of two of at least 512 bytes; the workload is measured with the seed.
///
/// # Errors
/// An error of the trace or of the page, or a cancellation.
pub fn like(
    paths: &[String],
    trace: &TraceOptions,
    (page, seed): (Bytes, u64),
    requests: Option<u64>,
    observer: &mut dyn Observer,
) -> Result<FittedWorkload, RunError> {
    if requests == Some(0) {
        return Err(ScenarioError::new("requests", "0 was given; at least 1 is allowed".to_owned()).into());
    }
    let mut whole = Cancellable::new(coflash_trace::open(paths, trace)?, observer);
    let mut head = Head::new(REPLAYED_PAGES);
    let fitted = fit(&mut whole, page, |request| head.add(request));
    let remarks = whole.remarks();
    let (source, fitted) = whole.finish(fitted);
    let (config, mut original) = fitted?;
    original.info.formats = source.formats().iter().map(ToString::to_string).collect();
    let accesses = head.recorded.iter().flat_map(pages).count() as u64;
    let mut like = Head::new(accesses + 1);
    let mut likeness = Synthetic::new(&config, space(&config).count, Seed(seed))?;
    let fitted = describe(&mut likeness, page, |request| like.add(request))?;
    let [caches, of_likeness] = replay_both([head.recorded.into(), like.recorded.into()], observer)?;
    Ok(FittedWorkload {
        workload: SyntheticConfig { requests: requests.unwrap_or(config.requests), ..config },
        original: Measured { profile: original, caches },
        fitted: Measured { profile: fitted, caches: of_likeness },
        remarks,
    })
}

fn space(config: &SyntheticConfig) -> Bytes {
    config.space.expect("a fitted workload has a space")
}

const PAGE_BYTES: u64 = 4096;
/// The maximal number of pages of the replayed requests, in all rounds.
const REPLAYED_PAGES: u64 = 1 << 20;
/// The maximal number of rounds.
const ROUNDS: u64 = 10;
/// Pages of flash for each page that is accessed: with less, GC of the trace would be idle.
const FLASH_PER_FOOTPRINT: f64 = 1.8;
const PAGES_PER_BLOCK: u64 = 32;
/// The sizes of the caches as shares of the flash, in parts per thousand, with their names.
const CACHES: [(u64, &str); 3] =
    [(0, "without_cache"), (10, "cache_of_1_percent"), (100, "cache_of_10_percent")];

/// The reads and writes at the beginning of a workload.
struct Head {
    recorded: Vec<Request>,
    pages_left: u64,
}

impl Head {
    /// Keep fewer than this many pages.
    fn new(pages: u64) -> Self {
        Self { recorded: Vec::new(), pages_left: pages }
    }

    fn add(&mut self, request: &Request) {
        if matches!(request.op, Op::Read | Op::Write) && self.pages_left > 0 {
            self.pages_left = self.pages_left.saturating_sub(pages(request).count() as u64);
            if self.pages_left > 0 {
                self.recorded.push(*request);
            }
        }
    }
}

/// The pages that a request touches.
fn pages(request: &Request) -> std::ops::RangeInclusive<u64> {
    request.offset / PAGE_BYTES..=(request.offset + request.length - 1) / PAGE_BYTES
}

/// Replay two workloads on the same devices, in rounds: flash is filled one after another with pages that
/// both leave room for, greedy GC, LRU caches of several sizes.
fn replay_both(
    workloads: [Arc<[Request]>; 2],
    observer: &mut dyn Observer,
) -> Result<[BTreeMap<String, Cached>; 2], RunError> {
    let mut all = workloads.each_ref().map(|requests| requests.iter().flat_map(pages).collect::<Vec<_>>());
    let accesses = all.each_ref().map(Vec::len).into_iter().max().unwrap_or(0) as u64;
    all.iter_mut().for_each(|pages| pages.sort_unstable());
    all.iter_mut().for_each(Vec::dedup);
    let distinct = all.each_ref().map(Vec::len).into_iter().max().unwrap_or(0);
    let mut caches = [BTreeMap::new(), BTreeMap::new()];
    if workloads[0].is_empty() {
        return Ok(caches);
    }
    let blocks = ((distinct as f64 * FLASH_PER_FOOTPRINT) as u64 / PAGES_PER_BLOCK / 2).max(64);
    let flash_pages = blocks * PAGES_PER_BLOCK * 2;
    let rounds = (REPLAYED_PAGES / accesses).clamp(1, ROUNDS);
    for (permille, name) in CACHES {
        let cache_pages = if permille == 0 { 0 } else { (flash_pages * permille / 1000).max(1) };
        let scenario = Scenario::default().set(&[
            ("flash.channels", "2".to_owned()),
            ("flash.blocks_per_plane", blocks.to_string()),
            ("flash.pages_per_block", PAGES_PER_BLOCK.to_string()),
            ("flash.page_size", format!("{PAGE_BYTES}B")),
            ("ftl.shared_streams", "[['host', 'gc', 'evict']]".to_owned()),
            ("cache.size", format!("{}B", cache_pages * PAGE_BYTES)),
            ("cooperation", "none".to_owned()),
            ("precondition.fill", "sequential".to_owned()),
            ("precondition.random_passes", "0".to_owned()),
            ("workload.remap", "dense".to_owned()),
        ])?;
        for (requests, caches) in workloads.iter().zip(&mut caches) {
            let source = Rounds { requests: Arc::clone(requests), next: 0, left: rounds };
            let result = run_source(&scenario, Box::new(source), observer)?;
            let CacheCounters { read_hits, read_misses, write_hits, write_misses, .. } = result.metrics.get();
            let cached = Cached {
                waf_host: result.metrics.get::<Amplification>().waf_host,
                read_hits_share: ratio(read_hits, read_hits + read_misses),
                write_hits_share: ratio(write_hits, write_hits + write_misses),
            };
            caches.insert(name.to_owned(), cached);
        }
    }
    Ok(caches)
}
