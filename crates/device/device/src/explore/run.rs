//! The run of a workload: served by the firmware, with each request's arrival and answer in a log.

use super::Exploration;
use super::fault::{Fate, Faults};
use super::record::{Record, digest};
use super::schedule::Schedule;
use crate::export::{serve_untimed, shape};
use crate::lock::lock;
use crate::machine::Clock;
use crate::order::{Id, Kind, Log, change};
use crate::session::Session;
use coflash_base::seed::RandomStream;
use coflash_nbd::{Command, Errno, Export, Hangup, Request, Shape};
use coflash_store::{Disk, Store};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How late a stuck request is answered at the earliest.
const STUCK: Duration = Duration::from_secs(2);

/// A session as the devices of servers, parts of it, which records if it has a log.
pub(crate) struct RunDisk<D: Disk> {
    session: Mutex<Session<Store<D>>>,
    clock: Clock,
    pub(crate) shape: Shape,
    devices: Vec<Range<u64>>,
    log: Option<Logged>,
}

/// One of its devices.
pub(crate) struct Device<'a, D: Disk> {
    disk: &'a RunDisk<D>,
    number: usize,
    bytes: &'a Range<u64>,
}

/// What is recorded, and the requests under way.
struct Logged {
    written: Mutex<Written>,
    schedule: Schedule<(Request, Id, Result<(), Errno>)>,
}

struct Written {
    log: Log,
    faults: Faults,
    data: File,
    data_bytes: u64,
    /// The first error is kept until the end, so that it stops no request.
    result: io::Result<()>,
}

impl<D: Disk + Send> RunDisk<D> {
    pub(crate) fn new(session: Session<Store<D>>, plan: &Exploration) -> Self {
        let shape = shape(&session.scenario, session.size_bytes());
        let devices = plan.devices(shape.size_bytes);
        Self { session: Mutex::new(session), clock: Clock::start(), shape, devices, log: None }
    }

    /// The devices, to be served.
    pub(crate) fn devices(&self) -> impl Iterator<Item = Device<'_, D>> {
        self.devices.iter().enumerate().map(|(number, bytes)| Device { disk: self, number, bytes })
    }

    /// Record what happens; the data goes to a file. The stream draws who is answered next.
    pub(crate) fn recorded(self, data: File, faults: Faults, stream: RandomStream) -> Self {
        let written = Written { log: Log::default(), faults, data, data_bytes: 0, result: Ok(()) };
        let log = Some(Logged { written: Mutex::new(written), schedule: Schedule::new(stream) });
        Self { log, ..self }
    }

    /// Note a mark; returns the answer to its line.
    pub(crate) fn mark(&self, text: &str) -> String {
        if let Some(logged) = &self.log {
            lock(&logged.written).log.mark(self.clock.time(), text.to_owned());
        }
        "done".to_owned()
    }

    /// Answer at once what is under way.
    pub(crate) fn end_answers(&self) {
        self.log.iter().for_each(|logged| logged.schedule.end());
    }

    /// The record of the run, and its faults.
    pub(crate) fn into_record(self) -> io::Result<(Record, Faults)> {
        let logged = self.log.expect("it was recorded");
        let Written { log, faults, data, result, .. } =
            logged.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        result?;
        Ok((Record { log, fault: faults.told(), data: Some(data), ..Record::default() }, faults))
    }

    /// Answer requests by the schedule, until [`end_answers`](Self::end_answers) is called and all are answered.
    pub(crate) fn answer(&self) {
        let Some(logged) = &self.log else { return };
        logged.schedule.run(|(request, id, result)| {
            lock(&logged.written).log.is_answered(self.clock.time(), id, result.is_err());
            request.answer(result);
        });
    }
}

impl Written {
    /// Note the arrival of a request, if it is one of the model.
    fn arrives(&mut self, clock: Clock, request: &Request, device: usize, page_bytes: u32) -> Option<Id> {
        let (kind, Range { start, end }) = change(request, page_bytes.into())?;
        let length = end - start;
        let id = self.log.arrives(clock.time(), kind, start, length, request.fua);
        self.log.entries[id].device = device;
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

impl<D: Disk + Send> Export for Device<'_, D> {
    fn shape(&self) -> Shape {
        Shape { size_bytes: self.bytes.end - self.bytes.start, ..self.disk.shape.clone() }
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let RunDisk { session, clock, shape, log: logged, .. } = self.disk;
        // Before they are logged: of several connections the log has the order in which requests are served.
        let (session, logged) = (&mut *lock(session), logged.as_ref());
        let taken: Vec<_> = {
            let mut written = logged.map(|logged| lock(&logged.written));
            let take = |request: &mut Request| {
                let offset = request.offset;
                request.offset += self.bytes.start;
                let Some(written) = &mut written else { return (offset, Fate::Done, None) };
                let fate = written.faults.fate(request, self.bytes, session, clock.time());
                written.faults.has_failed |= matches!(fate, Fate::Failed(_) | Fate::Gone);
                let mut arrives = || written.arrives(*clock, request, self.number, shape.preferred_bytes);
                (offset, fate, if fate == Fate::Gone { None } else { arrives() })
            };
            requests.iter_mut().map(take).collect()
        };
        for (mut request, (offset, fate, id)) in requests.drain(..).zip(taken) {
            let result = match fate {
                Fate::Failed(errno) => Err(errno),
                Fate::Gone => Err(Errno::Io),
                _ => serve_untimed(session, &mut request, clock.time()),
            };
            // The client knows of no other place.
            request.offset = offset;
            match (logged, id) {
                (Some(logged), Some(id)) => {
                    let kind = digest((format!("{:?}", request.command), request.length, request.fua));
                    let at_least = if fate == Fate::Stuck { STUCK } else { Duration::ZERO };
                    logged.schedule.hold(kind, at_least, (request, id, result));
                    continue;
                }
                (Some(logged), None) if request.command == Command::Read && result.is_ok() => {
                    let from = self.bytes.start + offset;
                    lock(&logged.written).log.is_read(&(from..from + u64::from(request.length)));
                }
                _ => {}
            }
            request.answer(result);
        }
    }

    fn ended(&self, _: &Hangup) {}
}
