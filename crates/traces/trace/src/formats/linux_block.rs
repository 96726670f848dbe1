//! Common parts of blktrace and the kernel's trace events: the events of a request, and the letters of its operation.

use crate::numbers::{SECTOR_BYTES, units};
use crate::operations::{Kind, Kinds, letters_of};
use crate::record::{FieldError, Parsed};
use coflash_workload::Op;
use coflash_workload::recorded::{TraceEvent, TraceOptions};

/// The choice of the event that counts as the request.
pub(crate) struct EventChoice {
    given: bool,
    pub(crate) event: TraceEvent,
    fell_back: bool,
    kinds: Kinds,
}

impl EventChoice {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        Self {
            given: options.event.is_some(),
            event: options.event.unwrap_or(TraceEvent::Issue),
            fell_back: false,
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

    /// What a request with these letters does, its first byte and its length; `None` if it is no request to a device.
    #[inline]
    pub(crate) fn request(
        &mut self,
        letters: &[u8],
        sector: &[u8],
        sectors: &[u8],
    ) -> Parsed<Option<(Op, u64, u64)>> {
        let length = units(sectors, SECTOR_BYTES, "sectors")?;
        let (flush, kind) = letters_of(letters).ok_or_else(|| unknown(letters))?;
        let Some(op) = self.op_of(flush, kind, length) else { return Ok(None) };
        // A flush has no place: some kernels write -1.
        let offset = if op == Op::Flush { 0 } else { units(sector, SECTOR_BYTES, "sector")? };
        Ok(Some((op, offset, length)))
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
        match kind.op() {
            Some(Op::Trim) if bytes == 0 => {
                self.kinds.say("trims have ranges that the trace does not say: they were left out");
            }
            Some(_) if bytes == 0 => self.kinds.say("requests have a length of 0: they were left out"),
            Some(_) if flush => {
                self.kinds.say("requests include a flush (RWBS begins with F): the flush was omitted");
            }
            _ => {}
        }
        kind.op().filter(|_| bytes > 0)
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
        remarks.extend(self.kinds.remarks());
        remarks
    }
}

#[cold]
fn unknown(letters: &[u8]) -> FieldError {
    FieldError::text("rwbs", letters, "what a request does (R, W, D, F, Z or N, then further letters)")
}
