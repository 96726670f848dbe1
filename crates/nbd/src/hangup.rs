//! Why a connection ends.

use std::io;
use thiserror::Error;

/// Why a connection ends.
#[derive(Debug, Error)]
pub enum Hangup {
    /// The client ended it, as the protocol wants.
    #[error("the client left")]
    Left,
    /// The server ends.
    #[error("the server ends")]
    Stopped,
    /// The client closed its end in the middle of a message.
    #[error("the client was cut off")]
    CutOff,
    /// A message did not begin as the protocol wants.
    #[error("{what} begins with {given:#x}, not with {wanted:#x}")]
    Magic {
        /// Which message.
        what: &'static str,
        /// The bytes sent.
        given: u64,
        /// The first bytes from a client of this protocol.
        wanted: u64,
    },
    /// The client wants a handshake that is not known here.
    #[error("the client's flags are {0:#x}; 0x1 (fixed newstyle) and 0x3 (no zeroes) are allowed")]
    ClientFlags(u32),
    /// The client chose an export that is not here, in the way that knows no errors.
    #[error("there is no export {0:?}")]
    Export(String),
    /// The client negotiates without end.
    #[error("more than {0} options were sent")]
    Options(u32),
    /// The client took too long to choose an export.
    #[error("the handshake took more than {0} s")]
    Slow(u64),
    /// Enough clients are connected.
    #[error("{0} connections are open, and no more are taken")]
    Full(usize),
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Hangup {
    /// Whether the connection ended in order.
    #[must_use]
    pub fn is_orderly(&self) -> bool {
        matches!(self, Self::Left | Self::Stopped)
    }
}
