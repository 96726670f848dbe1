//! Dies with shared channels: the event queue of flash.
//!
//! An operation holds its die from start to end and the channel for its transfer. Dies are first come, first
//! served; a channel is granted in the order of the dies' requests; events at equal times fire in the order
//! of scheduling. A die has at most one pending event at a time: a tournament of the dies finds the next.
//! Only events that belong to no die (read priority, the write buffer) are in a heap.
//!
//! With read priority a read joins the queue of its die when it may begin, before the operations waiting
//! there. A suspended operation goes back into the queue with the rest of its array time.

use crate::moment::{Finished, OpId, Tag, When};
use crate::tournament::{NONE, Tournament};
use crate::write_buffer::WriteBuffer;
use crate::{ReadPriority, Timing};
use coflash_base::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The phases of an operation on its die: array, then bus, then array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phases {
    /// Array time before the transfer.
    pub(crate) array: Duration,
    /// Bus time.
    pub(crate) bus: Duration,
    /// Array time after the transfer.
    pub(crate) finish: Duration,
    /// The total time.
    pub(crate) total: Duration,
}

impl Phases {
    const NONE: Self =
        Self { array: Duration::ZERO, bus: Duration::ZERO, finish: Duration::ZERO, total: Duration::ZERO };

    pub(crate) fn new(array: Duration, bus: Duration, finish: Duration) -> Self {
        Self { array, bus, finish, total: array + bus + finish }
    }
}

/// The follower of an operation: it waits for the operation's end.
#[derive(Clone, Copy, Debug)]
enum Follower {
    /// No follower.
    None,
    /// An operation that may begin this many nanoseconds later.
    Operation(OpId, u64),
    /// The receiver of a report, this many nanoseconds later.
    Told(Tag, u64),
    /// Two operations that may begin this many nanoseconds later.
    Both(OpId, OpId, u64),
    /// The write buffer: it has room for a page again this many nanoseconds later.
    Room(u64),
}

#[derive(Clone, Debug)]
struct Operation {
    phases: Phases,
    /// Its die (or plane); `None` if it only waits for others.
    server: Option<u32>,
    /// The earliest start; `None` until the operation before it has ended. If it follows two, the end of the
    /// first one.
    ready: Option<Time>,
    follower: Follower,
    /// The number of repetitions, one after another, before it ends.
    times: u32,
    is_program: bool,
    /// Whether it goes before operations that are not urgent.
    is_urgent: bool,
    /// The number of urgent operations that have gone before it.
    overtaken: u32,
}

