//! Files of tables: coflash's own, fast to read, and those of any table library.
//!
//! | column    | type   |                                                          |
//! |-----------|--------|----------------------------------------------------------|
//! | time_ns   | uint64 | ns since the start, never less than in the last row      |
//! | op        | uint8  | 0 read, 1 write, 2 trim, 3 flush                         |
//! | offset    | uint64 | bytes                                                    |
//! | length    | uint64 | bytes; 0 for a flush                                     |
//! | placement | uint8  | the placement hint, 0 to 254; null for a request without |
//!
//! The metadata of the file contain the version of coflash (`coflash.version`) and of this layout (`coflash.trace`), and the
//! remarks on the original trace (`coflash.remarks`). Files of other writers with these columns are read as quickly: their
//! numbers may be of any width and signed, and nullable if no value is null; `placement` may be missing, further columns are
//! ignored. A file with other names or types is read as a text with a header would be.

use super::columns::UserColumns;
use super::judge::judge;
use super::tables;
use crate::block_reader::{BLOCK_BYTES, BlockReader};
use crate::devices::Devices;
use crate::input::SeekableFile;
use crate::notation::AUTO;
use crate::reader::{ReadError, Reader, Records, RequestReader, TimeBase};
use crate::record::{Clock, Conventions, FieldError, Record};
use crate::table_files::{self, NextPart, Numbers, Part, TableFile};
use crate::text::{SAMPLE_BYTES, Text, TextFormat};
use coflash_base::PlacementId;
use coflash_workload::recorded::TraceOptions;
use coflash_workload::{Op, WorkloadError};
use std::io::{self, Cursor, Read};
use std::sync::atomic::Ordering;

/// The key of the layout.
pub(crate) const LAYOUT_KEY: &str = "coflash.trace";
/// This layout.
pub(crate) const LAYOUT_VERSION: &str = "1";
/// The key of the meaning of the numbers of operations.
pub(crate) const OPS_KEY: &str = "coflash.ops";

const CONVENTIONS: Conventions = Conventions::new(Clock::Start, FIELDS);
const FIELDS: [&str; 4] = ["time_ns", "device", "offset", "length"];

const OPS: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];

/// The number of an operation.
pub(crate) fn op_code(op: Op) -> u64 {
    OPS.iter().position(|(known, _)| *known == op).map_or(0, |code| code as u64)
}

/// The meaning of the numbers of operations.
pub(crate) fn ops() -> String {
    let ops: Vec<_> = OPS.iter().enumerate().map(|(code, (_, name))| format!("{code} {name}")).collect();
    ops.join(", ")
}

/// Read `file`; `name` is its name in messages.
pub(super) fn open(
    name: &str,
    file: SeekableFile,
    options: &TraceOptions,
    times: TimeBase,
) -> Result<Box<dyn RequestReader>, WorkloadError> {
    let refused = |problem| WorkloadError::trace(name, problem);
    let opened = table_files::files().and_then(|files| files.open(&file.path, options.columns.is_some()));
    let TableFile { remarks, is_text, next } = opened.map_err(refused)?;
    let next = counted(file, next);
    if !is_text {
        let rows = Rows { next, columns: Vec::new(), row: 0, number: 0, remarks };
        return Ok(Box::new(Reader::new(name, rows, CONVENTIONS, options, times)));
    }
    let mut input = BlockReader::new(Box::new(Lines { next, part: Cursor::default() }), BLOCK_BYTES);
    input.count_rows();
    let sample = input.peek_lines(SAMPLE_BYTES).map_err(|error| refused(error.to_string()))?;
    let found = judge(sample, None);
    if options.columns.is_none() && !found.as_ref().is_ok_and(|found| found.is_certain) {
        let given = String::from_utf8_lossy(sample.split(|&byte| byte == b'\n').next().unwrap_or_default());
        let problem = format!(
            "its columns ({}) are not {}; {}",
            given.replace('\t', ", "),
            tables::table("parquet").info.record,
            UserColumns::proposal(&found, sample)
        );
        return Err(refused(problem));
    }
    let named = options.columns.as_ref().is_some_and(|columns| columns != AUTO);
    let options = TraceOptions { header_lines: u64::from(named), ..options.clone() };
    let text = Text::open(name, input, UserColumns::new(&options))?;
    let is_own = found.is_ok_and(|found| found.is_own);
    let conventions = if is_own { CONVENTIONS } else { text.parser.conventions() };
    Ok(Box::new(Reader::new(name, text, conventions, &options, times)))
}

