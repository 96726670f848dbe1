//! The disk behind the server, and the requests that it is handed.

use crate::errno::Errno;
use crate::extents::Extents;
use crate::hangup::Hangup;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a disk looks to its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name of the export; a client that gives none means it, too.
    pub name: String,
    /// Words for people who list the exports.
    pub description: String,
    /// Size in bytes. Any byte of it can be read and written alone.
    pub size_bytes: u64,
    /// The size of aligned requests that the disk serves best, a power of two of at least 512, in bytes.
    pub preferred_bytes: u32,
    /// Whether writes are refused.
    pub read_only: bool,
}

/// A disk that can be served.
///
/// All connections see one disk: what a request of one has done when it is answered, each request after that sees, and a
/// flush answered on one connection covers the writes that were answered on any.
pub trait Export: Sync {
    /// How the disk looks. It is asked for when a connection begins.
    fn shape(&self) -> Shape;

    /// Serve the requests of a batch, in order, and leave `requests` empty.
    ///
    /// Each request is answered by [`Request::answer`], at once or later and from any thread. A request answered before this
    /// returns is sent without a further switch of threads. Called from a thread for each connection.
    fn serve(&self, requests: &mut Vec<Request>);

    /// Hear that a connection has ended, and why.
    fn ended(&self, why: &Hangup);
}

/// What a client wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Fill `data`; say in `extents` which parts are holes, where that is known.
    Read,
    /// Store `data`.
    Write,
    /// Make durable all writes that were answered before.
    Flush,
    /// Drop the data, which then reads as anything.
    Trim,
    /// Fetch data that will be read soon.
    Cache,
    /// Make the range read as zeros.
    WriteZeroes {
        /// Whether space must be kept for it, so that a later write does not find the disk full.
        no_hole: bool,
        /// Whether to fail with [`Errno::NotSupported`] where this is no faster than writing zeros.
        fast: bool,
    },
    /// Say in `extents` which parts are holes. One extent at least; the client asks again for the rest.
    BlockStatus,
}

/// A request, which is within the disk and owed an answer. One that is dropped without is answered with [`Errno::Io`].
#[derive(Debug)]
pub struct Request {
    /// The wanted operation.
    pub command: Command,
    /// The first byte; 0 for a flush.
    pub offset: u64,
    /// How many bytes; 0 for a flush only.
    pub length: u32,
    /// Whether the answer must wait until the effect is durable.
    pub fua: bool,
    /// What to write, or where to read to: `length` bytes; empty for other commands. Bytes to read are anything before.
    pub data: Vec<u8>,
    /// For block status, and for reads where holes are known. A part of a read that is a hole is zeros in `data`, too.
    pub extents: Extents,
    pub(crate) cookie: u64,
    /// Whether a read's data must come in one piece.
    pub(crate) whole: bool,
    /// None when it has been answered.
    pub(crate) answers: Option<Arc<Answers>>,
}

impl Request {
    /// Tell the client that it is done, or why not.
    pub fn answer(mut self, result: Result<(), Errno>) {
        self.finish(result);
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

/// What a request and its reply take of a connection's memory, in bytes.
pub(crate) fn cost_bytes(command: Command, length: u32) -> usize {
    match command {
        Command::Read | Command::Write => length as usize,
        Command::BlockStatus => Extents::MAX_BYTES,
        _ => 0,
    }
}

/// An answer on its way to the client: what a [`Reply`](crate::reply::Reply) is made of.
#[derive(Debug)]
pub struct Answer {
    pub(crate) cookie: u64,
    pub(crate) result: Result<Content, Errno>,
    /// The request's buffer, which the reply may use.
    pub(crate) data: Vec<u8>,
    pub(crate) cost_bytes: usize,
}

#[derive(Debug)]
pub(crate) enum Content {
    Nothing,
    Data { offset: u64, extents: Extents, whole: bool },
    Status(Extents),
}

/// The answers of a connection that wait to be sent.
pub struct Answers {
    waiting: Mutex<Waiting>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Waiting {
    answers: Vec<Answer>,
    /// Whether the connection sleeps until there is an answer.
    asleep: bool,
}

impl Answers {
    /// No answers yet. `wake` is called when there are some and the connection sleeps.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), wake: Box::new(wake) })
    }

    pub(crate) fn push(&self, answer: Answer) {
        let mut waiting = self.lock();
        waiting.answers.push(answer);
        if mem::take(&mut waiting.asleep) {
            drop(waiting);
            (self.wake)();
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

    /// Hear that the connection does not sleep any more.
    pub(crate) fn wake_up(&self) {
        self.lock().asleep = false;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Its data are whole at any moment.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
