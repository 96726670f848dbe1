//! coflash's own format: a Parquet file, fast to read, and supported by all table libraries.
//!
//! | column    | type   | encoding            |                                                          |
//! |-----------|--------|---------------------|----------------------------------------------------------|
//! | time_ns   | uint64 | DELTA_BINARY_PACKED | ns since the start, never less than in the last row      |
//! | op        | uint8  | dictionary          | 0 read, 1 write, 2 trim, 3 flush                         |
//! | offset    | uint64 | plain               | bytes                                                    |
//! | length    | uint64 | dictionary          | bytes; 0 for a flush                                     |
//! | placement | uint8  | dictionary          | the placement hint, 0 to 254; null for a request without |
//!
//! All are compressed by zstd. The metadata of the file contain the version of coflash (`coflash.version`) and of this
//! layout (`coflash.trace`), and the remarks on the original trace (`coflash.remarks`). Files of other writers with these
//! columns are read as quickly: they may be signed, and nullable if no value is null; `placement` may be missing, further
//! columns are ignored. A file with other names or types is read as a text with a header would be.

use super::columns::UserColumns;
use super::parquet_text::{Lines, damaged};
use super::sniff::sniff;
use crate::block_reader::{BLOCK_BYTES, BlockReader};
use crate::catch_panics::catch_panics;
use crate::devices::Devices;
use crate::input::{CountedFile, FileCursor};
use crate::notation::AUTO;
use crate::reader::{ReadError, Reader, Records, RequestReader, TimeBase};
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::table::is_signed;
use crate::text::{SAMPLE_BYTES, Text, TextFormat};
use coflash_base::PlacementId;
use coflash_workload::recorded::TraceOptions;
use coflash_workload::{BATCH_REQUESTS, Op, WorkloadError};
use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader as _, Length, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::statistics::Statistics;

/// The columns of a written file.
pub(crate) const SCHEMA: &str = "message trace {
    required int64 time_ns (INTEGER(64, false));
    required int32 op (INTEGER(8, false));
    required int64 offset (INTEGER(64, false));
    required int64 length (INTEGER(64, false));
    optional int32 placement (INTEGER(8, false));
}";

/// The key of the layout.
pub(crate) const LAYOUT_KEY: &str = "coflash.trace";
/// This layout.
pub(crate) const LAYOUT_VERSION: &str = "1";
/// The key of the remarks on the original trace, a line each.
pub(crate) const REMARKS_KEY: &str = "coflash.remarks";
/// The key of the meaning of the numbers of operations.
pub(crate) const OPS_KEY: &str = "coflash.ops";

pub(crate) const INFO: FormatInfo = FormatInfo {
    name: "parquet",
    summary: "coflash's own Parquet files, the quickest to read; `coflash trace convert` writes them",
    source: "coflash",
    record: "columns time_ns, op, offset, length, optionally placement",
    extensions: &["parquet"],
    options: &["columns", "device_stride"],
};

const CONVENTIONS: Conventions = Conventions::new(Clock::Start, ["time_ns", "device", "offset", "length"]);

const OPS: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];

/// The number of an operation.
pub(crate) fn op_code(op: Op) -> u64 {
    OPS.iter().position(|(known, _)| *known == op).map_or(0, |code| code as u64)
}

/// The operation of a number.
#[inline]
fn op_of(code: u64) -> Result<Op, FieldError> {
    let known = usize::try_from(code).ok().and_then(|code| OPS.get(code));
    known.map(|&(op, _)| op).ok_or_else(|| unknown_op(code))
}

#[cold]
fn unknown_op(code: impl std::fmt::Display) -> FieldError {
    FieldError::number("op", code, &format!("an operation ({})", ops()))
}

/// The placement hint of a number.
fn hint(number: i32) -> Result<PlacementId, FieldError> {
    let known = u64::try_from(number).ok().and_then(PlacementId::new);
    known.ok_or_else(|| {
        FieldError::number("placement", number, "a placement identifier (0 to 254; null is none)")
    })
}

