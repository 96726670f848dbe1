//! The control socket of a running device: one command per connection, one line each way.
//!
//! `cut SIDE SEED` cuts the power of a side, `host`, `device` or `both`, and powers it on again; `info` describes the device. The
//! answer is JSON: `{"Ok": …}` with what the cut took from clients or with the description, or `{"Err": …}` with the reason.

use crate::export::Exported;
use crate::folder::{DeviceError, Folder};
use crate::lines::Lines;
use crate::loss::Loss;
use coflash_media::Side;
use coflash_store::Info;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

/// A description has the scenario.
const ANSWER_BYTES: u64 = 128 << 10;

/// Listen, in the folder of the device. A device that is read-only may have no room for the socket, and goes without.
pub(crate) fn bind(folder: &Folder, is_read_only: bool) -> Result<Option<Lines>, DeviceError> {
    match Lines::bind(&folder.join("control")) {
        Err(_) if is_read_only => Ok(None),
        bound => bound.map(Some).map_err(|problem| folder.io(problem)),
    }
}

/// Run a command; returns its answer.
pub(crate) fn run(line: &str, disk: &Exported) -> String {
    if line == "info" {
        let info = disk.machine().session().map(|(session, _)| session.store().info());
        return answer(info.ok_or_else(|| "its power could not be switched on again".to_owned()));
    }
    let command = line.strip_prefix("cut ").and_then(|rest| rest.split_once(' '));
    match command.and_then(|(side, seed)| Some((side.parse().ok()?, seed.parse().ok()?))) {
        Some((side, seed)) => answer(disk.cut(side, seed).map_err(|error| error.to_string())),
        None => {
            answer(Err::<Loss, _>(format!("\"{line}\" was given; \"cut SIDE SEED\" or \"info\" is allowed")))
        }
    }
}

fn answer<T: Serialize>(answer: Result<T, String>) -> String {
    serde_json::to_string(&answer).expect("it is plain data")
}

/// Cut the power of a side of a device that another process serves. Returns what this took from clients.
///
/// # Errors
/// No process serves it, it has no such side, or it cannot be powered on again.
pub fn cut(folder: &Folder, side: Side, seed: u64) -> Result<Loss, DeviceError> {
    ask(folder, &format!("cut {side} {seed}"))
}

/// Describe a device that another process serves.
pub(crate) fn info(folder: &Folder) -> Result<Info, DeviceError> {
    ask(folder, "info")
}

/// Send a line to the process that serves a device, and return its answer.
fn ask<T: DeserializeOwned>(folder: &Folder, line: &str) -> Result<T, DeviceError> {
    if !folder.has_device() {
        return Err(folder.no_device());
    }
    let path = folder.join("control");
    let ask = || {
        let nobody = |error: io::Error| {
            let device = folder.display();
            let problem =
                format!("nobody serves the device ({error}); `coflash serve --device {device}` does");
            io::Error::new(error.kind(), problem)
        };
        let mut stream = UnixStream::connect(&path).map_err(nobody)?;
        writeln!(stream, "{line}")?;
        let mut answer = String::new();
        BufReader::new(stream).take(ANSWER_BYTES).read_line(&mut answer)?;
        let answer: Result<T, String> =
            serde_json::from_str(&answer).map_err(|_| io::Error::other("the server gave no answer"))?;
        answer.map_err(io::Error::other)
    };
    ask().map_err(|problem| DeviceError::Io { path: path.clone(), problem })
}
