//! Moments that depend on others: the later of two, one that is promised, and room in the write buffer.

use super::operation::{Follower, Operation, Phases};
use super::{Apart, Channels};
use crate::moment::{Finished, OpId, When};
use coflash_base::Time;

impl Channels {
    /// Take room in the write buffer; return the moment at which there is room.
    pub(crate) fn take_room(&mut self, after: When) -> When {
        if self.buffer.take() {
            return after;
        }
        let promise = self.promise();
        self.buffer.wait(promise);
        When::end_of(self.both(after, When::end_of(promise)))
    }

    /// Return room in the write buffer at a moment.
    pub(crate) fn give_room(&mut self, done: When) {
        match done.op {
            Some(op) => self.operations.follow(op, Follower::Room(done.ns)),
            None => self.drained(Time { ns: done.ns }),
        }
    }

    /// Schedule room for the time at which a page taken by flash at `at` has left the buffer.
    pub(super) fn drained(&mut self, at: Time) {
        let at = self.buffer.drained_at(at.max(self.now));
        self.schedule_apart(at, Apart::Room);
    }

    /// Create an operation to be ended by [`keep`](Self::keep).
    pub(crate) fn promise(&mut self) -> OpId {
        self.operations.promise()
    }

    /// End a promised operation at `at`, now or later.
    pub(crate) fn keep(&mut self, promise: OpId, at: Time, finished: &mut Vec<Finished>) {
        self.go_on(Follower::Operation(promise, 0), at, finished);
    }

    /// End a promised operation `plus_ns` after another one ends.
    pub(crate) fn keep_after(&mut self, promise: OpId, before: OpId, plus_ns: u64) {
        self.operations.follow(before, Follower::Operation(promise, plus_ns));
    }

    /// Create an operation that ends at the later of two moments. At least one of them is unknown.
    pub(crate) fn both(&mut self, one: When, other: When) -> OpId {
        let ready = one.known().or(other.known());
        let id = self.operations.add(Operation::on(None, Phases::NONE, ready));
        for When { op, ns } in [one, other] {
            if let Some(op) = op {
                self.operations.follow(op, Follower::Operation(id, ns));
            }
        }
        id
    }
}
