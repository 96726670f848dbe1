//! Commands: from the bytes of a client to requests.

use crate::errno::Errno;
use crate::export::{Answer, Answers, Command, Request, Shape, cost_bytes};
use crate::extents::Extents;
use crate::handshake::{MAX_LENGTH, Negotiated};
use crate::hangup::Hangup;
use crate::reply::Reply;
use crate::wire::{CommandHeader, Input, REQUEST_MAGIC};
use std::sync::Arc;

/// The maximal number of pending requests of a connection.
pub const MAX_REQUESTS: usize = 1024;
/// The maximal number of bytes of a connection's pending requests and replies.
pub const MAX_BYTES: usize = MAX_LENGTH as usize;
/// The size of the longest buffer that is kept for the next request, in bytes, and the number of kept
/// buffers.
const KEPT_LENGTH: usize = 256 << 10;
const KEPT: usize = 64;

mod flag {
    pub(super) const FUA: u16 = 1 << 0;
    pub(super) const NO_HOLE: u16 = 1 << 1;
    pub(super) const DF: u16 = 1 << 2;
    pub(super) const REQ_ONE: u16 = 1 << 3;
    pub(super) const FAST_ZERO: u16 = 1 << 4;
}

mod code {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const DISCONNECT: u16 = 2;
    pub(super) const FLUSH: u16 = 3;
    pub(super) const TRIM: u16 = 4;
    pub(super) const CACHE: u16 = 5;
    pub(super) const WRITE_ZEROES: u16 = 6;
    pub(super) const BLOCK_STATUS: u16 = 7;
}

/// The next step of a connection.
#[derive(Debug)]
pub enum Next {
    /// A request to be served.
    Request(Request),
    /// No request before more bytes have arrived.
    NeedsBytes,
    /// No request before a pending one has been answered and its reply sent, or one of another connection.
    NeedsRoom,
}

/// Reads the requests of a connection. Refused ones are answered here.
pub struct Requests {
    shape: Shape,
    agreed: Negotiated,
    answers: Arc<Answers>,
    /// A write with a part of its data: the bytes received so far.
    pub(crate) partial: Option<(Request, usize)>,
    /// Bytes of a refused write to be skipped.
    skip: u32,
    under_way: usize,
    under_way_bytes: usize,
    /// Buffers of requests that were answered.
    kept: Vec<Vec<u8>>,
}

impl Requests {
    /// Start with nothing read from a client that negotiated `agreed`; answers go to `answers`.
    pub fn new(shape: Shape, agreed: Negotiated, answers: Arc<Answers>) -> Self {
        let (partial, skip, under_way, under_way_bytes, kept) = (None, 0, 0, 0, Vec::new());
        Self { shape, agreed, answers, partial, skip, under_way, under_way_bytes, kept }
    }

