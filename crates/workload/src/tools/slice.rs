//! A part of a trace: by time, by address, by count.
//!
//! The filters apply in this order: requests that arrive from `time_from` on and before `time_to`; of those the part that lies
//! within the addresses (a request that reaches beyond is cut, a flush has no address and stays); of what is left, `count`
//! requests after the first `skip`. The first request kept arrives at zero; addresses stay as they are.

use super::meaningless;
use crate::request::{Op, Request, Source, WorkloadError};
use coflash_base::{Bytes, Duration, Time};
use serde::{Deserialize, Serialize};

/// Which part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slice {
    /// The first time that belongs to it.
    pub time_from: Duration,
    /// The first time that no longer does.
    pub time_to: Option<Duration>,
    /// The first byte that belongs to it.
    pub address_from: Bytes,
    /// The first byte that no longer does.
    pub address_to: Option<Bytes>,
    /// How many requests of the rest are left out first.
    pub skip: u64,
    /// How many are kept at most.
    pub count: Option<u64>,
}

impl Slice {
    /// Refuses a slice that is empty whatever the trace.
    pub(super) fn check(&self) -> Result<(), WorkloadError> {
        if let Some(to) = self.time_to
            && to <= self.time_from
        {
            return Err(meaningless("slice", format!("it ends at {to} and begins at {}", self.time_from)));
        }
        if let Some(to) = self.address_to
            && to <= self.address_from
        {
            let problem = format!("its addresses end at {to} and begin at {}", self.address_from);
            return Err(meaningless("slice", problem));
        }
        if self.count == Some(0) {
            return Err(meaningless("slice", "a count of 0 was given, at least 1 expected"));
        }
        Ok(())
    }
}

/// A source cut down to a slice.
pub(super) struct Sliced<S> {
    source: S,
    slice: Slice,
    skip: u64,
    left: u64,
    /// When the first request kept arrived.
    origin_ns: Option<u64>,
    ended: bool,
}

impl<S: Source> Sliced<S> {
    pub(super) fn new(source: S, slice: &Slice) -> Self {
        let left = slice.count.unwrap_or(u64::MAX);
        Self { source, slice: slice.clone(), skip: slice.skip, left, origin_ns: None, ended: false }
    }

    /// The part of `request` that is kept.
    fn keep(&mut self, mut request: Request) -> Option<Request> {
        let slice = &self.slice;
        if slice.time_to.is_some_and(|to| request.arrival.ns >= to.ns) || self.left == 0 {
            self.ended = true;
        }
        if self.ended || request.arrival.ns < slice.time_from.ns {
            return None;
        }
        if request.op != Op::Flush {
            let end = request.offset + request.length;
            let end = slice.address_to.map_or(end, |to| end.min(to.count));
            request.offset = request.offset.max(slice.address_from.count);
            request.length = end.checked_sub(request.offset).filter(|&length| length > 0)?;
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
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        while !self.ended && self.left > 0 {
            self.source.next_batch(batch)?;
            if batch.is_empty() {
                break;
            }
            batch.retain_mut(|request| match self.keep(*request) {
                Some(kept) => {
                    *request = kept;
                    true
                }
                None => false,
            });
            if !batch.is_empty() {
                return Ok(());
            }
        }
        batch.clear();
        self.ended = true;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        if self.ended { Some(1.0) } else { self.source.progress() }
    }

    fn remarks(&self) -> Vec<String> {
        self.source.remarks()
    }
}
