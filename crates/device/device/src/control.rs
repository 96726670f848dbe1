//! The control socket of a running device: one command per connection, one line each way.
//!
//! `cut SIDE SEED` cuts the power of a side, `host`, `device` or `both`, and powers it on again. The answer is JSON: `{"Ok": …}` with
//! what the cut took from clients, or `{"Err": …}` with the reason.

use crate::export::Exported;
use crate::folder::{DeviceError, Folder};
use crate::loss::Loss;
use coflash_media::Side;
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

const LINE_BYTES: usize = 4096;
/// Clients that may be silent; one more, and the first of them has to go.
const CLIENTS_MAX: usize = 64;

/// The socket, in the folder of the device. The container's lock says that no other server uses it.
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
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
        Ok(Self { listener, path, clients: Vec::new() })
    }

    /// Run the commands that have come. It waits for no client.
    pub(crate) fn serve(&mut self, disk: &Exported) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, line: Vec::new() });
            }
        }
        self.clients.drain(..self.clients.len().saturating_sub(CLIENTS_MAX));
        self.clients.retain_mut(|client| client.stays(disk));
    }
}

/// A client, and what it has sent of its command.
struct Client {
    stream: UnixStream,
    line: Vec<u8>,
}

impl Client {
    /// Run its command if it is there. Returns whether it may yet come.
    fn stays(&mut self, disk: &Exported) -> bool {
        let mut bytes = [0; LINE_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(count) => {
                self.line.extend(&bytes[..count]);
                if count > 0 && self.line.len() < LINE_BYTES && !self.line.contains(&b'\n') {
                    return true;
                }
                let answer = run(String::from_utf8_lossy(&self.line).trim(), disk);
                let answer = serde_json::to_string(&answer).expect("it is a text");
                // A client that has disconnected needs no answer.
                let _ = writeln!(self.stream, "{answer}");
                false
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

fn run(line: &str, disk: &Exported) -> Result<Loss, String> {
    let command = line.strip_prefix("cut ").and_then(|rest| rest.split_once(' '));
    let cut = command.and_then(|(side, seed)| Some((side.parse().ok()?, seed.parse().ok()?)));
    let (side, seed) = cut.ok_or_else(|| format!("\"{line}\" was given; \"cut SIDE SEED\" is allowed"))?;
    disk.cut(side, seed).map_err(|error| error.to_string())
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Cut the power of a side of a device that another process serves. Returns what this took from clients.
///
/// # Errors
/// No process serves it, it has no such side, or it cannot be powered on again.
pub fn cut(folder: &Folder, side: Side, seed: u64) -> Result<Loss, DeviceError> {
    let path = folder.join("control");
    let ask = || {
        let nobody =
            |error: io::Error| io::Error::new(error.kind(), format!("nobody serves the device: {error}"));
        let mut stream = UnixStream::connect(&path).map_err(nobody)?;
        writeln!(stream, "cut {side} {seed}")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let answer: Result<Loss, String> =
            serde_json::from_str(&line).map_err(|_| io::Error::other("the server gave no answer"))?;
        answer.map_err(io::Error::other)
    };
    ask().map_err(|problem| DeviceError::Io { path: path.clone(), problem })
}
