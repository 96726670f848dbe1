//! Parts at the same time: their requests merged by arrival.
//!
//! Of requests of the same time that of the tenant goes first that has had fewest, so that tenants without times
//! (back-to-back) take turns.
//!
//! Source: Knuth, "The Art of Computer Programming" vol. 3 (1973), 5.4.1: a tree of losers. Cost: O(log tenants) a request,
//! a comparison without a branch for each level: who is first cannot be foreseen.

use super::{PartSource, total};
use crate::{BATCH_REQUESTS, Request, Source, WorkloadError};
use std::hint::black_box;

pub(super) struct Tenants {
    tenants: Vec<Tenant>,
    /// The turn of whoever lost at each node of a tree: node 1 is its root, 2n and 2n + 1 are below n, and the tenants are
    /// what would be the nodes from their number on. Nodes are 0 until somebody has lost there.
    losers: Vec<u128>,
    /// The turn of whoever is first.
    first: u128,
    requests: u64,
    begun: bool,
}

struct Tenant {
    source: PartSource,
    batch: Vec<Request>,
    next: usize,
    had: u64,
    /// How far its source was before the batch.
    share_before: f64,
}

/// What each is ordered by: arrival, requests it has had and one more, so that no turn is 0, and its number. This is later
/// than any: the tenant has ended.
const NONE: u128 = u128::MAX;

/// How much of a turn is the number of the tenant; it leaves room for 2^48 requests.
const INDEX_BITS: u32 = 16;
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;

impl Tenants {
    pub(super) fn new(parts: Vec<PartSource>) -> Self {
        let requests = total(&parts);
        let tenant = |source| Tenant { source, batch: Vec::new(), next: 0, had: 0, share_before: 0.0 };
        let tenants: Vec<Tenant> = parts.into_iter().map(tenant).collect();
        Self { losers: vec![0; tenants.len()], first: NONE, tenants, requests, begun: false }
    }

    /// The turn of the tenant that was first, or of one that has none yet, has changed: it plays its way up again.
    #[inline]
    fn update(&mut self, tenant: usize) {
        let mut turn = self.tenants[tenant].turn(tenant);
        let mut node = (tenant + self.losers.len()) / 2;
        while node > 0 {
            let loser = self.losers[node];
            // The two change places, or not, by arithmetic; unless it is kept from knowing what the mask is, the compiler
            // makes a branch of it.
            let mask = u128::from(black_box(loser < turn)).wrapping_neg();
            let change = (turn ^ loser) & mask;
            self.losers[node] = loser ^ change;
            turn ^= change;
            node /= 2;
        }
        self.first = turn;
    }
}

impl Tenant {
    fn refill(&mut self) -> Result<(), WorkloadError> {
        self.share_before = self.source.done_share();
        self.next = 0;
        self.source.next_batch(&mut self.batch)
    }

    #[inline]
    fn turn(&self, index: usize) -> u128 {
        let turn = |request: &Request| {
            (u128::from(request.arrival.ns) << 64) | u128::from((self.had + 1) << INDEX_BITS) | index as u128
        };
        self.batch.get(self.next).map_or(NONE, turn)
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
            if self.first == NONE {
                break;
            }
            let first = self.first as usize & INDEX_MASK;
            let tenant = &mut self.tenants[first];
            batch.push(tenant.batch[tenant.next]);
            tenant.next += 1;
            tenant.had += 1;
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
