//! Work on several threads, watched by the one that waits for it.

use coflash_engine::{Cancelled, Observer, Phase, RunError};
use coflash_workload::{Request, Source, WorkloadError};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The time between two looks at work under way.
const LOOK: Duration = Duration::from_millis(20);
/// The whole of a piece of work.
const WHOLE: f64 = 1_000_000.0;

/// What pieces of work tell, and are told.
pub(crate) struct Watch {
    /// Pieces from this one on need not go on: it has failed.
    end: AtomicUsize,
    /// What is done of each piece.
    done: Vec<AtomicU32>,
    requests: AtomicU64,
}

impl Watch {
    fn goes_on(&self, number: usize) -> bool {
        number < self.end.load(Relaxed)
    }

    fn report(&self, observer: &mut dyn Observer) -> Result<(), Cancelled> {
        let done: f64 = self.done.iter().map(|done| f64::from(done.load(Relaxed))).sum();
        let share = done / WHOLE / self.done.len().max(1) as f64;
        let told = observer.progress(Phase::Inputs, Some(share), self.requests.load(Relaxed));
        told.inspect_err(|_| self.end.store(0, Relaxed))
    }
}

/// Do `work` for each number below `count`, on as many threads as are given, or as there are cores. The results do not depend on
/// that.
///
/// # Errors
/// The first error by number, or a cancellation.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    threads: Option<usize>,
    observer: &mut dyn Observer,
    work: impl Fn(usize, &Watch) -> Result<T, WorkloadError> + Sync,
) -> Result<Vec<T>, RunError> {
    let done = (0..count).map(|_| AtomicU32::new(0)).collect();
    let watch = Watch { end: AtomicUsize::new(usize::MAX), done, requests: AtomicU64::new(0) };
    let piece = |number: usize| {
        watch.goes_on(number).then(|| {
            let result = work(number, &watch);
            if result.is_err() {
                watch.end.fetch_min(number, Relaxed);
            }
            watch.done[number].store(WHOLE as u32, Relaxed);
            result
        })
    };
    let (sender, receiver) = channel();
    let mut told = watch.report(observer);
    let results: Vec<_> = match ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build() {
        Ok(pool) => pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                drop(sender.send((0..count).into_par_iter().with_max_len(1).map(piece).collect()))
            });
            loop {
                match receiver.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => told = told.and_then(|()| watch.report(observer)),
                    // A panic leaves nothing, and goes on at the end of the scope.
                    ended => break ended.unwrap_or_default(),
                }
            }
        }),
        // Where no thread can be started, this one does the work.
        Err(_) => (0..count).map(piece).collect(),
    };
    told?;
    Ok(results.into_iter().flatten().collect::<Result<_, _>>()?)
}

/// The source of a piece of work.
pub(crate) struct Watched<'a, S> {
    pub(crate) source: S,
    pub(crate) number: usize,
    pub(crate) watch: &'a Watch,
}

impl<S: Source> Source for Watched<'_, S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        if !self.watch.goes_on(self.number) {
            // An error, not the end: nobody must take a part of the piece for the whole.
            return Err(WorkloadError::Trace { file: "trace".to_owned(), problem: "cancelled".to_owned() });
        }
        self.source.next_batch(batch)?;
        let done = self.source.progress().unwrap_or(0.0) * WHOLE;
        self.watch.done[self.number].store(done as u32, Relaxed);
        self.watch.requests.fetch_add(batch.len() as u64, Relaxed);
        Ok(())
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::in_parallel;
    use coflash_engine::{Cancelled, NoObserver, Observer, Phase, RunError};
    use coflash_workload::WorkloadError;
    use std::thread::sleep;
    use std::time::Duration;

    fn failing(number: usize) -> Result<usize, WorkloadError> {
        let problem = number.to_string();
        if number % 3 == 2 { Err(WorkloadError::Trace { file: "f".to_owned(), problem }) } else { Ok(number) }
    }

    #[test]
    fn results_are_in_order_and_the_first_error_is_told_on_any_number_of_threads() {
        for threads in [Some(1), Some(2), Some(7), None] {
            let squares =
                in_parallel(100, threads, &mut NoObserver, |number, _| Ok(number * number)).unwrap();
            assert_eq!(squares, (0..100).map(|number| number * number).collect::<Vec<_>>());
            let slow_first = |number, _: &_| {
                sleep(Duration::from_millis(if number == 2 { 30 } else { 0 }));
                failing(number)
            };
            let error = in_parallel(20, threads, &mut NoObserver, slow_first).unwrap_err();
            assert_eq!(error.to_string(), "f: 2");
        }
    }

    #[test]
    fn work_ends_between_two_pieces_where_it_is_told_to() {
        struct Impatient;
        impl Observer for Impatient {
            fn progress(&mut self, _: Phase, _: Option<f64>, _: u64) -> Result<(), Cancelled> {
                Err(Cancelled)
            }
        }
        let work = |number, watch: &super::Watch| {
            while watch.goes_on(number) {
                sleep(Duration::from_millis(1));
            }
            Ok(())
        };
        assert!(matches!(in_parallel(9, Some(2), &mut Impatient, work), Err(RunError::Cancelled(_))));
    }
}
