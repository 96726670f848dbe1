//! Marks: lines that a workload writes to a socket, each answered by the line `done` once it is in the log.

use crate::lock::lock;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The longest mark, in bytes.
const LINE_BYTES: u64 = 4096;

/// A socket for marks.
pub(crate) struct Marks {
    listener: UnixListener,
    path: PathBuf,
    is_over: AtomicBool,
    clients: Mutex<Vec<UnixStream>>,
}

impl Marks {
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            is_over: AtomicBool::new(false),
            clients: Mutex::default(),
        })
    }

    /// Take marks until [`stop`](Self::stop).
    pub(crate) fn serve(&self, mark: impl Fn(String) + Sync) {
        thread::scope(|scope| {
            while let Ok((client, _)) = self.listener.accept() {
                let Ok(other) = client.try_clone() else { continue };
                lock(&self.clients).push(other);
                if self.is_over.load(Ordering::SeqCst) {
                    break;
                }
                scope.spawn(|| take(client, &mark));
            }
            self.end_clients();
        });
    }

    /// End [`serve`](Self::serve).
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.path);
        self.end_clients();
        let _ = std::fs::remove_file(&self.path);
    }

    fn end_clients(&self) {
        lock(&self.clients).drain(..).for_each(|client| drop(client.shutdown(Shutdown::Both)));
    }
}

fn take(client: UnixStream, mark: impl Fn(String)) {
    let mut lines = BufReader::new(&client);
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(count) if count > 0 => {}
            _ => return,
        }
        mark(String::from_utf8_lossy(&line).trim_end().to_owned());
        if (&client).write_all(b"done\n").is_err() {
            return;
        }
    }
}
