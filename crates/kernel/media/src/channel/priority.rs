//! Operations that join the queue of their die when they may begin. With read priority reads are urgent: they overtake the
//! others there, and may suspend the current one.

use super::operation::{Operation, Phases};
use super::{Apart, Awaited, Channels, Step};
use crate::moment::{OpId, When};
use coflash_base::tournament::NONE;
use coflash_base::{Duration, Time};

impl Channels {
    /// Issue a read. It goes before other operations if reads have priority.
    pub(crate) fn issue_read(&mut self, server: usize, phases: &Phases, after: When) -> OpId {
        let is_urgent = self.overtaken_max.is_some();
        let read = Operation { is_urgent, ..self.operation(server, phases, 1) };
        self.begin(read, after)
    }

    #[inline(never)]
    pub(super) fn join_at(&mut self, id: OpId, at: Time) {
        let erased = &mut self.unended[Awaited::Erase as usize];
        let Operation { ready, erases, issued, target, .. } = &mut self.operations[id];
        let at = ready.map_or(at, |ready| ready.max(at));
        *ready = Some(at);
        if target.is_none() && !erased.is_over(*erases) {
            erased.wait(*erases, *issued, id);
        } else if at <= self.now {
            self.join(id);
        } else {
            self.schedule_apart(at, Apart::Join(id));
        }
    }

    /// Put an operation that may begin into the queue of its die.
    #[inline(always)]
    pub(super) fn join(&mut self, id: OpId) {
        let Operation { server, is_urgent, issued, target, .. } = self.operations[id];
        let server = server.expect("only operations of dies join");
        if is_urgent {
            self.make_way(server, id);
        }
        let Self { servers, operations, overtaken_max, now, .. } = self;
        let queue = &mut servers[server as usize].queue;
        if is_urgent {
            queue.overtake(id, overtaken_max.unwrap_or(0), *now, operations);
        } else if target.is_some() && overtaken_max.is_none() {
            queue.line_up(issued, id);
        } else {
            queue.insert(issued, id);
        }
        self.engage(server);
    }

    /// Release a die for an urgent operation, if the current one has not begun or can be suspended.
    fn make_way(&mut self, server: u32, urgent: OpId) {
        let die = &mut self.servers[server as usize];
        let (at, step) = die.event;
        let Some(current) = die.queue.current else { return };
        let current = &mut self.operations[current];
        // It would be suspended in vain while another one must go first.
        let overhead = self
            .suspend_overhead
            .filter(|_| current.overtaken < self.overtaken_max.unwrap_or(0) && die.queue.held == 0);
        let Phases { array, bus, finish, .. } = current.phases;
        // A transfer is not suspended, nor what comes before it.
        let suspendable = if bus == Duration::ZERO { array + finish } else { finish };
        match step {
            _ if current.is_urgent => {}
            Step::Start => {
                die.queue.put_back(current.issued, false);
                self.events.set(server, NONE);
            }
            Step::End if overhead.is_some() && at > self.now && at <= self.now + suspendable => {
                let rest = at.since(self.now);
                // The total stays: it is subtracted from the backlog at the end.
                current.phases =
                    Phases { array: Duration::ZERO, bus: Duration::ZERO, finish: rest, ..current.phases };
                die.queue.put_back(current.issued, true);
                self.events.set(server, NONE);
                self.suspensions += 1;
                let phases = &mut self.operations[urgent].phases;
                phases.array = phases.array + overhead.unwrap_or_default();
            }
            _ => {}
        }
    }
}
