//! The kinds of requests.

use crate::Save;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
// Four bytes wide: the padding behind a narrower field would be copied byte by byte.
#[repr(u32)]
pub enum Op {
    /// Read of the range.
    Read,
    /// Write of the range.
    Write,
    /// Discard of the range (deallocate).
    Trim,
    /// Barrier that makes all earlier writes durable; it has no range.
    Flush,
}
