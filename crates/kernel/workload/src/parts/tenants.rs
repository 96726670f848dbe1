//! Parts at the same time: their requests, merged by arrival.
//!
//! Among simultaneous requests, the tenant with the fewest issued requests goes first. So tenants without times
//! (back-to-back) take turns.
//!
//! Cost: O(log tenants) per request.

use super::{PartSource, total};
use crate::{BATCH_REQUESTS, Request, Source, WorkloadError};
use coflash_base::tournament::{NONE, Tournament};

pub(super) struct Tenants {
    tenants: Vec<Tenant>,
    /// By arrival, then by issued requests.
    order: Tournament,
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

impl Tenants {
    pub(super) fn new(parts: Vec<PartSource>) -> Self {
        let requests = total(&parts);
        let tenant = |source| Tenant { source, batch: Vec::new(), next: 0, issued: 0, share_before: 0.0 };
        let tenants: Vec<Tenant> = parts.into_iter().map(tenant).collect();
        Self { order: Tournament::new(tenants.len() as u32), tenants, requests, begun: false }
    }

    /// Tell the order of a tenant's next request.
    #[inline]
    fn update(&mut self, tenant: usize) {
        let Tenant { batch, next, issued, .. } = &self.tenants[tenant];
        let issued = issued * self.order.unit();
        let key = |request: &Request| u128::from(request.arrival.ns) << 64 | u128::from(issued);
        self.order.set(tenant as u32, batch.get(*next).map_or(NONE, key));
    }
}

impl Tenant {
    fn refill(&mut self) -> Result<(), WorkloadError> {
        self.share_before = self.source.done_share();
        self.next = 0;
        self.source.next_batch(&mut self.batch)
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
            for tenant in 0..self.tenants.len() {
                self.tenants[tenant].refill()?;
                self.update(tenant);
            }
        }
        while batch.len() < BATCH_REQUESTS {
            let (first, key) = self.order.first();
            if key == NONE {
                break;
            }
            let first = first as usize;
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
