//! Common parts of blktrace and the kernel's trace events: the events of a request, and the letters of its operation.

use crate::operations::{Kind, Kinds, letters_of};
use crate::record::FieldError;
use coflash_workload::Op;
use coflash_workload::recorded::{TraceEvent, TraceOptions};

/// The choice of the event that counts as the request.
pub(crate) struct EventChoice {
    given: bool,
    pub(crate) event: TraceEvent,
    fell_back: bool,
    /// The number of requests with a flush.
    flushes: u64,
    /// The number of requests that have neither a range nor a flush.
    empty: u64,
    kinds: Kinds,
}

impl EventChoice {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        Self {
            given: options.event.is_some(),
            event: options.event.unwrap_or(TraceEvent::Issue),
            fell_back: false,
            flushes: 0,
            empty: 0,
            kinds: Kinds::default(),
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
        let (flush, kind) = letters_of(letters).ok_or_else(|| unknown(letters))?;
        Ok(self.op_of(flush, kind, bytes))
    }

    /// The operation of a request of this kind, perhaps with a flush before it.
    #[inline]
    pub(crate) fn op_of(&mut self, flush: bool, kind: Kind, bytes: u64) -> Option<Op> {
        if bytes == 0 && (flush || kind == Kind::Flush) {
            return Some(Op::Flush);
        }
        // Kernels before 6.18 have no letter for write zeroes, the only request with a range and N.
        let kind = if kind == Kind::Other && bytes > 0 { Kind::Zeroes } else { kind };
        self.kinds.count(kind);
        let op = kind.op().filter(|_| bytes > 0);
        self.empty += u64::from(op.is_none() && kind.op().is_some());
        self.flushes += u64::from(op.is_some() && flush);
        op
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
        for (count, remark) in [
            (self.flushes, "requests include a flush (RWBS begins with F): the flush was omitted"),
            (self.empty, "requests have a length of 0: they were left out"),
        ] {
            if count > 0 {
                remarks.push(format!("{count} {remark}"));
            }
        }
        remarks.extend(self.kinds.remarks());
        remarks
    }
}

#[cold]
fn unknown(letters: &[u8]) -> FieldError {
    FieldError::text("rwbs", letters, "what a request does (R, W, D, F, Z or N, then further letters)")
}
