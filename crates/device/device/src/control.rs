//! The control socket of a running device: one command per connection, one line each way.
//!
//! `cut SIDE SEED` cuts the power of a side, `host`, `device` or `both`, and powers it on again. `info` describes the device.

use crate::export::Exported;
use crate::folder::{DeviceError, Folder};
use crate::info::Told;
use coflash_media::Side;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

const DONE: &str = "done";
const LINE_BYTES: u64 = 4096;
/// A description has the scenario.
const ANSWER_BYTES: u64 = 128 << 10;
const PATIENCE: Duration = Duration::from_secs(2);

/// The socket, in the folder of the device. The container's lock says that no other server uses it.
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listen; a device that is read-only may have no room for the socket, and goes without.
    pub(crate) fn bind(folder: &Folder, is_read_only: bool) -> Result<Option<Self>, DeviceError> {
        let path = folder.join("control");
        let bind = || {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        match bind() {
            Ok(listener) => Ok(Some(Self { listener, path })),
            Err(_) if is_read_only => Ok(None),
            Err(problem) => Err(DeviceError::Io { path, problem }),
        }
    }

    /// Run the pending commands.
    pub(crate) fn serve(&self, disk: &Exported) {
        while let Ok((stream, _)) = self.listener.accept() {
            // A client that has disconnected needs no answer.
            let _ = Self::answer(stream, disk);
        }
    }

    fn answer(mut stream: UnixStream, disk: &Exported) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(&stream).take(LINE_BYTES).read_line(&mut line)?;
        if line.trim() == "info" {
            let info = disk.machine().session().map(|(session, _)| Told::of(session.store()));
            return writeln!(stream, "{}", serde_json::to_string(&info).expect("it is plain data"));
        }
        let command = line.trim().strip_prefix("cut ").and_then(|rest| rest.split_once(' '));
        let cut = command.and_then(|(side, seed)| Some((side.parse().ok()?, seed.parse().ok()?)));
        let answer = match cut.map(|(side, seed)| disk.cut(side, seed)) {
            Some(Ok(())) => DONE.to_owned(),
            Some(Err(error)) => error.to_string(),
            None => format!("\"{}\" was given; \"cut SIDE SEED\" or \"info\" is allowed", line.trim()),
        };
        writeln!(stream, "{answer}")
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Cut the power of a side of a device that another process serves.
///
/// # Errors
/// No process serves it, it has no such side, or it cannot be powered on again.
pub fn cut(folder: &Folder, side: Side, seed: u64) -> Result<(), DeviceError> {
    match ask(folder, &format!("cut {side} {seed}"))?.trim() {
        DONE => Ok(()),
        problem => Err(folder.io(io::Error::other(problem.to_owned()))),
    }
}

/// Describe a device that another process serves.
pub(crate) fn info(folder: &Folder) -> Result<Told, DeviceError> {
    let told: Option<Told> =
        serde_json::from_str(&ask(folder, "info")?).map_err(|error| folder.unusable(error))?;
    told.ok_or_else(|| folder.unusable("its power could not be switched on again"))
}

/// Send a line to the process that serves a device, and return its answer.
fn ask(folder: &Folder, line: &str) -> Result<String, DeviceError> {
    let path = folder.join("control");
    let ask = || {
        let nobody =
            |error: io::Error| io::Error::new(error.kind(), format!("nobody serves the device: {error}"));
        let mut stream = UnixStream::connect(&path).map_err(nobody)?;
        writeln!(stream, "{line}")?;
        let mut answer = String::new();
        BufReader::new(stream).take(ANSWER_BYTES).read_line(&mut answer)?;
        if answer.is_empty() { Err(io::Error::other("the server gave no answer")) } else { Ok(answer) }
    };
    ask().map_err(|problem| DeviceError::Io { path: path.clone(), problem })
}