impl Operation {
    fn on(server: Option<u32>, phases: Phases, ready: Option<Time>) -> Self {
        Self {
            phases,
            server,
            ready,
            follower: Follower::None,
            times: 1,
            is_program: false,
            is_urgent: false,
            overtaken: 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Server {
    channel: u32,
    queue: VecDeque<OpId>,
    /// Whether the head of the queue has started, or its start is scheduled.
    engaged: bool,
    /// The phases of that head, and its remaining repetitions.
    phases: Phases,
    times: u32,
    /// The pending event of the head.
    event: (Time, Step),
    /// The total time of operations issued and not ended.
    backlog: Duration,
}

#[derive(Clone, Debug, Default)]
struct Bus {
    taken: bool,
    waiting: VecDeque<u32>,
    /// The total time of transfers issued and not ended.
    backlog: Duration,
}

/// An event that belongs to no die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    /// An urgent operation joins the queue of its die.
    Join(OpId),
    /// The write buffer has room for a page again.
    Room,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Start,
    ArrayDone,
    BusDone,
    End,
}

/// Dies, their queues, and the buses between them.
#[derive(Clone, Debug)]
pub(crate) struct Channels {
    now: Time,
    /// The end of the last ended operation of a die.
    ended_at: Time,
    operations: Vec<Operation>,
    vacant: Vec<OpId>,
    servers: Vec<Server>,
    buses: Vec<Bus>,
    priority: ReadPriority,
    suspend_overhead: Duration,
    overtaken_max: u32,
    buffer: WriteBuffer,
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
    pub(crate) fn new(channel_of_server: Vec<u32>, timing: &Timing, buffer: WriteBuffer) -> Self {
        let buses = channel_of_server.iter().max().map_or(0, |last| last + 1);
        let servers = channel_of_server.len() as u32;
        let server = |channel| Server {
            channel,
            queue: VecDeque::new(),
            engaged: false,
            phases: Phases::NONE,
            times: 0,
            event: (Time::ZERO, Step::Start),
            backlog: Duration::ZERO,
        };
        Self {
            now: Time::ZERO,
            ended_at: Time::ZERO,
            operations: Vec::new(),
            vacant: Vec::new(),
            servers: channel_of_server.into_iter().map(server).collect(),
            buses: vec![Bus::default(); buses as usize],
            priority: timing.read_priority,
            suspend_overhead: timing.suspend_overhead,
            overtaken_max: timing.overtaken_max,
            buffer,
            suspensions: 0,
            events: Tournament::new(servers),
            events_apart: BinaryHeap::new(),
            scheduled: 0,
            ended: None,
        }
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
        (self.suspensions, self.suspend_overhead * self.suspensions)
    }

    pub(crate) fn buffer(&self) -> &WriteBuffer {
        &self.buffer
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn ended_at(&self) -> Time {
        self.ended_at
    }

    pub(crate) fn is_idle(&self, server: usize) -> bool {
        self.servers[server].queue.is_empty()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.operations.capacity() * size_of::<Operation>()
            + self.servers.capacity() * size_of::<Server>()
            + self.events.heap_bytes()
            + self.buffer.heap_bytes()
    }

    #[inline(always)]
    pub(crate) fn issue(&mut self, server: usize, phases: Phases, after: When) -> OpId {
        self.issue_times(server, phases, 1, after)
    }

    /// Issue equal operations, one after another.
    pub(crate) fn issue_run(&mut self, server: usize, phases: Phases, count: u32, after: When) {
        if self.priority == ReadPriority::None {
            self.issue_times(server, phases, count, after);
        } else {
            // A read may go between any two.
            for _ in 0..count {
                self.issue(server, phases, after);
            }
        }
    }

    fn issue_times(&mut self, server: usize, phases: Phases, times: u32, after: When) -> OpId {
        let operation = Operation { times, ..Operation::on(Some(server as u32), phases, after.known()) };
        let id = self.enter(operation);
        if let Some(before) = after.op {
            self.follow(before, Follower::Operation(id, after.ns));
        }
        let die = &mut self.servers[server];
        die.queue.push_back(id);
        die.backlog = die.backlog + phases.total * u64::from(times);
        let bus = &mut self.buses[die.channel as usize];
        bus.backlog = bus.backlog + phases.bus * u64::from(times);
        self.engage(server as u32);
        id
    }

    /// Issue a read. It goes before other operations if reads have priority.
    pub(crate) fn issue_read(&mut self, server: usize, phases: Phases, after: When) -> OpId {
        if self.priority == ReadPriority::None {
            return self.issue(server, phases, after);
        }
        let die = &mut self.servers[server];
        die.backlog = die.backlog + phases.total;
        let bus = &mut self.buses[die.channel as usize];
        bus.backlog = bus.backlog + phases.bus;
        let id =
            self.enter(Operation { is_urgent: true, ..Operation::on(Some(server as u32), phases, None) });
        match after.op {
            Some(before) => self.follow(before, Follower::Operation(id, after.ns)),
            None => self.join_at(id, Time { ns: after.ns }),
        }
        id
    }

    fn join_at(&mut self, id: OpId, at: Time) {
        self.operations[id.get() as usize].ready = Some(at);
        if at <= self.now {
            self.join(id);
        } else {
            self.schedule_apart(at, Apart::Join(id));
        }
    }

    /// Put an urgent operation into the queue of its die, before the operations that it may overtake.
    fn join(&mut self, id: OpId) {
        let server = self.operations[id.get() as usize].server.expect("only operations of dies are urgent");
        self.make_way(server, id);
        let Self { servers, operations, overtaken_max, now, .. } = self;
        let die = &mut servers[server as usize];
        let begun = usize::from(die.engaged);
        let mut place = die.queue.len();
        for (index, other) in die.queue.iter().enumerate().skip(begun) {
            let other = &mut operations[other.get() as usize];
            // An operation that could not begin anyway is not delayed by being overtaken.
            let is_delayed = other.ready.is_some_and(|ready| ready <= *now);
            if !other.is_urgent && (!is_delayed || other.overtaken < *overtaken_max) {
                other.overtaken += u32::from(is_delayed);
                place = index;
                break;
            }
        }
        die.queue.insert(place, id);
        self.engage(server);
    }

    /// Release the head of a die's queue for an urgent operation, if the head has not begun or can be
    /// suspended.
    fn make_way(&mut self, server: u32, urgent: OpId) {
        let die = &mut self.servers[server as usize];
        let (at, step) = die.event;
        if !die.engaged {
            return;
        }
        let head = &mut self.operations[die.queue[0].get() as usize];
        let may_suspend = self.priority == ReadPriority::Suspend && head.overtaken < self.overtaken_max;
        match step {
            _ if head.is_urgent => {}
            Step::Start => {
                die.engaged = false;
                self.events.set(server, NONE);
            }
            Step::End if may_suspend && at > self.now => {
                let rest = at.since(self.now);
                // The total stays: it is subtracted from the backlog at the end.
                head.phases =
                    Phases { array: Duration::ZERO, bus: Duration::ZERO, finish: rest, ..head.phases };
                die.engaged = false;
                self.events.set(server, NONE);
                self.suspensions += 1;
                let phases = &mut self.operations[urgent.get() as usize].phases;
                phases.array = phases.array + self.suspend_overhead;
            }
            _ => {}
        }
    }

    /// Take room in the write buffer; return the moment at which there is room, twice.
    pub(crate) fn take_room(&mut self, after: When) -> [When; 2] {
        if self.buffer.take() {
            return self.twice(after);
        }
        let promise = self.promise();
        self.buffer.wait(promise);
        let granted = self.both(after, When::end_of(promise));
        self.twice(When::end_of(granted))
    }

    /// A moment for two followers.
    fn twice(&mut self, when: When) -> [When; 2] {
        let Some(op) = when.op else { return [when; 2] };
        let [one, other] = [self.promise(), self.promise()];
        self.follow(op, Follower::Both(one, other, when.ns));
        [one, other].map(When::end_of)
    }

    /// Return room in the write buffer at a moment.
    pub(crate) fn give_room(&mut self, done: When) {
        match done.op {
            Some(op) => self.follow(op, Follower::Room(done.ns)),
            None => self.drained(Time { ns: done.ns }),
        }
    }

    /// Schedule room for the time at which a page taken by flash at `at` has left the buffer.
    fn drained(&mut self, at: Time) {
        let at = self.buffer.drained_at(at.max(self.now));
        self.schedule_apart(at, Apart::Room);
    }

    /// Create an operation to be ended by [`keep`](Self::keep).
    pub(crate) fn promise(&mut self) -> OpId {
        // Equivalent to an operation that follows two others, the first already ended.
        self.enter(Operation::on(None, Phases::NONE, Some(Time::ZERO)))
    }

    /// End a promised operation at `at`, now or later.
    pub(crate) fn keep(&mut self, promise: OpId, at: Time, finished: &mut Vec<Finished>) {
        self.go_on(Follower::Operation(promise, 0), at, finished);
    }

    /// End a promised operation `plus_ns` after another one ends.
    pub(crate) fn keep_after(&mut self, promise: OpId, before: OpId, plus_ns: u64) {
        self.follow(before, Follower::Operation(promise, plus_ns));
    }

    /// Create an operation that ends at the later of two moments. At least one of them is unknown.
    pub(crate) fn both(&mut self, one: When, other: When) -> OpId {
        let ready = one.known().or(other.known());
        let id = self.enter(Operation::on(None, Phases::NONE, ready));
        for When { op, ns } in [one, other] {
            if let Some(op) = op {
                self.follow(op, Follower::Operation(id, ns));
            }
        }
        id
    }

    fn enter(&mut self, operation: Operation) -> OpId {
        match self.vacant.pop() {
            Some(id) => {
                self.operations[id.get() as usize] = operation;
                id
            }
            None => {
                self.operations.push(operation);
                OpId::new(self.operations.len() as u32 - 1)
            }
        }
    }

    /// Record that the last issued operation is a program.
    pub(crate) fn note_program(&mut self, op: OpId) {
        self.operations[op.get() as usize].is_program = true;
    }

    /// Create, for each die with pending programs, an operation of zero duration after the last one; it may
    /// have a follower of its own.
    pub(crate) fn await_programs(&mut self, mut each: impl FnMut(OpId)) {
        for server in 0..self.servers.len() {
            let is_program = |id: &OpId| self.operations[id.get() as usize].is_program;
            if let Some(place) = self.servers[server].queue.iter().rposition(is_program) {
                let id = self.enter(Operation::on(Some(server as u32), Phases::NONE, Some(self.now)));
                self.servers[server].queue.insert(place + 1, id);
                each(id);
            }
        }
    }

    pub(crate) fn tell(&mut self, op: OpId, plus_ns: u64, tag: Tag) {
        self.follow(op, Follower::Told(tag, plus_ns));
    }

    fn follow(&mut self, op: OpId, follower: Follower) {
        let slot = &mut self.operations[op.get() as usize].follower;
        assert!(matches!(slot, Follower::None), "one moment is handed on once");
        *slot = follower;
    }

    /// Advance time to `until`, but stop after an event that reports something. Returns whether `until` was
    /// reached.
    pub(crate) fn advance(&mut self, until: Time, finished: &mut Vec<Finished>) -> bool {
        let before = finished.len();
        let until_key = key(until, u64::MAX);
        while self.next_key() <= until_key && self.step(finished) {
            if finished.len() > before {
                return false;
            }
        }
        self.pass_to(until);
        true
    }

    /// Advance time, without any event in between.
    pub(crate) fn pass_to(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    #[inline]
    pub(crate) fn next_event(&self) -> Option<Time> {
        Some(self.next_key()).filter(|&key| key != NONE).map(time_of)
    }

    /// The key of the next event, or [`NONE`].
    #[inline(always)]
    fn next_key(&self) -> u128 {
        let (_, of_die) = self.events.first();
        self.events_apart.peek().map_or(of_die, |&Reverse((apart, _))| apart.min(of_die))
    }

    pub(crate) fn step(&mut self, finished: &mut Vec<Finished>) -> bool {
        let (server, key) = self.events.first();
        if let Some(&Reverse((apart, event))) = self.events_apart.peek()
            && apart < key
        {
            self.events_apart.pop();
            self.now = time_of(apart);
            match event {
                Apart::Join(operation) => self.join(operation),
                Apart::Room => {
                    if let Some(promise) = self.buffer.give() {
                        self.keep(promise, self.now, finished);
                    }
                }
            }
            return true;
        }
        if key == NONE {
            return false;
        }
        self.now = time_of(key);
        let Server { event: (_, step), phases, channel, .. } = self.servers[server as usize];
        match step {
            Step::Start => self.start(server, phases),
            Step::ArrayDone => self.ask_for_bus(server, phases),
            Step::BusDone => {
                self.pass_bus_on(channel as usize);
                self.schedule(phases.finish, server, Step::End);
            }
            Step::End => self.end(server, finished),
        }
        // Most events are replaced by the next one of the same die.
        if self.events.first() == (server, key) {
            self.events.set(server, NONE);
        }
        true
    }

    /// Begin an operation. Without a bus transfer it takes a single event.
    fn start(&mut self, server: u32, phases: Phases) {
        if phases.bus == Duration::ZERO {
            self.schedule(phases.array + phases.finish, server, Step::End);
        } else if phases.array == Duration::ZERO {
            self.ask_for_bus(server, phases);
        } else {
            self.schedule(phases.array, server, Step::ArrayDone);
        }
    }

    fn ask_for_bus(&mut self, server: u32, phases: Phases) {
        let bus = &mut self.buses[self.servers[server as usize].channel as usize];
        if bus.taken {
            bus.waiting.push_back(server);
        } else {
            bus.taken = true;
            self.schedule(phases.bus, server, Step::BusDone);
        }
    }

    fn pass_bus_on(&mut self, bus: usize) {
        match self.buses[bus].waiting.pop_front() {
            Some(next) => {
                self.schedule(self.servers[next as usize].phases.bus, next, Step::BusDone);
            }
            None => self.buses[bus].taken = false,
        }
    }

    /// End the operation of a die, or repeat it.
    fn end(&mut self, server: u32, finished: &mut Vec<Finished>) {
        let die = &mut self.servers[server as usize];
        let phases = die.phases;
        die.times -= 1;
        die.backlog.ns = die.backlog.ns.saturating_sub(phases.total.ns);
        let bus = &mut self.buses[die.channel as usize];
        bus.backlog.ns = bus.backlog.ns.saturating_sub(phases.bus.ns);
        self.ended_at = self.now;
        if die.times > 0 {
            return self.start(server, phases);
        }
        let id = *die.queue.front().expect("an engaged die has an operation");
        self.note_end(id, self.now);
        self.go_on(self.operations[id.get() as usize].follower, self.now, finished);
        let die = &mut self.servers[server as usize];
        die.queue.pop_front();
        die.engaged = false;
        self.vacant.push(id);
        self.engage(server);
    }

    /// Continue with the follower of an operation that ends at `at`, now or later.
    fn go_on(&mut self, follower: Follower, at: Time, finished: &mut Vec<Finished>) {
        match follower {
            Follower::None => {}
            Follower::Operation(next, ns) => {
                let at = at + Duration { ns };
                let operation = &mut self.operations[next.get() as usize];
                match (operation.server, operation.ready) {
                    (Some(_), _) if operation.is_urgent => self.join_at(next, at),
                    (Some(server), _) => {
                        operation.ready = Some(at);
                        self.engage(server);
                    }
                    (None, None) => operation.ready = Some(at),
                    (None, Some(first)) => {
                        let follower = operation.follower;
                        self.vacant.push(next);
                        self.note_end(next, first.max(at));
                        self.go_on(follower, first.max(at), finished);
                    }
                }
            }
            Follower::Both(one, other, ns) => {
                for next in [one, other] {
                    self.go_on(Follower::Operation(next, ns), at, finished);
                }
            }
            Follower::Room(ns) => self.drained(at + Duration { ns }),
            Follower::Told(tag, ns) => finished.push(Finished { tag, at: at + Duration { ns } }),
        }
    }

    /// Begin the operation at the head of a die's queue, or schedule its start if its time is known.
    fn engage(&mut self, server: u32) {
        let die = &mut self.servers[server as usize];
        let Some(&head) = die.queue.front() else {
            return;
        };
        let operation = &self.operations[head.get() as usize];
        if let (false, Some(ready)) = (die.engaged, operation.ready) {
            let phases = operation.phases;
            (die.engaged, die.phases, die.times) = (true, phases, operation.times);
            if ready <= self.now {
                self.start(server, phases);
            } else {
                self.schedule(ready.since(self.now), server, Step::Start);
            }
        }
    }

    /// Schedule the next event of a die, in place of a pending one.
    fn schedule(&mut self, span: Duration, server: u32, step: Step) {
        self.scheduled += 1;
        let at = self.now + span;
        self.servers[server as usize].event = (at, step);
        self.events.set(server, key(at, self.scheduled));
    }

    fn schedule_apart(&mut self, at: Time, event: Apart) {
        self.scheduled += 1;
        self.events_apart.push(Reverse((key(at, self.scheduled), event)));
    }
}

/// The key of an event: its time, and in the low bits the order of scheduling.
fn key(at: Time, order: u64) -> u128 {
    u128::from(at.ns) << 64 | u128::from(order)
}

/// The time of a [`key`].
fn time_of(key: u128) -> Time {
    Time { ns: (key >> 64) as u64 }
}
