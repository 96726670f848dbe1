//! Tables as Parquet files: written in groups of rows, so that memory is bounded; small ones written and read whole.

use crate::catch_panics::catch_panics;
use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type as Schema, TypePtr};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// The key of the version of coflash that wrote a file.
pub(crate) const VERSION_KEY: &str = "coflash.version";

/// The unit of encoding and compression.
const PAGE_BYTES: usize = 1 << 20;

/// The layout of a table.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The columns, in Parquet's notation: `message name { required int64 time_ns (INTEGER(64, false)); }`. Their types are
    /// int32, int64, double, boolean and binary.
    pub schema: &'static str,
    /// The columns that rise, or nearly so: differences are kept.
    pub rising: &'static [&'static str],
    /// The columns with few distinct values.
    pub repetitive: &'static [&'static str],
    /// The number of rows of a row group; they are held in memory.
    pub group_rows: usize,
}

/// A value of a table.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A number without a sign, in a column of int32 or int64.
    Number(u64),
    /// A number, in a column of double.
    Real(f64),
    /// True or false, in a column of boolean.
    Flag(bool),
    /// A text, in a column of binary.
    Text(&'static str),
    /// No value, in a column that is optional.
    Missing,
}

/// A column in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// The values that there are.
    pub values: Values,
    /// For each row 1 if it has a value, else 0; `None` for a column that is required.
    pub present: Option<Vec<i16>>,
}

/// The values of a column, by their type in Parquet. Integers may be unsigned: then they are the same bits.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "their names are Parquet's")]
pub enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Boolean(Vec<bool>),
    Text(Vec<ByteArray>),
}

/// A column of a table that is in memory whole.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedColumn {
    /// Its name.
    pub name: String,
    /// Whether its integers are signed.
    pub is_signed: bool,
    /// Its rows.
    pub column: TableColumn,
}

/// Read a table into memory. A small one takes a tenth of the time that a database needs to open it.
///
/// # Errors
/// There is no such file, it is no Parquet file, or a column is of another type than [`Values`] has.
pub fn read_table(file: &Path) -> io::Result<Vec<NamedColumn>> {
    let content = Bytes::from(std::fs::read(file)?);
    let read = catch_panics(|| columns_of(content)).unwrap_or_else(|panic| Err(ParquetError::General(panic)));
    read.map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
}

fn columns_of(content: Bytes) -> Result<Vec<NamedColumn>, ParquetError> {
    let file = SerializedFileReader::new(content)?;
    let about = file.metadata().file_metadata().schema_descr().columns();
    let mut columns = about
        .iter()
        .map(|about| {
            let (name, column) = (about.path().string(), TableColumn::of(about)?);
            Ok(NamedColumn { name, is_signed: is_signed(about), column })
        })
        .collect::<Result<Vec<_>, ParquetError>>()?;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let rows = group.metadata().num_rows() as usize;
        for (index, read) in columns.iter_mut().enumerate() {
            read.column.read(group.get_column_reader(index)?, rows)?;
        }
    }
    Ok(columns)
}

/// Write a table that is in memory. A database needs ten times as long to begin a file.
///
/// # Errors
/// The file cannot be written; two columns have one name. Panics if the columns are not equally long.
pub fn write_table(file: &Path, columns: Vec<NamedColumn>) -> io::Result<()> {
    let schema = schema_of(&columns).map_err(failed)?;
    let path = |column: &NamedColumn| ColumnPath::new(vec![column.name.clone()]);
    let mut properties = properties(&[]).set_compression(Compression::SNAPPY);
    for column in &columns {
        properties = match &column.column.values {
            Values::Int32(_) | Values::Int64(_) => {
                properties.set_column_encoding(path(column), Encoding::DELTA_BINARY_PACKED)
            }
            Values::Text(_) => properties.set_column_dictionary_enabled(path(column), true),
            Values::Double(_) | Values::Boolean(_) => properties,
        };
    }
    let mut table = TableWriter::of(File::create(file)?, schema, properties, usize::MAX)?;
    table.columns = columns.into_iter().map(|column| column.column).collect();
    table.rows = table.columns.first().map_or(0, TableColumn::rows);
    assert!(table.columns.iter().all(|column| column.rows() == table.rows), "columns are equally long");
    table.finish().map(drop)
}

