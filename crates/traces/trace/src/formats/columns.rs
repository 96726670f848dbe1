//! The parser of lines with configured columns: a table of [`tables`](super::tables), or the option
//! `columns`.
//!
//! With the option `columns`, the separator is the first of comma, semicolon, tab and blanks that gives the first
//! record enough columns. The origin of the times is unknown, so the first request is at time 0.
//!
//! Cost: a jump per column, in addition to the parsing of its field.

use crate::devices::Devices;
use crate::fields::{Blanks, Fields, Separation, Separator, trim};
use crate::numbers::whole;
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record, show};
use crate::text::{LineParser, TextFormat};
use coflash_base::PlacementId;
use coflash_base::suggest::hint;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;
use coflash_workload::recorded::{Column, Words};

/// A column and its name in messages.
pub(crate) type NamedColumn = (&'static str, Column);

/// The format `columns`: columns given by the user.
pub(crate) struct UserColumns {
    lines: ColumnLines,
    header_lines: u64,
    /// Whether the separator is known.
    separated: bool,
    has_time: bool,
    has_op: bool,
}

/// The parser of lines of columns.
pub(crate) struct ColumnLines {
    columns: Vec<NamedColumn>,
    separator: u8,
    /// Whether further fields may follow the last column.
    open_ended: bool,
    /// The operation of all records, for traces without such a column.
    op: Op,
    /// Whether operations were 0 and 1: their meaning is ambiguous.
    numbered: bool,
    /// Whether flags other than that of a read were set.
    pub(crate) flagged: bool,
}

pub(crate) const BLANK: u8 = b' ';

impl ColumnLines {
    /// Create a parser of lines of `columns` between `separator`s.
    pub(crate) fn new(columns: Vec<NamedColumn>, separator: u8, open_ended: bool) -> Self {
        Self { columns, separator, open_ended, op: Op::Read, numbered: false, flagged: false }
    }

    /// Parse a line; `None` if one of its words skips the row.
    #[inline(always)]
    pub(crate) fn record(
        &mut self,
        line: &[u8],
        devices: &mut Devices,
    ) -> Result<Option<Record>, FieldError> {
        match self.separator {
            BLANK => self.record_of(Fields::new(line, Blanks), line, devices),
            separator => self.record_of(Fields::new(line, Separator(separator)), line, devices),
        }
    }

    #[inline(always)]
    fn record_of(
        &mut self,
        mut fields: Fields<'_, impl Separation>,
        line: &[u8],
        devices: &mut Devices,
    ) -> Result<Option<Record>, FieldError> {
        let mut record = Record { time_ns: 0, device: 0, offset: 0, length: 0, op: self.op, placement: None };
        let mut kept = true;
        // The range of the device's columns in the line.
        let mut device: Option<(usize, usize)> = None;
        for &(name, ref column) in &self.columns {
            match column {
                Column::Time { step_ns, whole: false } => {
                    record.time_ns = fields.decimal(*step_ns, name)?;
                }
                Column::Time { step_ns, whole: true } => {
                    record.time_ns = fields.units(*step_ns, name)?;
                }
                Column::Offset { step_bytes, multiple } => {
                    record.offset = bytes(&mut fields, *step_bytes, *multiple, name)?;
                }
                Column::Size { step_bytes, multiple } => {
                    record.length = bytes(&mut fields, *step_bytes, *multiple, name)?;
                }
                Column::Op(words) => {
                    let word = fields.word();
                    match words.find(word).ok_or_else(|| unknown(words, word.1, name))? {
                        Some(op) => record.op = op,
                        None => kept = false,
                    }
                }
                Column::UsualOp => {
                    let given = trim(fields.word().1);
                    self.numbered |= matches!(given, b"0" | b"1");
                    record.op = usual_op(given, name)?;
                }
                Column::Flags => {
                    let given = trim(fields.word().1);
                    record.op = flags(given, name)?;
                    self.flagged |= !matches!(given, b"0" | b"1");
                }
                Column::Device { number } => {
                    let (start, end) = fields.range();
                    let given = &line[start..end];
                    if *number {
                        whole(given, name)?;
                    } else if given.is_empty() {
                        return Err(FieldError::text(name, given, "the name of a device"));
                    }
                    device = Some((device.map_or(start, |(first, _)| first), end));
                }
                Column::Placement => record.placement = placement(fields.text(), name)?,
                Column::Number => drop(fields.whole(name)?),
                Column::Word(words) => {
                    let word = fields.word();
                    kept &= words.find(word).ok_or_else(|| unknown(words, word.1, name))?;
                }
                Column::Skip => drop(fields.text()),
            }
        }
        if !self.open_ended {
            let last = self.columns.last().map_or("line", |&(name, _)| name);
            fields.nothing_more(last, self.columns.len())?;
        }
        if !kept {
            return Ok(None);
        }
        if let Some((start, end)) = device {
            record.device = devices.number(&line[start..end]);
        }
        Ok(Some(record))
    }
}

/// Take a number of steps and convert it to bytes.
#[inline(always)]
fn bytes(
    fields: &mut Fields<'_, impl Separation>,
    step: u64,
    multiple: u64,
    name: &'static str,
) -> Result<u64, FieldError> {
    let value = fields.units(step, name)?;
    // The number in the file must be a multiple.
    if multiple > 1 && !(value / step).is_multiple_of(multiple) {
        return Err(FieldError::number(name, value / step, &format!("a multiple of {multiple} bytes")));
    }
    Ok(value)
}

#[cold]
fn unknown<T: Copy>(words: &Words<T>, given: &[u8], name: &'static str) -> FieldError {
    FieldError::text(name, given, &format!("a word known here{}", hint(&show(given), &words.known())))
}

#[inline]
fn usual_op(given: &[u8], name: &'static str) -> Result<Op, FieldError> {
    const WORDS: [(&str, Op); 10] = [
        ("read", Op::Read),
        ("write", Op::Write),
        ("d", Op::Trim),
        ("discard", Op::Trim),
        ("trim", Op::Trim),
        ("unmap", Op::Trim),
        ("f", Op::Flush),
        ("flush", Op::Flush),
        ("sync", Op::Flush),
        ("fsync", Op::Flush),
    ];
    match given {
        b"R" | b"r" | b"1" => Ok(Op::Read),
        b"W" | b"w" | b"0" => Ok(Op::Write),
        _ => {
            let found = WORDS.iter().find(|(word, _)| given.eq_ignore_ascii_case(word.as_bytes()));
            let expected = "an operation (R, W, read, write, trim, flush, 1, 0; op:word=read overrides)";
            found.map(|&(_, op)| op).ok_or_else(|| FieldError::text(name, given, expected))
        }
    }
}

/// Parse a placement identifier; no digits, or a dash, are a request without one.
#[inline]
fn placement(given: &[u8], name: &'static str) -> Result<Option<PlacementId>, FieldError> {
    if matches!(given, b"" | b"-") {
        return Ok(None);
    }
    let number = whole(given, name)?;
    let expected = "a placement identifier (0 to 254; empty or - is none)";
    PlacementId::new(number).map(Some).ok_or_else(|| FieldError::number(name, number, expected))
}

/// Parse hexadecimal flags; the lowest bit is 1 for a read.
#[inline]
fn flags(given: &[u8], name: &'static str) -> Result<Op, FieldError> {
    let is_read = match given {
        b"0" => false,
        b"1" => true,
        [.., last] if given.len() <= 16 && given.iter().all(u8::is_ascii_hexdigit) => {
            // The last digit is odd: of '0'..'9' the odd codes, of 'a'..'f' and 'A'..'F' (b, d, f) the even ones.
            (last & 1 == 1) == last.is_ascii_digit()
        }
        _ => {
            let expected = "a hexadecimal number (bit 0: 1 is a read, 0 a write)";
            return Err(FieldError::text(name, given, expected));
        }
    };
    Ok(if is_read { Op::Read } else { Op::Write })
}

impl TextFormat for UserColumns {
    const INFO: FormatInfo = FormatInfo {
        name: "columns",
        summary: "any text with a request per line: the option columns gives the roles of its columns",
        source: "the user",
        record: "as given by the option columns",
        extensions: &[],
    };
    const CONVENTIONS: Conventions = Conventions::new(Clock::Date, ["time", "device", "offset", "size"]);

    fn new(options: &TraceOptions) -> Self {
        let given = options.columns.clone().unwrap_or_default();
        let columns: Vec<_> = given.columns().iter().map(|column| (column.role(), column.clone())).collect();
        let is = |role| columns.iter().any(|&(name, _)| name == role);
        Self {
            header_lines: options.header_lines,
            separated: false,
            has_time: is("time"),
            has_op: is("op") || given.op().is_some(),
            // Fields behind the last column are ignored.
            lines: ColumnLines {
                op: given.op().unwrap_or(Op::Read),
                ..ColumnLines::new(columns, BLANK, true)
            },
        }
    }
}

impl LineParser for UserColumns {
    #[inline(always)]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        if self.header_lines > 0 {
            self.header_lines -= 1;
            return Ok(None);
        }
        if !self.separated {
            self.lines.separator = find_separator(line, self.lines.columns.len())?;
            self.separated = true;
        }
        self.lines.record(line, devices)
    }

    fn remarks(&self) -> Vec<String> {
        let remarks = [
            (self.lines.numbered, "op 1 is read as a read and 0 as a write (op:0=read/1=write overrides)"),
            (!self.has_op, "no column is an operation: all requests are reads (op=write overrides)"),
            (!self.has_time, "no column is a time: all requests arrive at the start"),
        ];
        remarks.into_iter().filter(|(holds, _)| *holds).map(|(_, remark)| remark.to_owned()).collect()
    }
}

#[cold]
fn find_separator(line: &[u8], columns: usize) -> Result<u8, FieldError> {
    let fits = |&separator: &u8| line.iter().filter(|&&b| b == separator).count() + 1 >= columns.max(2);
    let blanks = || {
        let mut fields = Fields::between_blanks(line);
        columns > 0 && (0..columns).all(|_| !fields.text().is_empty())
    };
    let found = [b',', b';', b'\t'].into_iter().filter(|_| columns > 0).find(fits);
    found.or_else(|| blanks().then_some(BLANK)).ok_or_else(|| {
        let expected = format!("{columns} columns between commas, semicolons, tabs or blanks");
        FieldError::text("line", line, &expected)
    })
}
