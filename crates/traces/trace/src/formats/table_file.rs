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

use super::columns::{UserColumns, check_names};
use super::judge::judge;
use super::{COLUMNS, by_name};
use crate::Result;
use crate::block_reader::{BLOCK_BYTES, BlockReader};
use crate::devices::Devices;
use crate::fields::split;
use crate::input::SeekableFile;
use crate::notation::Columns;
use crate::reader::{Opening, ReadError, Reader, Records, RequestReader};
use crate::record::{FieldError, Record};
use crate::table_files::{self, NextPart, Numbers, Part, TableFile};
use crate::text::{self, SAMPLE_BYTES, TextFormat};
use coflash_base::PlacementId;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;
use std::io::{self, Cursor, Read};
use std::sync::atomic::Ordering;

/// The key of the layout.
pub(crate) const LAYOUT_KEY: &str = "coflash.trace";
/// This layout.
pub(crate) const LAYOUT_VERSION: &str = "1";
/// The key of the meaning of the numbers of operations.
pub(crate) const OPS_KEY: &str = "coflash.ops";

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

/// Read `file`.
pub(super) fn open(file: SeekableFile, opening: &Opening<'_>) -> Result<Box<dyn RequestReader>> {
    let options = opening.options;
    let opened = table_files::files().and_then(|files| files.open(&file.path, options.columns.is_some()));
    let TableFile { remarks, is_text, next } = opened.map_err(|problem| opening.refused(problem))?;
    let next = counted(file, next);
    if !is_text {
        let rows = Rows { next, columns: Vec::new(), row: 0, number: 0, remarks };
        return Ok(Box::new(Reader::new(rows, opening)));
    }
    let mut input = BlockReader::new(Box::new(Lines { next, part: Cursor::default() }), BLOCK_BYTES);
    input.count_rows();
    let sample = input.peek_lines(SAMPLE_BYTES).map_err(|error| opening.refused(error))?;
    let found = judge(sample, None);
    if options.columns.is_none() && !found.as_ref().is_ok_and(|found| found.is_certain) {
        let given = String::from_utf8_lossy(sample.split(|&byte| byte == b'\n').next().unwrap_or_default());
        let problem = format!(
            "its columns ({}) are not {}; {}",
            given.replace('\t', ", "),
            by_name("parquet")?.info.record,
            UserColumns::proposal(&found, sample)
        );
        return Err(opening.refused(problem));
    }
    let given: Columns = options.columns.as_ref().and_then(|given| given.parse().ok()).unwrap_or_default();
    if options.header_lines == 0 {
        let names = sample.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let checked = check_names(&split(names, b'\t', None), given.columns().iter());
        checked.map_err(|error| error.within(opening.name, 0))?;
    }
    let options = TraceOptions { header_lines: 1, ..options.clone() };
    let is_own = found.is_ok_and(|found| found.is_own);
    let conventions = if is_own { opening.conventions } else { by_name(COLUMNS)?.conventions };
    let opening = Opening { conventions, options: &options, ..*opening };
    text::open(input, UserColumns::new(&options), &opening)
}

/// Gives the next part of a file; `None` at its end.
type Parts = dyn FnMut() -> Result<Option<Part>, String> + Send;

/// Count the bytes of the file that are read.
fn counted(file: SeekableFile, mut next: Box<NextPart>) -> Box<Parts> {
    let mut before = 0;
    Box::new(move || {
        let part = next().transpose()?;
        let now = part.as_ref().map_or(file.bytes, |(bytes, _)| *bytes);
        file.consumed_bytes.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        before = before.max(now);
        Ok(part.map(|(_, part)| part))
    })
}

/// The rows of a file in coflash's own layout.
struct Rows {
    next: Box<Parts>,
    /// The columns of the present part.
    columns: Vec<Numbers>,
    /// The next row among them.
    row: usize,
    number: u64,
    remarks: Vec<String>,
}

impl Numbers {
    /// The number of a row, a negative one by its bits; `None` if it is missing.
    #[inline]
    fn at(&self, row: usize) -> Option<u64> {
        self.present.as_ref().is_none_or(|present| present[row]).then(|| self.values[row])
    }

    /// The number of a row; an error of its field if it is missing or negative.
    #[inline]
    fn whole(&self, field: &'static str, row: usize) -> Result<u64, ReadError> {
        let Some(value) = self.at(row) else {
            let problem = "null, expected a number in every row".to_owned();
            return Err(ReadError::Lost(FieldError { field, problem }));
        };
        if self.are_signed && (value as i64) < 0 {
            return Err(FieldError::number(field, value as i64, "a number from 0").into());
        }
        Ok(value)
    }

    /// The placement hint of a row.
    fn hint(&self, row: usize) -> Result<Option<PlacementId>, ReadError> {
        let Some(_) = self.at(row) else { return Ok(None) };
        let number = self.whole("placement", row)?;
        let expected = "a placement identifier (0 to 254; null is none)";
        let refused = || FieldError::number("placement", number, expected).into();
        PlacementId::new(number).map(Some).ok_or_else(refused)
    }
}

impl Records for Rows {
    #[inline]
    fn next(&mut self, _: &mut Devices) -> Result<Option<Record>, ReadError> {
        while self.columns.first().is_none_or(|column| self.row == column.values.len()) {
            match (self.next)() {
                Ok(None) => return Ok(None),
                Ok(Some(Part::Rows(columns))) => (self.columns, self.row) = (columns, 0),
                Ok(Some(Part::Text(_))) => unreachable!("its parts are rows"),
                Err(problem) => return Err(ReadError::Input(problem)),
            }
        }
        let row = self.row;
        self.row += 1;
        self.number += 1;
        let [time_ns, op, offset, length, hints @ ..] = &self.columns[..] else {
            unreachable!("these columns are there")
        };
        let code = op.whole("op", row)?;
        let known = usize::try_from(code).ok().and_then(|code| OPS.get(code));
        let unknown = || FieldError::number("op", code, &format!("an operation ({})", ops()));
        let &(op, _) = known.ok_or_else(unknown)?;
        Ok(Some(Record {
            time_ns: time_ns.whole("time_ns", row)?,
            device: 0,
            offset: offset.whole("offset", row)?,
            length: length.whole("length", row)?,
            op,
            placement: hints.first().map_or(Ok(None), |hints| hints.hint(row))?,
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
    next: Box<Parts>,
    part: Cursor<Vec<u8>>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.position() == self.part.get_ref().len() as u64 {
            match (self.next)() {
                Ok(None) => return Ok(0),
                Ok(Some(Part::Text(text))) => self.part = Cursor::new(text),
                Ok(Some(Part::Rows(_))) => unreachable!("its parts are text"),
                Err(problem) => return Err(io::Error::other(problem)),
            }
        }
        self.part.read(buffer)
    }
}
