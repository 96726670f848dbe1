//! The protocol byte by byte, and a server on real sockets.
#![cfg(unix)]

mod commands;
#[path = "../../examples/memory/disk.rs"]
mod disk;
mod handshake;
mod messages;
mod peer;
mod server;
mod storms;
