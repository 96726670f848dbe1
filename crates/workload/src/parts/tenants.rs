//! Parts at the same time: their requests merged by arrival.
//!
//! Of requests of the same time that of the tenant goes first that has had fewest, so that tenants without times
//! (back-to-back) take turns.
//!
//! Source: Knuth, "The Art of Computer Programming" vol. 3 (1973), 5.4.1: a tree of winners. Cost: O(log tenants) a request.

use super::{PartSource, total};
use crate::{BATCH_REQUESTS, Request, Source, WorkloadError};

pub(super) struct Tenants {
    tenants: Vec<Tenant>,
    /// What each is ordered by: arrival, requests it has had, its number; [`NONE`] where it has ended. Beside the tenants,
    /// so that comparing them touches little memory.
    turns: Vec<u128>,
    /// Who is first of those below each node of a tree: node 1 is its root, 2n and 2n + 1 are below n, and the tenants are
    /// what would be the nodes from their number on.
    winners: Vec<usize>,
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

/// Later than any: a tenant has never had that many requests.
const NONE: u128 = u128::MAX;

/// How much of a turn is the number of the tenant; it leaves room for 2^48 requests.
const INDEX_BITS: u32 = 16;

impl Tenants {
    pub(super) fn new(parts: Vec<PartSource>) -> Self {
        let requests = total(&parts);
        let tenant = |source| Tenant { source, batch: Vec::new(), next: 0, had: 0, share_before: 0.0 };
        let tenants: Vec<Tenant> = parts.into_iter().map(tenant).collect();
        let count = tenants.len();
        Self { turns: vec![NONE; count], winners: vec![0; count], tenants, requests, begun: false }
    }

    /// The turn of a tenant has changed: those it meets on the way up are compared again.
    #[inline]
    fn update(&mut self, tenant: usize) {
        self.turns[tenant] = self.tenants[tenant].turn(tenant);
        let mut node = (tenant + self.tenants.len()) / 2;
        while node > 0 {
            let [left, right] = [self.winner(2 * node), self.winner(2 * node + 1)];
            // Without a branch: which of the two is first cannot be foreseen.
            self.winners[node] = if self.turns[left] < self.turns[right] { left } else { right };
            node /= 2;
        }
    }

    /// Who is first below a node.
    #[inline]
    fn winner(&self, node: usize) -> usize {
        node.checked_sub(self.tenants.len()).unwrap_or_else(|| self.winners[node])
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
            (u128::from(request.arrival.ns) << 64) | u128::from(self.had << INDEX_BITS) | index as u128
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
            let first = self.winner(1);
            if self.turns[first] == NONE {
                break;
            }
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
