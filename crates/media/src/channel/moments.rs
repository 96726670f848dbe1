//! Moments that depend on others: the later of two, one that is promised, room in a buffer, the end of all operations of a kind.

use super::operation::{Follower, Operation, Phases};
use super::{Apart, Awaited, Channels};
use crate::moment::{Finished, OpId, When};
use coflash_base::{Duration, Time};

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

    /// Copy a page from one die to another: its read begins when there is room for the page in the controller, its program when
    /// the page is there, `decode` after the read, and not before `erased`. Returns the end of the program.
    pub(crate) fn copy_across(
        &mut self,
        [(source, read), (target, program)]: [(usize, &Phases); 2],
        decode: Duration,
        after: When,
        erased: Option<When>,
    ) -> OpId {
        let after = if self.copies.take() {
            after
        } else {
            let promise = self.promise();
            self.copies.wait(promise);
            self.both(after, When::end_of(promise))
        };
        let read = When::end_of(self.issue(source, read, after)).plus(decode);
        let there = erased.map_or(read, |erased| self.both(read, erased));
        let program = self.issue(target, program, there);
        self.operations.follow(program, Follower::Copied);
        program
    }

    /// Let the operation that was issued last be awaited with others of a kind.
    #[inline(always)]
    pub(crate) fn note(&mut self, op: OpId, awaited: Awaited) {
        let operation = &mut self.operations[op];
        operation.awaited = Some(awaited);
        self.unended[awaited as usize].add(operation.issued);
    }

    /// The number of the operation that was issued last.
    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    /// The end of the last one of a kind among the operations up to a number; `None` if all of them have ended.
    pub(crate) fn all_ended(&mut self, awaited: Awaited, up_to: u64) -> Option<When> {
        if self.unended[awaited as usize].is_over(up_to) {
            return None;
        }
        let promise = self.promise();
        self.unended[awaited as usize].wait(up_to, promise);
        Some(When::end_of(promise))
    }

    /// End an operation of a kind, and keep the promises that waited for it.
    pub(super) fn end_awaited(&mut self, awaited: Awaited, issued: u64, finished: &mut Vec<Finished>) {
        self.unended[awaited as usize].end(issued);
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
        let id = self.operations.add(Operation::on(None, Phases::NONE, ready));
        for When { op, ns } in [one, other] {
            if let Some(op) = op {
                self.operations.follow(op, Follower::Operation(id, ns));
            }
        }
        When::end_of(id)
    }
}