/// The meaning of the numbers of operations.
pub(crate) fn ops() -> String {
    let ops: Vec<_> = OPS.iter().enumerate().map(|(code, (_, name))| format!("{code} {name}")).collect();
    ops.join(", ")
}

/// Whether a file that begins with `ahead` is a Parquet file.
pub(super) fn recognises(ahead: &[u8]) -> bool {
    ahead.starts_with(b"PAR1")
}

/// Read `file`; `name` is its name in messages.
pub(super) fn open(
    name: &str,
    file: CountedFile,
    options: &TraceOptions,
    times: TimeBase,
) -> Result<Box<dyn RequestReader>, WorkloadError> {
    let refused = |problem| WorkloadError::trace(name, problem);
    let opened = guarded(|| Ok(SerializedFileReader::new(file)?));
    let file = opened.map_err(|trouble| match trouble {
        ReadError::Input(problem) | ReadError::Ended(problem) => refused(problem),
        ReadError::Record(fault) | ReadError::Lost(fault) => refused(fault.problem),
    })?;
    if options.columns.is_none()
        && let Some(columns) = Columns::of(&file)
    {
        let rows = Rows::open(file, columns).map_err(refused)?;
        return Ok(Box::new(Reader::new(name, rows, CONVENTIONS, options, times)));
    }
    let mut input = BlockReader::new(Box::new(Lines::new(file)), BLOCK_BYTES);
    input.count_rows();
    let sample = input.peek_lines(SAMPLE_BYTES).map_err(|error| refused(error.to_string()))?;
    let found = sniff(sample, None);
    if options.columns.is_none() && !found.as_ref().is_some_and(|found| found.is_certain) {
        let given = String::from_utf8_lossy(sample.split(|&byte| byte == b'\n').next().unwrap_or_default());
        let problem = format!(
            "its columns ({}) are not {}; {}",
            given.replace('\t', ", "),
            INFO.record,
            UserColumns::proposal(found.as_ref(), sample)
        );
        return Err(refused(problem));
    }
    let named = options.columns.as_ref().is_some_and(|columns| columns != AUTO);
    let options = TraceOptions { header_lines: u64::from(named), ..options.clone() };
    let text = Text::open(name, input, UserColumns::new(&options))?;
    let is_own = found.is_some_and(|found| found.is_own);
    let conventions = if is_own { CONVENTIONS } else { text.parser.conventions() };
    Ok(Box::new(Reader::new(name, text, conventions, &options, times)))
}

/// The rows of a file.
struct Rows {
    file: SerializedFileReader<CountedFile>,
    columns: Columns,
    next_group: usize,
    group: Option<Group>,
    /// The next row among the decoded ones.
    next: usize,
    number: u64,
    /// The remarks in the file.
    remarks: Vec<String>,
}

/// The columns of coflash's own layout.
#[derive(Clone, Copy)]
struct Columns {
    time_ns: ColumnInfo,
    op: ColumnInfo,
    offset: ColumnInfo,
    length: ColumnInfo,
    placement: Option<ColumnInfo>,
}

/// A column of the file.
#[derive(Clone, Copy)]
struct ColumnInfo {
    name: &'static str,
    index: usize,
    is_signed: bool,
    is_nullable: bool,
}

/// The row group being read.
struct Group {
    time_ns: Column<Int64Type>,
    op: Column<Int32Type>,
    offset: Column<Int64Type>,
    length: Column<Int64Type>,
    /// `None` if no row has a hint.
    placement: Option<Column<Int32Type>>,
}

/// A column of a row group, decoded a batch at a time.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    info: ColumnInfo,
    values: Vec<T::T>,
    /// Whether each row has a value, for a nullable column.
    levels: Vec<i16>,
}

/// Decode and catch panics: the library was written for valid files.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    catch_panics(decode).unwrap_or_else(|panic| Err(ReadError::Input(damaged(&panic))))
}

