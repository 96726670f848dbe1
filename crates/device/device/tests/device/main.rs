//! Served devices: their sessions, and what is kept and measured of these.
#![cfg(unix)]

mod contents_file;
mod load;
#[path = "../../../store/src/tests/memory.rs"]
mod memory;
mod order;
mod served_order;
mod session;

use coflash_store::Disk;
