//! Miss ratios of plain caches: any eviction policy in front of the pages of a trace, without a device.

use crate::parallel::in_parallel;
use coflash_base::{Bytes, suggest};
use coflash_cache::EvictionConfig;
use coflash_cache::belady::FutureReferences;
use coflash_engine::{Cancellable, Observer, RunError};
use coflash_hybrid::Miniature;
use coflash_trace::accesses::Accesses;
use coflash_trace::info::{Sample, Sampling, page_bytes};
use coflash_trace::{STANDARD_INPUT, TraceOptions};
use coflash_workload::read_ahead::read_ahead;
use coflash_workload::{WorkloadError, refuse};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// Belady's optimum: it needs all accesses in advance, so no device can use it.
const BELADY: &str = "belady";

/// The simulated caches, and the sampling.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MissRatioOptions {
    /// Eviction policies by name, and `belady`.
    pub policies: Vec<String>,
    /// The size of a page, a power of two of at least 512 bytes.
    pub page: Bytes,
    /// The sizes of the caches. Empty for 17 sizes, from the footprint down to a 256th of it, each the one
    /// before divided by the square root of two.
    pub sizes: Vec<Bytes>,
    /// Upper limit of simulated pages; 131,072 by default.
    pub sample: Sample,
}

impl Default for MissRatioOptions {
    fn default() -> Self {
        Self {
            policies: vec![EvictionConfig::default().name().to_owned()],
            page: Bytes { count: 4096 },
            sizes: Vec::new(),
            sample: Sample::MINIATURE,
        }
    }
}

/// The miss ratios of caches of several sizes under several policies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissRatioCurves {
    /// The size of a page.
    pub page_bytes: u64,
    /// All accesses to pages; a request to three pages counts as three.
    pub accesses_pages: u64,
    /// The simulated sample of pages.
    pub sampling: Sampling,
    /// The sizes of the caches, ascending.
    pub cache_pages: Vec<u64>,
    /// The share of accesses that miss, for each policy by its name and for each size.
    #[serde(serialize_with = "by_name")]
    pub miss_ratio: Vec<(String, Vec<f64>)>,
}

