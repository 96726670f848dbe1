//! The disk behind the server, and its requests.

use crate::connections::{Line, Memory};
use crate::errno::Errno;
use crate::extents::Extents;
use crate::hangup::Hangup;
use std::io::Write;
use std::mem;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The properties of a disk for its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name of the export; it is also used for a client that gives none.
    pub name: String,
    /// A description for users who list the exports.
    pub description: String,
    /// Size in bytes. Requests have byte granularity.
    pub size_bytes: u64,
    /// The preferred size of aligned requests, a power of two of at least 512, in bytes.
    pub preferred_bytes: u32,
    /// Whether writes are refused.
    pub read_only: bool,
}

/// A served disk.
///
/// All connections share one disk: the effect of an answered request on one connection is visible to every
/// later request on any. A flush answered on one connection covers the writes answered on any.
pub trait Export: Sync {
    /// The properties of the disk. Called at the begin of each connection.
    fn shape(&self) -> Shape;

    /// Serve the requests of a batch, in order, and leave `requests` empty.
    ///
    /// Each request is answered by [`Request::answer`], at once or later and from any thread. The reply to a
    /// request answered before this returns needs no further switch of threads. Called from one thread per
    /// connection.
    fn serve(&self, requests: &mut Vec<Request>);

    /// Learn that a connection has ended, with the reason.
    fn ended(&self, why: &Hangup);
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// Fill `data`; report in `extents` the holes, where they are known.
    Read,
    /// Store `data`.
    Write,
    /// Make all writes answered before durable.
    Flush,
    /// Drop the data; later reads return anything.
    Trim,
    /// Prefetch data.
    Cache,
    /// Make the range read as zeros.
    WriteZeroes {
        /// Whether space must be kept for it, so that a later write does not find the disk full.
        no_hole: bool,
        /// Whether to fail with [`Errno::NotSupported`] if this is no faster than writing zeros.
        fast: bool,
    },
    /// Report the holes in `extents`. One extent at least; the client asks again for the rest.
    BlockStatus,
}

/// A request within the disk that needs an answer. A request dropped without an answer fails with
/// [`Errno::Io`].
#[derive(Debug)]
pub struct Request {
    /// The operation.
    pub command: Command,
    /// The first byte; 0 for a flush.
    pub offset: u64,
    /// The number of bytes; 0 for a flush only.
    pub length: u32,
    /// Whether the answer must wait until the effect is durable.
    pub fua: bool,
    /// The data to write, or the buffer of a read: `length` bytes; empty for other commands. The buffer of a
    /// read is not cleared.
    pub data: Vec<u8>,
    /// For block status, and for reads where holes are known. A hole in a read must be zeros in `data`, too.
    pub extents: Extents,
    pub(crate) cookie: u64,
    /// Whether a read's data must come in one piece.
    pub(crate) whole: bool,
    /// `None` after the answer.
    pub(crate) answers: Option<Arc<Answers>>,
}

impl Request {
    /// Answer the client: success or an error.
    pub fn answer(mut self, result: Result<(), Errno>) {
        self.finish(result);
    }

    /// Whether its client still waits for it. A request of a connection that [ended](crate::Connections::end) must have no
    /// effect: the client may have connected anew, and its later requests may have been served.
    pub fn is_wanted(&self) -> bool {
        self.answers.as_ref().is_some_and(|answers| !answers.is_ended.load(Ordering::Relaxed))
    }

    fn finish(&mut self, result: Result<(), Errno>) {
        let Some(answers) = self.answers.take() else { return };
        let content = match self.command {
            _ if result.is_err() => Content::Nothing,
            Command::Read => Content::Data {
                offset: self.offset,
                extents: mem::take(&mut self.extents),
                whole: self.whole,
            },
            Command::BlockStatus => Content::Status(mem::take(&mut self.extents)),
            _ => Content::Nothing,
        };
        let data = mem::take(&mut self.data);
        let cost_bytes = cost_bytes(self.command, self.length);
        answers.push(Answer { cookie: self.cookie, result: result.map(|()| content), data, cost_bytes });
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.finish(Err(Errno::Io));
    }
}

/// The memory of a connection that a request and its reply take, in bytes.
pub(crate) fn cost_bytes(command: Command, length: u32) -> usize {
    match command {
        Command::Read | Command::Write => length as usize,
        Command::BlockStatus => Extents::MAX_BYTES,
        _ => 0,
    }
}

/// An answer on its way to the client: the source of a [`Reply`](crate::reply::Reply).
#[derive(Debug)]
pub struct Answer {
    pub(crate) cookie: u64,
    pub(crate) result: Result<Content, Errno>,
    /// The request's buffer, for use by the reply.
    pub(crate) data: Vec<u8>,
    pub(crate) cost_bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Content {
    Nothing,
    Data { offset: u64, extents: Extents, whole: bool },
    Status(Extents),
}

/// The pending answers of a connection.
#[derive(Debug, Default)]
pub struct Answers {
    waiting: Mutex<Waiting>,
    /// Whether the disk has ended the connection.
    pub(crate) is_ended: Arc<AtomicBool>,
    /// The memory that it shares with all others.
    pub(crate) memory: Arc<Memory>,
    waker: Option<UnixStream>,
}

#[derive(Debug, Default)]
struct Waiting {
    answers: Vec<Answer>,
    /// Whether the connection sleeps until there is an answer.
    asleep: bool,
}

impl Answers {
    /// Create the queue of a connection. A byte goes to `waker` when there are answers and the connection sleeps.
    pub(crate) fn new(line: &Line, waker: UnixStream) -> Self {
        let (is_ended, memory) = (line.is_ended.clone(), line.memory.clone());
        Self { is_ended, memory, waker: Some(waker), ..Self::default() }
    }

    pub(crate) fn push(&self, answer: Answer) {
        let mut waiting = self.lock();
        waiting.answers.push(answer);
        if mem::take(&mut waiting.asleep) {
            drop(waiting);
            // If there is no room for the byte, the connection will wake anyway.
            let _ = self.waker.as_ref().map(|mut waker| waker.write(&[1]));
        }
    }

    /// Move all elements to `to`, which is empty.
    pub fn take(&self, to: &mut Vec<Answer>) {
        mem::swap(to, &mut self.lock().answers);
    }

    /// Whether the connection may sleep: there is no answer, and the next one will wake it.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut waiting = self.lock();
        waiting.asleep = waiting.answers.is_empty();
        waiting.asleep
    }

    /// Note that the connection is awake.
    pub(crate) fn wake_up(&self) {
        self.lock().asleep = false;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Its data are consistent at any moment.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
