//! Text of blkparse in its default format.
//!
//! A request has several events, one line each; one of them counts as the request: its issue to the device (D), its
//! queueing (Q) or its completion (C). Merges, splits, remaps, plugs and messages are ignored. Sectors are 512 bytes,
//! times seconds since the start. Several processors record, so lines are slightly out of order; a window of a second
//! sorts them. The summary at the end is ignored.

use crate::devices::Devices;
use crate::fields::{BlankFields, Fields};
use crate::formats::linux_block::EventChoice;
use crate::numbers::SECOND_NS;
use crate::record::{FieldError, Parsed, Record};
use crate::text::{LineParser, TextFormat};
use coflash_workload::recorded::TraceOptions;

/// The reader of blkparse's text.
pub(crate) struct Blkparse {
    choice: EventChoice,
    /// Whether an event was read: the summary follows later.
    any: bool,
    /// Whether the summary has begun.
    ended: bool,
}

/// The letters of the events, in the order of `TraceEvent`.
const LETTERS: [u8; 3] = [b'Q', b'D', b'C'];

impl TextFormat for Blkparse {
    fn new(options: &TraceOptions) -> Self {
        Self { choice: EventChoice::new(options), any: false, ended: false }
    }
}

impl LineParser for Blkparse {
    fn look_ahead(&mut self, beginning: &[u8]) {
        let has = |action: u8| {
            let mut lines = beginning.split(|&b| b == b'\n');
            lines.any(|line| event(line).is_ok_and(|event| event.action == [action]))
        };
        self.choice.fall_back(|event| has(LETTERS[event as usize]));
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        let Event { device, time_ns, action, mut fields } = match event(line) {
            Ok(event) => event,
            Err(fault) => return self.no_event(line, fault),
        };
        (self.any, self.ended) = (true, false);
        if action != [LETTERS[self.choice.event as usize]] {
            return Ok(None);
        }
        let letters = fields.text();
        let (sector, sectors) = range(&mut fields)?;
        let Some((op, offset, length)) = self.choice.request(letters, sector, sectors)? else {
            return Ok(None);
        };
        Ok(Some(Record { time_ns, device: devices.number(device), offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        self.choice.remarks(["queueing (Q)", "issue (D)", "completion (C)"])
    }
}

impl Blkparse {
    /// Check that a line without an event is in the summary. (Another recording may follow the summary.)
    #[cold]
    fn no_event(&mut self, line: &[u8], fault: FieldError) -> Parsed<Option<Record>> {
        self.ended |= self.any && line.starts_with(b"CPU");
        if self.ended { Ok(None) } else { Err(fault) }
    }
}

/// The fields common to all events.
struct Event<'a> {
    device: &'a [u8],
    time_ns: u64,
    action: &'a [u8],
    fields: BlankFields<'a>,
}

/// Parse the beginning of a line, strictly enough to refuse other text.
#[inline]
fn event(line: &[u8]) -> Parsed<Event<'_>> {
    let mut fields = Fields::between_blanks(line);
    let device = fields.text();
    if !device.contains(&b',') || !device.iter().all(|&b| b == b',' || b.is_ascii_digit()) {
        return Err(FieldError::text("device", device, "a device as in `8,16`"));
    }
    for field in ["cpu", "sequence"] {
        fields.whole(field)?;
    }
    let time_ns = fields.decimal(SECOND_NS, "time")?;
    fields.whole("pid")?;
    let action = fields.text();
    if !matches!(action, [a] | [a, _] if a.is_ascii_alphabetic()) {
        return Err(FieldError::text("action", action, "an event, one letter or two"));
    }
    Ok(Event { device, time_ns, action, fields })
}

/// Read first sector and number of sectors as text: "0" and "0" for a flush or a command without a range.
#[inline]
fn range<'a>(fields: &mut BlankFields<'a>) -> Parsed<(&'a [u8], &'a [u8])> {
    const NONE: (&[u8], &[u8]) = (b"0", b"0");
    let sector = fields.text();
    if matches!(sector, [] | [b'[', ..]) {
        return Ok(NONE);
    }
    match fields.text() {
        b"+" => Ok((sector, fields.text())),
        // A completion without data, or a command to the drive: `sector [error]`, `bytes (command)`.
        [b'[' | b'(', ..] => Ok(NONE),
        other => Err(FieldError::text("sectors", other, "`+` and a number of sectors")),
    }
}