fn schema_of(columns: &[NamedColumn]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::with_capacity(columns.len());
    for NamedColumn { name, is_signed, column } in columns {
        let (physical, logical) = match column.values {
            Values::Int32(_) => (Type::INT32, Some(LogicalType::integer(32, *is_signed))),
            Values::Int64(_) => (Type::INT64, Some(LogicalType::integer(64, *is_signed))),
            Values::Double(_) => (Type::DOUBLE, None),
            Values::Boolean(_) => (Type::BOOLEAN, None),
            Values::Text(_) => (Type::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let is_optional = column.present.is_some();
        let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Schema::primitive_type_builder(name, physical).with_repetition(repetition);
        fields.push(Arc::new(field.with_logical_type(logical).build()?));
    }
    Schema::group_type_builder("table").with_fields(fields).build().map(Arc::new)
}

/// Whether the integers of a column are signed. Some writers, as DuckDB, say it by the older kind of type alone.
pub(crate) fn is_signed(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => integer.is_signed,
        _ => !matches!(column.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64),
    }
}

/// A table that is being written.
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<BufWriter<W>>,
    columns: Vec<TableColumn>,
    rows: usize,
    group_rows: usize,
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error.to_string())
}

/// What files have in common. `about` are further entries of the file's metadata.
fn properties(about: &[(&str, String)]) -> WriterPropertiesBuilder {
    let version = (VERSION_KEY, env!("CARGO_PKG_VERSION").to_owned());
    let about = std::iter::once(&version).chain(about);
    let about = about.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone())).collect();
    WriterProperties::builder()
        .set_created_by(format!("coflash {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(about))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_dictionary_enabled(false)
}

impl<W: Write + Send> TableWriter<W> {
    /// Begin a table. `about` are further entries of the file's metadata.
    ///
    /// # Errors
    /// An error of the output. Panics if the schema is wrong.
    pub fn new(output: W, layout: &Layout, about: &[(&str, String)]) -> io::Result<Self> {
        let path = |name: &&str| ColumnPath::new(vec![(*name).to_owned()]);
        let mut properties = properties(about)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).map_err(failed)?))
            .set_data_page_row_count_limit(layout.group_rows);
        for name in layout.rising {
            properties = properties.set_column_encoding(path(name), Encoding::DELTA_BINARY_PACKED);
        }
        for name in layout.repetitive {
            properties = properties.set_column_dictionary_enabled(path(name), true);
        }
        let schema = parse_message_type(layout.schema).expect("the schema is right");
        Self::of(output, Arc::new(schema), properties, layout.group_rows)
    }

    fn of(
        output: W,
        schema: TypePtr,
        properties: WriterPropertiesBuilder,
        group_rows: usize,
    ) -> io::Result<Self> {
        let output = BufWriter::with_capacity(PAGE_BYTES, output);
        let writer =
            SerializedFileWriter::new(output, schema, Arc::new(properties.build())).map_err(failed)?;
        let about = writer.schema_descr().columns();
        let columns =
            about.iter().map(|about| TableColumn::of(about)).collect::<Result<_, _>>().map_err(failed)?;
        Ok(Self { writer, columns, rows: 0, group_rows })
    }

    /// Add a row, in the order of the columns.
    ///
    /// # Errors
    /// An error of the output. Panics if a value is not of the type of its column.
    #[inline]
    pub fn push<const N: usize>(&mut self, row: [Value; N]) -> io::Result<()> {
        debug_assert_eq!(self.columns.len(), N, "a value for each column");
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.rows += 1;
        if self.rows == self.group_rows { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            for column in &mut self.columns {
                let mut writer = group.next_column()?.expect("a column of the schema");
                column.write(&mut writer)?;
                writer.close()?;
            }
            group.close().map(drop)
        };
        write().map_err(failed)
    }

    /// Add an entry to the file's metadata.
    pub fn describe(&mut self, key: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Write the rest, and return the output.
    ///
    /// # Errors
    /// An error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_group()?;
        // Closes and flushes.
        self.writer.into_inner().map_err(failed)?.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl<W: Write + Send> std::fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a table of {} columns", self.columns.len())
    }
}

impl TableColumn {
    /// Create an empty column.
    fn of(about: &ColumnDescriptor) -> Result<Self, ParquetError> {
        let values = match about.physical_type() {
            Type::INT32 => Values::Int32(Vec::new()),
            Type::INT64 => Values::Int64(Vec::new()),
            Type::DOUBLE => Values::Double(Vec::new()),
            Type::BOOLEAN => Values::Boolean(Vec::new()),
            Type::BYTE_ARRAY => Values::Text(Vec::new()),
            other => {
                let problem =
                    format!("column \"{}\" is of type {other}, which is not supported", about.path());
                return Err(ParquetError::General(problem));
            }
        };
        Ok(Self { values, present: (about.max_def_level() > 0).then(Vec::new) })
    }

    fn rows(&self) -> usize {
        match (&self.present, &self.values) {
            (Some(present), _) => present.len(),
            (None, Values::Int32(values)) => values.len(),
            (None, Values::Int64(values)) => values.len(),
            (None, Values::Double(values)) => values.len(),
            (None, Values::Boolean(values)) => values.len(),
            (None, Values::Text(values)) => values.len(),
        }
    }

