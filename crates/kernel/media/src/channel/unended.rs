//! Operations of one kind that have not ended, and the moments at which all of them before one have.

use crate::moment::OpId;
use coflash_base::Save;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Operations that are awaited together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) enum Awaited {
    /// Reads of superblocks, by their erase.
    Read,
    /// Programs, by a flush and by an erase of superblocks.
    Program,
    /// Copies of superblocks, by their erase.
    Copy,
    /// Erases of superblocks, by programs into them.
    Erase,
}

impl Awaited {
    pub(super) const COUNT: usize = 4;
}

/// The operations of a kind, numbered in the order of issue.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Unended {
    /// Whether each has ended, from the first that has not.
    ended: VecDeque<bool>,
    /// The number of that one.
    first: u64,
    /// Promises to be kept when all operations before a number have ended, those for one number in the order of issue.
    promises: BinaryHeap<Reverse<(u64, u64, OpId)>>,
}

impl Unended {
    /// Add an operation; return its number.
    #[inline(always)]
    pub(super) fn add(&mut self) -> u64 {
        self.ended.push_back(false);
        self.next() - 1
    }

    /// The number of the next operation.
    pub(super) fn next(&self) -> u64 {
        self.first + self.ended.len() as u64
    }

    /// End an operation.
    #[inline(always)]
    pub(super) fn end(&mut self, number: u64) {
        self.ended[(number - self.first) as usize] = true;
        while let Some(true) = self.ended.front() {
            self.ended.pop_front();
            self.first += 1;
        }
    }

    /// Whether all operations before a number have ended.
    pub(super) fn is_over(&self, before: u64) -> bool {
        self.first >= before
    }

    /// Add a promise to be kept when all operations before a number have ended.
    pub(super) fn wait(&mut self, before: u64, issued: u64, promise: OpId) {
        self.promises.push(Reverse((before, issued, promise)));
    }

    /// Take a promise that is due.
    #[inline(always)]
    pub(super) fn due(&mut self) -> Option<OpId> {
        let &Reverse((before, _, promise)) = self.promises.peek()?;
        self.is_over(before).then(|| {
            self.promises.pop();
            promise
        })
    }
}
