//! Parts at the same time: their requests, merged by arrival.
//!
//! Among simultaneous requests, the tenant with the fewest issued requests goes first. So tenants without times
//! (back-to-back) take turns.
//!
//! Source: Knuth, "The Art of Computer Programming" vol. 3 (1973), 5.4.1: a tree of losers. Cost: O(log tenants) per
//! request; branch-free comparisons, since their outcome is unpredictable.

use super::{PartSource, total};
use crate::{BATCH_REQUESTS, Request, Source, WorkloadError};
use std::hint::black_box;

pub(super) struct Tenants {
    tenants: Vec<Tenant>,
    /// The tree of losers: the losing key of each match. Node 1 is the root, 2n and 2n + 1 are the children of n, and
    /// tenant i is the leaf `tenants + i`. A node is 0 before its first match.
    losers: Vec<u128>,
    /// The key of the next tenant.
    first: u128,
    requests: u64,
    begun: bool,
}

struct Tenant {
    source: PartSource,
    batch: Vec<Request>,
    next: usize,
    issued: u64,
    /// Progress of its source before the batch.
    share_before: f64,
}

/// The key of a tenant that has ended, above all others. A key orders by arrival, then by issued requests plus one (so
/// no key is 0), then by index.
const ENDED: u128 = u128::MAX;

/// The bits of a key that hold the tenant's index; 2^48 requests fit above them.
const INDEX_BITS: u32 = 16;
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;

impl Tenants {
    pub(super) fn new(parts: Vec<PartSource>) -> Self {
        let requests = total(&parts);
        let tenant = |source| Tenant { source, batch: Vec::new(), next: 0, issued: 0, share_before: 0.0 };
        let tenants: Vec<Tenant> = parts.into_iter().map(tenant).collect();
        Self { losers: vec![0; tenants.len()], first: ENDED, tenants, requests, begun: false }
    }

    /// Replay the matches of `tenant` after a change of its key. It is the last winner, or has not played yet.
    #[inline]
    fn update(&mut self, tenant: usize) {
        let mut winner = self.tenants[tenant].key(tenant);
        let mut node = (tenant + self.losers.len()) / 2;
        while node > 0 {
            let loser = self.losers[node];
            // Conditional swap without a branch; `black_box` keeps the compiler from making one.
            let mask = u128::from(black_box(loser < winner)).wrapping_neg();
            let change = (winner ^ loser) & mask;
            self.losers[node] = loser ^ change;
            winner ^= change;
            node /= 2;
        }
        self.first = winner;
    }
}

impl Tenant {
    fn refill(&mut self) -> Result<(), WorkloadError> {
        self.share_before = self.source.done_share();
        self.next = 0;
        self.source.next_batch(&mut self.batch)
    }

    #[inline]
    fn key(&self, index: usize) -> u128 {
        let key = |request: &Request| {
            (u128::from(request.arrival.ns) << 64)
                | u128::from((self.issued + 1) << INDEX_BITS)
                | index as u128
        };
        self.batch.get(self.next).map_or(ENDED, key)
    }

    fn done_share(&self) -> f64 {
        let of_batch = if self.batch.is_empty() { 1.0 } else { self.next as f64 / self.batch.len() as f64 };
        self.share_before + (self.source.done_share() - self.share_before) * of_batch
    }
}

impl Source for Tenants {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        if !std::mem::replace(&mut self.begun, true) {
            for tenant in (0..self.tenants.len()).rev() {
                self.tenants[tenant].refill()?;
                self.update(tenant);
            }
        }
        while batch.len() < BATCH_REQUESTS {
            if self.first == ENDED {
                break;
            }
            let first = self.first as usize & INDEX_MASK;
            let tenant = &mut self.tenants[first];
            batch.push(tenant.batch[tenant.next]);
            tenant.next += 1;
            tenant.issued += 1;
            if tenant.next == tenant.batch.len() {
                tenant.refill()?;
            }
            self.update(first);
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        let done: f64 =
            self.tenants.iter().map(|tenant| tenant.done_share() * tenant.source.requests() as f64).sum();
        Some(if self.begun { done / self.requests as f64 } else { 0.0 })
    }

    fn remarks(&self) -> Vec<String> {
        self.tenants.iter().flat_map(|tenant| tenant.source.remarks()).collect()
    }
}