fn by_name<S: Serializer>(curves: &[(String, Vec<f64>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(curves.iter().map(|(name, ratios)| (name, ratios)))
}

/// A simulated policy.
enum Simulated {
    Policy(EvictionConfig),
    /// With the accesses to come, once they are known.
    Belady(Option<FutureReferences>),
}

impl Simulated {
    fn named(name: &str) -> Result<Self, WorkloadError> {
        let names = || EvictionConfig::NAMES.iter().copied().chain([BELADY]).collect::<Vec<_>>();
        match EvictionConfig::by_name(name) {
            Some(config) => Ok(Self::Policy(config)),
            None if name == BELADY => Ok(Self::Belady(None)),
            None => {
                let hint = suggest::hint(name, &names());
                refuse("policies", format!("\"{name}\" is no eviction policy{hint}"))
            }
        }
    }

    fn unit_pages(&self) -> u32 {
        match self {
            Self::Policy(config) => config.unit_pages(),
            Self::Belady(_) => 1,
        }
    }

    /// Serve the accesses to pages below `bound` by a cache of `slots` pages; tell of each whether it hits.
    fn serve(
        &self,
        accesses: impl DoubleEndedIterator<Item = (u32, bool)> + ExactSizeIterator + Clone,
        bound: usize,
        slots: u32,
        told: impl FnMut(bool),
    ) {
        match self {
            Self::Policy(config) => Miniature::new(config, [slots], bound).use_pages(accesses, told),
            Self::Belady(future) => {
                let pages = accesses.map(|(page, _)| page);
                let known = future
                    .as_ref()
                    .map_or_else(|| Cow::Owned(FutureReferences::new(pages.clone(), bound)), Cow::Borrowed);
                known.hits(pages, slots).for_each(told);
            }
        }
    }
}

/// Simulate caches of several sizes under several policies over the pages of the trace in `paths`.
///
/// Reads and writes alike take a page in; trims are left out. The trace is read once. The accesses to at most
/// `options.sample` pages are kept and simulated, in caches scaled down by the same factor (C. Waldspurger,
/// T. Saemundsson, I. Ahmad & N. Park, "Cache Modeling and Optimization using Miniature Simulations", USENIX
/// ATC 2017). Misses are scaled up.
///
/// # Errors
/// An unknown policy, a page that is no power of two of at least 512 bytes, a cache smaller than a page, the standard
/// input for `belady`, an error of the trace, or a cancellation.
pub fn miss_ratio_curves(
    paths: &[String],
    trace: &TraceOptions,
    options: &MissRatioOptions,
    observer: &mut dyn Observer,
) -> Result<MissRatioCurves, RunError> {
    let mut policies: Vec<Simulated> =
        options.policies.iter().map(|name| Simulated::named(name)).collect::<Result<_, _>>()?;
    let page_bytes = page_bytes(options.page)?;
    let least = options.sizes.iter().min_by_key(|size| size.count);
    if let Some(size) = least.filter(|size| size.count < page_bytes) {
        let problem = format!("{size} was given; at least a page ({}) is allowed", options.page);
        return Ok(refuse("sizes", problem)?);
    }
    let needs_future = policies.iter().any(|policy| matches!(policy, Simulated::Belady(_)));
    if needs_future && paths.iter().any(|path| path == STANDARD_INPUT) {
        let problem = "\"belady\" needs the future, which a stream has not: give a file";
        return Ok(refuse("policies", problem)?);
    }
    let unit_pages = policies.iter().map(Simulated::unit_pages).max().unwrap_or(1);
    let mut source = Cancellable::new(read_ahead(coflash_trace::open(paths, trace)?)?, observer);
    let read = Accesses::read(&mut source, page_bytes, unit_pages, options.sample.pages());
    let accesses = source.finish(read).1?;

    let sampling = accesses.sampling();
    let footprint = (sampling.pages as f64 / sampling.share + 0.5) as u64;
    let mut cache_pages: Vec<u64> = options.sizes.iter().map(|size| size.count / page_bytes).collect();
    if cache_pages.is_empty() {
        cache_pages
            .extend((0..=16).map(|step| (footprint as f64 / libm::exp2(f64::from(step) / 2.0)) as u64));
        cache_pages.retain(|&pages| pages > 0);
    }
    cache_pages.sort_unstable();
    cache_pages.dedup();
    let scaled = |&pages: &u64| ((pages as f64 * sampling.share + 0.5) as u32).max(1);
    let slots: Vec<u32> = cache_pages.iter().map(scaled).collect();
    let total = accesses.total() as f64;
    let ratio = |misses: f64| (misses / sampling.share / total).min(1.0);
    for policy in &mut policies {
        if let Simulated::Belady(future) = policy {
            *future = Some(FutureReferences::new(accesses.iter().map(|(page, _)| page), accesses.pages()));
        }
    }
    let ratios = in_parallel(policies.len() * slots.len(), None, observer, |number, _| {
        let (policy, slots) = (&policies[number / slots.len()], slots[number % slots.len()]);
        let mut misses = 0_u64;
        policy.serve(accesses.iter(), accesses.pages(), slots, |hit| misses += u64::from(!hit));
        Ok(ratio(misses as f64))
    })?;
    let curves = ratios.chunks(slots.len().max(1)).map(<[f64]>::to_vec);
    let miss_ratio = options.policies.iter().cloned().zip(curves).collect();
    Ok(MissRatioCurves { page_bytes, accesses_pages: accesses.total(), sampling, cache_pages, miss_ratio })
}

/// Serve reads of `pages`, numbered from 0, by a cache of `slots` pages. Returns whether each access hits.
///
/// # Errors
/// An unknown policy.
pub fn hits(pages: &[u32], policy: &str, slots: u32) -> Result<Vec<bool>, RunError> {
    let bound = pages.iter().max().map_or(0, |&last| last as usize + 1);
    let mut hits = Vec::with_capacity(pages.len());
    let accesses = pages.iter().map(|&page| (page, false));
    Simulated::named(policy)?.serve(accesses, bound, slots, |hit| hits.push(hit));
    Ok(hits)
}
