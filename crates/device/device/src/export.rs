//! A device as the disk of an NBD server.

use crate::delayed::{Delayed, PendingAnswer};
use crate::folder::DeviceError;
use crate::load::{Load, LoadMeter};
use crate::lock::lock;
use crate::loss::{Loss, WENT_ON};
use crate::machine::{Machine, now};
use crate::order::change;
use crate::power_on::{check_side, power_was_cut};
use crate::refused::Refused;
use crate::session::{AnsweredAt, Due, Failure, NOBODY, Session};
use coflash_base::Time;
use coflash_media::Side;
use coflash_nbd::{Command, Connections, Errno, Export, Hangup, Request, Shape};
use coflash_scenario::Scenario;
use coflash_store::{Store, StoreError, list};
use coflash_workload::Op;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The longest time between two sync points.
const SYNC_INTERVAL: Duration = Duration::from_secs(5);

/// Problems that are kept until they are taken.
const PROBLEMS_MAX: usize = 100;

/// What a user is told.
#[derive(Default)]
struct Problems {
    /// Those that were not taken yet.
    new: Vec<String>,
    /// The failures since power was switched on, taken or not.
    failures: BTreeSet<String>,
}

/// A machine shared by connections. Requests are served one at a time, in order of arrival: the thread of a
/// connection serves its own batch, so that no thread waits for another to wake up.
pub struct Exported {
    machine: Mutex<Machine>,
    /// The connections of its clients: their number, and its limit.
    pub connections: Connections,
    shape: Shape,
    /// Answers that wait for their moment, if time is emulated.
    delayed: Option<Delayed>,
    load: LoadMeter,
    problems: Mutex<Problems>,
    synced: Mutex<Instant>,
    /// What the last changes came to that the host could not write.
    refused: Mutex<Refused>,
}

impl Exported {
    pub(crate) fn new(mut machine: Machine, connections: Connections, emulate: bool) -> Self {
        let size_bytes = machine.session().map_or(0, |(session, _)| session.size_bytes());
        let exported = Self {
            shape: shape(machine.scenario(), size_bytes),
            machine: Mutex::new(machine),
            connections,
            delayed: emulate.then(Delayed::default),
            load: LoadMeter::new(now()),
            problems: Mutex::default(),
            synced: Mutex::new(now()),
            refused: Mutex::default(),
        };
        exported.tell_found(&mut exported.machine());
        exported
    }

