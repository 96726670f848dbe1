//! A part as a source: shifts the inner requests in address and time and limits their number and duration.

use super::Part;
use crate::{Op, Request, Source, WorkloadError};
use coflash_base::{Duration, PlacementId};

/// The requests of a [`Part`].
pub struct PartSource {
    /// One of the kinds of a part.
    inner: Box<dyn Source>,
    /// The key path for remarks.
    path: String,
    remarks: Vec<String>,
    offset: u64,
    delay_ns: u64,
    placement: Option<PlacementId>,
    duration: Option<Duration>,
    /// Upper bound of its requests.
    requests: u64,
    done: u64,
    /// The latest arrival, relative to the end of the delay.
    latest_ns: u64,
    end: Option<End>,
}

/// The reason of the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The duration is over.
    Duration,
    /// No more requests.
    Requests,
}

impl PartSource {
    pub(super) fn new(
        part: &Part,
        inner: Box<dyn Source>,
        offset: u64,
        requests: u64,
        path: &str,
        remarks: Vec<String>,
    ) -> Self {
        Self {
            inner,
            path: path.to_owned(),
            remarks,
            offset,
            delay_ns: part.delay.ns,
            placement: part.placement,
            duration: part.duration,
            requests: part.requests_max.map_or(requests, |most| requests.min(most.get())),
            done: 0,
            latest_ns: 0,
            end: None,
        }
    }

    /// Upper bound of its requests; a duration may permit fewer.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The total time of an ended part, delay included.
    pub(super) fn total_ns(&self) -> u64 {
        self.delay_ns.saturating_add(self.duration.map_or(self.latest_ns, |duration| duration.ns))
    }

    /// Progress from 0 to 1.
    pub(super) fn done_share(&self) -> f64 {
        if self.end.is_some() || self.done == self.requests {
            return 1.0;
        }
        let of_time = self.duration.map_or(0.0, |duration| self.latest_ns as f64 / duration.ns as f64);
        of_time.max(self.done as f64 / self.requests as f64)
    }

    fn shift(&self, batch: &mut [Request]) {
        if self.offset == 0 && self.delay_ns == 0 {
            return;
        }
        for request in batch {
            request.arrival.ns = request.arrival.ns.saturating_add(self.delay_ns);
            if request.op != Op::Flush {
                request.offset += self.offset;
            }
        }
    }
}

impl Source for PartSource {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        if self.end.is_some() {
            return Ok(());
        }
        self.inner.next_batch(batch)?;
        if let Some(duration) = self.duration {
            let in_time = batch.partition_point(|request| request.arrival.ns < duration.ns);
            if in_time < batch.len() {
                batch.truncate(in_time);
                self.end = Some(End::Duration);
            }
        }
        let left = self.requests - self.done;
        batch.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        match batch.last() {
            Some(last) => self.latest_ns = last.arrival.ns,
            None => self.end = self.end.or(Some(End::Requests)),
        }
        self.done += batch.len() as u64;
        self.shift(batch);
        if let Some(placement) = self.placement {
            let writes = batch.iter_mut().filter(|request| request.op == Op::Write);
            writes.for_each(|request| request.placement = Some(placement));
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.done_share())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
        remarks.extend(self.inner.remarks());
        if let (Some(duration), Some(End::Requests)) = (self.duration, self.end) {
            remarks.push(format!(
                "workload.{}: all its {} requests came within {} of its {duration}.",
                self.path,
                self.done,
                Duration { ns: self.latest_ns }
            ));
        }
        remarks
    }
}