    /// The destination of the next bytes: first the rest of a write, then the free space of `input`.
    pub fn room<'a>(&'a mut self, input: &'a mut Input) -> [&'a mut [u8]; 2] {
        let rest = self.partial.as_mut().map(|(request, filled)| &mut request.data[*filled..]);
        [rest.unwrap_or_default(), input.room()]
    }

    /// Mark `count` bytes of that space as received.
    pub fn received(&mut self, input: &mut Input, mut count: usize) {
        if let Some((request, filled)) = &mut self.partial {
            let rest = count.min(request.data.len() - *filled);
            *filled += rest;
            count -= rest;
        }
        input.received(count);
    }

    /// The next request.
    ///
    /// # Errors
    ///
    /// Ends if the client leaves, or if its bytes are not a request.
    pub fn next(&mut self, input: &mut Input) -> Result<Next, Hangup> {
        loop {
            if let Some((mut request, filled)) = self.partial.take() {
                let data = input.take(request.data.len() - filled);
                let end = filled + data.len();
                request.data[filled..end].copy_from_slice(data);
                if end == request.data.len() {
                    return Ok(Next::Request(request));
                }
                self.partial = Some((request, end));
                return Ok(Next::NeedsBytes);
            }
            if !input.skip(&mut self.skip) {
                return Ok(Next::NeedsBytes);
            }
            let Some(header) = input.peek::<CommandHeader>() else { return Ok(Next::NeedsBytes) };
            if header.magic != REQUEST_MAGIC {
                let (given, wanted) = (header.magic.get().into(), REQUEST_MAGIC.into());
                return Err(Hangup::Magic { what: "a request", given, wanted });
            }
            if header.command == code::DISCONNECT {
                return Err(Hangup::Left);
            }
            let checked = check(&header, &self.shape, self.agreed);
            let cost = checked.map_or(0, |command| cost_bytes(command, header.length.get()));
            let is_full = self.under_way == MAX_REQUESTS || self.under_way_bytes + cost > MAX_BYTES;
            if is_full || !self.answers.memory.take(cost, self.under_way_bytes) {
                return Ok(Next::NeedsRoom);
            }
            input.take(size_of::<CommandHeader>());
            self.under_way += 1;
            self.under_way_bytes += cost;
            match checked {
                Ok(Command::Write) => self.partial = Some((self.request(Command::Write, &header), 0)),
                Ok(command) => return Ok(Next::Request(self.request(command, &header))),
                Err(errno) => {
                    self.skip = if header.command == code::WRITE { header.length.get() } else { 0 };
                    let (cookie, data) = (header.cookie.get(), Vec::new());
                    self.answers.push(Answer { cookie, result: Err(errno), data, cost_bytes: 0 });
                }
            }
        }
    }

    fn request(&mut self, command: Command, header: &CommandHeader) -> Request {
        let (flags, length) = (header.flags.get(), header.length.get());
        let data = match command {
            Command::Read | Command::Write => self.buffer(length as usize),
            _ => Vec::new(),
        };
        Request {
            command,
            offset: header.offset.get(),
            length,
            fua: flags & flag::FUA != 0,
            data,
            extents: Extents::new(length, flags & flag::REQ_ONE != 0),
            cookie: header.cookie.get(),
            whole: flags & flag::DF != 0,
            answers: Some(Arc::clone(&self.answers)),
        }
    }

    fn buffer(&mut self, length: usize) -> Vec<u8> {
        let mut buffer = self.kept.pop().unwrap_or_default();
        if buffer.capacity() < length {
            // The system provides zeroed memory, and allocates it on the first write.
            return vec![0; length];
        }
        buffer.resize(length, 0);
        buffer
    }

    /// Take back the buffer of a request after its reply has been sent.
    pub fn replied(&mut self, reply: Reply) {
        self.under_way -= 1;
        self.under_way_bytes -= reply.cost_bytes;
        self.answers.memory.give_back(reply.cost_bytes);
        if (1..=KEPT_LENGTH).contains(&reply.buffer.capacity()) && self.kept.len() < KEPT {
            self.kept.push(reply.buffer);
        }
    }

    /// The number of requests without a reply.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Drop a write with incomplete data; no client waits for it. Returns whether there was one.
    pub(crate) fn cut_off(&mut self) -> bool {
        self.skip > 0 || self.partial.take().is_some()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.answers.memory.give_back(self.under_way_bytes);
    }
}

/// Decode a command, if the shape of the disk and the negotiated features allow it.
fn check(header: &CommandHeader, shape: &Shape, agreed: Negotiated) -> Result<Command, Errno> {
    let flags = header.flags.get();
    let (command, allowed, changes) = match header.command.get() {
        code::READ if agreed.structured => (Command::Read, flag::DF, false),
        code::READ => (Command::Read, 0, false),
        code::WRITE => (Command::Write, 0, true),
        code::FLUSH => (Command::Flush, 0, false),
        code::TRIM => (Command::Trim, 0, true),
        code::CACHE => (Command::Cache, 0, false),
        code::WRITE_ZEROES => {
            let (no_hole, fast) = (flags & flag::NO_HOLE != 0, flags & flag::FAST_ZERO != 0);
            (Command::WriteZeroes { no_hole, fast }, flag::NO_HOLE | flag::FAST_ZERO, true)
        }
        code::BLOCK_STATUS if agreed.block_status => (Command::BlockStatus, flag::REQ_ONE, false),
        _ => return Err(Errno::Invalid),
    };
    // The protocol lets a client set FUA on any command.
    if flags & !(allowed | flag::FUA) != 0 {
        return Err(Errno::Invalid);
    }
    if changes && shape.read_only {
        return Err(Errno::NotPermitted);
    }
    let (offset, length) = (header.offset.get(), header.length.get());
    let moves_data = matches!(command, Command::Read | Command::Write);
    let is_flush = command == Command::Flush;
    if (length == 0) != is_flush || (is_flush && offset != 0) || (moves_data && length > MAX_LENGTH) {
        return Err(Errno::Invalid);
    }
    if offset.checked_add(length.into()).is_none_or(|end| end > shape.size_bytes) {
        let grows = matches!(command, Command::Write | Command::WriteZeroes { .. });
        return Err(if grows { Errno::NoSpace } else { Errno::Invalid });
    }
    Ok(command)
}
