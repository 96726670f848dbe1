//! coflash's own format: a Parquet file, quick to read, and at home in every table library.
//!
//! | column  | type   | encoding            |                                                     |
//! |---------|--------|---------------------|-----------------------------------------------------|
//! | time_ns | uint64 | DELTA_BINARY_PACKED | ns since the start, never less than the row before  |
//! | op      | uint8  | dictionary          | 0 read, 1 write, 2 trim, 3 flush                    |
//! | offset  | uint64 | plain               | bytes                                               |
//! | length  | uint64 | dictionary          | bytes; of a flush zero                              |
//!
//! All compressed by zstd. The file's metadata has the version of coflash (`coflash.version`) and of this layout
//! (`coflash.trace`), and what was remarked on the trace it was made from (`coflash.remarks`). Files that others write are read as well: the columns are found by name, may be signed and may be
//! nullable as long as nothing is null, and further columns are passed over.

use super::reader::{Reader, Records, Trouble};
use super::{Clock, Devices, Fault, FieldNames, FileReader, FormatInfo, Record, Standing};
use crate::caught::caught;
use crate::place::{CountedFile, unusable};
use crate::request::{BATCH_REQUESTS, Op, WorkloadError};
use crate::trace::TraceOptions;
use parquet::basic::{LogicalType, Type};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader as _, Length, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;

/// The columns of a file that is written.
pub(crate) const SCHEMA: &str = "message trace {
    required int64 time_ns (INTEGER(64, false));
    required int32 op (INTEGER(8, false));
    required int64 offset (INTEGER(64, false));
    required int64 length (INTEGER(64, false));
}";

/// The key under which a file says which coflash wrote it.
pub(crate) const VERSION_KEY: &str = "coflash.version";
/// The key under which it says which layout it has.
pub(crate) const LAYOUT_KEY: &str = "coflash.trace";
/// This layout.
pub(crate) const LAYOUT_VERSION: &str = "1";
/// The key under which it hands on what had to be remarked on where it comes from, a line each.
pub(crate) const REMARKS_KEY: &str = "coflash.remarks";
/// The key under which it says what the numbers of operations mean.
pub(crate) const OPS_KEY: &str = "coflash.ops";

pub(crate) const INFO: FormatInfo = FormatInfo {
    name: "parquet",
    summary: "coflash's own Parquet files, the quickest to read; `coflash trace convert` writes them",
    source: "coflash",
    record: "columns time_ns, op, offset, length",
    extensions: &["parquet"],
};

const OPS: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];

/// The number of an operation.
pub(crate) fn op_code(op: Op) -> i32 {
    OPS.iter().position(|(known, _)| *known == op).map_or(0, |code| code as i32)
}

/// The operation of a number.
#[inline]
pub(super) fn op_of(code: u64) -> Result<Op, Fault> {
    let known = usize::try_from(code).ok().and_then(|code| OPS.get(code));
    known.map(|&(op, _)| op).ok_or_else(|| unknown_op(code))
}

#[cold]
fn unknown_op(code: impl std::fmt::Display) -> Fault {
    Fault::number("op", code, &format!("an operation ({})", ops()))
}

/// What the numbers of operations mean.
pub(crate) fn ops() -> String {
    let ops: Vec<_> = OPS.iter().enumerate().map(|(code, (_, name))| format!("{code} {name}")).collect();
    ops.join(", ")
}

/// Whether a file that begins with `ahead` is a Parquet file.
pub(super) fn recognises(ahead: &[u8]) -> bool {
    ahead.starts_with(b"PAR1")
}

/// Reads `file`, which messages call `name`.
pub(super) fn open(
    name: &str,
    file: CountedFile,
    options: &TraceOptions,
    standing: Standing,
) -> Result<Box<dyn FileReader>, WorkloadError> {
    let rows = Rows::open(file).map_err(|problem| unusable(name, problem))?;
    Ok(Box::new(Reader::new(name, rows, options, standing)))
}

/// The rows of a file.
struct Rows {
    file: SerializedFileReader<CountedFile>,
    /// Where the columns are in the file.
    time_ns: Place,
    op: Place,
    offset: Place,
    length: Place,
    next_group: usize,
    group: Option<Group>,
    /// The row behind the last one handed out, among those decoded.
    next: usize,
    number: u64,
    /// Those that came with the file.
    remarks: Vec<String>,
}

/// A column in its file.
#[derive(Clone, Copy)]
struct Place {
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
}

/// A column of a row group, decoded a batch at a time.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    place: Place,
    values: Vec<T::T>,
    /// Whether each row has a value, where it may have none.
    levels: Vec<i16>,
}

/// Runs what decodes: the library was written for sound files, and may panic at others.
fn guarded<T>(decode: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    caught(decode).unwrap_or_else(|panic| Err(Trouble::Input(damaged(&panic))))
}

fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("the Parquet data is damaged: {error}")
}

impl From<ParquetError> for Trouble {
    fn from(error: ParquetError) -> Self {
        Self::Input(damaged(&error))
    }
}

