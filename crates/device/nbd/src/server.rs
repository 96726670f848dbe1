//! The server: its socket, its connections, its end.

use crate::address::{Address, Listener};
use crate::connection;
use crate::connections::Connections;
use crate::export::Export;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// The time until a server that cannot accept a connection tries again.
const PAUSE: Duration = Duration::from_millis(100);

/// A listening server.
pub struct Server {
    listener: Listener,
    connections: Connections,
    stopped: UnixStream,
    stopper: UnixStream,
}

impl Server {
    /// Listen on an address. Clients may connect from now on, and wait until the server runs.
    ///
    /// # Errors
    ///
    /// The address is in use, is not an address of this machine, or its path is too long or that of another
    /// file.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let listener = Listener::bind(address)?;
        let (stopped, stopper) = UnixStream::pair()?;
        Ok(Self { listener, connections: Connections::default(), stopped, stopper })
    }

    /// Its connections.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The address; a port of 0 is replaced by the actual one.
    ///
    /// # Errors
    ///
    /// The system does not report it.
    pub fn address(&self) -> io::Result<Address> {
        self.listener.address()
    }

    /// End it, from any thread: no more requests are read, pending ones are answered, and [`run`](Self::run) returns.
    pub fn stop(&self) {
        // It fails only if this was done before.
        let _ = self.stopper.shutdown(Shutdown::Both);
    }

    /// Serve a disk until the server is stopped and all pending requests are answered.
    ///
    /// # Errors
    ///
    /// The listening socket fails; pending requests are answered in this case, too.
    pub fn run(&self, export: &impl Export) -> io::Result<()> {
        thread::scope(|scope| {
            let accept = || loop {
                let mut polled =
                    [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.stopped, PollFlags::IN)];
                retry_on_intr(|| poll(&mut polled, None))?;
                if !polled[1].revents().is_empty() {
                    return Ok(());
                }
                let socket = match self.listener.accept() {
                    Ok(socket) => socket,
                    Err(error) if is_of_client(&error) => continue,
                    // No file descriptor is left until a connection ends: the others are served, and clients wait.
                    Err(error)
                        if matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)) =>
                    {
                        export.ended(&error.into());
                        thread::sleep(PAUSE);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let line = match self.connections.add(socket) {
                    Ok(line) => line,
                    Err(full) => {
                        export.ended(&full);
                        continue;
                    }
                };
                let begun = thread::Builder::new().name("nbd".to_owned()).spawn_scoped(scope, move || {
                    let why = connection::serve(&line, export);
                    drop(line);
                    export.ended(&why);
                });
                if let Err(error) = begun {
                    export.ended(&error.into());
                }
            };
            let ended = accept();
            // Also if that failed.
            self.connections.stop();
            ended
        })
    }
}

/// Whether accepting failed because of one client, so that others may still connect.
fn is_of_client(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}
