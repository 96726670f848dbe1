//! A connection: one thread that reads requests, passes them on in batches, and sends replies in batches. While no request is
//! under way, it waits in the system call that receives the next one.

use crate::command::{Next, Requests};
use crate::connections::Line;
use crate::export::{Answers, Export, Request, Shape};
use crate::handshake::{Handshake, Negotiated};
use crate::hangup::Hangup;
use crate::reply::Reply;
use crate::wire::Input;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, readv, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The maximal number of bytes received by one system call.
const INPUT_BYTES: usize = 256 << 10;
/// The maximal number of replies sent by one system call.
const GATHERED: usize = 64;
/// The time limit of a client for choosing an export.
const HANDSHAKE_SECONDS: u64 = 10;
/// The time that the end of the server, or others that need the memory, wait for a client that moves nothing.
const STUCK_SECONDS: u64 = 5;
/// How often a connection looks whether others have given memory back.
const MEMORY_LOOK: Duration = Duration::from_millis(20);

/// Serve a client until either side ends the connection.
pub(crate) fn serve(line: &Line, export: &impl Export) -> Hangup {
    let shape = export.shape();
    let mut input = Input::new(INPUT_BYTES);
    let why = negotiate(&line.socket, &shape, &mut input)
        .and_then(|agreed| Ok(Connection::new(line, shape, agreed, input)?.run(export)))
        .unwrap_or_else(|hangup| hangup);
    match (line.is_ended.load(Ordering::Relaxed), line.is_stopped.load(Ordering::Relaxed)) {
        (true, _) => Hangup::Ended,
        (false, true) => Hangup::Stopped,
        (false, false) => why,
    }
}

