//! Answers held back until their moment: emulation of the time of the simulated device.

use crate::lock::lock;
use crate::machine::Clock;
use crate::session::{Due, NOBODY};
use coflash_base::Time;
use coflash_nbd::Request;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// A request that was served, and when it arrived.
pub(crate) struct PendingAnswer {
    pub(crate) request: Request,
    pub(crate) arrival: Instant,
}

/// Answers that wait for their moments.
#[derive(Default)]
pub(crate) struct Delayed {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// By moment; the number keeps the order of equal ones.
    requests: BTreeMap<(Instant, u64), PendingAnswer>,
    number: u64,
    /// Requests whose moment the timeline does not know yet, by the number under which they were served.
    unknown: BTreeMap<u16, (Due, PendingAnswer)>,
    owner: u16,
    is_stopped: bool,
}

impl Waiting {
    fn answer_at(&mut self, due: Instant, request: PendingAnswer) {
        self.requests.insert((due, self.number), request);
        self.number += 1;
    }
}

impl Delayed {
    /// A number for the next request.
    pub(crate) fn number(&self) -> u16 {
        let mut waiting = lock(&self.waiting);
        let next = |owner: u16| owner.wrapping_add(1);
        let mut owner = next(waiting.owner);
        while owner == NOBODY || waiting.unknown.contains_key(&owner) {
            owner = next(owner);
        }
        waiting.owner = owner;
        owner
    }

    /// Hold back the answer of a request that was served under a number.
    pub(crate) fn hold(&self, owner: u16, due: Due, clock: Clock, request: PendingAnswer) {
        let mut waiting = lock(&self.waiting);
        if due.awaited == 0 {
            waiting.answer_at(clock.moment(due.at), request);
        } else {
            waiting.unknown.insert(owner, (due, request));
        }
        self.changed.notify_one();
    }

    /// Note moments that have become known.
    pub(crate) fn known(&self, answers: impl Iterator<Item = (u16, Time)>, clock: Clock) {
        let mut waiting = lock(&self.waiting);
        for (owner, at) in answers {
            // The request is missing if it failed in another part.
            let Some((due, _)) = waiting.unknown.get_mut(&owner) else { continue };
            *due = Due { at: due.at.max(at), awaited: due.awaited - 1 };
            if due.awaited == 0 {
                let (due, request) = waiting.unknown.remove(&owner).expect("it is there");
                waiting.answer_at(clock.moment(due.at), request);
            }
        }
        self.changed.notify_one();
    }

    /// Take all requests; they are held no longer.
    pub(crate) fn take(&self) -> Vec<PendingAnswer> {
        let Waiting { requests, unknown, .. } = &mut *lock(&self.waiting);
        let unknown = std::mem::take(unknown).into_values().map(|(_, request)| request);
        std::mem::take(requests).into_values().chain(unknown).collect()
    }

    /// Pass the requests to `answer` at their moments, until [`stop`](Self::stop) is called and none is left. `tick` does
    /// the work that is due and returns the moment of the next event.
    pub(crate) fn run(&self, tick: impl Fn() -> Option<Instant>, answer: impl Fn(PendingAnswer)) {
        loop {
            let (number, owner, unknown) = {
                let waiting = lock(&self.waiting);
                (waiting.number, waiting.owner, !waiting.unknown.is_empty())
            };
            let event = if unknown { tick() } else { None };
            let mut waiting = lock(&self.waiting);
            if (number, owner) != (waiting.number, waiting.owner) {
                continue;
            }
            let now = crate::machine::now();
            let later = waiting.requests.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut waiting.requests, later);
            if !due.is_empty() {
                drop(waiting);
                due.into_values().for_each(&answer);
                continue;
            }
            let first = waiting.requests.first_key_value().map(|(&(at, _), _)| at);
            match [first, event].into_iter().flatten().min() {
                None if waiting.is_stopped => return,
                None => drop(self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner)),
                Some(next) => {
                    let left = next.saturating_duration_since(now);
                    drop(self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner));
                }
            }
        }
    }

    /// End [`run`](Self::run).
    pub(crate) fn stop(&self) {
        lock(&self.waiting).is_stopped = true;
        self.changed.notify_one();
    }
}
