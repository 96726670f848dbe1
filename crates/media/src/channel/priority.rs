//! Read priority: urgent operations overtake others in the queue of their die, and may suspend the one at its head.

use super::operation::{Follower, Operation, Phases};
use super::{Apart, Channels, Step};
use crate::ReadPriority;
use crate::moment::{OpId, When};
use crate::tournament::NONE;
use coflash_base::{Duration, Time};

impl Channels {
    /// Issue a read. It goes before other operations if reads have priority.
    pub(crate) fn issue_read(&mut self, server: usize, phases: &Phases, after: When) -> OpId {
        if self.priority == ReadPriority::None {
            return self.issue(server, phases, after);
        }
        let die = &mut self.servers[server];
        die.backlog = die.backlog + phases.total;
        let bus = &mut self.buses[die.channel as usize];
        bus.backlog = bus.backlog + phases.bus;
        let id = self
            .operations
            .add(Operation { is_urgent: true, ..Operation::on(Some(server as u32), *phases, None) });
        match after.op {
            Some(before) => self.operations.follow(before, Follower::Operation(id, after.ns)),
            None => self.join_at(id, Time { ns: after.ns }),
        }
        id
    }

    pub(super) fn join_at(&mut self, id: OpId, at: Time) {
        self.operations[id].ready = Some(at);
        if at <= self.now {
            self.join(id);
        } else {
            self.schedule_apart(at, Apart::Join(id));
        }
    }

    /// Put an urgent operation into the queue of its die, before the operations that it may overtake.
    pub(super) fn join(&mut self, id: OpId) {
        let server = self.operations[id].server.expect("only operations of dies are urgent");
        self.make_way(server, id);
        let Self { servers, operations, overtaken_max, now, .. } = self;
        let die = &mut servers[server as usize];
        let begun = usize::from(die.engaged);
        let mut place = die.queue.len();
        for (index, other) in die.queue.iter().enumerate().skip(begun) {
            let other = &mut operations[*other];
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
        let head = &mut self.operations[die.queue[0]];
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
                let phases = &mut self.operations[urgent].phases;
                phases.array = phases.array + self.suspend_overhead;
            }
            _ => {}
        }
    }
}