/// The handshake, in bounded time.
fn negotiate(socket: &OwnedFd, shape: &Shape, input: &mut Input) -> Result<Negotiated, Hangup> {
    let end = now() + Duration::from_secs(HANDSHAKE_SECONDS);
    let mut output = Vec::new();
    let mut handshake = Handshake::greet(shape, &mut output);
    loop {
        let step = handshake.advance(input, &mut output);
        while !output.is_empty() {
            match retry_on_intr(|| send(socket, &output, SendFlags::DONTWAIT)) {
                Ok(sent) => drop(output.drain(..sent)),
                Err(Errno::AGAIN) => await_socket(socket, PollFlags::OUT, end)?,
                // Clients that end the handshake do not wait for a reply.
                Err(error) => return Err(step.err().unwrap_or_else(|| io::Error::from(error).into())),
            }
        }
        if let Some(agreed) = step? {
            return Ok(agreed);
        }
        await_socket(socket, PollFlags::IN, end)?;
        match retry_on_intr(|| read(socket, input.room())) {
            Ok(0) if input.waiting().is_empty() => return Err(Hangup::Left),
            Ok(0) => return Err(Hangup::CutOff),
            Ok(count) => input.received(count),
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

fn await_socket(socket: &OwnedFd, ready: PollFlags, end: Instant) -> Result<(), Hangup> {
    let left = timespec(end.saturating_duration_since(now()));
    let mut polled = [PollFd::new(socket, ready)];
    match retry_on_intr(|| poll(&mut polled, Some(&left))).map_err(io::Error::from)? {
        0 => Err(Hangup::Slow(HANDSHAKE_SECONDS)),
        _ => Ok(()),
    }
}

/// A client that has chosen the export.
struct Connection<'a> {
    line: &'a Line,
    /// A byte arrives here when an answer is ready and the connection sleeps.
    woken: UnixStream,
    structured: bool,
    input: Input,
    requests: Requests,
    answers: Arc<Answers>,
    replies: VecDeque<Reply>,
    /// The number of sent bytes of the first reply.
    sent: usize,
    /// The reason, once nothing more is read.
    hangup: Option<Hangup>,
    /// Whether the client has disconnected.
    deaf: bool,
}

impl<'a> Connection<'a> {
    fn new(line: &'a Line, shape: Shape, agreed: Negotiated, input: Input) -> io::Result<Self> {
        let (woken, waker) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let answers = Arc::new(Answers::new(line, waker));
        let requests = Requests::new(shape, agreed, Arc::clone(&answers));
        let structured = agreed.structured;
        let (replies, sent, hangup, deaf) = (VecDeque::new(), 0, None, false);
        Ok(Self { line, woken, structured, input, requests, answers, replies, sent, hangup, deaf })
    }

    /// Serves until the connection ends and each of its requests is answered.
    fn run(mut self, export: &impl Export) -> Hangup {
        let (mut batch, mut answered) = (Vec::new(), Vec::new());
        loop {
            if self.is_stopped() {
                self.hang_up(Hangup::Stopped);
            }
            let needs_bytes = self.parse(&mut batch);
            if !batch.is_empty() {
                export.serve(&mut batch);
                batch.clear();
            }
            self.answers.take(&mut answered);
            self.replies.extend(answered.drain(..).map(|answer| Reply::new(answer, self.structured)));
            let replied = self.send();
            if self.hangup.is_some() && self.requests.under_way() == 0 {
                break;
            }
            if needs_bytes || !replied {
                self.wait(needs_bytes).unwrap_or_else(|error| self.give_up(error.into()));
            }
        }
        self.hangup.unwrap_or(Hangup::Left)
    }

    /// Reads requests from the bytes that have arrived. Returns whether it has read them all.
    fn parse(&mut self, batch: &mut Vec<Request>) -> bool {
        while self.hangup.is_none() {
            match self.requests.next(&mut self.input) {
                Ok(Next::Request(request)) => batch.push(request),
                Ok(Next::NeedsBytes) => return true,
                Ok(Next::NeedsRoom) => return false,
                Err(hangup) => self.hang_up(hangup),
            }
        }
        true
    }

    /// Whether the server ends.
    fn is_stopped(&self) -> bool {
        self.line.is_stopped.load(Ordering::Relaxed)
    }

    /// Stop reading; pending requests are finished.
    fn hang_up(&mut self, why: Hangup) {
        self.hangup.get_or_insert(why);
        self.requests.cut_off();
    }

    /// Stop sending, too: the client has disconnected.
    fn give_up(&mut self, why: Hangup) {
        self.deaf = true;
        self.hang_up(why);
    }

    /// Sends as many bytes as the socket takes. Returns whether a reply has been sent to its end.
    fn send(&mut self) -> bool {
        let mut any = false;
        while !self.replies.is_empty() {
            let mut slices = [IoSlice::new(&[]); 2 * GATHERED];
            let mut sent = self.sent;
            for (reply, slices) in self.replies.iter().zip(slices.chunks_exact_mut(2)) {
                let [head, body] = reply.unsent(sent);
                slices.copy_from_slice(&[IoSlice::new(head), IoSlice::new(body)]);
                sent = 0;
            }
            let filled = 2 * self.replies.len().min(GATHERED);
            let mut count = if self.deaf {
                self.replies.iter().map(Reply::length).sum::<usize>() - self.sent
            } else {
                let (mut nothing, flags) = (SendAncillaryBuffer::default(), SendFlags::DONTWAIT);
                match retry_on_intr(|| sendmsg(&self.line.socket, &slices[..filled], &mut nothing, flags)) {
                    Ok(count) => count,
                    Err(Errno::AGAIN) => break,
                    Err(error) => {
                        self.give_up(io::Error::from(error).into());
                        continue;
                    }
                }
            };
            count += self.sent;
            while self.replies.front().is_some_and(|reply| reply.length() <= count) {
                let Some(reply) = self.replies.pop_front() else { break };
                count -= reply.length();
                self.requests.replied(reply);
                any = true;
            }
            self.sent = count;
        }
        any
    }

    /// Sleeps until there is work: bytes to read, room to write, an answer, or the end of the server.
    fn wait(&mut self, needs_bytes: bool) -> io::Result<()> {
        let reads = needs_bytes && self.hangup.is_none();
        let awaits_client = !self.replies.is_empty() || self.requests.partial.is_some();
        if reads && !awaits_client && self.requests.under_way() == 0 {
            // Only the client can end this, or one who shuts its socket down.
            return self.receive();
        }
        if !self.answers.fall_asleep() {
            return Ok(());
        }
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, reads);
        wanted.set(PollFlags::OUT, !self.replies.is_empty());
        let mut polled = [PollFd::new(&self.woken, PollFlags::IN), PollFd::new(&self.line.socket, wanted)];
        let count = if self.deaf { 1 } else { 2 };
        let awaits_others = !needs_bytes && self.requests.under_way() == 0;
        let most = if awaits_client { Duration::from_secs(STUCK_SECONDS) } else { MEMORY_LOOK };
        let timeout = (awaits_client || awaits_others).then(|| timespec(most));
        let ready = retry_on_intr(|| poll(&mut polled[..count], timeout.as_ref()))?;
        let [woken, socket] = polled.map(|one| one.revents());
        self.answers.wake_up();
        if !woken.is_empty() {
            let _ = self.woken.read(&mut [0; 64])?;
        }
        if ready == 0 && awaits_client && self.hangup.is_none() {
            if self.answers.memory.is_short() || self.is_stopped() {
                self.give_up(Hangup::Idle(STUCK_SECONDS));
            }
        } else if (ready == 0 && !awaits_others)
            || (!reads && socket.intersects(PollFlags::HUP | PollFlags::ERR))
        {
            self.give_up(Hangup::CutOff);
        } else if reads && !(socket - PollFlags::OUT).is_empty() {
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut room = self.requests.room(&mut self.input).map(IoSliceMut::new);
        match retry_on_intr(|| readv(&self.line.socket, &mut room)) {
            // Some clients disconnect between two requests without a message.
            Ok(0) => {
                let left = self.input.waiting().is_empty() && !self.requests.cut_off();
                self.hang_up(if left { Hangup::Left } else { Hangup::CutOff });
            }
            Ok(count) => self.requests.received(&mut self.input, count),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).expect("a few seconds")
}

#[allow(clippy::disallowed_methods, reason = "wall time decides only how long a client may be silent")]
fn now() -> Instant {
    Instant::now()
}