impl From<ParquetError> for ReadError {
    fn from(error: ParquetError) -> Self {
        Self::Input(damaged(&error))
    }
}

impl Columns {
    /// Find the columns; `None` if one is missing or of another type.
    fn of(file: &SerializedFileReader<CountedFile>) -> Option<Self> {
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let is_there = |name: &str| columns.iter().any(|column| column.path().parts() == [name]);
        let column = |name: &'static str, expected: Type| {
            let index = columns.iter().position(|column| column.path().parts() == [name])?;
            let column = &columns[index];
            let plain = matches!(column.converted_type(), ConvertedType::NONE)
                || column.converted_type().to_string().contains("INT");
            (column.physical_type() == expected && column.max_rep_level() == 0 && plain).then(|| ColumnInfo {
                name,
                index,
                is_signed: is_signed(column),
                is_nullable: column.max_def_level() > 0,
            })
        };
        let placement = column("placement", Type::INT32);
        (placement.is_some() || !is_there("placement")).then_some(())?;
        Some(Self {
            time_ns: column("time_ns", Type::INT64)?,
            op: column("op", Type::INT32)?,
            offset: column("offset", Type::INT64)?,
            length: column("length", Type::INT64)?,
            placement,
        })
    }
}

impl Rows {
    fn open(file: SerializedFileReader<CountedFile>, columns: Columns) -> Result<Self, String> {
        let about = file.metadata().file_metadata();
        let about_key = |key: &str| {
            let pair = about.key_value_metadata().into_iter().flatten().find(|pair| pair.key == key);
            pair.and_then(|pair| pair.value.as_deref())
        };
        if let Some(given) = about_key(LAYOUT_KEY).filter(|given| *given != LAYOUT_VERSION) {
            return Err(format!(
                "its layout is version {given}, this coflash reads version {LAYOUT_VERSION}"
            ));
        }
        let remarks = about_key(REMARKS_KEY).into_iter().flat_map(str::lines).map(str::to_owned).collect();
        Ok(Self { columns, file, next_group: 0, group: None, next: 0, number: 0, remarks })
    }

    /// Decode the next rows; returns false at the end.
    fn decode(&mut self) -> Result<bool, ReadError> {
        loop {
            if let Some(group) = &mut self.group {
                match guarded(|| group.decode()) {
                    Ok(0) => self.group = None,
                    Ok(_) => {
                        self.next = 0;
                        return Ok(true);
                    }
                    Err(trouble) => {
                        self.number += group.rows_before_null();
                        return Err(trouble);
                    }
                }
            }
            if self.next_group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = guarded(|| {
                let group = self.file.get_row_group(self.next_group)?;
                let hints = self.columns.placement.filter(|info| has_values(group.as_ref(), *info));
                Ok(Group {
                    time_ns: Column::new(group.as_ref(), self.columns.time_ns)?,
                    op: Column::new(group.as_ref(), self.columns.op)?,
                    offset: Column::new(group.as_ref(), self.columns.offset)?,
                    length: Column::new(group.as_ref(), self.columns.length)?,
                    placement: hints.map(|info| Column::new(group.as_ref(), info)).transpose()?,
                })
            })?;
            self.group = Some(group);
            self.next_group += 1;
        }
    }
}

/// Whether a column may have values in a row group: what it says of itself spares decoding one that is all null.
fn has_values(group: &dyn RowGroupReader, info: ColumnInfo) -> bool {
    let nulls = group.metadata().column(info.index).statistics().and_then(Statistics::null_count_opt);
    nulls.is_none_or(|nulls| nulls as i64 != group.metadata().num_rows())
}

impl Group {
    fn decode(&mut self) -> Result<usize, ReadError> {
        let rows = self.time_ns.decode()?;
        let hints = self.placement.as_mut().map_or(Ok(rows), Column::decode_optional)?;
        for other in [self.op.decode()?, self.offset.decode()?, self.length.decode()?, hints] {
            if other != rows {
                return Err(ReadError::Input(damaged(&"its columns are not of the same length")));
            }
        }
        Ok(rows)
    }

