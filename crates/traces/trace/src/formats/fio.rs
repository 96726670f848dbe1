//! fio's I/O logs, versions 2 and 3 (`write_iolog`, `read_iolog`).
//!
//! The first line names the version. A line of version 3 begins with a time in microseconds since the start of the
//! log. Version 2 has no times: only `wait` lines advance its clock, and the requests between two of them are
//! simultaneous. Files in the log are devices. `add`, `open` and `close` are ignored; `sync` and `datasync` are
//! flushes, regardless of numbers.

use crate::devices::Devices;
use crate::fields::{BlankFields, Fields};
use crate::numbers::MICROSECOND_NS;
use crate::record::{FieldError, Parsed, Record, show};
use crate::text::{LineParser, TextFormat};
use coflash_base::suggest::hint;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of an iolog.
pub(crate) struct Iolog {
    version: Option<u8>,
    /// The sum of the waits so far: the clock of version 2.
    waited_ns: u64,
}

/// The actions; version 3 has no `wait`.
const ACTIONS: [&str; 9] = ["read", "write", "trim", "sync", "datasync", "add", "open", "close", "wait"];

impl TextFormat for Iolog {
    fn new(_: &TraceOptions) -> Self {
        Self { version: None, waited_ns: 0 }
    }
}

impl LineParser for Iolog {
    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        let Some(version) = self.version else {
            self.version = Some(header(line)?);
            return Ok(None);
        };
        let mut fields = Fields::between_blanks(line);
        let time_ns = match version {
            2 => self.waited_ns,
            _ => fields.units(MICROSECOND_NS, "time")?,
        };
        let (file, timed) = (fields.text(), usize::from(version == 3));
        let op = match fields.text() {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" if version == 2 => {
                self.wait(&mut fields)?;
                return Ok(None);
            }
            b"add" | b"open" | b"close" => {
                fields.nothing_more("line", timed + 2)?;
                return Ok(None);
            }
            other => return Err(unknown_action(file, other, version)),
        };
        let offset = fields.whole("offset")?;
        let length = fields.whole("length")?;
        fields.nothing_more("line", timed + 4)?;
        Ok(Some(Record { time_ns, device: devices.number(file), offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        if self.version != Some(2) {
            return Vec::new();
        }
        vec![
            "a version 2 iolog has no times: requests between two waits arrive at the same moment, and without \
             waits all arrive at the start"
                .to_owned(),
        ]
    }
}

impl Iolog {
    /// Advance the clock by a `wait`; fio writes a fourth number without meaning.
    #[cold]
    fn wait(&mut self, fields: &mut BlankFields<'_>) -> Parsed<()> {
        let waited_ns = fields.units(MICROSECOND_NS, "wait")?;
        if !fields.rest().trim_ascii().is_empty() {
            fields.whole("length")?;
            fields.nothing_more("line", 4)?;
        }
        self.waited_ns = self.waited_ns.checked_add(waited_ns).ok_or_else(|| {
            FieldError::number("wait", waited_ns, "a wait in ns after which the clock is still below 2^64 ns")
        })?;
        Ok(())
    }
}

#[cold]
fn header(line: &[u8]) -> Parsed<u8> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Ok(2),
        b"fio version 3 iolog" => Ok(3),
        _ => Err(FieldError::text("header", line, "`fio version 2 iolog` or `fio version 3 iolog`")),
    }
}

#[cold]
fn unknown_action(file: &[u8], given: &[u8], version: u8) -> FieldError {
    if file.is_empty() {
        return FieldError::text("file", file, "the name of a file, then an action");
    }
    if given == b"wait" && version == 3 {
        let problem = "\"wait\" is of version 2: version 3 has a time on every line".to_owned();
        return FieldError { field: "action", problem };
    }
    let allowed = if version == 3 { &ACTIONS[..8] } else { &ACTIONS[..] };
    let given = show(given);
    FieldError { field: "action", problem: format!("\"{given}\" is not an action{}", hint(&given, allowed)) }
}
