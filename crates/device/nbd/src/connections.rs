//! The open connections of a server: their limit, and their end by the disk.

use crate::hangup::Hangup;
use rustix::io::ioctl_fionbio;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The number of connections that a server takes, unless it is told another.
pub const MAX_CONNECTIONS: usize = 256;

/// The memory that the requests and replies of all connections may take together, in bytes.
const ALL_BYTES_MAX: usize = 256 << 20;

/// A request of up to this size has room in any case, as long as its connection has no more: who asks for little waits for nobody.
const SMALL_BYTES: usize = 256 << 10;

/// The memory of the requests and replies of all connections.
#[derive(Debug, Default)]
pub(crate) struct Memory(AtomicUsize);

impl Memory {
    /// Take some bytes, if there is room for them. `own` is what the connection has already.
    pub(crate) fn take(&self, bytes: usize, own: usize) -> bool {
        let is_small = own + bytes <= SMALL_BYTES;
        let more = |used: usize| Some(used + bytes).filter(|&used| is_small || used <= ALL_BYTES_MAX);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether clients that move nothing are in the way of others.
    pub(crate) fn is_short(&self) -> bool {
        self.0.load(Ordering::Relaxed) > ALL_BYTES_MAX / 2
    }
}

/// The open connections of a server, from any thread.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max: AtomicUsize,
    lines: Mutex<Vec<Weak<Line>>>,
    memory: Arc<Memory>,
}

/// A connection, as long as its thread has it. A receive from its socket waits for bytes.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) socket: OwnedFd,
    /// Whether the disk has ended it.
    pub(crate) is_ended: Arc<AtomicBool>,
    /// Whether it must end since the server does.
    pub(crate) is_stopped: AtomicBool,
    pub(crate) memory: Arc<Memory>,
}

impl Default for Connections {
    fn default() -> Self {
        let (max, lines, memory) = (AtomicUsize::new(MAX_CONNECTIONS), Mutex::default(), Arc::default());
        Self(Arc::new(Shared { max, lines, memory }))
    }
}

impl Connections {
    /// Take this many; a further one is closed at once.
    pub fn limit(&self, max: usize) {
        self.0.max.store(max, Ordering::Relaxed);
    }

    /// The number of open connections.
    pub fn count(&self) -> usize {
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.strong_count() > 0).count()
    }

    /// End all connections, as when the disk vanishes; returns their number. Nothing is sent to these clients any more, and
    /// their requests are no longer [wanted](crate::Request::is_wanted). A client may connect anew.
    pub fn end(&self) -> usize {
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let open = lines.drain(..).filter_map(|line| line.upgrade());
        open.inspect(|line| {
            line.is_ended.store(true, Ordering::Relaxed);
            // It fails only if the client has disconnected.
            let _ = shutdown(&line.socket, Shutdown::Both);
        })
        .count()
    }

    /// Have all connections end once the requests that they have read are answered.
    pub(crate) fn stop(&self) {
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter().filter_map(Weak::upgrade) {
            line.is_stopped.store(true, Ordering::Relaxed);
            // It fails only if the client has disconnected.
            let _ = shutdown(&line.socket, Shutdown::Read);
        }
    }

    pub(crate) fn add(&self, socket: OwnedFd) -> Result<Arc<Line>, Hangup> {
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.strong_count() > 0);
        let max = self.0.max.load(Ordering::Relaxed);
        if lines.len() >= max {
            return Err(Hangup::Full(max));
        }
        ioctl_fionbio(&socket, false).map_err(io::Error::from)?;
        let (is_ended, is_stopped, memory) = (Arc::default(), AtomicBool::new(false), self.0.memory.clone());
        let line = Arc::new(Line { socket, is_ended, is_stopped, memory });
        lines.push(Arc::downgrade(&line));
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_little_has_room_where_others_have_taken_all() {
        let memory = Memory::default();
        assert!(memory.take(ALL_BYTES_MAX, 0) && !memory.take(SMALL_BYTES + 1, 0));
        assert!(memory.take(SMALL_BYTES, 0), "a connection that has nothing");
        assert!(!memory.take(1, SMALL_BYTES), "one that has its small share");
        memory.give_back(ALL_BYTES_MAX);
        assert!(
            memory.take(ALL_BYTES_MAX - SMALL_BYTES, 0) && !memory.take(1, SMALL_BYTES),
            "what is left counts"
        );
    }
}
