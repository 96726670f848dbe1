//! The outside world of the firmware: flash memory (it may fail) and the memory of caches.
//!
//! The firmware calls these methods in the order in which its decisions take effect; operations on a die
//! happen in that order. `after` is the earliest moment at which an operation may begin. The returned moment
//! is its end. It may be passed on, to any number of operations, before time advances: they form chains. The start of a
//! request may be used at any time.
//!
//! No method has a default that does nothing: a media that forgets a fence would compile and lose data.

use crate::disk::Direction;
use crate::{Access, BlockId, Cause, DieId, Oob, Place, Ppn, Run, Slot};
use coflash_base::{Duration, Save, Time};

/// Moments of time, such as the ends of operations.
pub trait Clock {
    /// A moment: a time in simulation, `()` if operations act at once.
    type When: Copy;

    /// The moment `by` after another, for delays outside flash.
    fn later(&self, after: Self::When, by: Duration) -> Self::When;

    /// The later of two moments.
    fn both(&mut self, one: Self::When, other: Self::When) -> Self::When;

    /// The time of a moment. `None` if it depends on a pending operation.
    fn known(&self, when: Self::When) -> Option<Time>;
}

/// A media whose operations act at once: it has no moments.
pub trait Immediate {}

impl<M: Immediate> Clock for M {
    type When = ();

    #[inline(always)]
    fn later(&self, (): (), _: Duration) {}

    #[inline(always)]
    fn both(&mut self, (): (), (): ()) {}

    fn known(&self, (): ()) -> Option<Time> {
        None
    }
}

/// Flash memory. After a failed program, copy or erase, later ones fail, too: the device is read-only.
///
/// The firmware changes its map only after the program that it depends on has succeeded, so after a failure
/// every page still has its old data.
pub trait Flash: Clock {
    /// The reason for a failure.
    type Error: std::fmt::Debug;

    /// Read a page.
    ///
    /// # Errors
    /// The page cannot be read. Other pages may still be readable.
    fn read(
        &mut self,
        page: Ppn,
        to: Place,
        cause: Cause,
        after: Self::When,
    ) -> Result<Self::When, Self::Error>;

    /// Program an erased page.
    ///
    /// # Errors
    /// The page is not programmed.
    fn program(
        &mut self,
        page: Ppn,
        oob: Oob,
        from: Place,
        cause: Cause,
        after: Self::When,
    ) -> Result<Self::When, Self::Error>;

    /// Copy a page to an erased one of the same pool. An unreadable page is copied as it is, with its
    /// checksum: the copy is unreadable, too, but the operation succeeds. A new checksum would make damaged
    /// data look correct, and a failure would make the whole device read-only.
    ///
    /// # Errors
    /// The target is not programmed.
    fn copy(
        &mut self,
        from: Ppn,
        to: Ppn,
        oob: Oob,
        cause: Cause,
        after: Self::When,
    ) -> Result<Self::When, Self::Error>;

    /// Copy the pages of a run one after another, as by [`copy`](Self::copy), up to the first failure. `oob`
    /// returns the out-of-band data of each page, given its number in the run. Returns the number of copied
    /// pages.
    #[inline]
    fn copy_run(
        &mut self,
        run: Run,
        oob: impl Fn(u32, Ppn) -> Oob,
        cause: Cause,
        after: Self::When,
    ) -> (u32, Result<(), Self::Error>) {
        let mut copied = 0;
        for (from, to) in run.copies() {
            if let Err(error) = self.copy(from, to, oob(copied, from), cause, after) {
                return (copied, Err(error));
            }
            copied += 1;
        }
        (copied, Ok(()))
    }

    /// Erase a block.
    ///
    /// # Errors
    /// The block is not erased.
    fn erase(&mut self, block: BlockId, cause: Cause, after: Self::When) -> Result<Self::When, Self::Error>;

    /// Append the ends of the pending programs. Until then their data is not durable.
    fn await_programs(&mut self, parts: &mut Vec<Self::When>);

    /// The pending work of a die at `now`, in any unit: the firmware prefers the die with the least.
    fn backlog(&self, die: DieId, now: Self::When) -> u64;
}

/// The memory of caches: page-sized slots, and words for the metadata of crash-consistent caches.
pub trait Nvm: Clock {
    /// Move a page into or out of a slot.
    fn access(&mut self, slot: Slot, access: Access, after: Self::When) -> Self::When;

    /// Store an 8-byte word of the cache's metadata. Until the next [`fence`](Self::fence), stores become durable in
    /// any order, each of them whole; the same holds for the words of slot data.
    fn store(&mut self, word: u32, value: u64);

    /// Make all earlier stores, of data and metadata, durable before any later store.
    fn fence(&mut self);

    /// Take room for a page in the controller's write buffer. Returns the moment at which there is room;
    /// pages get room in the order of these calls.
    fn buffer(&mut self, after: Self::When) -> Self::When;

    /// Return the room of a page at a moment: it is in flash.
    fn unbuffer(&mut self, done: Self::When);
}

/// The page of the current request, on the host's side.
pub trait HostPage {
    /// Set the data of the next page write: `data` at byte `start` of the page.
    fn host_writes(&mut self, start: usize, data: &[u8]);

    /// The page returned by the last read.
    fn host_reads(&self) -> &[u8];
}

/// The outside world of the firmware: flash and cache memory.
pub trait Media: Flash + Nvm {}

impl<M: Flash + Nvm> Media for M {}

/// A transfer of adjacent pages between disks and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Transfer {
    /// The direction.
    pub direction: Direction,
    /// The first page, counted through all disks.
    pub first: u64,
    /// The number of pages; at least one.
    pub pages: u32,
    /// The reason: [`Cause::Evict`] for pages read into a flash cache, [`Cause::Destage`], or [`Cause::Host`] for pages
    /// that bypass it.
    pub cause: Cause,
}

/// A media with disks behind its flash. Disks choose the order in which they serve waiting transfers, but keep the
/// order of transfers that share a page, if one of them writes.
pub trait Backed: Media {
    /// Submit a transfer to the disks, to begin at `at` or later. At its end `tag` is reported to the level. Transfers of
    /// the same page are made, and their ends reported, in the order of submission.
    fn transfer(&mut self, transfer: Transfer, at: Time, tag: u32);

    /// Report `tag` to the level at a moment with an unknown time.
    fn tell_level(&mut self, when: Self::When, tag: u32);

    /// Report `tag` to the level when the disks next finish a part of a transfer: this is the wait of a
    /// transfer that yields.
    fn after_others(&mut self, tag: u32);

    /// Whether the disk of a page is idle.
    fn is_idle(&self, page: u64) -> bool;

    /// The time that disks have spent on finished transfers for a cause, summed over disks.
    fn disk_time(&self, cause: Cause) -> Duration;

    /// The number of disks.
    fn disks(&self) -> u32;

    /// Create a moment to be determined later, by [`keep`](Self::keep).
    fn promise(&mut self) -> Self::When;

    /// Set a promised moment to another one, now or later.
    fn keep(&mut self, promise: Self::When, with: Self::When);
}
