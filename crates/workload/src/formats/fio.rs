//! fio's I/O logs, versions 2 and 3 (`write_iolog`, `read_iolog`).
//!
//! The first line names the version. A line of version 3 begins with a time in microseconds since the log was started;
//! version 2 has no times: its clock stands still but for `wait` lines, so what lies between two of them arrives at once.
//! Files that a log names are devices. `add`, `open` and `close` are about files and no requests; `sync` and `datasync`
//! are a flush, whatever numbers stand behind them.

use super::text::{blank_field, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record, show};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::suggest::hint;

/// The reader of an iolog.
pub(crate) struct Iolog {
    version: Option<Version>,
    /// The sum of the waits so far, where they are the only clock.
    waited_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

const HEADERS: [(&[u8], Version); 2] =
    [(b"fio version 2 iolog", Version::Two), (b"fio version 3 iolog", Version::Three)];

const MICROSECOND_NS: u64 = 1000;

/// The actions of version 3; version 2 has `wait` as well.
const ACTIONS: &[&str] = &["read", "write", "trim", "sync", "datasync", "add", "open", "close"];

impl Format for Iolog {
    const INFO: FormatInfo = FormatInfo {
        name: "fio",
        summary: "fio I/O log, versions 2 (no times but waits) and 3 (microseconds)",
        source: "fio documentation, \"Trace file format\"",
        record: "[time_us] file action [offset length], after a line `fio version 3 iolog`",
        extensions: &["iolog", "fio"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "file", offset: "offset", length: "length" };
    const CLOCK: Clock = Clock::Start;

    fn new(_: &TraceOptions) -> Self {
        Self { version: None, waited_ns: 0 }
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        let Some(version) = self.version else {
            self.version = Some(header(line)?);
            return Ok(None);
        };
        let rest = &mut &*line;
        let time_ns = match version {
            Version::Two => self.waited_ns,
            Version::Three => units(blank_field(rest), MICROSECOND_NS, "time")?,
        };
        let file = blank_field(rest);
        let op = match blank_field(rest) {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" if version == Version::Two => {
                self.wait(rest)?;
                return Ok(None);
            }
            b"add" | b"open" | b"close" => {
                nothing_more(rest)?;
                return Ok(None);
            }
            other => return Err(unknown_action(file, other, version)),
        };
        let offset = whole(blank_field(rest), "offset")?;
        let length = whole(blank_field(rest), "length")?;
        nothing_more(rest)?;
        Ok(Some(Record { time_ns, device: devices.number(file), offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        if self.version != Some(Version::Two) {
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
    /// `wait` moves the clock; fio writes a fourth number that means nothing.
    #[cold]
    fn wait(&mut self, rest: &mut &[u8]) -> Result<(), Fault> {
        let given = blank_field(rest);
        let waited_ns = units(given, MICROSECOND_NS, "wait")?;
        if !rest.is_empty() {
            let unused = blank_field(rest);
            if !unused.is_empty() {
                whole(unused, "length")?;
            }
            nothing_more(rest)?;
        }
        self.waited_ns = self.waited_ns.checked_add(waited_ns).ok_or_else(|| {
            Fault::unexpected("wait", given, "a wait after which the clock is still below 2^64 ns")
        })?;
        Ok(())
    }
}

#[cold]
fn header(line: &[u8]) -> Result<Version, Fault> {
    let given = super::text::trim(line);
    HEADERS
        .iter()
        .find(|(text, _)| *text == given)
        .map(|&(_, version)| version)
        .ok_or_else(|| Fault::unexpected("header", line, "`fio version 2 iolog` or `fio version 3 iolog`"))
}

#[inline]
fn nothing_more(rest: &mut &[u8]) -> Result<(), Fault> {
    // Nearly every line ends right behind its last field.
    if rest.is_empty() {
        return Ok(());
    }
    let extra = blank_field(rest);
    if extra.is_empty() {
        Ok(())
    } else {
        Err(Fault::unexpected("line", extra, "expected: the record is complete"))
    }
}

#[cold]
fn unknown_action(file: &[u8], given: &[u8], version: Version) -> Fault {
    if file.is_empty() {
        return Fault::unexpected("file", file, "the name of a file, then an action");
    }
    if given == b"wait" && version == Version::Three {
        let problem = "\"wait\" is of version 2: version 3 has a time on every line".to_owned();
        return Fault { field: "action", problem };
    }
    let mut allowed = ACTIONS.to_vec();
    if version == Version::Two {
        allowed.push("wait");
    }
    let given = show(given);
    Fault { field: "action", problem: format!("\"{given}\" is not an action{}", hint(&given, &allowed)) }
}
