//! Dies with an unknown future: the event queue of flash.
//!
//! An operation holds its die from start to end and the channel for its transfer. A channel is granted in the order of the
//! dies' requests; events at equal times fire in the order of scheduling. Where nothing else uses its channel, an operation is
//! one event. A die has at most one pending event at a time: a tournament of the dies finds the next. Only events that belong
//! to no die (operations that join a queue, the write buffer) are in a heap.
//!
//! Dies are first come, first served: an operation that waits for another die holds up those behind it. With superblocks, where
//! copies go from die to die, a die serves of the operations that may begin the one that was issued first.
//!
//! With read priority a read joins the queue of its die when it may begin, before the operations waiting
//! there. A suspended operation goes back into the queue with the rest of its array time.

mod moments;
mod operation;
mod priority;
mod queue;
#[cfg(test)]
mod tests;
mod unended;

use crate::moment::{Finished, OpId, Tag, When};
use crate::page_buffer::PageBuffer;
use crate::{ReadPriority, Timing};
use coflash_base::tournament::{NONE, Tournament};
use coflash_base::{Duration, Save, Time};
pub(crate) use operation::Phases;
use operation::{Follower, Operation, Operations};
use queue::Queue;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
pub(crate) use unended::Awaited;
use unended::Unended;

#[derive(Clone, Debug, Save)]
struct Server {
    channel: u32,
    queue: Queue,
    /// The pending event of the current operation.
    event: (Time, Step),
    /// The total time of operations issued and not ended.
    backlog: Duration,
}

#[derive(Clone, Debug, Default, Save)]
struct Bus {
    taken: bool,
    waiting: VecDeque<u32>,
    /// The total time of transfers issued and not ended.
    backlog: Duration,
}

/// An event that belongs to no die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Save)]
enum Apart {
    /// An operation joins the queue of its die.
    Join(OpId),
    /// The write buffer has room for a page again.
    Room,
}

#[derive(Clone, Copy, Debug, Save)]
enum Step {
    Start,
    ArrayDone,
    BusDone,
    End,
}

/// Dies, their queues, and the buses between them.
#[derive(Clone, Debug, Save)]
pub(crate) struct Channels {
    pub(crate) now: Time,
    /// The end of the last ended operation of a die.
    pub(crate) ended_at: Time,
    operations: Operations,
    servers: Vec<Server>,
    buses: Vec<Bus>,
    /// Whether each server has a bus of its own.
    are_private: bool,
    /// Whether reads overtake, and how many one operation.
    overtaken_max: Option<u32>,
    /// Whether reads suspend operations, and the time that this takes.
    suspend_overhead: Option<Duration>,
    /// Whether an operation joins the queue of its die only when it may begin.
    serves_ready: bool,
    pub(crate) buffer: PageBuffer<OpId>,
    /// Pages on their way from die to die: whole victims wait for room. `decode` after its read a page may be programmed.
    copies: PageBuffer<OpId>,
    decode: Duration,
    unended: [Unended; Awaited::COUNT],
    /// The array times of the programs into each row that have not begun.
    rows: Vec<VecDeque<Duration>>,
    /// The number of operations issued so far.
    issued: u64,
    suspensions: u64,
    /// The [`key`] of the pending event of each server.
    events: Tournament,
    events_apart: BinaryHeap<Reverse<(u128, Apart)>>,
    scheduled: u64,
    /// The operations that have ended since the last call of [`ends`](Self::ends), if they are recorded.
    ended: Option<Vec<(OpId, Time)>>,
}

impl Channels {
    /// Create a server for each entry, on the given channel.
    pub(crate) fn new(channel_of_server: Vec<u32>, timing: &Timing) -> Self {
        let buses = channel_of_server.iter().max().map_or(0, |last| last + 1);
        let servers = channel_of_server.len() as u32;
        let (overtaken_max, suspend_overhead) = match timing.read_priority {
            ReadPriority::None => (None, None),
            ReadPriority::Overtake { overtaken_max } => (Some(overtaken_max), None),
            ReadPriority::Suspend { overtaken_max, overhead } => (Some(overtaken_max), Some(overhead)),
        };
        let server = |channel| Server {
            channel,
            queue: Queue::default(),
            event: (Time::ZERO, Step::Start),
            backlog: Duration::ZERO,
        };
        Self {
            now: Time::ZERO,
            ended_at: Time::ZERO,
            operations: Operations::default(),
            servers: channel_of_server.into_iter().map(server).collect(),
            buses: vec![Bus::default(); buses as usize],
            are_private: buses == servers,
            overtaken_max,
            suspend_overhead,
            serves_ready: false,
            buffer: PageBuffer::new(0, Duration::ZERO),
            copies: PageBuffer::new(0, Duration::ZERO),
            decode: Duration::ZERO,
            unended: Default::default(),
            rows: Vec::new(),
            issued: 0,
            suspensions: 0,
            events: Tournament::new(servers),
            events_apart: BinaryHeap::new(),
            scheduled: 0,
            ended: None,
        }
    }

