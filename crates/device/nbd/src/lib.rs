//! The network block device (NBD) protocol, and a server that exports a disk over it.
//!
//! The [protocol](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md) is fixed newstyle, with
//! structured replies and block status. The parts read and write bytes in memory; only the server and its
//! connections do IO.
//!
//! | concept | place |
//! |---|---|
//! | the disk behind the server, and its requests | `export.rs` |
//! | extents: the holes of a range | `extents.rs` |
//! | errors of the protocol | `errno.rs`; the reasons for the end of a connection: `hangup.rs` |
//! | negotiation: options and their replies | `handshake.rs` |
//! | commands: from bytes to requests | `command.rs` |
//! | replies: from answers to bytes | `reply.rs` |
//! | layouts, in network byte order; the receive buffer | `wire.rs` |
//! | a connection: one thread, requests and replies in batches | `connection.rs` |
//! | the server: its socket, its end | `server.rs`, `address.rs` |
//! | its connections: their limit, their end by the disk | `connections.rs` |
//!
//! Each connection has one thread. Whenever bytes arrive, it reads all complete requests, passes them to the
//! [`Export`] as one batch, and sends all ready answers in one system call. An answer may also come later,
//! from any thread. All memory that a client can cause to grow has a limit: see the constants.
//!
//! **Unix only** (Linux, macOS): it serves Unix sockets, and waits for several at once.
//! On other systems this crate is empty.
#![cfg(unix)]

mod address;
pub mod command;
mod connection;
mod connections;
mod errno;
mod export;
mod extents;
pub mod handshake;
mod hangup;
pub mod reply;
mod server;
pub mod wire;

pub use address::{Address, Listener};
pub use connections::{Connections, MAX_CONNECTIONS};
pub use errno::Errno;
pub use export::{Answer, Answers, Command, Export, Request, Shape};
pub use extents::{Extent, Extents};
pub use hangup::Hangup;
pub use server::Server;
