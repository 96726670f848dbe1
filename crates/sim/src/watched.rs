//! A source that is watched like a run.

use crate::error::RunError;
use crate::observer::{Cancelled, Observer, Phase};
use coflash_workload::{Request, Source, WorkloadError};

/// A source that reports each batch, and breaks off where the observer wants no more.
pub(crate) struct Watched<'a, S> {
    source: S,
    observer: &'a mut dyn Observer,
    requests: u64,
    cancelled: Option<Cancelled>,
}

impl<'a, S: Source> Watched<'a, S> {
    pub(crate) fn new(source: S, observer: &'a mut dyn Observer) -> Self {
        Self { source, observer, requests: 0, cancelled: None }
    }

    /// The source, and what came of reading it: a break-off is no error of the trace.
    pub(crate) fn finish<T>(self, result: Result<T, WorkloadError>) -> (S, Result<T, RunError>) {
        let result = match self.cancelled {
            Some(cancelled) => Err(cancelled.into()),
            None => result.map_err(RunError::from),
        };
        (self.source, result)
    }
}

impl<S: Source> Source for Watched<'_, S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        if let Err(cancelled) = self.observer.progress(Phase::Inputs, self.source.progress(), self.requests) {
            self.cancelled = Some(cancelled);
            // Not the end of the trace: what reads it must not take the part for the whole.
            let problem = cancelled.to_string();
            return Err(WorkloadError::Trace { file: "trace".to_owned(), problem });
        }
        self.source.next_batch(batch)?;
        self.requests += batch.len() as u64;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        self.source.progress()
    }

    fn remarks(&self) -> Vec<String> {
        self.source.remarks()
    }
}
