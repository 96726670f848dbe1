//! Tables of disk I/O that Windows Performance Analyzer exports (`wpaexporter`, or its clipboard) as CSV.
//!
//! The user of the analyser chooses columns and their order, so the header decides: needed are the type of the request, when
//! it was initiated, its first byte and its size; disks, where they are there, are numbered as they appear. Times are in the
//! unit that the header names, seconds without one, since the start of the recording; offsets may be hexadecimal; numbers
//! may be quoted and have commas between groups of digits. Rows stand in whatever order the table had: a window of a minute
//! puts those in order that are nearly so. A row that sums several requests is refused.

use super::text::{decimal, trim, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record, show};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::Duration;

/// The reader of an exported table.
pub(crate) struct Wpa {
    /// What the header says; nothing before it.
    table: Option<Table>,
}

struct Table {
    separator: u8,
    /// The column of each role.
    columns: [Option<usize>; ROLES.len()],
    time_ns: u64,
    time_unit_given: bool,
}

const SECOND_NS: u64 = 1_000_000_000;

/// The names that the columns of each role have had.
const ROLES: [(&str, &[&str]); 6] = [
    ("IO Type", &["IO Type"]),
    ("Init Time", &["Init Time", "Start Time"]),
    ("Offset", &["Min Offset", "Offset", "Start Offset", "Byte Offset"]),
    ("Size", &["Size", "IO Size"]),
    ("Disk", &["Disk", "Disks"]),
    ("Count", &["Count"]),
];
const TYPE: usize = 0;
const TIME: usize = 1;
const OFFSET: usize = 2;
const SIZE: usize = 3;
const DISK: usize = 4;
const COUNT: usize = 5;
/// How many of them cannot be missing.
const NEEDED: usize = 4;

