//! The outside world of the firmware: the methods behind which flash and cache memory act, two for what a
//! crash-consistent cache keeps of itself, and one for a flush.

use crate::{BlockId, DieId, Ppn};
use coflash_base::{Duration, Lpn};

/// Why flash is operated: every program is counted under its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The host's own request.
    Host,
    /// A page that leaves the device's cache; in a flash cache before disks, a page that is read into it.
    Evict,
    /// Garbage collection.
    Gc,
    /// Rewriting data before it fades.
    Refresh,
    /// Moving cold data off young blocks.
    WearLevelling,
    /// Dirty pages of a flash cache on their way to the disk.
    Destage,
    /// Summaries, checkpoints.
    Metadata,
}

impl Cause {
    /// Every cause with its name in reports, in their order.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Host, "host"),
        (Self::Evict, "evict"),
        (Self::Gc, "gc"),
        (Self::Refresh, "refresh"),
        (Self::WearLevelling, "wear_levelling"),
        (Self::Destage, "destage"),
        (Self::Metadata, "metadata"),
    ];
}

/// Where page data comes from or goes to, on the controller's side of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The request being served: all of the page comes from (goes to) the host.
    Host,
    /// The page buffer of the controller: what the last read left there, under the part that the host writes.
    Merged,
    /// A slot of the device's cache.
    Cache {
        /// The slot's number.
        slot: u32,
    },
}

/// Which way a cache slot is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From the slot to the host.
    Read,
    /// From the host into the slot, over what it holds (all of the page, or the part that the request covers).
    Write,
    /// From the host into a slot that holds nothing of this page; what the request does not cover reads as zero.
    WriteNew,
    /// From the controller, which has just read the page for the host, into the slot.
    Fill,
    /// From another slot into this one.
    CopyOf {
        /// The other slot's number.
        slot: u32,
    },
}

/// How a page is programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// To keep its data for long.
    #[default]
    Normal,
    /// In coarser steps, which takes less time; data keeps for less long.
    Fast,
}

/// What is programmed beside a page, and all that recovery has to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oob {
    /// The logical page; none for a block summary.
    pub lpn: Option<Lpn>,
    /// Counts programs through the life of the device: of two copies of a page the higher one is current.
    pub sequence: u64,
    /// How the page is programmed: after a restart nobody else knows which data has to be rewritten soon.
    pub mode: Mode,
}

/// What carries out flash operations.
///
/// The firmware calls these in the order in which its decisions take effect; operations on one die happen in that order.
/// `after` is when an operation may begin at the earliest; what it returns is when it is done. A value that was returned
/// may be handed on once, so operations form chains, and before time passes; the start of a request may be used by any number.
pub trait Media {
    /// A moment: a time in simulation, nothing where operations act at once.
    type When: Copy;

    /// Reads a page.
    fn read(&mut self, page: Ppn, to: Place, cause: Cause, after: Self::When) -> Self::When;

    /// Programs an erased page.
    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, after: Self::When) -> Self::When;

    /// Copies a page to an erased one of the same pool.
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: Self::When) -> Self::When;

    /// Erases a block.
    fn erase(&mut self, block: BlockId, cause: Cause, after: Self::When) -> Self::When;

    /// Moves a page between the host and a cache slot.
    fn access(&mut self, slot: u32, access: Access, after: Self::When) -> Self::When;

    /// Stores an 8-byte word of the cache's own metadata. Stores become durable in any order until the next
    /// [`fence`](Self::fence), each of them whole; so do the words of slot data.
    fn store(&mut self, word: u32, value: u64) {
        let _ = (word, value);
    }

    /// Everything stored in the cache so far, data and metadata, is durable before anything stored later.
    fn fence(&mut self) {}

    /// Appends when the programs under way are done: until then what they write is in no durable place.
    fn await_programs(&mut self, parts: &mut Vec<Self::When>) {
        let _ = parts;
    }

    /// A moment so long after another: for what takes time and is not flash.
    fn later(&self, after: Self::When, by: Duration) -> Self::When;

    /// When both moments have come.
    fn both(&mut self, one: Self::When, other: Self::When) -> Self::When;

    /// How much a die has still to do at `now`, in any unit: the firmware prefers the die with the least.
    fn backlog(&self, die: DieId, now: Self::When) -> u64;
}

/// A media that does nothing and takes no time: for warming up a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Media for Untimed {
    type When = ();
    #[inline(always)]
    fn read(&mut self, _: Ppn, _: Place, _: Cause, (): ()) {}
    #[inline(always)]
    fn program(&mut self, _: Ppn, _: Oob, _: Place, _: Cause, (): ()) {}
    #[inline(always)]
    fn copy(&mut self, _: Ppn, _: Ppn, _: Oob, _: Cause, (): ()) {}
    #[inline(always)]
    fn erase(&mut self, _: BlockId, _: Cause, (): ()) {}
    #[inline(always)]
    fn access(&mut self, _: u32, _: Access, (): ()) {}
    #[inline(always)]
    fn later(&self, (): (), _: Duration) {}
    #[inline(always)]
    fn both(&mut self, (): (), (): ()) {}
    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}
