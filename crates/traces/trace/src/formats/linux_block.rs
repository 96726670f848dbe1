//! Common parts of blktrace and the kernel's trace events: the events of a request, and the letters of its operation.

use crate::record::FieldError;
use coflash_workload::Op;
use coflash_workload::recorded::{TraceEvent, TraceOptions};

pub(crate) const SECTOR_BYTES: u64 = 512;

/// The choice of the event that counts as the request.
pub(crate) struct EventChoice {
    given: bool,
    pub(crate) event: TraceEvent,
    fell_back: bool,
    /// The number of requests with a flush.
    flushes: u64,
}

impl EventChoice {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        Self {
            given: options.event.is_some(),
            event: options.event.unwrap_or(TraceEvent::Issue),
            fell_back: false,
            flushes: 0,
        }
    }

    /// Choose the best event of the sample, if the options name none.
    pub(crate) fn fall_back(&mut self, there: impl Fn(TraceEvent) -> bool) {
        let best =
            [TraceEvent::Issue, TraceEvent::Queue, TraceEvent::Complete].into_iter().find(|&e| there(e));
        if let (Some(best), false) = (best, self.given) {
            self.fell_back = best != self.event;
            self.event = best;
        }
    }

    /// The operation of a request with these letters and `bytes` of data; `None` if it is no request to a device.
    #[inline]
    pub(crate) fn op(&mut self, letters: &[u8], bytes: u64) -> Result<Option<Op>, FieldError> {
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

    /// Assumptions; `names` are those of queueing, issue and completion.
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
                "{flushes} requests include a flush (RWBS begins with F): the flush was omitted"
            ));
        }
        remarks
    }
}

#[cold]
fn unknown(letters: &[u8]) -> FieldError {
    FieldError::text("rwbs", letters, "what a request does (R, W, D, F or N, then further letters)")
}
