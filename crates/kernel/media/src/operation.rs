//! Attributes of operations on flash and cache memory: causes, sources and destinations, out-of-band data.

use crate::Ppn;
use coflash_base::{Lpn, Save};

/// The cause of a flash operation. Every program is counted under its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub enum Cause {
    /// A request of the host.
    Host,
    /// The eviction of a page from the device's cache; in a flash cache before disks, the fill of a page read from
    /// disk.
    Evict,
    /// Garbage collection.
    Gc,
    /// Refresh of data before it fades.
    Refresh,
    /// The move of cold data to worn blocks.
    WearLevelling,
    /// The write of dirty pages of a flash cache to disk.
    Destage,
    /// Block summaries, journals and checkpoints.
    Metadata,
}

impl Cause {
    /// Every cause with its name in results, in their order.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Host, "host"),
        (Self::Evict, "evict"),
        (Self::Gc, "gc"),
        (Self::Refresh, "refresh"),
        (Self::WearLevelling, "wear_levelling"),
        (Self::Destage, "destage"),
        (Self::Metadata, "metadata"),
    ];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        let (_, name) = Self::ALL[self as usize];
        name
    }
}

/// The memory of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Memory {
    /// The host's write buffer.
    HostBuffer,
    /// A cache in the host, below its write buffer if there is one.
    Host,
    /// The device's cache or write buffer.
    Device,
}

impl Memory {
    /// The number of memories.
    pub const COUNT: usize = 3;
}

/// A page-sized slot of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Slot {
    /// The memory that it belongs to.
    pub memory: Memory,
    /// Its number there.
    pub number: u32,
}

/// The source or destination of a page's data, on the controller's side of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The host: the data of the current request, a whole page.
    Host,
    /// The page buffer of the controller: the data of the last read, overlaid by the part that the host writes.
    Merged,
    /// The page buffer as it is: another page than the host writes.
    Buffer,
    /// A slot of a cache.
    Slot(Slot),
}

/// An access to a cache slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read from the slot.
    Read {
        /// The destination.
        to: Place,
    },
    /// A write over the data in the slot: the whole page, or the part of the request.
    Write {
        /// The source. A slot or buffer provides a whole page.
        from: Place,
    },
    /// A write to a slot without data of this page: the bytes outside of the request read as zero.
    WriteNew {
        /// The source.
        from: Place,
    },
    /// A write of a whole page that has just been read.
    Fill {
        /// The destination of that read.
        from: Place,
    },
}

/// The program mode of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub enum Mode {
    /// Normal: data is retained for long.
    #[default]
    Normal,
    /// Fast, in coarser steps: data is retained for a shorter time.
    Fast,
    /// One bit a cell, in flash with several.
    Slc,
}

/// The out-of-band data of a page: recovery rebuilds the map from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oob {
    /// The logical page; `None` for a block summary.
    pub lpn: Option<Lpn>,
    /// The sequence number of the program in the life of the device: among two copies of a page the higher
    /// one is current.
    pub sequence: u64,
    /// The program mode: after a restart only this tells which data must be refreshed soon.
    pub mode: Mode,
}

/// Pages of a block to be copied to successive pages of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The page of the lowest bit of `pages`.
    pub first: Ppn,
    /// The pages to copy: a bit for each page from `first` on, at least one of them set.
    pub pages: u64,
    /// The erased page for the first of them.
    pub to: Ppn,
}

impl Run {
    /// Each page, with the target of its copy.
    #[inline(always)]
    pub fn copies(self) -> impl Iterator<Item = (Ppn, Ppn)> {
        let mut rest = self.pages;
        (self.to.get()..).map_while(move |to| {
            let from = (rest != 0).then(|| Ppn::new(self.first.get() + rest.trailing_zeros()));
            rest &= rest.wrapping_sub(1);
            from.map(|from| (from, Ppn::new(to)))
        })
    }
}