    /// Add the rows of a row group.
    fn read(&mut self, reader: ColumnReader, rows: usize) -> Result<(), ParquetError> {
        fn all<T: DataType>(
            reader: ColumnReader,
            rows: usize,
            present: Option<&mut Vec<i16>>,
            values: &mut Vec<T::T>,
        ) -> Result<(), ParquetError> {
            let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(reader);
            reader.read_records(rows, present, None, values).map(drop)
        }
        let present = self.present.as_mut();
        match &mut self.values {
            Values::Int32(values) => all::<Int32Type>(reader, rows, present, values),
            Values::Int64(values) => all::<Int64Type>(reader, rows, present, values),
            Values::Double(values) => all::<DoubleType>(reader, rows, present, values),
            Values::Boolean(values) => all::<BoolType>(reader, rows, present, values),
            Values::Text(values) => all::<ByteArrayType>(reader, rows, present, values),
        }
    }

    #[inline]
    fn push(&mut self, value: Value) {
        if let Some(present) = &mut self.present {
            let is_missing = matches!(value, Value::Missing);
            present.push(i16::from(!is_missing));
            if is_missing {
                return;
            }
        }
        match (&mut self.values, value) {
            // Columns are unsigned, so the bits of a number beyond the signed range are valid.
            (Values::Int32(values), Value::Number(number)) => values.push(number as i32),
            (Values::Int64(values), Value::Number(number)) => values.push(number as i64),
            (Values::Double(values), Value::Real(number)) => values.push(number),
            (Values::Boolean(values), Value::Flag(flag)) => values.push(flag),
            (Values::Text(values), Value::Text(text)) => {
                values.push(Bytes::from_static(text.as_bytes()).into());
            }
            (_, value) => panic!("{value:?} is not of the type of its column"),
        }
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        fn batch<T: DataType>(
            writer: &mut SerializedColumnWriter<'_>,
            values: &mut Vec<T::T>,
            present: Option<&[i16]>,
        ) -> Result<(), ParquetError> {
            writer.typed::<T>().write_batch(values, present, None)?;
            values.clear();
            Ok(())
        }
        let present = self.present.as_deref();
        match &mut self.values {
            Values::Int32(values) => batch::<Int32Type>(writer, values, present)?,
            Values::Int64(values) => batch::<Int64Type>(writer, values, present)?,
            Values::Double(values) => batch::<DoubleType>(writer, values, present)?,
            Values::Boolean(values) => batch::<BoolType>(writer, values, present)?,
            Values::Text(values) => batch::<ByteArrayType>(writer, values, present)?,
        }
        self.present.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout {
        schema: "message table {
            required int32 erases (INTEGER(32, false));
            optional int64 time_ns (INTEGER(64, false));
            optional double mean;
            required boolean known;
            required binary kind (STRING);
        }",
        rising: &["time_ns"],
        repetitive: &["kind"],
        group_rows: 3,
    };

    #[test]
    fn what_is_written_in_groups_is_read_whole() {
        let mut table = TableWriter::new(Vec::new(), &LAYOUT, &[]).unwrap();
        for row in 0..8 {
            let missing = |value| if row % 3 == 1 { Value::Missing } else { value };
            let text = Value::Text(["all", "read"][row as usize / 4]);
            let [number, mean] = [Value::Number(u64::MAX - row), missing(Value::Real(row as f64 / 2.0))];
            table.push([Value::Number(row), missing(number), mean, Value::Flag(row > 6), text]).unwrap();
        }
        let content = Bytes::from(table.finish().unwrap());
        let columns = columns_of(content.clone()).unwrap();
        let names: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.is_signed)).collect();
        let expected =
            [("erases", false), ("time_ns", false), ("mean", true), ("known", true), ("kind", true)];
        assert_eq!(names, expected);
        let columns: Vec<_> = columns.into_iter().map(|column| column.column).collect();
        let text = |kind: &'static str| vec![ByteArray::from(kind); 4];
        let present = Some(vec![1, 0, 1, 1, 0, 1, 1, 0]);
        let expected = [
            (Values::Int32((0..8).collect()), None),
            (Values::Int64(vec![-1, -3, -4, -6, -7]), present.clone()),
            (Values::Double(vec![0.0, 1.0, 1.5, 2.5, 3.0]), present),
            (Values::Boolean((0..8).map(|row| row > 6).collect()), None),
            (Values::Text([text("all"), text("read")].concat()), None),
        ];
        assert_eq!(columns, expected.map(|(values, present)| TableColumn { values, present }));
        assert!(columns_of(content.slice(..content.len() - 1)).is_err(), "a file without its end is refused");
    }
}
