//! What a trace is like, watched like a run.

use crate::run::{Cancelled, Observer, Phase, RunError};
use coflash_base::Bytes;
use coflash_workload::info::{WorkloadInfo, summarise};
use coflash_workload::{Request, Source, TraceOptions, WorkloadError, trace};

/// Reads the trace in `paths` once and tells what it is like, in pages of `page` bytes.
///
/// # Errors
/// What is wrong with the trace; or the observer stopped it.
pub fn inspect(
    paths: &[String],
    options: &TraceOptions,
    page: Bytes,
    observer: &mut dyn Observer,
) -> Result<WorkloadInfo, RunError> {
    let mut source = trace::open(paths, options)?;
    let mut watched = Watched { source: &mut source, observer, requests: 0, cancelled: None };
    let summary = summarise(&mut watched, page);
    if let Some(cancelled) = watched.cancelled {
        return Err(cancelled.into());
    }
    Ok(WorkloadInfo { formats: source.formats().iter().map(ToString::to_string).collect(), ..summary? })
}

/// A source that reports each batch, and ends early where the observer wants no more.
struct Watched<'a, S> {
    source: &'a mut S,
    observer: &'a mut dyn Observer,
    requests: u64,
    cancelled: Option<Cancelled>,
}

impl<S: Source> Source for Watched<'_, S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        if let Err(cancelled) = self.observer.progress(Phase::Inputs, self.source.progress(), self.requests) {
            self.cancelled = Some(cancelled);
            return Ok(());
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
