//! The reasons for the end of a connection.

use std::io;
use thiserror::Error;

/// The reason for the end of a connection.
#[derive(Debug, Error)]
pub enum Hangup {
    /// The client ended it in the regular way.
    #[error("the client left")]
    Left,
    /// The server ends.
    #[error("the server ends")]
    Stopped,
    /// The disk has vanished.
    #[error("the disk has vanished")]
    Ended,
    /// The client closed its end in the middle of a message.
    #[error("the client was cut off")]
    CutOff,
    /// A message began with wrong bytes.
    #[error("{what} begins with {given:#x}, not with {wanted:#x}")]
    Magic {
        /// The kind of message.
        what: &'static str,
        /// The bytes sent.
        given: u64,
        /// The expected first bytes of a client.
        wanted: u64,
    },
    /// The client requests an unknown handshake.
    #[error("the client's flags are {0:#x}; 0x1 (fixed newstyle) and 0x3 (no zeroes) are allowed")]
    ClientFlags(u32),
    /// The client chose an unknown export, by an option without error replies.
    #[error("there is no export {0:?}")]
    Export(String),
    /// The client exceeds the limit of options.
    #[error("more than {0} options were sent")]
    Options(u32),
    /// The client took too long to choose an export.
    #[error("the handshake took more than {0} s")]
    Slow(u64),
    /// The client took and sent nothing of a message while the memory of all connections was short.
    #[error("the client left a reply unread, or a write incomplete, for {0} s while others needed memory")]
    Idle(u64),
    /// The limit of connections is reached.
    #[error("{0} connections are open, and no more are taken: let the server take more, or end idle ones")]
    Full(usize),
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Hangup {
    /// Whether the connection ended in the regular way, or by a decision of the server's side.
    pub fn is_orderly(&self) -> bool {
        matches!(self, Self::Left | Self::Stopped | Self::Ended)
    }
}
