//! The run of a workload: served by the firmware, with each request's arrival and answer in a log.

use super::fault::{Fate, Faults};
use super::record::Record;
use crate::delayed::Delayed;
use crate::export::serve_untimed;
use crate::lock::lock;
use crate::machine::{Clock, now};
use crate::order::{Id, Kind, Log, change};
use crate::session::Session;
use coflash_nbd::{Errno, Export, Hangup, Request, Shape};
use coflash_store::{Disk, Store};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long an answer is held back. A program that sends a request without waiting for an answer that it needs is found
/// only while that answer is not there yet, and a drive is no faster.
const ANSWER_AFTER: Duration = Duration::from_millis(1);
/// How long that of a stuck request is held back.
const STUCK: Duration = Duration::from_secs(2);

/// A session as the disk of a server, which records if it has a log.
pub(crate) struct RunDisk<D: Disk> {
    session: Mutex<Session<Store<D>>>,
    clock: Clock,
    shape: Shape,
    log: Option<Logged>,
}

/// What is recorded, and the answers on their way.
struct Logged {
    written: Mutex<Written>,
    page_bytes: u64,
    answers: Delayed<HeldAnswer>,
}

struct Written {
    log: Log,
    faults: Faults,
    data: File,
    data_bytes: u64,
    /// The first error is kept until the end, so that it stops no request.
    result: io::Result<()>,
}

/// An answer that is held back.
struct HeldAnswer {
    request: Request,
    id: Option<Id>,
    result: Result<(), Errno>,
}

impl<D: Disk + Send> RunDisk<D> {
    pub(crate) fn new(session: Session<Store<D>>, shape: Shape) -> Self {
        Self { session: Mutex::new(session), clock: Clock::start(), shape, log: None }
    }

    /// Record what happens; the data goes to a file.
    pub(crate) fn recorded(self, data: File, faults: Faults, page_bytes: u64) -> Self {
        let written = Written { log: Log::default(), faults, data, data_bytes: 0, result: Ok(()) };
        let log = Some(Logged { written: Mutex::new(written), page_bytes, answers: Delayed::default() });
        Self { log, ..self }
    }

    /// Note a mark.
    pub(crate) fn mark(&self, text: String) {
        if let Some(logged) = &self.log {
            lock(&logged.written).log.mark(self.clock.time(), text);
        }
    }

    /// Send no more answers but those that are held back.
    pub(crate) fn end_answers(&self) {
        self.log.iter().for_each(|logged| logged.answers.stop());
    }

    /// The record of the run, and its faults.
    pub(crate) fn into_record(self) -> io::Result<(Record, Faults)> {
        let logged = self.log.expect("it was recorded");
        let Written { log, faults, data, result, .. } =
            logged.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        result?;
        let fault = faults.fault().map(ToString::to_string);
        Ok((Record { log, fault, ended: None, data: Some(data) }, faults))
    }

    /// Send the answers when they are due, until [`end_answers`](Self::end_answers) is called and all are sent.
    pub(crate) fn answer(&self) {
        let Some(logged) = &self.log else { return };
        let send = |HeldAnswer { request, id, result }: HeldAnswer| {
            if let Some(id) = id {
                lock(&logged.written).log.is_answered(self.clock.time(), id, result.is_err());
            }
            request.answer(result);
        };
        logged.answers.run(|| None, send);
    }
}

impl Written {
    /// Note the arrival of a request, if it is one of the model.
    fn arrives(&mut self, clock: Clock, request: &Request, page_bytes: u64) -> Option<Id> {
        let (kind, Range { start, end }) = change(request, page_bytes)?;
        let length = end - start;
        let id = self.log.arrives(clock.time(), kind, start, length, request.fua);
        if kind == Kind::Write {
            self.log.entries[id].place = self.data_bytes;
            if self.result.is_ok() {
                self.result = self.data.write_all_at(&request.data, self.data_bytes);
            }
            self.data_bytes += length;
        }
        Some(id)
    }
}

impl<D: Disk + Send> Export for RunDisk<D> {
    fn shape(&self) -> Shape {
        self.shape.clone()
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let Some(logged) = &self.log else {
            let session = &mut *lock(&self.session);
            for mut request in requests.drain(..) {
                let done = serve_untimed(session, &mut request, self.clock.time());
                request.answer(done);
            }
            return;
        };
        let ids: Vec<_> = {
            let mut written = lock(&logged.written);
            let arrives = |request| written.arrives(self.clock, request, logged.page_bytes);
            requests.iter().map(arrives).collect()
        };
        let session = &mut *lock(&self.session);
        for (mut request, id) in requests.drain(..).zip(ids) {
            let fate = {
                let written = &mut *lock(&logged.written);
                id.into_iter().for_each(|id| written.log.is_served(id));
                written.faults.fate(&request, session)
            };
            let result = match fate {
                Fate::Failed(errno) => Err(errno),
                _ => serve_untimed(session, &mut request, self.clock.time()),
            };
            let is_stuck = fate == Fate::Stuck;
            if id.is_none() && !is_stuck {
                request.answer(result);
            } else {
                let due = now() + if is_stuck { STUCK } else { ANSWER_AFTER };
                logged.answers.hold_until(due, HeldAnswer { request, id, result });
            }
        }
    }

    fn ended(&self, _: &Hangup) {}
}
