//! Page reads and writes as values: a new property of reads or writes is one field here.

use crate::stream::WriteStream;
use coflash_base::{Lpn, PlacementId};
use coflash_media::{Cause, Place};

/// The part of a page that a write covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Full,
    /// A part: the rest must be kept.
    Partial,
}

/// A page to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// The page.
    pub lpn: Lpn,
    /// The destination of its data.
    pub to: Place,
    /// The reason.
    pub cause: Cause,
}

impl PageRead {
    /// Create a read of a page by the host.
    #[inline(always)]
    #[must_use]
    pub fn host(lpn: Lpn) -> Self {
        Self { lpn, to: Place::Host, cause: Cause::Host }
    }
}

/// A page to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWrite {
    /// The page.
    pub lpn: Lpn,
    /// The part of it to be written.
    pub coverage: Coverage,
    /// The source of its data.
    pub from: Place,
    /// The reason.
    pub cause: Cause,
    /// Its write stream.
    pub stream: WriteStream,
    /// The placement hint of the host.
    pub placement: Option<PlacementId>,
}

impl PageWrite {
    /// Create a write of a page by the host.
    #[inline(always)]
    #[must_use]
    pub fn host(lpn: Lpn, coverage: Coverage) -> Self {
        Self {
            lpn,
            coverage,
            from: Place::Host,
            cause: Cause::Host,
            stream: WriteStream::Host,
            placement: None,
        }
    }
}
