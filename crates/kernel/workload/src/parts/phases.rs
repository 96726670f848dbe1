//! Parts in sequence: each begins at the end of the previous one.

use super::{PartSource, total};
use crate::{Request, Source, WorkloadError};

pub(super) struct Phases {
    parts: Vec<PartSource>,
    current: usize,
    /// Begin of the current phase.
    begin_ns: u64,
    requests: u64,
}

impl Phases {
    pub(super) fn new(parts: Vec<PartSource>) -> Self {
        let requests = total(&parts);
        Self { parts, current: 0, begin_ns: 0, requests }
    }
}

impl Source for Phases {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        while let Some(part) = self.parts.get_mut(self.current) {
            part.next_batch(batch)?;
            if batch.is_empty() {
                self.begin_ns = self.begin_ns.saturating_add(part.total_ns());
                self.current += 1;
                continue;
            }
            for request in batch.iter_mut() {
                request.arrival.ns = request.arrival.ns.saturating_add(self.begin_ns);
            }
            break;
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        // Phases are weighted by their upper bounds of requests.
        let done: f64 = self.parts.iter().map(|part| part.done_share() * part.requests() as f64).sum();
        Some(done / self.requests as f64)
    }

    fn remarks(&self) -> Vec<String> {
        self.parts.iter().flat_map(Source::remarks).collect()
    }
}
