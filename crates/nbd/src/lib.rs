//! The network block device (NBD) protocol, and a server that exports a disk over it.
//!
//! The [protocol](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md) is fixed newstyle, with structured
//! replies and block status. What the parts read and write are bytes in memory; only the server and its connections do IO.
//!
//! | concept | place |
//! |---|---|
//! | the disk behind the server, the requests that it is handed | `export.rs` |
//! | extents: which bytes are holes | `extents.rs` |
//! | errors of the protocol | `errno.rs`; why a connection ends: `hangup.rs` |
//! | negotiation: options and their replies | `handshake.rs` |
//! | commands: from bytes to requests | `command.rs` |
//! | replies: from answers to bytes | `reply.rs` |
//! | layouts, in network byte order; bytes that wait to be read | `wire.rs` |
//! | a connection: one thread, requests and replies in batches | `connection.rs` |
//! | the server: its socket, its connections, its end | `server.rs`, `address.rs` |
//!
//! A connection is served by one thread. Whenever bytes arrive, it reads all requests that have arrived, hands them to the
//! [`Export`] as one batch, and sends all answers that are there in one system call. An answer may also come later, from any
//! thread. Everything that a client can make grow has a bound: see the constants.

mod address;
pub mod command;
mod connection;
mod errno;
mod export;
mod extents;
pub mod handshake;
mod hangup;
pub mod reply;
mod server;
pub mod wire;

pub use address::Address;
pub use errno::Errno;
pub use export::{Answer, Answers, Command, Export, Request, Shape};
pub use extents::{Extent, Extents};
pub use hangup::Hangup;
pub use server::{MAX_CONNECTIONS, Server, Stopper};
