//! Tables of disk I/O that Windows Performance Analyzer exports (`wpaexporter`, or its clipboard) as CSV.
//!
//! Users of the analyser choose columns and their order, so the header determines them. Required are the type of a
//! request, its initial time, first byte and size; a column of disks is optional. Times are relative to the start of
//! the recording, in the unit of the header, or in seconds. Offsets may be hexadecimal. Numbers may be quoted and
//! grouped according to the language of the export: the first unambiguous number determines the decimal sign of the
//! file. Rows are in the order of the table; a window of a minute sorts nearly ordered ones. A row that sums several
//! requests is refused.

use crate::devices::Devices;
use crate::fields::trim;
use crate::numbers::{decimal, whole};
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record, show};
use crate::text::{LineParser, TextFormat};
use coflash_base::Duration;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of an exported table.
pub(crate) struct Wpa {
    /// The columns of the header; `None` before it.
    table: Option<Table>,
}

struct Table {
    separator: u8,
    /// The column of each role.
    columns: [Option<usize>; ROLES.len()],
    time_ns: u64,
    time_unit_given: bool,
    /// Whether a time has shown that the decimal sign is a comma.
    decimal_comma: bool,
}

const SECOND_NS: u64 = 1_000_000_000;

/// The known names of the columns of each role.
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
/// The number of required roles.
const NEEDED: usize = 4;

impl TextFormat for Wpa {
    const INFO: FormatInfo = FormatInfo {
        name: "wpa",
        summary: "disk I/O table exported from Windows Performance Analyzer as CSV",
        source: "Microsoft, Windows Performance Toolkit",
        record: "a header that names IO Type, Init Time, Min Offset and Size in any order, then rows",
        extensions: &["csv"],
    };
    const CONVENTIONS: Conventions = Conventions::new(Clock::Start, ["Init Time", "Disk", "Offset", "Size"])
        .sorted_within(Duration { ns: 60 * SECOND_NS });

    fn new(_: &TraceOptions) -> Self {
        Self { table: None }
    }
}

impl LineParser for Wpa {
    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        let Some(table) = &mut self.table else {
            self.table = Some(header(line)?);
            return Ok(None);
        };
        let cells = table.cells(line);
        let op = match cells[TYPE] {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            b"Flush" => Op::Flush,
            other => return Err(FieldError::text("IO Type", other, "Read, Write or Flush")),
        };
        if table.columns[COUNT].is_some() && cells[COUNT] != b"1" {
            let expected =
                "1: a row that sums several requests has none of them (export a table without groups)";
            return Err(FieldError::text("Count", cells[COUNT], expected));
        }
        let time_ns = table.time(cells[TIME])?;
        let device = match cells[DISK] {
            [] if table.columns[DISK].is_some() => return Err(FieldError::text("Disk", b"", "a disk")),
            [] => 0,
            disk => devices.number(disk),
        };
        let (mut offset, mut length) = (0, 0);
        if op != Op::Flush {
            offset = number(cells[OFFSET], "Offset")?;
            length = number(cells[SIZE], "Size")?;
        }
        Ok(Some(Record { time_ns, device, offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        let Some(table) = &self.table else { return Vec::new() };
        let remarks = [
            (!table.time_unit_given, "the header names no unit of Init Time: seconds were assumed"),
            (table.decimal_comma, "numbers were read with a decimal comma"),
        ];
        remarks.into_iter().filter(|(holds, _)| *holds).map(|(_, remark)| remark.to_owned()).collect()
    }
}

impl Table {
    /// Parse a time with the decimal sign of the file.
    #[inline]
    fn time(&mut self, given: &[u8]) -> Result<u64, FieldError> {
        if !given.contains(&b',') && !self.decimal_comma {
            return decimal(given, self.time_ns, "Init Time");
        }
        self.foreign_time(given)
    }

    #[cold]
    fn foreign_time(&mut self, given: &[u8]) -> Result<u64, FieldError> {
        if let Some(sign) = decimal_sign(given) {
            self.decimal_comma = sign == b',';
        }
        let (sign, group) = if self.decimal_comma { (b',', b'.') } else { (b'.', b',') };
        let point = given.iter().position(|&byte| byte == sign).unwrap_or(given.len());
        if given.iter().skip(point + 1).any(|byte| matches!(byte, b',' | b'.')) {
            return Err(FieldError::text("Init Time", given, "a decimal number"));
        }
        let mut plain = without_groups(&given[..point], group, 3, "Init Time")?;
        plain.extend(given[point..].iter().map(|&byte| if byte == sign { b'.' } else { byte }));
        decimal(&plain, self.time_ns, "Init Time")
    }

    /// The cells of the roles; empty for missing columns.
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

/// Take the next cell of a row, without its quotes; `rest` is `None` after the last one.
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

/// The end of the quoted cell at the beginning of `line`; a doubled quote is part of its content.
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
fn header(line: &[u8]) -> Result<Table, FieldError> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let separator =
        [b'\t', b';', b','].into_iter().find(|separator| line.contains(separator)).unwrap_or(b',');
    let mut table = Table {
        separator,
        columns: [None; ROLES.len()],
        time_ns: SECOND_NS,
        time_unit_given: false,
        decimal_comma: false,
    };
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
            Err(FieldError {
                field: "header",
                problem: format!("\"{given}\" has no column {role} (known as {names})"),
            })
        }
    }
}

