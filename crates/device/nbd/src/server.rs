//! The server: its socket, its connections, its end.

use crate::address::{Address, Listener};
use crate::connection;
use crate::export::Export;
use crate::hangup::Hangup;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The maximal number of connections. A further one is closed at once.
pub const MAX_CONNECTIONS: usize = 16;

/// A listening server.
pub struct Server {
    listener: Listener,
    stopped: UnixStream,
    stopper: Stopper,
}

/// Ends a server, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<UnixStream>);

impl Stopper {
    /// End the server: no more requests are read, pending ones are answered, and [`Server::run`] returns.
    pub fn stop(&self) {
        // It fails only if this was done before.
        let _ = self.0.shutdown(Shutdown::Both);
    }
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
        Ok(Self { listener, stopped, stopper: Stopper(Arc::new(stopper)) })
    }

    /// The address; a port of 0 is replaced by the actual one.
    ///
    /// # Errors
    ///
    /// The system does not report it.
    pub fn address(&self) -> io::Result<Address> {
        self.listener.address()
    }

    /// A handle that ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serve a disk until the server is stopped and all pending requests are answered.
    ///
    /// # Errors
    ///
    /// The listening socket fails; pending requests are answered in this case, too.
    pub fn run(&self, export: &impl Export) -> io::Result<()> {
        let connections = AtomicUsize::new(0);
        thread::scope(|scope| {
            // Connections must end, too, if this fails.
            let _stop = StopAtEnd(&self.stopper);
            loop {
                let mut polled =
                    [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.stopped, PollFlags::IN)];
                retry_on_intr(|| poll(&mut polled, None))?;
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

/// Whether accepting failed because of one client, so that others may still connect.
fn is_of_client(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

struct StopAtEnd<'a>(&'a Stopper);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A connection, counted while it lasts.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
