//! Operations of one kind that have not ended, and the moments at which all of them up to one have.

use crate::moment::OpId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Operations that are awaited together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Programs, by a flush.
    Program,
    /// Copies, by the erase of their sources.
    Copy,
    /// Erases, by programs of their blocks.
    Erase,
}

impl Awaited {
    pub(super) const COUNT: usize = 3;
}

/// The operations of a kind, by their numbers in the order of issue.
#[derive(Clone, Debug, Default)]
pub(super) struct Unended {
    /// Each with whether it has ended. The first has not.
    operations: VecDeque<(u64, bool)>,
    /// Promises to be kept when all operations up to a number have ended, those for one number in their order.
    promises: BinaryHeap<Reverse<(u64, u64, OpId)>>,
    /// The number of promises so far.
    promised: u64,
}

impl Unended {
    /// Add an operation, issued after all others.
    #[inline(always)]
    pub(super) fn add(&mut self, number: u64) {
        self.operations.push_back((number, false));
    }

    /// End an operation.
    #[inline(always)]
    pub(super) fn end(&mut self, number: u64) {
        let place = self.operations.partition_point(|&(other, _)| other < number);
        self.operations[place].1 = true;
        while self.operations.front().is_some_and(|&(_, ended)| ended) {
            self.operations.pop_front();
        }
    }

    /// Whether all operations up to a number have ended.
    pub(super) fn is_over(&self, up_to: u64) -> bool {
        self.operations.front().is_none_or(|&(first, _)| first > up_to)
    }

    /// Add a promise to be kept when all operations up to a number have ended.
    pub(super) fn wait(&mut self, up_to: u64, promise: OpId) {
        self.promised += 1;
        self.promises.push(Reverse((up_to, self.promised, promise)));
    }

    /// Take a promise that is due.
    #[inline(always)]
    pub(super) fn due(&mut self) -> Option<OpId> {
        let &Reverse((up_to, _, promise)) = self.promises.peek()?;
        self.is_over(up_to).then(|| {
            self.promises.pop();
            promise
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.operations.capacity() * size_of::<(u64, bool)>()
            + self.promises.capacity() * size_of::<(u64, u64, OpId)>()
    }
}
