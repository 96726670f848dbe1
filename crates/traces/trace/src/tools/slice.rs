//! A part of a trace, by time, address and count.
//!
//! The filters apply in this order: arrivals from `time_from` (inclusive) to `time_to` (exclusive); the part of each
//! request inside the address range (flushes are kept), and inside the sample; `count` requests after the first `skip`. The
//! first kept request arrives at time 0. Addresses are unchanged, but for those of a sample.
//!
//! A sample keeps one chunk of each group of consecutive chunks, chosen by a hash of the group's number, and moves the kept chunks
//! together: a fraction of the space, in order, with its reuse distances in that fraction (after SHARDS, Waldspurger et al., FAST
//! 2015, which keeps single addresses). What is sequential stays so.

use crate::Result;
use coflash_base::seed::Rng;
use coflash_base::{Bytes, Duration, Seed, Time};
use coflash_workload::{Op, Request, Source, refuse};
use serde::{Deserialize, Serialize};

/// The part of a trace to keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slice {
    /// Earliest arrival to keep.
    pub time_from: Duration,
    /// End of the arrivals to keep, exclusive.
    pub time_to: Option<Duration>,
    /// First byte to keep.
    pub address_from: Bytes,
    /// End of the address range to keep, exclusive.
    pub address_to: Option<Bytes>,
    /// Keep one chunk in this many.
    pub sample: Option<u64>,
    /// Number of remaining requests to skip first.
    pub skip: u64,
    /// Upper limit of requests to keep.
    pub count: Option<u64>,
}

impl Slice {
    /// Refuse a slice that is empty for every trace.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(to) = self.time_to.filter(|to| *to <= self.time_from) {
            return refuse("slice.time_to", format!("{to} is not above {}", self.time_from));
        }
        if let Some(to) = self.address_to.filter(|to| *to <= self.address_from) {
            return refuse("slice.address_to", format!("{to} is not above {}", self.address_from));
        }
        if let Some(given) = self.sample.filter(|given| !(1..=1 << 20).contains(given)) {
            return refuse("slice.sample", format!("{given} was given, 1 to 1048576 expected"));
        }
        if self.count == Some(0) {
            return refuse("slice.count", "0 was given, at least 1 expected");
        }
        Ok(())
    }
}

/// The size of the chunks of a sample: most requests lie in one.
const CHUNK_BYTES: u64 = 256 << 10;

/// The bytes below an address that a sample of one chunk in `of` keeps.
fn kept_below(address: u64, of: u64) -> u64 {
    let group = address / (of * CHUNK_BYTES);
    let chosen = Seed(group).stream("sample").next_u64() % of;
    let within = address % (of * CHUNK_BYTES);
    group * CHUNK_BYTES + within.saturating_sub(chosen * CHUNK_BYTES).min(CHUNK_BYTES)
}

/// A source limited to a slice.
pub(super) struct Sliced<S> {
    source: S,
    slice: Slice,
    skip: u64,
    left: u64,
    /// The arrival of the first kept request.
    origin_ns: Option<u64>,
    ended: bool,
}

impl<S: Source> Sliced<S> {
    pub(super) fn new(source: S, slice: &Slice) -> Self {
        let left = slice.count.unwrap_or(u64::MAX);
        Self { source, slice: slice.clone(), skip: slice.skip, left, origin_ns: None, ended: false }
    }

    /// The part of `request` to keep.
    fn keep(&mut self, mut request: Request) -> Option<Request> {
        let slice = &self.slice;
        self.ended |= slice.time_to.is_some_and(|to| request.arrival.ns >= to.ns) || self.left == 0;
        if self.ended || request.arrival.ns < slice.time_from.ns {
            return None;
        }
        if request.op != Op::Flush {
            let end = request.offset + request.length;
            let end = slice.address_to.map_or(end, |to| end.min(to.count));
            request.offset = request.offset.max(slice.address_from.count);
            let [start, end] = slice.sample.map_or([request.offset, end], |of| {
                [request.offset, end.max(request.offset)].map(|address| kept_below(address, of))
            });
            request.offset = start;
            request.length = end.checked_sub(start).filter(|&length| length > 0)?;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.left -= 1;
        let origin_ns = *self.origin_ns.get_or_insert(request.arrival.ns);
        request.arrival = Time { ns: request.arrival.ns - origin_ns };
        Some(request)
    }
}

impl<S: Source> Source for Sliced<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<()> {
        batch.clear();
        while !self.ended && self.left > 0 {
            self.source.next_batch(batch)?;
            if batch.is_empty() {
                break;
            }
            batch.retain_mut(|request| self.keep(*request).map(|kept| *request = kept).is_some());
            if !batch.is_empty() {
                return Ok(());
            }
        }
        batch.clear();
        self.ended = true;
        Ok(())
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&self.source)
    }

    fn progress(&self) -> Option<f64> {
        if self.ended { Some(1.0) } else { self.source.progress() }
    }
}
