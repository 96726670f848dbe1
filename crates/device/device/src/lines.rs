//! A socket for lines, each answered by one line. It waits for no client.

use coflash_nbd::{Address, Listener};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The longest line, in bytes.
const LINE_BYTES: usize = 4096;
/// Clients that may be silent; one more, and the first of them has to go.
const CLIENTS_MAX: usize = 64;

/// The socket, and its clients with what they have sent of a line.
pub(crate) struct Lines {
    listener: Listener,
    clients: Vec<(UnixStream, Vec<u8>)>,
}

impl Lines {
    /// Listen on a path.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self { listener: Listener::bind(&Address::Unix(path.to_owned()))?, clients: Vec::new() })
    }

    /// Answer the lines that have come.
    pub(crate) fn serve(&mut self, mut answer: impl FnMut(&str) -> String) {
        while let Ok(socket) = self.listener.accept() {
            self.clients.push((socket.into(), Vec::new()));
        }
        self.clients.drain(..self.clients.len().saturating_sub(CLIENTS_MAX));
        self.clients.retain_mut(|(stream, line)| {
            let mut bytes = [0; LINE_BYTES];
            let count = match stream.read(&mut bytes) {
                Ok(count) => count,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            };
            line.extend(&bytes[..count]);
            // At its end, or when it is too long, a line is what has come.
            while let Some(end) = line.iter().position(|byte| *byte == b'\n').or_else(|| {
                ((count == 0 && !line.is_empty()) || line.len() >= LINE_BYTES).then(|| line.len() - 1)
            }) {
                let whole: Vec<u8> = line.drain(..=end).collect();
                // A client that has disconnected needs no answer.
                // In one piece: a client may take what it reads for the whole answer.
                let _ = stream.write_all((answer(String::from_utf8_lossy(&whole).trim()) + "\n").as_bytes());
            }
            count > 0
        });
    }
}
