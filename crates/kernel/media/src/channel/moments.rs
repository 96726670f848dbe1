//! Moments that depend on others: the later of two, one that is promised, room in a buffer, the end of all operations of a kind.

use super::operation::{Follower, Operation, Phases};
use super::{Apart, Awaited, Channels};
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
        self.both(after, When::end_of(promise))
    }

    /// Copy a page from one die to another, awaited with others: its read begins when there is room for the page in the controller, its program when
    /// the page is there and the first `erases` have ended. Returns the end of the program.
    pub(crate) fn copy_across(
        &mut self,
        [(source, read), (target, program)]: [(usize, &Phases); 2],
        row: Option<usize>,
        after: When,
        erases: u64,
    ) -> OpId {
        let Operation { server: target, phases: program, row, .. } = self.program(target, program, row);
        let read = self.operation(source, read, 1);
        let (awaited, number) = (Some(Awaited::Copy), self.unended[Awaited::Copy as usize].add());
        let follower = Follower::Copied;
        let copy = Operation { target, program, row, erases, awaited, number, follower, ..read };
        if self.copies.take() {
            self.begin(copy, after)
        } else if let Some(ready) = after.known() {
            let id = self.operations.add(Operation { ready: Some(ready), ..copy });
            self.copies.wait(id);
            id
        } else {
            let promise = self.promise();
            self.copies.wait(promise);
            let after = self.both(after, When::end_of(promise));
            self.begin(copy, after)
        }
    }

    /// Go on with the program of a copy from die to die, whose page has been read.
    #[inline(always)]
    pub(super) fn program_copy(&mut self, id: OpId) {
        let copy = &mut self.operations[id];
        (copy.server, copy.phases) = (copy.target.take(), copy.program);
        (copy.issued, copy.ready, copy.overtaken, copy.times) = (copy.issued - 1, None, 0, 1);
        self.join_at(id, self.now + self.decode);
    }

    /// Let the operation that was issued last be awaited with others of a kind.
    #[inline(always)]
    pub(crate) fn note(&mut self, op: OpId, awaited: Awaited) {
        let number = self.unended[awaited as usize].add();
        let operation = &mut self.operations[op];
        (operation.awaited, operation.number) = (Some(awaited), number);
    }

    /// The number of the group of the next operation of a kind, in which none of those so far is.
    pub(crate) fn noted(&mut self, awaited: Awaited) -> u64 {
        self.unended[awaited as usize].next()
    }

    /// The end of the last operation of a kind so far, or of the groups before one; `None` if all of them have ended.
    pub(crate) fn all_ended(&mut self, awaited: Awaited, before: Option<u64>) -> Option<When> {
        let first = before.unwrap_or_else(|| self.noted(awaited));
        if self.unended[awaited as usize].is_over(first) {
            return None;
        }
        let promise = self.promise();
        self.issued += 1;
        self.unended[awaited as usize].wait(first, self.issued, promise);
        Some(When::end_of(promise))
    }

    /// End an operation of a kind, and keep the promises that waited for it.
    #[inline(always)]
    pub(super) fn end_awaited(&mut self, awaited: Awaited, number: u64, finished: &mut Vec<Finished>) {
        self.unended[awaited as usize].end(number);
        while let Some(promise) = self.unended[awaited as usize].due() {
            self.keep(promise, self.now, finished);
        }
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
    pub(crate) fn both(&mut self, one: When, other: When) -> When {
        for (past, later) in [(one, other), (other, one)] {
            if past.known().is_some_and(|at| at <= self.now) {
                return later;
            }
        }
        let ready = one.known().or(other.known());
        let id = self.operations.add(Operation::on(None, Phases::default(), ready));
        for When { op, ns } in [one, other] {
            if let Some(op) = op {
                self.operations.follow(op, Follower::Operation(id, ns));
            }
        }
        When::end_of(id)
    }
}
