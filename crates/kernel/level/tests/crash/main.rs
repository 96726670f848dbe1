//! Devices under power cuts: before and after every store, in the middle of every program and erase, with the stores
//! since the last fence made durable in every way that the rules allow. After recovery every page of `cdm-consistent`
//! reads back as of the last completed commit, or, for a commit under way, all of it or none of it; a volatile buffer
//! has lost nothing that was flushed; every other device nothing that was answered; trims stay; and the device works
//! on. With the cache in the host, host and device are cut together or one by one.

#[path = "../support/mod.rs"]
mod support;

mod cable;
mod durable;
mod exhaustive;
mod host;
mod host_durable;
mod power;
mod storms;
mod subject;
mod volatile;
mod words;
