//! Block events of the Linux kernel as text: ftrace (`trace`, `trace_pipe`) and `perf script`.
//!
//! The two differ in what stands before the time, which may hold blanks and is passed over. A request is taken at one event:
//! its issue (block_rq_issue), the queueing of its bio (block_bio_queue) or its completion (block_rq_complete); other events
//! are passed over. Sectors are 512 bytes, times seconds since the machine started: the first request is at zero. Processors
//! record each for itself, so a window of a second puts lines in order.

use super::linux_block::{Choice, SECTOR_BYTES};
use super::text::{blank_field, decimal, trim, units};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::Duration;

/// The reader of block events.
pub(crate) struct Ftrace {
    choice: Choice,
    /// Whether a header has begun: other text has comments as well.
    headed: bool,
    /// How many times events were lost.
    lost: u64,
}

const SECOND_NS: u64 = 1_000_000_000;
/// By the order of `TraceEvent`.
const NAMES: [&str; 3] = ["block_bio_queue", "block_rq_issue", "block_rq_complete"];

impl Format for Ftrace {
    const INFO: FormatInfo = FormatInfo {
        name: "ftrace",
        summary: "block events of ftrace or perf script; which event stands for a request is an option",
        source: "Linux kernel, include/trace/events/block.h",
        record: "task-pid [cpu] flags time: block_rq_issue: major,minor rwbs bytes () sector + sectors [process]",
        extensions: &["ftrace", "perf"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "device", offset: "sector", length: "sectors" };
    const CLOCK: Clock = Clock::Date;
    const SORT_WINDOW: Duration = Duration { ns: SECOND_NS };

    fn new(options: &TraceOptions) -> Self {
        Self { choice: Choice::new(options), headed: false, lost: 0 }
    }

    fn look_ahead(&mut self, beginning: &[u8]) {
        let has = |name: &str| memchr::memmem::find(beginning, name.as_bytes()).is_some();
        self.choice.fall_back(|event| has(NAMES[event as usize]));
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        let Some((time, rest)) = split_at_time(line) else {
            return self.no_event(line);
        };
        let rest = &mut &*rest;
        let event = blank_field(rest);
        // perf names the group as well.
        let name = event.strip_prefix(b"block:").unwrap_or(event);
        if name.strip_suffix(b":") != Some(NAMES[self.choice.event as usize].as_bytes()) {
            return Ok(None);
        }
        let device = blank_field(rest);
        if device.is_empty() || !device.iter().all(|&b| b == b',' || b.is_ascii_digit()) {
            return Err(Fault::unexpected("device", device, "a device as in `8,16`"));
        }
        let letters = blank_field(rest);
        // Between the letters and the sector some versions have bytes and a command.
        let Some(plus) = memchr::memmem::find(rest, b" + ") else {
            return Err(Fault::unexpected("sectors", trim(rest), "`sector + sectors`"));
        };
        let (before, mut after) = (trim(&rest[..plus]), &rest[plus + 3..]);
        let sector = before.rsplit(|&b| b == b' ').next().unwrap_or_default();
        let length = units(blank_field(&mut after), SECTOR_BYTES, "sectors")?;
        let Some(op) = self.choice.op(letters, length)? else {
            return Ok(None);
        };
        let offset = if op == Op::Flush { 0 } else { units(sector, SECTOR_BYTES, "sector")? };
        let time_ns = decimal(time, SECOND_NS, "time")?;
        Ok(Some(Record { time_ns, device: devices.number(device), offset, length, op }))
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
    /// What a line without an event may be: part of a header, or a word on events that were lost.
    #[cold]
    fn no_event(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        self.headed |= line.starts_with(b"# tracer:") || line.starts_with(b"# ====");
        let lost = memchr::memmem::find(line, b"[LOST ").is_some();
        self.lost += u64::from(lost);
        if lost || (self.headed && line.starts_with(b"#")) {
            return Ok(None);
        }
        Err(Fault::unexpected(
            "time",
            trim(line),
            "an event with its time, as in `1234.567890: block_rq_issue:`",
        ))
    }
}

/// The time of a line, and what stands behind it.
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