impl Format for Wpa {
    const INFO: FormatInfo = FormatInfo {
        name: "wpa",
        summary: "disk I/O table exported from Windows Performance Analyzer as CSV",
        source: "Microsoft, Windows Performance Toolkit",
        record: "a header that names IO Type, Init Time, Min Offset and Size in any order, then rows",
        extensions: &["csv"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "Init Time", device: "Disk", offset: "Offset", length: "Size" };
    const CLOCK: Clock = Clock::Start;
    const SORT_WINDOW: Duration = Duration { ns: 60 * SECOND_NS };

    fn new(_: &TraceOptions) -> Self {
        Self { table: None }
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        let Some(table) = &self.table else {
            self.table = Some(header(line)?);
            return Ok(None);
        };
        let cells = table.cells(line);
        let op = match cells[TYPE] {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            b"Flush" => Op::Flush,
            other => return Err(Fault::unexpected("IO Type", other, "Read, Write or Flush")),
        };
        if table.columns[COUNT].is_some() && cells[COUNT] != b"1" {
            let expected =
                "1: a row that sums several requests has none of them (export a table without groups)";
            return Err(Fault::unexpected("Count", cells[COUNT], expected));
        }
        let time_ns =
            ungrouped(cells[TIME], "Init Time", |given| decimal(given, table.time_ns, "Init Time"))?;
        let device = match cells[DISK] {
            [] if table.columns[DISK].is_some() => return Err(Fault::unexpected("Disk", b"", "a disk")),
            [] => 0,
            disk => devices.number(disk),
        };
        let (mut offset, mut length) = (0, 0);
        if op != Op::Flush {
            offset = ungrouped(cells[OFFSET], "Offset", |given| number(given, "Offset"))?;
            length = ungrouped(cells[SIZE], "Size", |given| number(given, "Size"))?;
        }
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        match &self.table {
            Some(table) if !table.time_unit_given => {
                vec!["the header names no unit of Init Time: seconds were assumed".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

impl Table {
    /// The cells of the roles; empty where there is none.
    #[inline]
    fn cells<'a>(&self, line: &'a [u8]) -> [&'a [u8]; ROLES.len()] {
        let mut cells = [&b""[..]; ROLES.len()];
        let mut rest = Some(line);
        let mut at = 0;
        while rest.is_some() {
            let cell = cell(&mut rest, self.separator);
            for (column, kept) in self.columns.iter().zip(&mut cells) {
                if *column == Some(at) {
                    *kept = cell;
                }
            }
            at += 1;
        }
        cells
    }
}

/// The next cell of a row, without its quotes; `rest` is nothing behind the last.
#[inline]
fn cell<'a>(rest: &mut Option<&'a [u8]>, separator: u8) -> &'a [u8] {
    let line = rest.take().unwrap_or_default();
    let closing = if line.starts_with(b"\"") { closing_quote(line) } else { None };
    let from = closing.unwrap_or(0);
    let end = memchr::memchr(separator, &line[from..]).map(|at| from + at);
    *rest = end.map(|end| &line[end + 1..]);
    match closing {
        Some(closing) => trim(&line[1..closing]),
        None => trim(&line[..end.unwrap_or(line.len())]),
    }
}

/// Where the quotes that `line` begins with end: a doubled one is part of what is quoted.
#[inline]
fn closing_quote(line: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr(b'"', &line[at..])?;
        if line.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cold]
fn header(line: &[u8]) -> Result<Table, Fault> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let separator =
        [b'\t', b';', b','].into_iter().find(|separator| line.contains(separator)).unwrap_or(b',');
    let mut table =
        Table { separator, columns: [None; ROLES.len()], time_ns: SECOND_NS, time_unit_given: false };
    let mut rest = Some(line);
    let mut at = 0;
    while rest.is_some() {
        let name = cell(&mut rest, separator);
        let (name, unit) = match name.iter().position(|&b| b == b'(') {
            Some(bracket) => (trim(&name[..bracket]), &name[bracket..]),
            None => (name, &b""[..]),
        };
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        let role = ROLES.iter().position(|(_, names)| is(names));
        if let Some(role) = role.filter(|&role| table.columns[role].is_none()) {
            table.columns[role] = Some(at);
            if role == TIME {
                table.time_ns = time_unit(unit)?;
                table.time_unit_given = !unit.is_empty();
            }
        }
        at += 1;
    }
    let missing = ROLES.iter().zip(table.columns).take(NEEDED).find(|(_, column)| column.is_none());
    match missing {
        None => Ok(table),
        Some(((role, names), _)) => {
            let (given, names) = (show(line), names.join(", "));
            Err(Fault {
                field: "header",
                problem: format!("\"{given}\" has no column {role} (known as {names})"),
            })
        }
    }
}

#[cold]
fn time_unit(unit: &[u8]) -> Result<u64, Fault> {
    // Micro is a sign of its own, in two places of Unicode.
    match std::str::from_utf8(unit) {
        Ok("" | "(s)") => Ok(SECOND_NS),
        Ok("(ms)") => Ok(1_000_000),
        Ok("(us)" | "(\u{b5}s)" | "(\u{3bc}s)") => Ok(1000),
        Ok("(ns)") => Ok(1),
        _ => Err(Fault::unexpected("header", unit, "a unit of Init Time (s, ms, us, ns)")),
    }
}

/// What `read` makes of `given` without the commas between groups of digits: of three, or of four where it is hexadecimal.
/// A comma anywhere else is that of a decimal number in another language, and refused.
#[inline]
fn ungrouped(
    given: &[u8],
    field: &'static str,
    read: impl Fn(&[u8]) -> Result<u64, Fault>,
) -> Result<u64, Fault> {
    if !given.contains(&b',') {
        return read(given);
    }
    let (digits, group) = match given {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 4),
        digits => (digits, 3),
    };
    let whole = digits.split(|&b| b == b'.').next().unwrap_or_default();
    let mut groups = whole.split(|&b| b == b',');
    let first = groups.next().unwrap_or_default();
    let fits = (1..=group).contains(&first.len()) && (group == 4 || first[0] != b'0');
    let plain: Vec<u8> = given.iter().copied().filter(|&b| b != b',').collect();
    let fraction_plain = !digits[whole.len()..].contains(&b',');
    if fits && fraction_plain && groups.all(|digits| digits.len() == group) {
        return read(&plain);
    }
    Err(Fault::unexpected(
        field,
        given,
        "a number with commas between groups of digits only (export in English)",
    ))
}

/// A whole number, hexadecimal behind `0x`.
#[inline]
fn number(given: &[u8], field: &'static str) -> Result<u64, Fault> {
    let [b'0', b'x' | b'X', digits @ ..] = given else {
        return whole(given, field);
    };
    let wrong = || Fault::unexpected(field, given, "a hexadecimal number below 2^64");
    if digits.is_empty() {
        return Err(wrong());
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = (digit as char).to_digit(16).ok_or_else(wrong)?;
        value.checked_mul(16).map(|value| value | u64::from(digit)).ok_or_else(wrong)
    })
}