    /// The machine.
    pub fn machine(&self) -> MutexGuard<'_, Machine> {
        // A panic in a request may have left a wrong session: nothing may go on with it.
        self.machine.lock().expect("no request panics")
    }

    /// The machine, when nothing is served any more.
    pub(crate) fn into_machine(self) -> Machine {
        self.machine.into_inner().expect("no request panics")
    }

    /// Take the problems since the last call.
    #[must_use]
    pub fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.problems).new)
    }

    fn note(&self, problem: impl ToString) {
        let (mut problems, problem) = (lock(&self.problems), problem.to_string());
        if problems.new.len() < PROBLEMS_MAX && problems.new.last() != Some(&problem) {
            problems.new.push(problem);
        }
    }

    /// Note a failure, once: requests that follow a failed write of the container fail for the same reason.
    fn note_failure(&self, failure: &Failure, is_read_only: bool) {
        let mut reason = failure.to_string();
        if is_read_only && matches!(failure, Failure::Store(StoreError::Host { .. })) {
            reason += "; the device is read-only: what was answered can be read, and changes are refused";
        }
        let is_new = {
            let failures = &mut lock(&self.problems).failures;
            failures.len() < PROBLEMS_MAX && failures.insert(reason.clone())
        };
        if is_new {
            self.note(reason);
        }
    }

    /// Tell what power on has found: damage, and whether the device is read-only.
    fn tell_found(&self, machine: &mut Machine) {
        let Some((session, _)) = machine.session() else { return };
        let store = session.store();
        let (found, refusal) = (store.take_found(), store.failure().cloned());
        if !found.is_empty() {
            self.note(format!("opening has found: {}", list(&found)));
        }
        if let Some(failure) = refusal {
            self.note_failure(&failure.into(), true);
        }
    }

    /// Cut the power if it is still on, and power on again. All connections end first: as with a drive that vanishes, no client gets
    /// an answer after the loss. `served` are requests under way.
    fn cycle_power(
        &self,
        machine: &mut Machine,
        (side, seed): (Side, u64),
        served: &[Request],
    ) -> Result<Loss, DeviceError> {
        let connections = self.connections.end();
        let mut unsettled = machine.session().map(|(session, _)| session.unsettled).unwrap_or_default();
        let held: Vec<PendingAnswer> = self.delayed.iter().flat_map(Delayed::take).collect();
        for request in held.iter().map(|held| &held.request).chain(served) {
            change_of_data(request.command)
                .into_iter()
                .for_each(|op| unsettled.leave_out(op, request.length.into()));
        }
        held.into_iter().for_each(|request| self.answer(request, Err(Errno::Io)));
        // A failure before may come again.
        lock(&self.problems).failures.clear();
        machine.cycle_power(side, seed)?;
        let loss = Loss::new(side, unsettled, connections);
        self.note(&loss.told);
        Ok(loss)
    }

    /// The load since the last call, by the clock of the host.
    #[must_use]
    pub fn take_load(&self) -> Load {
        self.load.take(now())
    }

    /// Do the work that is due without a request. Returns the moment of the next event on the timeline, if it has events.
    pub(crate) fn tick(&self) -> Option<Instant> {
        let mut machine = self.machine();
        let (session, clock) = machine.session()?;
        let mut done = session.pass_time(clock.time());
        if let Some(delayed) = &self.delayed {
            delayed.known(session.answers.drain(..), clock);
        }
        let event = session.next_event().map(|at| clock.moment(at));
        let mut synced = lock(&self.synced);
        if done.is_ok() && synced.elapsed() >= SYNC_INTERVAL {
            *synced = now();
            done = session.store().sync_point().map_err(Failure::from);
        }
        self.after(&mut machine, done.err(), &[]);
        event
    }

    /// Cut the power of a side, and power it on again.
    pub(crate) fn cut(&self, side: Side, seed: u64) -> Result<Loss, DeviceError> {
        let mut machine = self.machine();
        check_side(machine.scenario(), side)?;
        if machine.cut_below_host(side)? {
            self.after(&mut machine, None, &[]);
            return Ok(Loss::nothing(side));
        }
        self.cycle_power(&mut machine, (side, seed), &[])
    }

    /// Send delayed answers at their moments, until [`stop_delayed`](Self::stop_delayed) is called and all are sent.
    pub(crate) fn send_delayed(&self) {
        if let Some(delayed) = &self.delayed {
            delayed.run(|| self.tick(), |request| self.answer(request, Ok(())));
        }
    }

    /// End [`send_delayed`](Self::send_delayed).
    pub(crate) fn stop_delayed(&self) {
        self.delayed.iter().for_each(Delayed::stop);
    }

    /// Answer a request.
    fn answer(&self, served: PendingAnswer, result: Result<(), Errno>) {
        let PendingAnswer { request, arrival } = served;
        request.answer(result);
        self.load.answered(1, arrival, now());
    }

    /// Note a failure, and power on again if the power has been cut. `served` are requests that are not answered.
    fn after(&self, machine: &mut Machine, failure: Option<Failure>, served: &[Request]) {
        let restarted = machine.session().map_or(0, |(session, _)| session.take_restarted());
        for _ in 0..restarted {
            self.note(format!("{}; {WENT_ON}", power_was_cut(Side::Device)));
        }
        match failure {
            Some(Failure::Store(StoreError::PowerCut)) => {
                let plan = machine.cut_plan();
                if let Err(error) = self.cycle_power(machine, plan, served) {
                    self.note(error);
                }
            }
            Some(failure) => {
                let is_read_only = machine.session().is_some_and(|(session, _)| session.refusal().is_some());
                self.note_failure(&failure, is_read_only);
            }
            None => {}
        }
    }
}

impl Export for Exported {
    fn shape(&self) -> Shape {
        let read_only = self.machine().session().is_none_or(|(session, _)| session.refusal().is_some());
        Shape { read_only, ..self.shape.clone() }
    }