#[cold]
fn time_unit(unit: &[u8]) -> Result<u64, FieldError> {
    // Unicode has two micro signs.
    match std::str::from_utf8(unit) {
        Ok("" | "(s)") => Ok(SECOND_NS),
        Ok("(ms)") => Ok(1_000_000),
        Ok("(us)" | "(\u{b5}s)" | "(\u{3bc}s)") => Ok(1000),
        Ok("(ns)") => Ok(1),
        _ => Err(FieldError::text("header", unit, "a unit of Init Time (s, ms, us, ns)")),
    }
}

/// The decimal sign of an unambiguous number: the last of two signs, or one that separates no groups of three digits.
fn decimal_sign(given: &[u8]) -> Option<u8> {
    let last = |sign| given.iter().rposition(|&byte| byte == sign);
    match (last(b','), last(b'.')) {
        (Some(comma), Some(point)) => Some(if comma > point { b',' } else { b'.' }),
        (Some(_), None) => (!is_grouped(given, b',', 3)).then_some(b','),
        (None, Some(_)) => (!is_grouped(given, b'.', 3)).then_some(b'.'),
        (None, None) => None,
    }
}

/// Whether `sign` separates groups of `group` digits.
fn is_grouped(digits: &[u8], sign: u8, group: usize) -> bool {
    let mut groups = digits.split(|&byte| byte == sign);
    let first = groups.next().unwrap_or_default();
    // A grouped decimal number has no leading zeros: 0.125 is a fraction.
    (1..=group).contains(&first.len())
        && (group == 4 || first[0] != b'0')
        && groups.all(|digits| digits.len() == group)
}

/// `digits` without the signs between groups.
fn without_groups(digits: &[u8], sign: u8, group: usize, field: &'static str) -> Result<Vec<u8>, FieldError> {
    if digits.contains(&sign) && !is_grouped(digits, sign, group) {
        let expected = format!("a number with \"{}\" between groups of {group} digits", sign as char);
        return Err(FieldError::text(field, digits, &expected));
    }
    Ok(digits.iter().copied().filter(|&byte| byte != sign).collect())
}

/// Parse a whole number, hexadecimal after `0x`, with commas or points between groups of digits.
#[inline]
fn number(given: &[u8], field: &'static str) -> Result<u64, FieldError> {
    let Some(&sign) = given.iter().find(|byte| matches!(byte, b',' | b'.')) else {
        return plain_number(given, field);
    };
    match given {
        [b'0', x @ (b'x' | b'X'), digits @ ..] => {
            let plain = without_groups(digits, sign, 4, field)?;
            plain_number(&[&[b'0', *x], &plain[..]].concat(), field)
        }
        digits => plain_number(&without_groups(digits, sign, 3, field)?, field),
    }
}

/// Parse a whole number, hexadecimal after `0x`.
#[inline]
fn plain_number(given: &[u8], field: &'static str) -> Result<u64, FieldError> {
    let [b'0', b'x' | b'X', digits @ ..] = given else {
        return whole(given, field);
    };
    let wrong = || FieldError::text(field, given, "a hexadecimal number below 2^64");
    if digits.is_empty() {
        return Err(wrong());
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = (digit as char).to_digit(16).ok_or_else(wrong)?;
        value.checked_mul(16).map(|value| value | u64::from(digit)).ok_or_else(wrong)
    })
}
