//! Operations under way: what a die does, and who waits for its end.

use super::unended::Awaited;
use crate::moment::{OpId, Tag};
use coflash_base::prefetch::prefetch;
use coflash_base::{Duration, Index, Save, Time};

/// The phases of an operation on its die: array, then bus, then array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub(crate) struct Phases {
    /// Array time before the transfer.
    pub(crate) array: Duration,
    /// Bus time.
    pub(crate) bus: Duration,
    /// Array time after the transfer.
    pub(crate) finish: Duration,
    /// The total time.
    pub(crate) total: Duration,
}

impl Phases {
    pub(crate) fn new(array: Duration, bus: Duration, finish: Duration) -> Self {
        Self { array, bus, finish, total: array + bus + finish }
    }

    /// These phases many times, where only the time on the bus and the total count.
    pub(crate) fn many(&self, times: u64) -> Self {
        Self { bus: self.bus * times, total: self.total * times, ..*self }
    }
}

/// The follower of an operation: it waits for the operation's end.
#[derive(Clone, Copy, Debug, Default, Save)]
pub(super) enum Follower {
    /// No follower.
    #[default]
    None,
    /// An operation that may begin this many nanoseconds later.
    Operation(OpId, u64),
    /// The receiver of a report, this many nanoseconds later.
    Told(Tag, u64),
    /// Two promises.
    Both(OpId, OpId),
    /// The write buffer: it has room for a page again this many nanoseconds later.
    Room(u64),
    /// The room for pages on their way from die to die: it has room for a page again.
    Copied,
}

#[derive(Clone, Debug, Default, Save)]
#[repr(align(64))]
pub(super) struct Operation {
    pub(super) phases: Phases,
    /// Its die (or plane); `None` if it only waits for others.
    pub(super) server: Option<u32>,
    /// A copy from die to die while its page is not read: the die of its program, which was issued before the read, and phases.
    pub(super) target: Option<u32>,
    pub(super) program: Phases,
    /// The earliest start; `None` until the operation before it has ended. If it follows two, the end of the
    /// first one.
    pub(super) ready: Option<Time>,
    pub(super) follower: Follower,
    /// The number of repetitions, one after another, before it ends.
    pub(super) times: u32,
    /// Its row of programs, until it begins.
    pub(super) row: Option<u32>,
    /// Its number in the order of issue.
    pub(super) issued: u64,
    /// The kind of operations with which it may be awaited, and its group among them.
    pub(super) awaited: Option<Awaited>,
    pub(super) number: u64,
    /// The first group of erases that need not have ended before it joins the queue of its die.
    pub(super) erases: u64,
    /// Whether it goes before operations that are not urgent.
    pub(super) is_urgent: bool,
    /// The number of urgent operations that have gone before it.
    pub(super) overtaken: u32,
}

impl Operation {
    #[inline(always)]
    pub(super) fn on(server: Option<u32>, phases: Phases, ready: Option<Time>) -> Self {
        Self { phases, server, ready, times: 1, ..Self::default() }
    }
}
/// The operations by id.
#[derive(Clone, Debug, Default, Save)]
pub(super) struct Operations {
    table: Vec<Operation>,
    vacant: Vec<OpId>,
    /// The number of times that an operation was looked at.
    #[cfg(test)]
    pub(super) looks: std::cell::Cell<u64>,
}

impl Operations {
    /// Add an operation. Inlined, so that it is built in its place: a record that is copied right after its fields
    /// were written waits for them.
    #[inline(always)]
    pub(super) fn add(&mut self, operation: Operation) -> OpId {
        let id = self.vacant.pop().unwrap_or_else(|| self.grow());
        self[id] = operation;
        id
    }

    #[cold]
    fn grow(&mut self) -> OpId {
        self.table.push(Operation::default());
        OpId::from_index(self.table.len() - 1)
    }

    /// Ask for the memory of an operation.
    pub(super) fn prefetch(&self, id: OpId) {
        prefetch(&self.table, id.index());
    }

    /// Forget an operation that has ended.
    #[inline(always)]
    pub(super) fn remove(&mut self, id: OpId) {
        self.vacant.push(id);
    }

    /// Add an operation that is ended from outside.
    pub(super) fn promise(&mut self) -> OpId {
        // Equivalent to an operation that follows two others, the first already ended.
        self.add(Operation::on(None, Phases::default(), Some(Time::ZERO)))
    }

    /// Let `follower` wait for the end of an operation, after others that wait for it.
    #[inline(always)]
    pub(super) fn follow(&mut self, id: OpId, follower: Follower) {
        let slot = &mut self[id].follower;
        if matches!(slot, Follower::None) {
            *slot = follower;
        } else {
            self.follow_too(id, follower);
        }
    }

    #[cold]
    fn follow_too(&mut self, id: OpId, follower: Follower) {
        let [one, other] = [self[id].follower, follower].map(|follower| {
            let promise = self.promise();
            self[promise].follower = follower;
            promise
        });
        self[id].follower = Follower::Both(one, other);
    }
}

impl std::ops::Index<OpId> for Operations {
    type Output = Operation;
    #[inline(always)]
    fn index(&self, id: OpId) -> &Operation {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        &self.table[id.index()]
    }
}

impl std::ops::IndexMut<OpId> for Operations {
    #[inline(always)]
    fn index_mut(&mut self, id: OpId) -> &mut Operation {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        &mut self.table[id.index()]
    }
}
