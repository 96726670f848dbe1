//! Errors reported to a client.

use thiserror::Error;

/// An error of a request, with its number in the protocol.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// The disk is read-only.
    #[error("the disk is read-only")]
    NotPermitted = 1,
    /// The disk failed.
    #[error("the disk failed")]
    Io = 5,
    /// The request is invalid, or past the end of the disk.
    #[error("the request is invalid, or past the end of the disk")]
    Invalid = 22,
    /// A write past the end of the disk, or to a full disk.
    #[error("the write is past the end of the disk, or the disk is full")]
    NoSpace = 28,
    /// The request would take longer than allowed.
    #[error("this cannot be done fast")]
    NotSupported = 95,
}