    /// Add a write buffer.
    pub(crate) fn set_buffer(&mut self, buffer: PageBuffer<OpId>) {
        self.buffer = buffer;
    }

    /// Let dies serve what may begin, with room for this many pages on their way from die to die, which take `decode` in between.
    pub(crate) fn serve_ready(&mut self, copies: u32, decode: Duration) {
        (self.serves_ready, self.copies, self.decode) =
            (true, PageBuffer::new(copies, Duration::ZERO), decode);
    }

    /// Record the ends of operations from now on.
    pub(crate) fn note_ends(&mut self) {
        self.ended.get_or_insert_default();
    }

    /// Report the operations that have ended since the last call, with their ends.
    pub(crate) fn ends(&mut self, mut tell: impl FnMut(OpId, Time)) {
        let ended = self.ended.as_mut().map(|ended| ended.drain(..));
        ended.into_iter().flatten().for_each(|(op, at)| tell(op, at));
    }

    #[inline(always)]
    fn note_end(&mut self, op: OpId, at: Time) {
        if let Some(ended) = &mut self.ended {
            ended.push((op, at));
        }
    }

    pub(crate) fn backlog_ns(&self, server: usize) -> u64 {
        self.servers[server].backlog.ns
    }

    /// The longest backlog of a die or a bus.
    pub(crate) fn backlog_ns_max(&self) -> u64 {
        let dies = self.servers.iter().map(|server| server.backlog.ns);
        dies.chain(self.buses.iter().map(|bus| bus.backlog.ns)).max().unwrap_or(0)
    }

    /// The number of buses.
    pub(crate) fn buses(&self) -> u64 {
        self.buses.len() as u64
    }

    /// The number of suspensions, and the time that they cost dies in addition to their operations.
    pub(crate) fn suspensions(&self) -> (u64, Duration) {
        (self.suspensions, self.suspend_overhead.unwrap_or_default() * self.suspensions)
    }

    pub(crate) fn is_idle(&self, server: usize) -> bool {
        self.servers[server].queue.is_empty()
    }

    /// Issue an operation. A program may be into a row of pages that are programmed in their order, whatever is programmed first: its
    /// array time is that of its place, not of its page.
    #[inline(never)]
    pub(crate) fn issue_into(
        &mut self,
        server: usize,
        phases: &Phases,
        row: Option<usize>,
        after: When,
    ) -> OpId {
        let program = self.program(server, phases, row);
        self.begin(program, after)
    }

    #[inline(always)]
    fn program(&mut self, server: usize, phases: &Phases, row: Option<usize>) -> Operation {
        if let Some(row) = row {
            self.rows.resize_with(self.rows.len().max(row + 1), VecDeque::new);
            self.rows[row].push_back(phases.finish);
        }
        Operation { row: row.map(|row| row as u32), ..self.operation(server, phases, 1) }
    }

    /// Issue equal operations, one after another.
    pub(crate) fn issue_run(&mut self, server: usize, phases: &Phases, count: u32, after: When) {
        // With priority a read may go between any two.
        let (operations, times) = if self.overtaken_max.is_none() { (1, count) } else { (count, 1) };
        for _ in 0..operations {
            let operation = self.operation(server, phases, times);
            self.begin(operation, after);
        }
    }

    /// Create an operation: the next in the order of issue, and part of the backlog.
    #[inline(always)]
    fn operation(&mut self, server: usize, phases: &Phases, times: u32) -> Operation {
        self.issued += 1;
        let die = &mut self.servers[server];
        die.backlog = die.backlog + phases.total * u64::from(times);
        let bus = &mut self.buses[die.channel as usize];
        bus.backlog = bus.backlog + phases.bus * u64::from(times);
        Operation { times, issued: self.issued, ..Operation::on(Some(server as u32), *phases, None) }
    }

