//! The queue of a die: which of its operations is next.

use super::operation::{Operation, Operations};
use crate::moment::OpId;
use coflash_base::{Save, Time};
use std::collections::VecDeque;

/// As many operations are searched one by one, from the last on; more by halves.
const FEW: usize = 16;

/// The operations of a die that have not ended.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Queue {
    /// The operation that has begun, or whose start is scheduled.
    pub(super) current: Option<OpId>,
    /// Urgent operations in the order of their coming, and between them those that may be overtaken no more.
    first: VecDeque<OpId>,
    /// The number of those that may be overtaken no more.
    held: u32,
    /// The others with their numbers in the order of issue, and in that order, after one that is suspended. The foremost is the
    /// only one that is overtaken.
    rest: VecDeque<(u64, OpId)>,
    /// Whether the foremost of these is suspended: none but urgent ones go before it.
    is_suspended: bool,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.first.is_empty() && self.rest.is_empty()
    }

    /// The operation to begin next.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<OpId> {
        self.first.front().copied().or_else(|| self.rest.front().map(|&(_, id)| id))
    }

    /// Make the next operation the current one.
    #[inline(always)]
    pub(super) fn begin(&mut self, is_urgent: bool) {
        self.current = self.first.pop_front();
        if self.current.is_some() {
            self.held -= u32::from(!is_urgent);
        } else {
            self.current = self.rest.pop_front().map(|(_, id)| id);
            self.is_suspended = false;
        }
    }

    /// Put the current operation, which is not urgent, back: it is the next of those that are not.
    pub(super) fn put_back(&mut self, issued: u64, is_suspended: bool) {
        let current = self.current.take().expect("there is one");
        self.rest.push_front((issued, current));
        self.is_suspended = is_suspended;
    }

    /// Whether an operation waits that may be overtaken no more.
    pub(super) fn is_held(&self) -> bool {
        self.held > 0
    }

    /// Add the operation that was issued last.
    #[inline(always)]
    pub(super) fn push(&mut self, issued: u64, id: OpId) {
        self.rest.push_back((issued, id));
    }

    /// Add an operation at the place of its issue.
    #[inline(always)]
    pub(super) fn insert(&mut self, issued: u64, id: OpId) {
        let (first, mut place) = (usize::from(self.is_suspended), self.rest.len());
        if place > FEW {
            return self.insert_among_many(issued, id);
        }
        self.rest.push_back((issued, id));
        while place > first && self.rest[place - 1].0 > issued {
            self.rest.swap(place - 1, place);
            place -= 1;
        }
    }

    #[cold]
    fn insert_among_many(&mut self, issued: u64, id: OpId) {
        let suspended = self.rest.front().copied().filter(|_| self.is_suspended);
        let place = self.rest.partition_point(|&other| Some(other) == suspended || other.0 < issued);
        self.rest.insert(place, (issued, id));
    }

    /// Add an urgent operation before the foremost that may be overtaken, at most `overtaken_max` times. An operation that could
    /// not begin anyway is not delayed by it.
    pub(super) fn overtake(&mut self, id: OpId, overtaken_max: u32, now: Time, operations: &mut Operations) {
        while let Some(&(_, other)) = self.rest.front() {
            let Operation { ready, overtaken, .. } = &mut operations[other];
            let is_delayed = ready.is_some_and(|ready| ready <= now);
            if !is_delayed || *overtaken < overtaken_max {
                *overtaken += u32::from(is_delayed);
                break;
            }
            self.first.extend(self.rest.pop_front().map(|(_, id)| id));
            self.is_suspended = false;
            self.held += 1;
        }
        self.first.push_back(id);
    }
}
