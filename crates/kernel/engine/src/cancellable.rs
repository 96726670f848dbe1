//! A source of requests that an observer may cancel.

use crate::error::RunError;
use crate::observer::{Cancelled, Observer, Phase};
use coflash_workload::{Request, Source, WorkloadError};

/// A source that reports each batch to an observer, and fails after a cancellation.
pub struct Cancellable<'a, S> {
    source: S,
    observer: &'a mut dyn Observer,
    requests: u64,
    cancelled: Option<Cancelled>,
}

impl<'a, S: Source> Cancellable<'a, S> {
    /// Watch a source.
    pub fn new(source: S, observer: &'a mut dyn Observer) -> Self {
        Self { source, observer, requests: 0, cancelled: None }
    }

    /// Give the source back, with the result of work on it. A cancellation is returned as such, not as an error of the trace.
    ///
    /// # Errors
    /// That of the work, or the cancellation.
    pub fn finish<T>(self, result: Result<T, WorkloadError>) -> (S, Result<T, RunError>) {
        let result = match self.cancelled {
            Some(cancelled) => Err(cancelled.into()),
            None => result.map_err(RunError::from),
        };
        (self.source, result)
    }
}

impl<S: Source> Source for Cancellable<'_, S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        if let Err(cancelled) = self.observer.progress(Phase::Inputs, self.source.progress(), self.requests) {
            self.cancelled = Some(cancelled);
            // An error, not the end: the reader must not take a part of the trace for the whole.
            let problem = cancelled.to_string();
            return Err(WorkloadError::Trace { file: "trace".to_owned(), problem });
        }
        self.source.next_batch(batch)?;
        self.requests += batch.len() as u64;
        Ok(())
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&self.source)
    }
}
