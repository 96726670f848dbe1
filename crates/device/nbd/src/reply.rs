//! Replies: from answers to bytes.

use crate::errno::Errno;
use crate::export::{Answer, Content};
use crate::extents::Extent;
use crate::handshake::ALLOCATION_ID;
use crate::wire::{CHUNK_MAGIC, Chunk, DataChunk, HoleChunk, SIMPLE_REPLY_MAGIC, SimpleReply, StatusExtent};
use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{Immutable, IntoBytes};

const DONE: u16 = 1 << 0;

mod chunk {
    pub(super) const NONE: u16 = 0;
    pub(super) const OFFSET_DATA: u16 = 1;
    pub(super) const OFFSET_HOLE: u16 = 2;
    pub(super) const BLOCK_STATUS: u16 = 5;
    pub(super) const ERROR: u16 = (1 << 15) + 1;
}

/// A hole that reads as zeros.
const HOLE: u32 = 0b11;

/// A pending reply: a head, and a body in the buffer of its request.
#[derive(Debug)]
pub struct Reply {
    head: [u8; size_of::<DataChunk>()],
    head_length: usize,
    /// The buffer of the request. Only its first bytes are the body: clearing it would have the next request fill it again.
    pub(crate) buffer: Vec<u8>,
    body_length: usize,
    pub(crate) cost_bytes: usize,
}

impl Reply {
    /// The reply to a request, in the negotiated form.
    pub fn new(answer: Answer, structured: bool) -> Self {
        let Answer { cookie, result, data, cost_bytes } = answer;
        let body_length = if matches!(result, Ok(Content::Data { .. })) { data.len() } else { 0 };
        let mut reply =
            Self { head: Default::default(), head_length: 0, buffer: data, body_length, cost_bytes };
        if !structured {
            let error = result.as_ref().map_or_else(|&errno| errno as u32, |_| 0);
            reply.begin(&SimpleReply::new(SIMPLE_REPLY_MAGIC, error, cookie));
            return reply;
        }
        match result {
            Ok(Content::Data { offset, extents, whole }) => {
                if whole || extents.list().iter().all(|extent| !extent.hole) {
                    reply.begin(&data_chunk(cookie, DONE, offset, body_length));
                } else {
                    reply.pieces(cookie, offset, &extents.all());
                }
            }
            Ok(Content::Nothing) => reply.chunk(cookie, chunk::NONE, &[]),
            Ok(Content::Status(extents)) => reply.chunk(cookie, chunk::BLOCK_STATUS, &status(extents.some())),
            Err(errno) => reply.chunk(cookie, chunk::ERROR, &error(errno)),
        }
        reply
    }

    /// The unsent bytes, given the number of bytes `sent`.
    pub fn unsent(&self, sent: usize) -> [&[u8]; 2] {
        let head = &self.head[sent.min(self.head_length)..self.head_length];
        [head, &self.buffer[sent.saturating_sub(self.head_length)..self.body_length]]
    }

    /// Its size in bytes.
    pub fn length(&self) -> usize {
        self.head_length + self.body_length
    }

    fn begin<T: IntoBytes + Immutable>(&mut self, head: &T) {
        self.head_length = size_of::<T>();
        self.head[..self.head_length].copy_from_slice(head.as_bytes());
    }

    /// One chunk, with its payload as the body.
    fn chunk(&mut self, cookie: u64, kind: u16, payload: &[u8]) {
        self.begin(&header(cookie, DONE, kind, payload.len()));
        if !payload.is_empty() {
            self.buffer.clear();
            self.buffer.extend_from_slice(payload);
        }
        self.body_length = payload.len();
    }

    /// Data and holes in turn.
    fn pieces(&mut self, cookie: u64, offset: u64, extents: &[Extent]) {
        let bytes = std::mem::take(&mut self.buffer);
        let mut at = 0;
        for extent in extents {
            let (begin, length) = (at, extent.length as usize);
            at += length;
            let flags = if at == bytes.len() { DONE } else { 0 };
            let offset = offset + begin as u64;
            if extent.hole {
                self.buffer.extend_from_slice(hole_chunk(cookie, flags, offset, extent.length).as_bytes());
            } else {
                self.buffer.extend_from_slice(data_chunk(cookie, flags, offset, length).as_bytes());
                self.buffer.extend_from_slice(&bytes[begin..at]);
            }
        }
        self.body_length = self.buffer.len();
    }
}

fn header(cookie: u64, flags: u16, kind: u16, length: usize) -> Chunk {
    let length = u32::try_from(length).expect("a reply is shorter than the longest request and its headers");
    Chunk::new(CHUNK_MAGIC, flags, kind, cookie, length)
}

fn data_chunk(cookie: u64, flags: u16, offset: u64, length: usize) -> DataChunk {
    let chunk = header(cookie, flags, chunk::OFFSET_DATA, size_of::<u64>() + length);
    DataChunk::new(chunk, offset)
}

fn hole_chunk(cookie: u64, flags: u16, offset: u64, length: u32) -> HoleChunk {
    let payload = size_of::<HoleChunk>() - size_of::<Chunk>();
    let chunk = header(cookie, flags, chunk::OFFSET_HOLE, payload);
    HoleChunk::new(chunk, offset, length)
}

fn status(extents: Vec<Extent>) -> Vec<u8> {
    let mut payload = U32::new(ALLOCATION_ID).as_bytes().to_vec();
    for Extent { length, hole } in extents {
        let flags = if hole { HOLE } else { 0 };
        payload.extend_from_slice(StatusExtent::new(length, flags).as_bytes());
    }
    payload
}

fn error(errno: Errno) -> Vec<u8> {
    let text = errno.to_string();
    let length = u16::try_from(text.len()).expect("errors are short");
    [U32::new(errno as u32).as_bytes(), U16::new(length).as_bytes(), text.as_bytes()].concat()
}
