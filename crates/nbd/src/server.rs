//! The server: its socket, its connections, its end.

use crate::address::{Address, Listener};
use crate::connection;
use crate::export::Export;
use crate::hangup::Hangup;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Connections that are served at a time. One more is closed at once.
pub const MAX_CONNECTIONS: usize = 16;

/// A server that listens.
pub struct Server {
    listener: Listener,
    stopped: UnixStream,
    stopper: Stopper,
}

/// Ends a server, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<UnixStream>);

impl Stopper {
    /// End the server: nothing more is read, requests under way are answered, and [`Server::run`] returns.
    pub fn stop(&self) {
        // It fails only if it was done before.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Server {
    /// Listen on an address. Clients may connect from now on, and wait until the server runs.
    ///
    /// # Errors
    ///
    /// If the address is in use, is no address of this machine, or its path is too long or that of another file.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let listener = Listener::bind(address)?;
        let (stopped, stopper) = UnixStream::pair()?;
        Ok(Self { listener, stopped, stopper: Stopper(Arc::new(stopper)) })
    }

    /// Where it listens; a port of 0 has become the one that was free.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn address(&self) -> io::Result<Address> {
        self.listener.address()
    }

    /// What ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serve a disk until the server is stopped and all that is under way is answered.
    ///
    /// # Errors
    ///
    /// If the listening socket fails; requests under way are answered then, too.
    pub fn run(&self, export: &impl Export) -> io::Result<()> {
        let connections = AtomicUsize::new(0);
        thread::scope(|scope| {
            // Connections must end, too, if this fails.
            let _stop = StopAtEnd(&self.stopper);
            loop {
                let mut polled =
                    [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.stopped, PollFlags::IN)];
                retry(|| poll(&mut polled, None))?;
                if !polled[1].revents().is_empty() {
                    return Ok(());
                }
                let socket = match self.listener.accept() {
                    Ok(socket) => socket,
                    Err(error) if is_of_client(&error) => continue,
                    Err(error) => return Err(error),
                };
                if connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                    connections.fetch_sub(1, Ordering::Relaxed);
                    export.ended(&Hangup::Full(MAX_CONNECTIONS));
                    continue;
                }
                let counted = Counted(&connections);
                let begun = thread::Builder::new().name("nbd".to_owned()).spawn_scoped(scope, move || {
                    let _counted = counted;
                    export.ended(&connection::serve(&socket, &self.stopped, export));
                });
                if let Err(error) = begun {
                    export.ended(&error.into());
                }
            }
        })
    }
}

/// Whether accepting failed for the sake of one client, so that others may still come.
fn is_of_client(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

/// A call, again if a signal interrupted it.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other,
        }
    }
}

struct StopAtEnd<'a>(&'a Stopper);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A connection that is counted while it lasts.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
