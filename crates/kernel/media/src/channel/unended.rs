//! Operations of one kind that have not ended, and the moments at which all up to one have.

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

/// The operations of a kind, in groups that end where those before are awaited.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Unended {
    /// How many of each group have not ended, from the first group that has some. The last group takes the next operations.
    groups: VecDeque<u64>,
    /// The number of the first of these groups.
    first: u64,
    /// Promises to be kept when all groups before one have ended, those for one group in the order of issue.
    promises: BinaryHeap<Reverse<(u64, u64, OpId)>>,
}

impl Unended {
    /// Add an operation; return the number of its group.
    #[inline(always)]
    pub(super) fn add(&mut self) -> u64 {
        match self.groups.back_mut() {
            Some(unended) => *unended += 1,
            None => self.groups.push_back(1),
        }
        self.first + self.groups.len() as u64 - 1
    }

    /// The number of the group of the next operation, in which none of those so far is.
    pub(super) fn next(&mut self) -> u64 {
        if self.groups.back().is_none_or(|&unended| unended > 0) {
            self.groups.push_back(0);
        }
        self.first + self.groups.len() as u64 - 1
    }

    /// End an operation of a group.
    #[inline(always)]
    pub(super) fn end(&mut self, group: u64) {
        self.groups[(group - self.first) as usize] -= 1;
        while self.groups.len() > 1 && self.groups[0] == 0 {
            self.groups.pop_front();
            self.first += 1;
        }
    }

    /// Whether all groups before one have ended.
    pub(super) fn is_over(&self, before: u64) -> bool {
        self.first >= before
    }

    /// Add a promise to be kept when all groups before one have ended.
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
