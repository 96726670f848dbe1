//! The page accesses of a trace, kept for the fit.
//!
//! All are kept, 8 bytes each, up to 2^23. Beyond, only those to half of the address regions of 1 MiB are kept, then to a
//! quarter, and so on, and counts are multiplied.

use crate::info::{TRACKED_PER_REQUEST_MAX, mix};
use coflash_workload::{Op, Request};
use rustc_hash::FxHashMap;

/// The most accesses that are kept.
const ACCESSES_MAX: usize = 1 << 23;
const REGION_BYTES: u64 = 1 << 20;

/// A page access: the page and the operation.
#[derive(Clone, Copy)]
pub(super) struct Access(u64);

impl Access {
    pub(super) fn page(self) -> u64 {
        self.0 >> 2
    }

    pub(super) fn op(self) -> usize {
        (self.0 & 3) as usize
    }
}

/// The accesses of a trace.
pub(super) struct Accesses {
    pub(super) page_bytes: u64,
    pub(super) kept: Vec<Access>,
    /// One region in 2^this is kept.
    pub(super) sampled_log2: u32,
    /// Requests that begin with a page, and others.
    pub(super) aligned: u64,
    pub(super) unaligned: u64,
}

impl Accesses {
    pub(super) fn new(page_bytes: u64) -> Self {
        Self { page_bytes, kept: Vec::new(), sampled_log2: 0, aligned: 0, unaligned: 0 }
    }

    /// Add the pages of a read, a write or a trim.
    pub(super) fn add(&mut self, request: &Request) {
        if request.op == Op::Flush {
            return;
        }
        let is_aligned = request.offset.is_multiple_of(self.page_bytes);
        *(if is_aligned { &mut self.aligned } else { &mut self.unaligned }) += 1;
        let first = request.offset / self.page_bytes;
        let last = (request.offset + request.length - 1) / self.page_bytes;
        let op = request.op as u64;
        for page in first..=last.min(first + TRACKED_PER_REQUEST_MAX) {
            if self.is_kept(page) {
                if self.kept.len() == ACCESSES_MAX {
                    self.sampled_log2 += 1;
                    let kept = std::mem::take(&mut self.kept);
                    self.kept = kept.into_iter().filter(|access| self.is_kept(access.page())).collect();
                }
                self.kept.push(Access(page << 2 | op));
            }
        }
    }

    fn is_kept(&self, page: u64) -> bool {
        mix(page * self.page_bytes / REGION_BYTES).leading_zeros() >= self.sampled_log2
    }

    /// The previous and the next access of the same page, for each.
    pub(super) fn neighbours(&self) -> (Vec<Option<u32>>, Vec<Option<u32>>) {
        let mut latest = FxHashMap::default();
        let (mut previous, mut next) = (Vec::new(), vec![None; self.kept.len()]);
        for (at, access) in self.kept.iter().enumerate() {
            let before = latest.insert(access.page(), at as u32);
            if let Some(before) = before {
                next[before as usize] = Some(at as u32);
            }
            previous.push(before);
        }
        (previous, next)
    }

    /// The page accesses of the trace; an estimate if not all are kept.
    pub(super) fn count(&self) -> u64 {
        (self.kept.len() as u64) << self.sampled_log2
    }
}
