//! The text that blkparse prints in its default format.
//!
//! A request passes through several events, one line each; one of them is taken for it: its issue to the device (D), its
//! queueing (Q) or its completion (C). Merges, splits, remaps, plugs and messages are no requests. Sectors are 512 bytes,
//! times seconds since the start. Several processors record, so lines are slightly out of order: a window of a second puts
//! them in order. The summary behind the last event is passed over.

use super::linux_block::{Choice, SECTOR_BYTES};
use super::text::{blank_field, decimal, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::{TraceEvent, TraceOptions};
use coflash_base::Duration;

/// The reader of blkparse's text.
pub(crate) struct Blkparse {
    choice: Choice,
    /// The letter of the event taken.
    action: u8,
    /// Whether an event has been seen: a summary cannot come before.
    any: bool,
    /// Whether the summary has begun.
    ended: bool,
}

const SECOND_NS: u64 = 1_000_000_000;

fn letter(event: TraceEvent) -> u8 {
    match event {
        TraceEvent::Queue => b'Q',
        TraceEvent::Issue => b'D',
        TraceEvent::Complete => b'C',
    }
}

impl Format for Blkparse {
    const INFO: FormatInfo = FormatInfo {
        name: "blkparse",
        summary: "blkparse's default text; which event stands for a request is an option",
        source: "Brunelle, blktrace User Guide, 2007",
        record: "major,minor cpu sequence time pid action rwbs sector + sectors [process]",
        extensions: &["blkparse", "blktrace"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "device", offset: "sector", length: "sectors" };
    const CLOCK: Clock = Clock::Start;
    const SORT_WINDOW: Duration = Duration { ns: SECOND_NS };

    fn new(options: &TraceOptions) -> Self {
        let choice = Choice::new(options);
        Self { action: letter(choice.event), choice, any: false, ended: false }
    }

    fn look_ahead(&mut self, beginning: &[u8]) {
        let has = |action: u8| {
            let mut lines = beginning.split(|&b| b == b'\n');
            lines.any(|line| event(line).is_ok_and(|event| event.action == [action]))
        };
        self.choice.fall_back(|event| has(letter(event)));
        self.action = letter(self.choice.event);
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        let Event { device, time, action, rest } = match event(line) {
            Ok(event) => event,
            Err(fault) => return self.no_event(line, fault),
        };
        (self.any, self.ended) = (true, false);
        if action != [self.action] {
            return Ok(None);
        }
        let rest = &mut &*rest;
        let letters = blank_field(rest);
        let (sector, sectors) = range(rest)?;
        let length = units(sectors, SECTOR_BYTES, "sectors")?;
        let Some(op) = self.choice.op(letters, length)? else {
            return Ok(None);
        };
        let offset = if op == Op::Flush { 0 } else { units(sector, SECTOR_BYTES, "sector")? };
        let time_ns = decimal(time, SECOND_NS, "time")?;
        Ok(Some(Record { time_ns, device: devices.number(device), offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        self.choice.remarks(["queueing (Q)", "issue (D)", "completion (C)"])
    }
}

impl Blkparse {
    /// A line without an event is part of the summary, or wrong. (Another recording may follow the summary.)
    #[cold]
    fn no_event(&mut self, line: &[u8], fault: Fault) -> Result<Option<Record>, Fault> {
        self.ended |= self.any && line.starts_with(b"CPU");
        if self.ended { Ok(None) } else { Err(fault) }
    }
}

/// What every event has.
struct Event<'a> {
    device: &'a [u8],
    time: &'a [u8],
    action: &'a [u8],
    rest: &'a [u8],
}

/// The beginning of a line, looked at closely enough to tell it from other text.
#[inline]
fn event(line: &[u8]) -> Result<Event<'_>, Fault> {
    let mut rest = line;
    let device = blank_field(&mut rest);
    if !device.contains(&b',') || !device.iter().all(|&b| b == b',' || b.is_ascii_digit()) {
        return Err(Fault::unexpected("device", device, "a device as in `8,16`"));
    }
    for field in ["cpu", "sequence"] {
        whole(blank_field(&mut rest), field)?;
    }
    let time = blank_field(&mut rest);
    if !time.iter().all(|&b| b == b'.' || b.is_ascii_digit()) {
        return Err(Fault::unexpected("time", time, "a decimal number"));
    }
    whole(blank_field(&mut rest), "pid")?;
    let action = blank_field(&mut rest);
    if !matches!(action, [a] | [a, _] if a.is_ascii_alphabetic()) {
        return Err(Fault::unexpected("action", action, "an event, one letter or two"));
    }
    Ok(Event { device, time, action, rest })
}

/// Sector and sectors as they are written: "0" and "0" for what has no range, a flush or a command.
#[inline]
fn range<'a>(rest: &mut &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Fault> {
    const NONE: (&[u8], &[u8]) = (b"0", b"0");
    let sector = blank_field(rest);
    if matches!(sector, [] | [b'[', ..]) {
        return Ok(NONE);
    }
    match blank_field(rest) {
        b"+" => Ok((sector, blank_field(rest))),
        // A completion without data, or a command to the drive: `sector [error]`, `bytes (command)`.
        [b'[' | b'(', ..] => Ok(NONE),
        other => Err(Fault::unexpected("sectors", other, "`+` and a number of sectors")),
    }
}
