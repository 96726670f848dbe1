//! Served devices: their sessions, and what is kept and measured of these.

mod contents_file;
mod load;
mod session;
