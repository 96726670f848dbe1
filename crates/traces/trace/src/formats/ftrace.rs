//! Block events of the Linux kernel as text: ftrace (`trace`, `trace_pipe`) and `perf script`.
//!
//! The two differ in the text before the time; it may contain blanks and is ignored. One event counts as the
//! request: its issue (block_rq_issue), the queueing of its bio (block_bio_queue) or its completion
//! (block_rq_complete). Other events are ignored. Sectors are 512 bytes, times seconds since the start of the
//! machine: the first request is at time 0. Each processor records independently, so a window of a second
//! sorts the lines.

use crate::devices::Devices;
use crate::fields::{Fields, trim};
use crate::formats::linux_block::{EventChoice, SECTOR_BYTES};
use crate::numbers::{decimal, units};
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::text::{LineParser, TextFormat};
use coflash_base::Duration;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of block events.
pub(crate) struct Ftrace {
    choice: EventChoice,
    /// Whether a header has begun: other text may have comments, too.
    headed: bool,
    /// The number of gaps with lost events.
    lost: u64,
}

const SECOND_NS: u64 = 1_000_000_000;
/// In the order of `TraceEvent`.
const NAMES: [&str; 3] = ["block_bio_queue", "block_rq_issue", "block_rq_complete"];

impl TextFormat for Ftrace {
    const INFO: FormatInfo = FormatInfo {
        name: "ftrace",
        summary: "block events of ftrace or perf script; the event that counts as the request is an option",
        source: "Linux kernel, include/trace/events/block.h",
        record: "task-pid [cpu] flags time: block_rq_issue: major,minor rwbs bytes () sector + sectors [process]",
        extensions: &["ftrace", "perf"],
    };
    const CONVENTIONS: Conventions = Conventions::new(Clock::Date, ["time", "device", "sector", "sectors"])
        .sorted_within(Duration { ns: SECOND_NS });

    fn new(options: &TraceOptions) -> Self {
        Self { choice: EventChoice::new(options), headed: false, lost: 0 }
    }
}

impl LineParser for Ftrace {
    fn look_ahead(&mut self, beginning: &[u8]) {
        let has = |name: &str| memchr::memmem::find(beginning, name.as_bytes()).is_some();
        self.choice.fall_back(|event| has(NAMES[event as usize]));
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        let Some((time, rest)) = split_at_time(line) else {
            return self.no_event(line);
        };
        let mut fields = Fields::between_blanks(rest);
        let event = fields.text();
        // perf adds the name of the group.
        let name = event.strip_prefix(b"block:").unwrap_or(event);
        if name.strip_suffix(b":") != Some(NAMES[self.choice.event as usize].as_bytes()) {
            return Ok(None);
        }
        let device = fields.text();
        if device.is_empty() || !device.iter().all(|&b| b == b',' || b.is_ascii_digit()) {
            return Err(FieldError::text("device", device, "a device as in `8,16`"));
        }
        let letters = fields.text();
        // Some versions have bytes and a command between the letters and the sector.
        let rest = fields.rest();
        let Some(plus) = memchr::memmem::find(rest, b" + ") else {
            return Err(FieldError::text("sectors", trim(rest), "`sector + sectors`"));
        };
        let before = trim(&rest[..plus]);
        let sector = before.rsplit(|&b| b == b' ').next().unwrap_or_default();
        let length = Fields::between_blanks(&rest[plus + 3..]).units(SECTOR_BYTES, "sectors")?;
        let Some(op) = self.choice.op(letters, length)? else {
            return Ok(None);
        };
        let offset = if op == Op::Flush { 0 } else { units(sector, SECTOR_BYTES, "sector")? };
        let time_ns = decimal(time, SECOND_NS, "time")?;
        Ok(Some(Record { time_ns, device: devices.number(device), offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.choice.remarks(NAMES);
        if self.lost > 0 {
            remarks.push(format!("the recorder lost events at {} places", self.lost));
        }
        remarks
    }
}

impl Ftrace {
    /// Check that a line without an event is part of a header, or reports lost events.
    #[cold]
    fn no_event(&mut self, line: &[u8]) -> Result<Option<Record>, FieldError> {
        self.headed |= line.starts_with(b"# tracer:") || line.starts_with(b"# ====");
        let lost = memchr::memmem::find(line, b"[LOST ").is_some();
        self.lost += u64::from(lost);
        if lost || (self.headed && line.starts_with(b"#")) {
            return Ok(None);
        }
        Err(FieldError::text(
            "time",
            trim(line),
            "an event with its time, as in `1234.567890: block_rq_issue:`",
        ))
    }
}

/// Split a line into its time and the rest.
#[inline]
fn split_at_time(line: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr_iter(b':', line).find_map(|colon| {
        let before = &line[..colon];
        let time = before.rsplit(|&b| b == b' ' || b == b'\t').next()?;
        let is_time = time.first()?.is_ascii_digit()
            && time.iter().all(|&b| b == b'.' || b.is_ascii_digit())
            && time.contains(&b'.');
        let rest = &line[colon + 1..];
        (is_time && rest.starts_with(b" ")).then_some((time, rest))
    })
}
