//! A source on its own thread, a few batches ahead of its consumer.
//!
//! Parsing and decompression cost no simulation time as long as they are faster than the simulation. Batches are
//! recycled: a full batch arrives through a bounded channel, the empty one returns through another, so the steady
//! state allocates nothing. Progress and remarks travel with their batch.

use crate::request::{BATCH_REQUESTS, Request, Source, WorkloadError};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Batches queued between the two threads: enough to absorb a slow moment of either.
const BATCHES_AHEAD: usize = 4;

/// One message of the thread.
struct Delivery {
    /// The requests; empty at the end.
    batch: Result<Vec<Request>, WorkloadError>,
    progress: Option<f64>,
    remarks: Vec<String>,
}

/// A [`Source`] that works ahead on its own thread. Dropping it stops the thread after the current batch.
pub struct ReadAhead {
    /// `None` after the end of the source.
    full: Option<Receiver<Delivery>>,
    empty: Sender<Vec<Request>>,
    thread: Option<JoinHandle<()>>,
    progress: Option<f64>,
    remarks: Vec<String>,
}

impl ReadAhead {
    /// Start `source` on a new thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn new(source: impl Source + 'static) -> Result<Self, WorkloadError> {
        let (progress, remarks) = (source.progress(), source.remarks());
        let (full_sender, full) = sync_channel(BATCHES_AHEAD);
        let (empty, empty_receiver) = channel();
        let thread = Builder::new()
            .name("read-ahead".to_owned())
            .spawn(move || work(source, &full_sender, &empty_receiver))
            .map_err(|error| {
                WorkloadError::trace(NAME, format!("its thread could not be started: {error}"))
            })?;
        Ok(Self { full: Some(full), empty, thread: Some(thread), progress, remarks })
    }

    /// The error of a thread that ended without a last delivery.
    fn lost(&mut self) -> WorkloadError {
        self.full = None;
        let payload = self.thread.take().and_then(|thread| thread.join().err());
        let message = payload.as_ref().and_then(|payload| {
            payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied())
        });
        let message = message.unwrap_or("no message");
        WorkloadError::trace(NAME, format!("it broke off, which is an error of this program: {message}"))
    }
}

/// Its name in errors.
const NAME: &str = "reading ahead";

/// Let a source work ahead on its own thread; in a browser, which gives no threads, on this one.
///
/// # Errors
/// The system cannot start a thread.
pub fn read_ahead(source: impl Source + 'static) -> Result<Box<dyn Source>, WorkloadError> {
    Ok(if cfg!(target_family = "wasm") { Box::new(source) } else { Box::new(ReadAhead::new(source)?) })
}

/// The loop of the thread: until the end of the source, an error, or the loss of the consumer.
fn work(mut source: impl Source, full: &SyncSender<Delivery>, empty: &Receiver<Vec<Request>>) {
    loop {
        let mut batch = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH_REQUESTS));
        let result = source.next_batch(&mut batch);
        let last = result.is_err() || batch.is_empty();
        let delivery = Delivery {
            batch: result.map(|()| batch),
            progress: source.progress(),
            remarks: source.remarks(),
        };
        if full.send(delivery).is_err() || last {
            return;
        }
    }
}

impl Source for ReadAhead {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        let Some(full) = &self.full else {
            return Ok(());
        };
        let Ok(delivery) = full.recv() else {
            return Err(self.lost());
        };
        self.progress = delivery.progress;
        self.remarks = delivery.remarks;
        match delivery.batch {
            Ok(next) if next.is_empty() => {
                self.full = None;
                Ok(())
            }
            Ok(next) => {
                // The thread may have ended and need no more batches.
                let _ = self.empty.send(std::mem::replace(batch, next));
                Ok(())
            }
            Err(error) => {
                self.full = None;
                Err(error)
            }
        }
    }

    fn progress(&self) -> Option<f64> {
        self.progress
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }
}

impl Source for Box<dyn Source> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        (**self).next_batch(batch)
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&**self)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // Without a receiver the thread's next delivery fails, and the thread returns.
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;
    use coflash_base::Time;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Batches of one request each, then the given end.
    struct Count {
        next: u64,
        stop: u64,
        end: End,
        asked: Arc<AtomicU64>,
    }

    enum End {
        Plain,
        Error,
        Panic,
    }

    fn count(stop: u64, end: End) -> (Count, Arc<AtomicU64>) {
        let asked = Arc::new(AtomicU64::new(0));
        (Count { next: 0, stop, end, asked: Arc::clone(&asked) }, asked)
    }

    impl Source for Count {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
            batch.clear();
            self.asked.fetch_add(1, Ordering::Relaxed);
            if self.next < self.stop {
                let arrival = Time { ns: self.next };
                batch.push(Request { arrival, offset: 0, length: 1, op: Op::Read, placement: None });
                self.next += 1;
                return Ok(());
            }
            match self.end {
                End::Plain => Ok(()),
                End::Error => Err(WorkloadError::trace(NAME, "as expected")),
                End::Panic => panic!("a fault {}", 42),
            }
        }
        fn progress(&self) -> Option<f64> {
            Some(self.next as f64 / self.stop as f64)
        }
        fn remarks(&self) -> Vec<String> {
            vec![format!("at {}", self.next)]
        }
    }

    /// The number of requests of the source, and its error.
    fn drain(source: &mut ReadAhead) -> (u64, Option<String>) {
        let mut batch = Vec::new();
        let mut next = 0;
        loop {
            match source.next_batch(&mut batch) {
                Ok(()) if batch.is_empty() => return (next, None),
                Ok(()) => {
                    for request in &batch {
                        assert_eq!(request.arrival.ns, next);
                        next += 1;
                        assert_eq!(source.remarks(), [format!("at {next}")]);
                    }
                }
                Err(error) => return (next, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn it_yields_what_its_source_yields_in_order() {
        let counting: Box<dyn Source> = Box::new(count(1000, End::Plain).0);
        let mut source = ReadAhead::new(counting).unwrap();
        assert_eq!(source.progress(), Some(0.0));
        assert_eq!(drain(&mut source), (1000, None));
        assert_eq!(source.progress(), Some(1.0));
        assert_eq!(drain(&mut source), (0, None), "nothing follows the end");
    }

    #[test]
    fn an_error_comes_after_what_was_before_it() {
        let mut source = ReadAhead::new(count(10, End::Error).0).unwrap();
        assert_eq!(drain(&mut source), (10, Some("reading ahead: as expected".to_owned())));
        assert_eq!(drain(&mut source), (0, None), "nothing follows an error");
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        let mut source = ReadAhead::new(count(10, End::Panic).0).unwrap();
        let (yielded, error) = drain(&mut source);
        assert_eq!(yielded, 10);
        assert!(error.unwrap().contains("a fault 42"));
        assert_eq!(drain(&mut source), (0, None));
    }

    #[test]
    fn dropping_it_stops_the_thread_and_it_runs_no_further_ahead_than_allowed() {
        let (endless, asked) = count(u64::MAX, End::Plain);
        let mut source = ReadAhead::new(endless).unwrap();
        source.next_batch(&mut Vec::new()).unwrap();
        drop(source);
        let asked = asked.load(Ordering::Relaxed);
        // One taken, those in the queue, and one that could not be delivered.
        assert!(asked <= 2 + BATCHES_AHEAD as u64, "{asked}");
    }
}