    fn serve(&self, requests: &mut Vec<Request>) {
        let arrival = now();
        self.load.arrived(requests.len(), arrival);
        let mut machine = self.machine();
        // Requests that waited here while the power was cut are lost with their connection.
        let wanted = requests.iter().all(Request::is_wanted);
        let Some((session, clock)) = machine.session().filter(|_| wanted) else {
            self.load.answered(requests.len(), arrival, now());
            return requests.drain(..).for_each(|request| request.answer(Err(Errno::Io)));
        };
        let mut answers = Vec::with_capacity(requests.len());
        let mut failure = None;
        let mut refused = lock(&self.refused);
        let was_refusing = session.refusal().is_some();
        for request in requests.iter_mut() {
            let owner = self.delayed.as_ref().map_or(NOBODY, Delayed::number);
            session.owner = owner;
            let answer = serve(session, request, clock.time());
            let answer = answer.and_then(|due| refused.mend(request).map(|()| due));
            if let Err(problem) = &answer {
                failure = Some(problem.clone());
            }
            answers.push((owner, answer));
            // Requests that arrived together with the interrupted one are lost with it.
            if failure == Some(Failure::Store(StoreError::PowerCut)) {
                self.after(&mut machine, failure, &requests[..answers.len() - 1]);
                self.load.answered(requests.len(), arrival, now());
                return requests.drain(..).for_each(|request| request.answer(Err(Errno::Io)));
            }
        }
        // No request is answered before the host has the changes of all of them.
        let written = session.store().write_out().map_err(Failure::from);
        let is_first = !was_refusing && session.refusal().is_some();
        let page_bytes = self.shape.preferred_bytes.into();
        let ranges = requests.iter().filter(|_| is_first).filter_map(|request| change(request, page_bytes));
        let ranges: Vec<_> = ranges.map(|(_, range)| range).filter(|range| !range.is_empty()).collect();
        let mut answered = 0;
        for (request, (owner, answer)) in requests.drain(..).zip(answers) {
            let answer =
                if change_of_data(request.command).is_some() { written.clone().and(answer) } else { answer };
            match (answer, &self.delayed) {
                (Ok(due), Some(delayed)) => {
                    delayed.hold(owner, due, clock, PendingAnswer { request, arrival })
                }
                (answer, _) => {
                    answered += 1;
                    request.answer(answer.map(drop).map_err(|failure| errno(&failure)));
                }
            }
        }
        self.load.answered(answered, arrival, now());
        if let Some(delayed) = &self.delayed {
            delayed.known(session.answers.drain(..), clock);
        }
        if is_first {
            refused.note(&mut machine, ranges);
        }
        self.after(&mut machine, failure.or(written.err()), &[]);
    }

    fn ended(&self, why: &Hangup) {
        if !why.is_orderly() {
            self.note(format!("a connection ended: {why}"));
        }
    }
}

/// The shape of the disk of a device with this capacity, unless its scenario exports less.
pub(crate) fn shape(scenario: &Scenario, capacity_bytes: u64) -> Shape {
    let size_bytes = scenario.flash.exported.map_or(capacity_bytes, |size| size.count);
    let preferred_bytes = scenario.flash.page_size.count as u32;
    let (name, description) = (String::new(), scenario.name.clone());
    Shape { name, description, size_bytes, preferred_bytes, read_only: false }
}

/// Serve a request at `now`.
fn serve<D: coflash_store::Disk>(
    session: &mut Session<Store<D>>,
    request: &mut Request,
    now: Time,
) -> AnsweredAt {
    if let Some(failure) = session.refusal()
        && change_of_data(request.command).is_some()
    {
        return Err(failure.clone().into());
    }
    let (offset, length) = (request.offset, u64::from(request.length));
    let done = match request.command {
        Command::Read => session.read(offset, &mut request.data, now),
        Command::Write => session.write(offset, &request.data, now),
        Command::Flush => session.flush(now),
        Command::Trim => session.trim(offset, length, now),
        Command::WriteZeroes { no_hole, .. } => session.write_zeroes(offset, length, no_hole, now),
        Command::Cache => Ok(Due::at(now)),
        Command::BlockStatus => {
            for (bytes, hole) in session.runs(offset, length) {
                if !request.extents.push(bytes, hole) {
                    break;
                }
            }
            Ok(Due::at(now))
        }
    }?;
    if request.fua { Ok(done.and(session.flush(now)?)) } else { Ok(done) }
}

/// Serve a request at `now`; the time of the simulated device does not matter.
pub(crate) fn serve_untimed<D: coflash_store::Disk>(
    session: &mut Session<Store<D>>,
    request: &mut Request,
    now: Time,
) -> Result<(), Errno> {
    serve(session, request, now).map(drop).map_err(|failure| errno(&failure))
}

/// What a command does to data, if it changes it.
fn change_of_data(command: Command) -> Option<Op> {
    match command {
        Command::Write => Some(Op::Write),
        Command::Trim | Command::WriteZeroes { .. } => Some(Op::Trim),
        _ => None,
    }
}

/// The error of a failed request in the protocol.
fn errno(failure: &Failure) -> Errno {
    match failure {
        Failure::BeyondEnd => Errno::NoSpace,
        Failure::Store(StoreError::Host { kind, .. }) => match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Errno::NoSpace,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Errno::NotPermitted,
            _ => Errno::Io,
        },
        Failure::Store(_) | Failure::DamagedSlot(_) | Failure::Restart(_) => Errno::Io,
    }
}
