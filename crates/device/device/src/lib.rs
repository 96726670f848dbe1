//! A device of real bytes on the firmware of the simulator.
//!
//! A [`Session`] is a device from power on to power off. It serves requests of any bytes through the levels that a
//! simulation runs, over a [store](coflash_store) that keeps the bytes and a timeline that says how long a
//! device would take. The requests are recorded as a trace; replayed in a simulation it gives the same
//! measures ([`twin`]).
//!
//! | concept | place |
//! |---|---|
//! | requests with data, power cuts | `session.rs` |
//! | which scenarios can be served; power on, erased or recovered | `power_on.rs` |
//! | bytes and their timeline as one media; no bytes, for the twin | `timed_bytes.rs`, `no_bytes.rs` |
//! | the trace of a session; the simulation of a session | `recorder.rs`, `twin.rs` |
//! | the folder of a device and of its sessions | `folder.rs`, `contents_file.rs` |
//! | a device that is switched on, through power cuts | `machine.rs`; what these take from clients: `loss.rs` |
//! | the disk of an NBD server; its load; answers at their moment | `export.rs`, `load.rs`, `delayed.rs` |
//! | what a device does, as it does it: the tables of a recorded run | `live.rs` |
//! | what a host that cannot write leaves of the last changes | `refused.rs`; a look at files without a change of them: `layers.rs` |
//! | the model of order: what a flush and FUA promise, and what a cut may leave | `order.rs` |
//! | the states that power cuts during a workload leave | `explore/` |
//! | a look at a device that is not served | `info.rs` |
//! | the server, its timer, its control socket | `server.rs`, `control.rs` |
//!
//! **Unix only** (Linux, macOS): its files, sockets and permissions are those of Unix.
//! On other systems this crate is empty.
#![cfg(unix)]

pub mod contents_file;
mod control;
mod delayed;
pub mod explore;
mod export;
mod folder;
mod info;
mod layers;
mod lines;
mod live;
mod load;
mod lock;
mod loss;
mod machine;
mod no_bytes;
pub mod order;
mod power_on;
mod recorder;
mod refused;
mod restarts;
mod server;
mod session;
mod timed_bytes;
mod twin;

pub use coflash_media::Side;
pub use coflash_nbd::Address;
pub use control::cut;
pub use export::Exported;
pub use folder::{DeviceError, Folder, SessionEnd, SessionFolder};
pub use info::{check, info};
pub use live::Part;
pub use load::{Load, LoadMeter};
pub use loss::Loss;
pub use machine::{EndedSession, Machine};
pub use power_on::{StartError, servable};
pub use recorder::Recorder;
pub use restarts::{Armed, Restart, Restarts};
pub use server::{ServedDevice, listen_address};
pub use session::{AnsweredAt, Cut, CutAt, Due, Ended, Failure, Session};
pub use twin::{TwinError, twin, twin_of};
