//! A connection without a socket.

use crate::messages::shape;
use coflash_nbd::command::{Next, Requests};
use coflash_nbd::handshake::Negotiated;
use coflash_nbd::reply::Reply;
use coflash_nbd::wire::Input;
use coflash_nbd::{Answers, Hangup, Request, Shape};
use std::sync::Arc;

pub(crate) const SIMPLE: Negotiated = Negotiated { structured: false, block_status: false };
pub(crate) const STRUCTURED: Negotiated = Negotiated { structured: true, block_status: true };
pub(crate) const SIZE: u64 = 1 << 30;

/// The server's side of a connection that has been agreed on.
pub(crate) struct Peer {
    pub(crate) requests: Requests,
    answers: Arc<Answers>,
    input: Input,
    structured: bool,
}

impl Peer {
    pub(crate) fn new(agreed: Negotiated) -> Self {
        Self::of(shape(SIZE), agreed)
    }

    pub(crate) fn of(shape: Shape, agreed: Negotiated) -> Self {
        let answers = Arc::new(Answers::default());
        let requests = Requests::new(shape, agreed, Arc::clone(&answers));
        Self { requests, answers, input: Input::new(256), structured: agreed.structured }
    }

    /// Receives as many bytes as there is room for. Returns their number.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> usize {
        let mut count = 0;
        for room in self.requests.room(&mut self.input) {
            let part = room.len().min(bytes.len() - count);
            room[..part].copy_from_slice(&bytes[count..count + part]);
            count += part;
        }
        self.requests.received(&mut self.input, count);
        count
    }

    pub(crate) fn next(&mut self) -> Result<Next, Hangup> {
        self.requests.next(&mut self.input)
    }

    /// All requests in these bytes.
    pub(crate) fn all(&mut self, mut bytes: &[u8]) -> Vec<Request> {
        let mut all = Vec::new();
        loop {
            match self.next().unwrap() {
                Next::Request(request) => all.push(request),
                Next::NeedsRoom => panic!("too much is under way"),
                Next::NeedsBytes if bytes.is_empty() => return all,
                Next::NeedsBytes => bytes = &bytes[self.receive(bytes)..],
            }
        }
    }

    /// The only request in these bytes.
    pub(crate) fn only(&mut self, bytes: &[u8]) -> Request {
        let mut all = self.all(bytes);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// The replies so far.
    pub(crate) fn replies(&mut self) -> Vec<u8> {
        let (mut answers, mut bytes) = (Vec::new(), Vec::new());
        self.answers.take(&mut answers);
        for answer in answers {
            let reply = Reply::new(answer, self.structured);
            let whole = reply.unsent(0).concat();
            assert_eq!(whole.len(), reply.length());
            for sent in 0..whole.len().min(80) {
                assert_eq!(reply.unsent(sent).concat(), whole[sent..]);
            }
            bytes.extend(whole);
            self.requests.replied(reply);
        }
        bytes
    }
}
