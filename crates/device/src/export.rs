//! A device as the disk of an NBD server.

use crate::delayed::Delayed;
use crate::machine::{Machine, now};
use crate::session::{Answer, Failure, Session};
use coflash_base::Time;
use coflash_nbd::{Command, Errno, Export, Hangup, Request, Shape};
use coflash_store::StoreError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time between two sync points.
const SYNC_INTERVAL: Duration = Duration::from_secs(5);

/// Problems that are kept until they are taken.
const PROBLEMS_MAX: usize = 100;

/// A machine that connections share. One request is served at a time, in the order in which they come: the thread of a
/// connection serves its own batch, so that no thread waits for another to wake up.
pub(crate) struct Exported {
    machine: Mutex<Machine>,
    shape: Shape,
    /// Answers that wait for their moment, if time is emulated.
    delayed: Option<Delayed>,
    problems: Mutex<Vec<String>>,
    synced: Mutex<Instant>,
}

impl Exported {
    pub(crate) fn new(mut machine: Machine, emulate: bool) -> Self {
        let scenario = machine.scenario();
        let (description, preferred_bytes) = (scenario.name.clone(), scenario.flash.page_size.count as u32);
        let exported = scenario.flash.exported;
        let size_bytes = exported
            .map(|size| size.count)
            .unwrap_or_else(|| machine.session().map_or(0, |(session, _)| session.size_bytes()));
        let shape = Shape { name: String::new(), description, size_bytes, preferred_bytes, read_only: false };
        Self {
            machine: Mutex::new(machine),
            shape,
            delayed: emulate.then(Delayed::default),
            problems: Mutex::default(),
            synced: Mutex::new(now()),
        }
    }

    /// The machine.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        // A request that panicked has left a session that may be wrong: nothing may go on with it.
        self.machine.lock().expect("no request panics")
    }

    /// The machine, when nothing is served any more.
    pub(crate) fn into_machine(self) -> Machine {
        self.machine.into_inner().expect("no request panics")
    }

    /// Answers that wait for their moment.
    pub(crate) fn delayed(&self) -> Option<&Delayed> {
        self.delayed.as_ref()
    }

    /// What went wrong since the last call.
    pub(crate) fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut *self.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, problem: impl ToString) {
        let (mut problems, problem) =
            (self.problems.lock().unwrap_or_else(PoisonError::into_inner), problem.to_string());
        // A client that goes on after a failure meets the same again and again.
        if problems.len() < PROBLEMS_MAX && problems.last() != Some(&problem) {
            problems.push(problem);
        }
    }

    /// Do the work that is due without a request.
    pub(crate) fn tick(&self) {
        let mut machine = self.machine();
        let Some((session, clock)) = machine.session() else { return };
        let mut done = session.pass_time(clock.time());
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if done.is_ok() && synced.elapsed() >= SYNC_INTERVAL {
            *synced = now();
            done = session.sync_point().map_err(Failure::from);
        }
        self.after(&mut machine, done.err());
    }

    /// Cut the power of the device, and power it on again.
    pub(crate) fn cut(&self, seed: u64) -> Result<(), crate::DeviceError> {
        self.machine().cycle_power(seed)
    }

    /// Note a failure, and power on again if the power has been cut.
    fn after(&self, machine: &mut Machine, failure: Option<Failure>) {
        match failure {
            Some(Failure::Store(StoreError::PowerCut)) => {
                let seed = machine.cut_seed();
                match machine.cycle_power(seed) {
                    Ok(()) => self.note("the power of the device was cut; it is on again"),
                    Err(error) => self.note(error),
                }
            }
            Some(failure) => self.note(failure),
            None => {}
        }
    }
}

impl Export for Exported {
    fn shape(&self) -> Shape {
        let read_only = self.machine().session().is_none_or(|(session, _)| session.is_read_only());
        Shape { read_only, ..self.shape.clone() }
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let mut machine = self.machine();
        let mut answers = Vec::with_capacity(requests.len());
        let mut failure = None;
        let Some((session, clock)) = machine.session() else {
            return requests.drain(..).for_each(|request| request.answer(Err(Errno::Io)));
        };
        for mut request in requests.drain(..) {
            // Requests that arrived together with one that met a power cut are lost with it.
            let answer = match &failure {
                Some(Failure::Store(StoreError::PowerCut)) => Err(Failure::Store(StoreError::PowerCut)),
                _ => serve(session, &mut request, clock.time()),
            };
            if let Err(problem) = &answer {
                failure = Some(problem.clone());
            }
            answers.push((request, answer));
        }
        let written = session.write_out();
        let answers: Vec<_> = answers
            .into_iter()
            .map(|(request, answer)| {
                let answer = answer.and_then(|at| written.clone().map(|()| at).map_err(Failure::from));
                (request, answer.map(|at| clock.moment(at)).map_err(|failure| errno(&failure)))
            })
            .collect();
        self.after(&mut machine, failure);
        drop(machine);
        for (request, answer) in answers {
            match (answer, &self.delayed) {
                (Ok(due), Some(delayed)) => delayed.answer_at(due, request),
                (answer, _) => request.answer(answer.map(drop)),
            }
        }
    }

    fn ended(&self, why: &Hangup) {
        if !why.is_orderly() {
            self.note(format!("a connection ended: {why}"));
        }
    }
}

/// Serve a request at `now`.
pub(crate) fn serve<D: coflash_store::Disk>(
    session: &mut Session<D>,
    request: &mut Request,
    now: Time,
) -> Answer {
    let (offset, length) = (request.offset, u64::from(request.length));
    let done = match request.command {
        Command::Read => session.read(offset, &mut request.data, now),
        Command::Write => session.write(offset, &request.data, now),
        Command::Flush => session.flush(now),
        Command::Trim => session.trim(offset, length, now),
        Command::WriteZeroes { no_hole, .. } => session.write_zeroes(offset, length, no_hole, now),
        Command::Cache => Ok(now),
        Command::BlockStatus => {
            for (bytes, hole) in session.runs(offset, length) {
                if !request.extents.push(bytes, hole) {
                    break;
                }
            }
            Ok(now)
        }
    }?;
    if request.fua { Ok(session.flush(now)?.max(done)) } else { Ok(done) }
}

/// The error of a failed request in the protocol.
pub(crate) fn errno(failure: &Failure) -> Errno {
    match failure {
        Failure::BeyondEnd => Errno::NoSpace,
        Failure::Store(_) | Failure::DamagedSlot => Errno::Io,
    }
}
