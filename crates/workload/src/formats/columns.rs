//! Traces in no format of their own: the user says what each column means.
//!
//! The separator is found by itself, as the first of comma, semicolon, tab and blanks that gives the first record enough
//! columns; what stands behind the last column is passed over. Nobody knows where the times count from, so the first request
//! is at zero.

use super::text::{blank_field, decimal, field, units};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record, show};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::suggest::hint;
use coflash_base::{Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What the columns of a trace mean, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Columns {
    /// As the user wrote it.
    text: String,
    columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    /// In steps of so many nanoseconds.
    Time(u64),
    /// In steps of so many bytes.
    Offset(u64),
    Size(u64),
    /// The words and what they mean; the usual ones where there are none.
    Op(Vec<(String, Option<Op>)>),
    Device,
    Skip,
}

const EXAMPLE: &str = "time:us,op,offset:sectors,size:bytes";
const ROLES: [&str; 6] = ["time", "op", "offset", "size", "device", "skip"];
const MEANINGS: [(&str, Option<Op>); 5] = [
    ("read", Some(Op::Read)),
    ("write", Some(Op::Write)),
    ("trim", Some(Op::Trim)),
    ("flush", Some(Op::Flush)),
    ("skip", None),
];

/// Columns that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not columns such as \"{EXAMPLE}\": {problem}")]
pub struct ColumnsError {
    given: String,
    problem: String,
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let wrong = |problem| ColumnsError { given: text.to_owned(), problem };
        let columns: Vec<_> =
            text.split(',').map(|part| column(part.trim())).collect::<Result<_, _>>().map_err(wrong)?;
        for role in &ROLES[..5] {
            let count = columns.iter().filter(|column| column.role() == *role).count();
            let (optional, once) = (["time", "device"].contains(role), count <= 1);
            if !once || (count == 0 && !optional) {
                let expected = if optional { "at most one" } else { "exactly one" };
                return Err(wrong(format!("{count} columns are {role}, {expected} expected")));
            }
        }
        Ok(Self { text: text.to_owned(), columns })
    }
}

impl TryFrom<String> for Columns {
    type Error = ColumnsError;

    fn try_from(text: String) -> Result<Self, ColumnsError> {
        text.parse()
    }
}

impl From<Columns> for String {
    fn from(columns: Columns) -> Self {
        columns.text
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl JsonSchema for Columns {
    fn schema_name() -> Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": [EXAMPLE], "description": "what the columns of a trace mean" })
    }
}

impl Column {
    fn role(&self) -> &'static str {
        ROLES[match self {
            Self::Time(_) => 0,
            Self::Op(_) => 1,
            Self::Offset(_) => 2,
            Self::Size(_) => 3,
            Self::Device => 4,
            Self::Skip => 5,
        }]
    }
}

/// One column as it is written: a role, and its unit or its words.
fn column(text: &str) -> Result<Column, String> {
    let (role, detail) =
        text.split_once(':').map_or((text, None), |(role, detail)| (role, Some(detail.trim())));
    match (role.trim(), detail) {
        ("time", Some(unit)) => time_unit(unit).map(Column::Time),
        ("offset", Some(unit)) => byte_unit(unit).map(Column::Offset),
        ("size", Some(unit)) => byte_unit(unit).map(Column::Size),
        ("time", None) => Err("time has no unit, as in time:us (s, ms, us, ns, filetime)".to_owned()),
        (role @ ("offset" | "size"), None) => {
            Err(format!("{role} has no unit, as in {role}:sectors (bytes, sectors, pages)"))
        }
        ("op", None) => Ok(Column::Op(Vec::new())),
        ("op", Some(words)) => words.split('/').map(word).collect::<Result<_, _>>().map(Column::Op),
        ("device", None) => Ok(Column::Device),
        ("skip", None) => Ok(Column::Skip),
        ("device" | "skip", Some(_)) => Err(format!("{role} has no unit")),
        (role, _) => Err(format!("\"{role}\" is no role{}", hint(role, &ROLES))),
    }
}

fn time_unit(unit: &str) -> Result<u64, String> {
    let step = match unit {
        "filetime" => Ok(Duration { ns: 100 }),
        "s" | "ms" | "us" | "ns" => format!("1{unit}").parse(),
        step => step.parse(),
    };
    match step {
        Ok(Duration { ns }) if ns > 0 => Ok(ns),
        _ => {
            Err(format!("\"{unit}\" is no unit of time{}", hint(unit, &["s", "ms", "us", "ns", "filetime"])))
        }
    }
}

fn byte_unit(unit: &str) -> Result<u64, String> {
    let step = match unit {
        "bytes" => Ok(Bytes { count: 1 }),
        "sectors" => Ok(Bytes { count: 512 }),
        "pages" => Ok(Bytes { count: 4096 }),
        step => step.parse(),
    };
    match step {
        Ok(Bytes { count }) if count > 0 => Ok(count),
        _ => Err(format!("\"{unit}\" is no unit of bytes{}", hint(unit, &["bytes", "sectors", "pages"]))),
    }
}

