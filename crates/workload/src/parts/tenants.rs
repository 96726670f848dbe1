//! Parts at the same time: their requests merged by arrival.
//!
//! Of requests of the same time that of the tenant goes first that has had fewest, so that tenants without times
//! (back-to-back) take turns.

use super::{PartSource, total};
use crate::{BATCH_REQUESTS, Request, Source, WorkloadError};

pub(super) struct Tenants {
    tenants: Vec<Tenant>,
    /// What each is ordered by: arrival and requests it has had; [`NONE`] where it has ended. Beside the tenants, so that
    /// comparing all of them touches little memory.
    turns: Vec<u128>,
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

/// A tenant has never had that many requests.
const NONE: u128 = u128::MAX;

impl Tenants {
    pub(super) fn new(parts: Vec<PartSource>) -> Self {
        let requests = total(&parts);
        let tenant = |source| Tenant { source, batch: Vec::new(), next: 0, had: 0, share_before: 0.0 };
        let tenants: Vec<Tenant> = parts.into_iter().map(tenant).collect();
        Self { turns: vec![NONE; tenants.len()], tenants, requests, begun: false }
    }

    /// The tenant whose turn it is, and the turn after which it is another's.
    fn first_and_second(&self) -> (usize, u128, u128) {
        let (mut first, mut least, mut second) = (0, NONE, NONE);
        for (index, &turn) in self.turns.iter().enumerate() {
            if turn < least {
                (first, least, second) = (index, turn, least);
            } else if turn < second {
                second = turn;
            }
        }
        (first, least, second)
    }
}

impl Tenant {
    fn refill(&mut self) -> Result<(), WorkloadError> {
        self.share_before = self.source.done_share();
        self.next = 0;
        self.source.next_batch(&mut self.batch)
    }

    fn turn(&self) -> u128 {
        self.batch
            .get(self.next)
            .map_or(NONE, |request| (u128::from(request.arrival.ns) << 64) | u128::from(self.had))
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
            for (tenant, turn) in self.tenants.iter_mut().zip(&mut self.turns) {
                tenant.refill()?;
                *turn = tenant.turn();
            }
        }
        while batch.len() < BATCH_REQUESTS {
            let (first, mut turn, second) = self.first_and_second();
            if turn == NONE {
                break;
            }
            let tenant = &mut self.tenants[first];
            // As long as it stays first, the others need no look.
            loop {
                batch.push(tenant.batch[tenant.next]);
                tenant.next += 1;
                tenant.had += 1;
                if tenant.next == tenant.batch.len() {
                    tenant.refill()?;
                }
                turn = tenant.turn();
                if turn >= second || batch.len() == BATCH_REQUESTS {
                    break;
                }
            }
            self.turns[first] = turn;
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
