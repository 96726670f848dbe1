//! What blktrace and the kernel's trace events say of requests in common: their events, and the letters of what they do.

use super::Fault;
use crate::request::Op;
use crate::trace::{TraceEvent, TraceOptions};

pub(crate) const SECTOR_BYTES: u64 = 512;

/// Which event of a request is taken for it.
pub(crate) struct Choice {
    given: bool,
    pub(crate) event: TraceEvent,
    fell_back: bool,
    /// How many of the requests taken carried a flush along.
    flushes: u64,
}

impl Choice {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        Self {
            given: options.event.is_some(),
            event: options.event.unwrap_or(TraceEvent::Issue),
            fell_back: false,
            flushes: 0,
        }
    }

    /// Takes the best event that is there, where none was asked for.
    pub(crate) fn fall_back(&mut self, there: impl Fn(TraceEvent) -> bool) {
        let best =
            [TraceEvent::Issue, TraceEvent::Queue, TraceEvent::Complete].into_iter().find(|&e| there(e));
        if let (Some(best), false) = (best, self.given) {
            self.fell_back = best != self.event;
            self.event = best;
        }
    }

    /// What a request with these letters and that many bytes is to a device; nothing where it is nothing.
    #[inline]
    pub(crate) fn op(&mut self, letters: &[u8], bytes: u64) -> Result<Option<Op>, Fault> {
        let (flush, letters_left) = match letters {
            [b'F', left @ ..] => (true, left),
            left => (false, left),
        };
        let op = match letters_left {
            [b'R', ..] => Some(Op::Read),
            [b'W', ..] => Some(Op::Write),
            [b'D' | b'E', ..] => Some(Op::Trim),
            [b'N' | b'Z', ..] => None,
            _ if flush => None,
            _ => return Err(unknown(letters)),
        };
        if !letters_left.iter().all(u8::is_ascii_uppercase) {
            return Err(unknown(letters));
        }
        if bytes > 0 && op.is_some() {
            self.flushes += u64::from(flush);
            return Ok(op);
        }
        Ok(flush.then_some(Op::Flush))
    }

    /// What was assumed; `names` are those of queueing, issue and completion.
    pub(crate) fn remarks(&self, names: [&str; 3]) -> Vec<String> {
        let name = names[self.event as usize];
        let mut remarks = Vec::new();
        if self.fell_back {
            remarks.push(format!(
                "the beginning of the file has no {}: requests are taken at {name} (option event)",
                names[TraceEvent::Issue as usize]
            ));
        }
        if self.flushes > 0 {
            let flushes = self.flushes;
            remarks.push(format!(
                "{flushes} requests carried a flush along (RWBS begins with F): the request was taken, the flush left out"
            ));
        }
        remarks
    }
}

#[cold]
fn unknown(letters: &[u8]) -> Fault {
    Fault::unexpected("rwbs", letters, "what a request does (R, W, D, F or N, then further letters)")
}
