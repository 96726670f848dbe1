//! Text of blkparse in its default format.
//!
//! A request has several events, one line each; one of them counts as the request: its issue to the device (D), its
//! queueing (Q) or its completion (C). Merges, splits, remaps, plugs and messages are ignored. Sectors are 512 bytes,
//! times seconds since the start. Several processors record, so lines are slightly out of order; a window of a second
//! sorts them. The summary at the end is ignored.

use crate::devices::Devices;
use crate::fields::{Blanks, Fields};
use crate::formats::linux_block::EventChoice;
use crate::numbers::SECOND_NS;
use crate::record::{Clock, Conventions, FieldError, Record};
use crate::text::{LineParser, TextFormat};
use coflash_base::Duration;
use coflash_workload::recorded::{TraceEvent, TraceOptions};

/// The reader of blkparse's text.
pub(crate) struct Blkparse {
    choice: EventChoice,
    /// The letter of the chosen event.
    action: u8,
    /// Whether an event was read: the summary follows later.
    any: bool,
    /// Whether the summary has begun.
    ended: bool,
}

fn letter(event: TraceEvent) -> u8 {
    match event {
        TraceEvent::Queue => b'Q',
        TraceEvent::Issue => b'D',
        TraceEvent::Complete => b'C',
    }
}

impl TextFormat for Blkparse {
    const NAME: &'static str = "blkparse";
    const CONVENTIONS: Conventions = Conventions::new(Clock::Start, ["time", "device", "sector", "sectors"])
        .sorted_within(Duration { ns: SECOND_NS });

    fn new(options: &TraceOptions) -> Self {
        let choice = EventChoice::new(options);
        Self { action: letter(choice.event), choice, any: false, ended: false }
    }
}

impl LineParser for Blkparse {
    fn look_ahead(&mut self, beginning: &[u8]) {
        let has = |action: u8| {
            let mut lines = beginning.split(|&b| b == b'\n');
            lines.any(|line| event(line).is_ok_and(|event| event.action == [action]))
        };
        self.choice.fall_back(|event| has(letter(event)));
        self.action = letter(self.choice.event);
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        let Event { device, time_ns, action, mut fields } = match event(line) {
            Ok(event) => event,
            Err(fault) => return self.no_event(line, fault),
        };
        (self.any, self.ended) = (true, false);
        if action != [self.action] {
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
    fn no_event(&mut self, line: &[u8], fault: FieldError) -> Result<Option<Record>, FieldError> {
        self.ended |= self.any && line.starts_with(b"CPU");
        if self.ended { Ok(None) } else { Err(fault) }
    }
}

/// The fields common to all events.
struct Event<'a> {
    device: &'a [u8],
    time_ns: u64,
    action: &'a [u8],
    fields: Fields<'a, Blanks>,
}

/// Parse the beginning of a line, strictly enough to refuse other text.
#[inline]
fn event(line: &[u8]) -> Result<Event<'_>, FieldError> {
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
fn range<'a>(fields: &mut Fields<'a, Blanks>) -> Result<(&'a [u8], &'a [u8]), FieldError> {
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