    /// The number of the first row without a value, among those decoded.
    fn rows_before_null(&self) -> u64 {
        let columns = [&self.time_ns.levels, &self.op.levels, &self.offset.levels, &self.length.levels];
        let nulls = columns.into_iter().filter_map(|levels| levels.iter().position(|&level| level == 0));
        nulls.min().map_or(0, |row| row as u64 + 1)
    }
}

impl<T: DataType> Column<T> {
    fn new(group: &dyn RowGroupReader, info: ColumnInfo) -> Result<Self, ReadError> {
        let reader = get_typed_column_reader(group.get_column_reader(info.index)?);
        Ok(Self { reader, info, values: Vec::new(), levels: Vec::new() })
    }

    /// Decode the next rows, which must have values, and return their number.
    fn decode(&mut self) -> Result<usize, ReadError> {
        let rows = self.read()?;
        if self.values.len() < rows {
            let problem = "null, expected a number in every row".to_owned();
            return Err(ReadError::Lost(FieldError { field: self.info.name, problem }));
        }
        Ok(rows)
    }

    /// Decode the next rows and return their number; a row without a value gets any value.
    fn decode_optional(&mut self) -> Result<usize, ReadError> {
        let rows = self.read()?;
        let mut next = self.values.len();
        if next < rows {
            self.values.resize(rows, T::T::default());
            for row in (0..rows).rev().filter(|&row| self.levels[row] > 0) {
                next -= 1;
                self.values.swap(row, next);
            }
        }
        Ok(rows)
    }

    /// Read the next rows: the values that there are, and the levels of all rows.
    fn read(&mut self) -> Result<usize, ReadError> {
        self.values.clear();
        self.levels.clear();
        let levels = self.info.is_nullable.then_some(&mut self.levels);
        let (rows, ..) = self.reader.read_records(BATCH_REQUESTS, levels, None, &mut self.values)?;
        Ok(rows)
    }
}

impl ColumnInfo {
    /// Convert a value of the column to its number.
    #[inline]
    fn value(&self, value: i64) -> Result<u64, FieldError> {
        if value < 0 && self.is_signed {
            return Err(FieldError::number(self.name, value, "a number from 0"));
        }
        Ok(value as u64)
    }
}

impl Records for Rows {
    #[inline]
    fn next(&mut self, _: &mut Devices) -> Result<Option<Record>, ReadError> {
        let is_read = self.group.as_ref().is_none_or(|group| self.next >= group.op.values.len());
        if is_read && !self.decode()? {
            return Ok(None);
        }
        let Some(group) = &self.group else { return Ok(None) };
        let row = self.next;
        self.next += 1;
        self.number += 1;
        let op = group.op.values[row];
        let op = u64::try_from(op).map_err(|_| unknown_op(op)).and_then(op_of)?;
        let placement = match &group.placement {
            Some(hints) if hints.levels.get(row) != Some(&0) => Some(hint(hints.values[row])?),
            _ => None,
        };
        Ok(Some(Record {
            time_ns: self.columns.time_ns.value(group.time_ns.values[row])?,
            device: 0,
            offset: self.columns.offset.value(group.offset.values[row])?,
            length: self.columns.length.value(group.length.values[row])?,
            op,
            placement,
        }))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }
}

impl Length for CountedFile {
    fn len(&self) -> u64 {
        self.bytes()
    }
}

impl ChunkReader for CountedFile {
    type T = std::io::BufReader<FileCursor>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        // This reads the head of a page.
        Ok(std::io::BufReader::with_capacity(512, self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes, ParquetError> {
        use std::io::Read;
        let mut bytes = Vec::new();
        // Grows during the read: a damaged length must not allocate memory.
        self.from(start).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not there")));
        }
        Ok(bytes.into())
    }
}