    /// Let an operation of a die begin after a moment.
    #[inline(always)]
    fn begin(&mut self, operation: Operation, after: When) -> OpId {
        let Operation { server, is_urgent, issued, .. } = operation;
        let id = self.operations.add(Operation { ready: after.known(), ..operation });
        if let Some(before) = after.op {
            self.operations.follow(before, Follower::Operation(id, after.ns));
        }
        match (self.serves_ready || is_urgent, after.known()) {
            (false, _) => {
                let server = server.expect("it is an operation of a die");
                self.servers[server as usize].queue.insert(issued, id);
                self.engage(server);
            }
            (true, Some(at)) => self.join_at(id, at),
            (true, None) => {}
        }
        id
    }

    pub(crate) fn tell(&mut self, op: OpId, plus_ns: u64, tag: Tag) {
        self.operations.follow(op, Follower::Told(tag, plus_ns));
    }

    /// Process the events up to `until`, but stop after one that reports something. Returns whether none is left.
    #[inline(never)]
    pub(crate) fn run(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        let before = finished.len();
        let until = key(until, u64::MAX);
        while self.step_before(until, finished) {
            if finished.len() > before {
                return false;
            }
        }
        true
    }

    /// Advance time, without any event in between.
    pub(crate) fn pass_to(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    #[inline]
    pub(crate) fn next_event(&self) -> Option<Time> {
        let next = self.events.first().1.min(self.next_apart());
        (next != NONE).then(|| time_of(next))
    }

    /// The key of the next event that belongs to no die, or [`NONE`].
    #[inline(always)]
    fn next_apart(&self) -> u128 {
        self.events_apart.peek().map_or(NONE, |&Reverse((key, _))| key)
    }

    /// Process the next event. Returns false if there is none.
    pub(crate) fn step(&mut self, finished: &mut Vec<Finished>) -> bool {
        self.step_before(NONE, finished)
    }

    /// As [`step`](Self::step), if the key of the event is less than `until`.
    #[inline(always)]
    fn step_before(&mut self, until: u128, finished: &mut Vec<Finished>) -> bool {
        let ((server, key), apart) = (self.events.first(), self.next_apart());
        if key.min(apart) >= until {
            return false;
        }
        if apart < key {
            self.step_apart(finished);
            return true;
        }
        self.now = time_of(key);
        let die = &self.servers[server as usize];
        match die.event.1 {
            Step::Start => self.start(server),
            Step::ArrayDone => self.ask_for_bus(server),
            Step::BusDone => {
                let (channel, finish) = (die.channel, self.phases(server).finish);
                self.pass_bus_on(channel as usize);
                self.schedule(finish, server, Step::End);
            }
            Step::End => self.end(server, finished),
        }
        // Most events are replaced by the next one of the same die.
        if self.events.first().1 == key {
            self.events.set(server, NONE);
        }
        true
    }

    #[inline(never)]
    fn step_apart(&mut self, finished: &mut Vec<Finished>) {
        let Reverse((key, event)) = self.events_apart.pop().expect("there is one");
        self.now = time_of(key);
        match event {
            Apart::Join(operation) => self.join(operation),
            Apart::Room => {
                if let Some(promise) = self.buffer.give() {
                    self.keep(promise, self.now, finished);
                }
            }
        }
    }

    /// The phases of the current operation of a die.
    #[inline(always)]
    fn phases(&self, server: u32) -> Phases {
        let current = self.servers[server as usize].queue.current;
        self.operations[current.expect("it does something")].phases
    }

    /// Begin the operation of a die. Without a transfer over a shared bus it takes a single event.
    #[inline(always)]
    fn start(&mut self, server: u32) {
        let Phases { array, bus, finish, .. } = self.phases(server);
        if self.are_private || bus == Duration::ZERO {
            self.schedule(array + bus + finish, server, Step::End);
        } else if array == Duration::ZERO {
            self.ask_for_bus(server);
        } else {
            self.schedule(array, server, Step::ArrayDone);
        }
    }

    fn ask_for_bus(&mut self, server: u32) {
        let transfer = self.phases(server).bus;
        let die = &mut self.servers[server as usize];
        let bus = &mut self.buses[die.channel as usize];
        if bus.taken {
            // It has begun: an urgent operation no longer goes before it.
            die.event = (self.now, Step::ArrayDone);
            bus.waiting.push_back(server);
        } else {
            bus.taken = true;
            self.schedule(transfer, server, Step::BusDone);
        }
    }

    fn pass_bus_on(&mut self, bus: usize) {
        match self.buses[bus].waiting.pop_front() {
            Some(next) => self.schedule(self.phases(next).bus, next, Step::BusDone),
            None => self.buses[bus].taken = false,
        }
    }

    /// End the operation of a die, or repeat it.
    #[inline(always)]
    fn end(&mut self, server: u32, finished: &mut Vec<Finished>) {
        let die = &mut self.servers[server as usize];
        let id = die.queue.current.expect("an operation ends");
        let operation = &mut self.operations[id];
        operation.times -= 1;
        die.backlog.ns = die.backlog.ns.saturating_sub(operation.phases.total.ns);
        let bus = &mut self.buses[die.channel as usize];
        bus.backlog.ns = bus.backlog.ns.saturating_sub(operation.phases.bus.ns);
        self.ended_at = self.now;
        if operation.times > 0 {
            return self.start(server);
        }
        let Operation { awaited, number, target, .. } = *operation;
        if target.is_some() {
            self.program_copy(id);
        } else {
            self.note_end(id, self.now);
            if let Some(awaited) = awaited {
                self.end_awaited(awaited, number, finished);
            }
            self.go_on(self.operations[id].follower, self.now, finished);
            self.operations.remove(id);
        }
        self.servers[server as usize].queue.current = None;
        self.engage(server);
    }

    /// Continue with the follower of an operation that ends at `at`, now or later.
    fn go_on(&mut self, follower: Follower, at: Time, finished: &mut Vec<Finished>) {
        match follower {
            Follower::None => {}
            Follower::Operation(next, ns) => {
                let at = at + Duration { ns };
                let operation = &mut self.operations[next];
                match (operation.server, operation.ready) {
                    (Some(_), _) if operation.is_urgent || self.serves_ready => self.join_at(next, at),
                    (Some(server), _) => {
                        operation.ready = Some(at);
                        self.engage(server);
                    }
                    (None, None) => operation.ready = Some(at),
                    (None, Some(first)) => {
                        let follower = operation.follower;
                        self.operations.remove(next);
                        self.note_end(next, first.max(at));
                        self.go_on(follower, first.max(at), finished);
                    }
                }
            }
            Follower::Both(one, other) => {
                [one, other].into_iter().for_each(|next| self.keep(next, at, finished));
            }
            Follower::Room(ns) => self.drained(at + Duration { ns }),
            Follower::Copied => {
                if let Some(copy) = self.copies.give() {
                    self.copies.next().into_iter().for_each(|&next| self.operations.prefetch(next));
                    match self.operations[copy].server {
                        Some(_) => self.join_at(copy, at),
                        None => self.keep(copy, at, finished),
                    }
                }
            }
            Follower::Told(tag, ns) => finished.push(Finished { tag, at: at + Duration { ns } }),
        }
    }

    /// Begin the next operation of a die, or schedule its start if its time is known.
    #[inline(always)]
    fn engage(&mut self, server: u32) {
        let die = &mut self.servers[server as usize];
        let Some(next) = die.queue.next() else { return };
        let operation = &mut self.operations[next.0];
        if let Some(ready) = operation.ready {
            if let (Some(row), None) = (operation.row, operation.target) {
                operation.row = None;
                let finish = self.rows[row as usize].pop_front().expect("as many as there are programs");
                operation.phases = Phases::new(operation.phases.array, operation.phases.bus, finish);
            }
            die.queue.begin(next, operation.is_urgent);
            if ready <= self.now {
                self.start(server);
            } else {
                self.schedule(ready.since(self.now), server, Step::Start);
            }
        }
    }

    /// Schedule the next event of a die, in place of a pending one.
    fn schedule(&mut self, span: Duration, server: u32, step: Step) {
        self.scheduled += self.events.unit();
        let at = self.now + span;
        self.servers[server as usize].event = (at, step);
        self.events.set(server, key(at, self.scheduled));
    }

    fn schedule_apart(&mut self, at: Time, event: Apart) {
        self.scheduled += self.events.unit();
        self.events_apart.push(Reverse((key(at, self.scheduled), event)));
    }
}

/// The key of an event: its time, and in the low bits the order of scheduling. Below these a die's events have its number.
fn key(at: Time, order: u64) -> u128 {
    u128::from(at.ns) << 64 | u128::from(order)
}

/// The time of a [`key`].
fn time_of(key: u128) -> Time {
    Time { ns: (key >> 64) as u64 }
}