/// `word=meaning`.
fn word(text: &str) -> Result<(String, Option<Op>), String> {
    let (word, meaning) = text
        .split_once('=')
        .ok_or_else(|| format!("\"{text}\" is not a word and its meaning, as in 1=read"))?;
    let found = MEANINGS.iter().find(|(name, _)| *name == meaning.trim());
    match found {
        Some(&(_, op)) => Ok((word.trim().to_owned(), op)),
        None => {
            Err(format!("\"{meaning}\" is no operation{}", hint(meaning, &MEANINGS.map(|(name, _)| name))))
        }
    }
}

/// The reader of a trace by its columns.
pub(crate) struct ColumnReader {
    columns: Vec<Column>,
    header_lines: u64,
    separator: Option<u8>,
    /// Whether operations were 0 and 1 without a word on what they mean.
    numbered: bool,
}

const BLANK: u8 = b' ';

impl Format for ColumnReader {
    const INFO: FormatInfo = FormatInfo {
        name: "columns",
        summary: "any text with a request per line: option columns says what each column means",
        source: "the user",
        record: "as option columns says",
        extensions: &[],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "device", offset: "offset", length: "size" };
    const CLOCK: Clock = Clock::Date;

    fn new(options: &TraceOptions) -> Self {
        let columns = options.columns.clone().unwrap_or_default().columns;
        Self { columns, header_lines: options.header_lines, separator: None, numbered: false }
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        if self.header_lines > 0 {
            self.header_lines -= 1;
            return Ok(None);
        }
        let separator = match self.separator {
            Some(separator) => separator,
            None => self.find_separator(line)?,
        };
        let rest = &mut &*line;
        let mut record = Record { time_ns: 0, device: 0, offset: 0, length: 0, op: Op::Read };
        let mut skipped = false;
        for column in &self.columns {
            let given = if separator == BLANK { blank_field(rest) } else { field(rest, separator) };
            match column {
                Column::Time(unit) => record.time_ns = decimal(given, *unit, "time")?,
                Column::Offset(unit) => record.offset = units(given, *unit, "offset")?,
                Column::Size(unit) => record.length = units(given, *unit, "size")?,
                Column::Op(words) if words.is_empty() => {
                    self.numbered |= matches!(given, b"0" | b"1");
                    record.op = usual_word(given)?;
                }
                Column::Op(words) => match own_word(words, given)? {
                    Some(op) => record.op = op,
                    None => skipped = true,
                },
                Column::Device if given.is_empty() => {
                    return Err(Fault::unexpected("device", given, "the name of a device"));
                }
                Column::Device => record.device = devices.number(given),
                Column::Skip => {}
            }
        }
        Ok((!skipped).then_some(record))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.numbered {
            remarks.push(
                "op 1 was taken for a read and 0 for a write (op:0=read/1=write says otherwise)".to_owned(),
            );
        }
        if !self.columns.iter().any(|column| matches!(column, Column::Time(_))) {
            remarks.push("no column is a time: all requests arrive at the start".to_owned());
        }
        remarks
    }
}

impl ColumnReader {
    #[cold]
    fn find_separator(&mut self, line: &[u8]) -> Result<u8, Fault> {
        let columns = self.columns.len();
        let fits = |&separator: &u8| line.iter().filter(|&&b| b == separator).count() + 1 >= columns.max(2);
        let blanks = || {
            let mut rest = line;
            columns > 0 && (0..columns).all(|_| !blank_field(&mut rest).is_empty())
        };
        let found = [b',', b';', b'\t']
            .into_iter()
            .filter(|_| columns > 0)
            .find(fits)
            .or_else(|| blanks().then_some(BLANK));
        self.separator = found;
        found.ok_or_else(|| {
            let expected = format!("{columns} columns between commas, semicolons, tabs or blanks");
            Fault::unexpected("line", line, &expected)
        })
    }
}

#[inline]
fn usual_word(given: &[u8]) -> Result<Op, Fault> {
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
        _ => WORDS
            .iter()
            .find(|(word, _)| given.eq_ignore_ascii_case(word.as_bytes()))
            .map(|&(_, op)| op)
            .ok_or_else(|| {
                Fault::unexpected(
                    "op",
                    given,
                    "an operation (R, W, read, write, trim, flush, 1, 0; op:word=read says otherwise)",
                )
            }),
    }
}

#[inline]
fn own_word(words: &[(String, Option<Op>)], given: &[u8]) -> Result<Option<Op>, Fault> {
    words.iter().find(|(word, _)| word.as_bytes() == given).map(|&(_, op)| op).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(word, _)| word.as_str()).collect();
        Fault::unexpected("op", given, &format!("an operation{}", hint(&show(given), &known)))
    })
}