/// Count the bytes of the file that are read.
fn counted(file: SeekableFile, mut next: Box<NextPart>) -> Box<NextPart> {
    let mut before = 0;
    Box::new(move || {
        let part = next();
        let now = match &part {
            Some(Ok((bytes, _))) => *bytes,
            Some(Err(_)) => before,
            None => file.bytes,
        };
        file.consumed_bytes.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        before = before.max(now);
        part
    })
}

/// The rows of a file in coflash's own layout.
struct Rows {
    next: Box<NextPart>,
    /// The columns of the present part.
    columns: Vec<Numbers>,
    /// The next row among them.
    row: usize,
    number: u64,
    remarks: Vec<String>,
}

impl Numbers {
    /// The number of a row; an error of its field if it is missing or negative.
    #[inline]
    fn at(&self, field: &'static str, row: usize) -> Result<u64, ReadError> {
        let value = self.values[row];
        if self.is_missing(row) {
            let problem = "null, expected a number in every row".to_owned();
            return Err(ReadError::Lost(FieldError { field, problem }));
        }
        if self.are_signed && (value as i64) < 0 {
            return Err(FieldError::number(field, value as i64, "a number from 0").into());
        }
        Ok(value)
    }

    #[inline]
    fn is_missing(&self, row: usize) -> bool {
        self.present.as_ref().is_some_and(|present| !present[row])
    }
}

/// The placement hint of a row.
fn hint(numbers: &Numbers, row: usize) -> Result<Option<PlacementId>, ReadError> {
    if numbers.is_missing(row) {
        return Ok(None);
    }
    let value = numbers.values[row];
    let known = PlacementId::new(value);
    let refused = || {
        let expected = "a placement identifier (0 to 254; null is none)";
        if numbers.are_signed {
            FieldError::number("placement", value as i64, expected)
        } else {
            FieldError::number("placement", value, expected)
        }
    };
    known.map(Some).ok_or_else(|| refused().into())
}

impl Records for Rows {
    #[inline]
    fn next(&mut self, _: &mut Devices) -> Result<Option<Record>, ReadError> {
        while self.columns.first().is_none_or(|column| self.row == column.values.len()) {
            match (self.next)() {
                None => return Ok(None),
                Some(Ok((_, Part::Rows(columns)))) => (self.columns, self.row) = (columns, 0),
                Some(Ok((_, Part::Text(_)))) => unreachable!("its parts are rows"),
                Some(Err(problem)) => return Err(ReadError::Input(problem)),
            }
        }
        let row = self.row;
        self.row += 1;
        self.number += 1;
        let [time_ns, op, offset, length, hints @ ..] = &self.columns[..] else {
            unreachable!("these columns are there")
        };
        let code = op.at("op", row)?;
        let known = usize::try_from(code).ok().and_then(|code| OPS.get(code));
        let unknown = || FieldError::number("op", code, &format!("an operation ({})", ops()));
        let &(op, _) = known.ok_or_else(unknown)?;
        Ok(Some(Record {
            time_ns: time_ns.at("time_ns", row)?,
            device: 0,
            offset: offset.at("offset", row)?,
            length: length.at("length", row)?,
            op,
            placement: hints.first().map_or(Ok(None), |hints| hint(hints, row))?,
        }))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }
}

/// The lines of a file in another layout, separated by tabs.
struct Lines {
    next: Box<NextPart>,
    part: Cursor<Vec<u8>>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.position() == self.part.get_ref().len() as u64 {
            match (self.next)() {
                None => return Ok(0),
                Some(Ok((_, Part::Text(text)))) => self.part = Cursor::new(text),
                Some(Ok((_, Part::Rows(_)))) => unreachable!("its parts are text"),
                Some(Err(problem)) => return Err(io::Error::other(problem)),
            }
        }
        self.part.read(buffer)
    }
}
