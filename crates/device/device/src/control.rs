//! The control socket of a running device: one command per connection, one line each way.
//!
//! `cut SIDE SEED` cuts the power of a side, `host`, `device` or `both`, and powers it on again.

use crate::export::Exported;
use crate::folder::{DeviceError, Folder};
use coflash_media::Side;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

const DONE: &str = "done";
const LINE_BYTES: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(2);

/// The socket, in the folder of the device. The container's lock says that no other server uses it.
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    pub(crate) fn bind(folder: &Folder) -> Result<Self, DeviceError> {
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
        let listener = bind().map_err(|problem| DeviceError::Io { path: path.clone(), problem })?;
        Ok(Self { listener, path })
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
        let command = line.trim().strip_prefix("cut ").and_then(|rest| rest.split_once(' '));
        let cut = command.and_then(|(side, seed)| Some((side.parse().ok()?, seed.parse().ok()?)));
        let answer = match cut.map(|(side, seed)| disk.cut(side, seed)) {
            Some(Ok(())) => DONE.to_owned(),
            Some(Err(error)) => error.to_string(),
            None => format!("\"{}\" was given; \"cut SIDE SEED\" is allowed", line.trim()),
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
    let path = folder.join("control");
    let ask = || {
        let nobody =
            |error: io::Error| io::Error::new(error.kind(), format!("nobody serves the device: {error}"));
        let mut stream = UnixStream::connect(&path).map_err(nobody)?;
        writeln!(stream, "cut {side} {seed}")?;
        let mut line = String::new();
        BufReader::new(stream).take(LINE_BYTES).read_line(&mut line)?;
        match line.trim() {
            DONE => Ok(()),
            "" => Err(io::Error::other("the server gave no answer")),
            problem => Err(io::Error::other(problem.to_owned())),
        }
    };
    ask().map_err(|problem| DeviceError::Io { path: path.clone(), problem })
}