impl Rows {
    fn open(file: CountedFile) -> Result<Self, String> {
        let opened = guarded(|| Ok(SerializedFileReader::new(file)?));
        let file = opened.map_err(|trouble| match trouble {
            Trouble::Input(problem) => problem,
            Trouble::Record(fault) | Trouble::Lost(fault) => fault.problem,
        })?;
        let about = file.metadata().file_metadata();
        let about_key = |key: &str| {
            let pair = about.key_value_metadata().into_iter().flatten().find(|pair| pair.key == key);
            pair.and_then(|pair| pair.value.as_deref())
        };
        if let Some(given) = about_key(LAYOUT_KEY)
            && given != LAYOUT_VERSION
        {
            return Err(format!(
                "its layout is version {given}, this coflash reads version {LAYOUT_VERSION}"
            ));
        }
        let remarks = about_key(REMARKS_KEY).into_iter().flat_map(str::lines).map(str::to_owned).collect();
        let columns = about.schema_descr().columns();
        let place = |name: &'static str, expected: Type| {
            let found = columns.iter().enumerate().find(|(_, column)| column.path().parts() == [name]);
            let (index, column) = found.ok_or_else(|| {
                let given: Vec<_> = columns.iter().take(16).map(|c| c.path().string()).collect();
                format!("no column \"{name}\" (given: {}; expected: {})", given.join(", "), INFO.record)
            })?;
            if column.physical_type() != expected || column.max_rep_level() > 0 {
                let given = column.physical_type();
                return Err(format!("column \"{name}\" is of type {given}, {expected} expected"));
            }
            Ok(Place { name, index, is_signed: is_signed(column), is_nullable: column.max_def_level() > 0 })
        };
        Ok(Self {
            time_ns: place("time_ns", Type::INT64)?,
            op: place("op", Type::INT32)?,
            offset: place("offset", Type::INT64)?,
            length: place("length", Type::INT64)?,
            file,
            next_group: 0,
            group: None,
            next: 0,
            number: 0,
            remarks,
        })
    }

    /// Decodes the next rows; false at the end.
    fn decode(&mut self) -> Result<bool, Trouble> {
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
                Ok(Group {
                    time_ns: Column::new(group.as_ref(), self.time_ns)?,
                    op: Column::new(group.as_ref(), self.op)?,
                    offset: Column::new(group.as_ref(), self.offset)?,
                    length: Column::new(group.as_ref(), self.length)?,
                })
            })?;
            self.group = Some(group);
            self.next_group += 1;
        }
    }
}

fn is_signed(column: &ColumnDescriptor) -> bool {
    !matches!(column.logical_type_ref(), Some(LogicalType::Integer(integer)) if !integer.is_signed)
}

impl Group {
    fn decode(&mut self) -> Result<usize, Trouble> {
        let rows = self.time_ns.decode()?;
        for other in [self.op.decode()?, self.offset.decode()?, self.length.decode()?] {
            if other != rows {
                return Err(Trouble::Input(damaged(&"its columns are not of the same length")));
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
    fn new(group: &dyn RowGroupReader, place: Place) -> Result<Self, Trouble> {
        let reader = get_typed_column_reader(group.get_column_reader(place.index)?);
        Ok(Self { reader, place, values: Vec::new(), levels: Vec::new() })
    }

    /// Decodes the next rows; how many there are.
    fn decode(&mut self) -> Result<usize, Trouble> {
        self.values.clear();
        self.levels.clear();
        let levels = self.place.is_nullable.then_some(&mut self.levels);
        let (rows, values, _) = self.reader.read_records(BATCH_REQUESTS, levels, None, &mut self.values)?;
        if values < rows {
            let problem = "null, expected a number in every row".to_owned();
            return Err(Trouble::Lost(Fault { field: self.place.name, problem }));
        }
        Ok(rows)
    }
}

impl Place {
    /// A value of the column as the number it stands for.
    #[inline]
    fn value(&self, value: i64) -> Result<u64, Fault> {
        if value < 0 && self.is_signed {
            return Err(Fault::number(self.name, value, "a number from 0"));
        }
        Ok(value as u64)
    }
}

impl Records for Rows {
    const FIELDS: FieldNames =
        FieldNames { time: "time_ns", device: "device", offset: "offset", length: "length" };
    const CLOCK: Clock = Clock::Start;

    #[inline]
    fn next(&mut self, _: &mut Devices) -> Result<Option<Record>, Trouble> {
        let group = match &self.group {
            Some(group) if self.next < group.op.values.len() => group,
            _ => {
                if !self.decode()? {
                    return Ok(None);
                }
                match &self.group {
                    Some(group) => group,
                    None => return Ok(None),
                }
            }
        };
        let row = self.next;
        self.next += 1;
        self.number += 1;
        let op = group.op.values[row];
        let op = u64::try_from(op).map_err(|_| unknown_op(op)).and_then(op_of)?;
        Ok(Some(Record {
            time_ns: self.time_ns.value(group.time_ns.values[row])?,
            device: 0,
            offset: self.offset.value(group.offset.values[row])?,
            length: self.length.value(group.length.values[row])?,
            op,
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
    type T = std::io::BufReader<crate::place::From>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        // What is read in this way is the head of a page.
        Ok(std::io::BufReader::with_capacity(512, self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes, ParquetError> {
        use std::io::Read;
        let mut bytes = Vec::new();
        // Grows as it is read: a damaged length is no reason to ask for memory.
        self.from(start).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not there")));
        }
        Ok(bytes.into())
    }
}
