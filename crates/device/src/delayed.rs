//! Answers that are held back until their moment, where the time of the simulated device is emulated.

use coflash_nbd::Request;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Served requests whose answers wait.
#[derive(Default)]
pub(crate) struct Delayed {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// By moment; the number keeps the order of equal ones.
    requests: BTreeMap<(Instant, u64), Request>,
    number: u64,
    is_stopped: bool,
}

impl Delayed {
    /// Answer a request at a moment.
    pub(crate) fn answer_at(&self, due: Instant, request: Request) {
        let mut waiting = self.waiting();
        let number = waiting.number;
        waiting.number += 1;
        waiting.requests.insert((due, number), request);
        self.changed.notify_one();
    }

    /// Answer at the moments, until it is stopped and all are answered.
    pub(crate) fn run(&self) {
        let mut waiting = self.waiting();
        loop {
            let now = crate::machine::now();
            let later = waiting.requests.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut waiting.requests, later);
            if !due.is_empty() {
                drop(waiting);
                due.into_values().for_each(|request| request.answer(Ok(())));
                waiting = self.waiting();
                continue;
            }
            let Some((&(next, _), _)) = waiting.requests.first_key_value() else {
                if waiting.is_stopped {
                    return;
                }
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = next.saturating_duration_since(now);
            let waited = self.changed.wait_timeout(waiting, left);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// End [`run`](Self::run).
    pub(crate) fn stop(&self) {
        self.waiting().is_stopped = true;
        self.changed.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
