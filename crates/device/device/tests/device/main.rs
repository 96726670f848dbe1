//! Served devices: their sessions, and what is kept and measured of these.
#![cfg(unix)]

mod contents_file;
mod load;
mod order;
mod served_order;
mod session;
