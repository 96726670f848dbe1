//! The queue of a die: which of its operations is next.

use super::operation::{Operation, Operations};
use crate::moment::OpId;
use coflash_base::{Save, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The operations of a die that have not ended.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Queue {
    /// The operation that has begun, or whose start is scheduled.
    pub(super) current: Option<OpId>,
    /// Those that come in their order, with their places. With read priority these are urgent ones, and between them those that may
    /// be overtaken no more: their place is 0. Otherwise they are the reads of copies.
    line: VecDeque<(u64, OpId)>,
    /// The number of those that may be overtaken no more.
    pub(super) held: u32,
    /// The others by their numbers in the order of issue; a suspended one has 0. The foremost is the only one that is overtaken.
    rest: BinaryHeap<Reverse<(u64, OpId)>>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.next().is_none()
    }

    /// The operation to begin next, unless there is a current one, and whether it is in the line.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<(OpId, bool)> {
        if self.current.is_some() {
            return None;
        }
        match (self.line.front(), self.rest.peek()) {
            (Some(&(place, id)), other) if other.is_none_or(|Reverse(other)| place <= other.0) => {
                Some((id, true))
            }
            (_, other) => other.map(|&Reverse((_, id))| (id, false)),
        }
    }

    /// Make the next operation the current one.
    #[inline(always)]
    pub(super) fn begin(&mut self, (id, is_in_line): (OpId, bool), is_urgent: bool) {
        self.current = Some(id);
        if !is_in_line {
            self.rest.pop();
        } else if let Some((0, _)) = self.line.pop_front() {
            self.held -= u32::from(!is_urgent);
        }
    }

    /// Put the current operation, which is not urgent, back: a suspended one before all that are not urgent.
    pub(super) fn put_back(&mut self, issued: u64, is_suspended: bool) {
        let current = self.current.take().expect("there is one");
        self.insert(if is_suspended { 0 } else { issued }, current);
    }

    /// Add an operation at the place of its issue.
    #[inline(always)]
    pub(super) fn insert(&mut self, issued: u64, id: OpId) {
        self.rest.push(Reverse((issued, id)));
    }

    /// Add an operation at the end of the line, or at the place of its issue if that is before the last one's there.
    #[inline(always)]
    pub(super) fn line_up(&mut self, issued: u64, id: OpId) {
        if self.line.back().is_none_or(|&(last, _)| last < issued) {
            self.line.push_back((issued, id));
        } else {
            self.insert(issued, id);
        }
    }

    /// Add an urgent operation before the foremost that may be overtaken, at most `overtaken_max` times. An operation that could
    /// not begin anyway is not delayed by it.
    pub(super) fn overtake(&mut self, id: OpId, overtaken_max: u32, now: Time, operations: &mut Operations) {
        while let Some(&Reverse((_, other))) = self.rest.peek() {
            let Operation { ready, overtaken, .. } = &mut operations[other];
            let is_delayed = ready.is_some_and(|ready| ready <= now);
            if !is_delayed || *overtaken < overtaken_max {
                *overtaken += u32::from(is_delayed);
                break;
            }
            self.rest.pop();
            self.line.push_back((0, other));
            self.held += 1;
        }
        self.line.push_back((0, id));
    }
}
