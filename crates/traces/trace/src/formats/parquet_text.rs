//! Parquet files of any writer as text: a line of names, then a line a row, for the reader of named columns.

use crate::catch_panics::catch_panics;
use crate::input::CountedFile;
use crate::record::text_of;
use parquet::basic::{LogicalType, TimeUnit};
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use parquet::record::reader::RowIter;
use std::io::{self, Read};

pub(super) fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("the Parquet data is damaged: {error}")
}

/// The lines of a file, separated by tabs.
pub(super) struct Lines {
    rows: RowIter<'static>,
    line: Vec<u8>,
    given: usize,
}

impl Lines {
    /// Give the columns their names, and to the names of timestamps their unit.
    pub(super) fn new(file: SerializedFileReader<CountedFile>) -> Self {
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let unit = |index: usize| {
            let leaf = schema.columns().get(index).filter(|_| schema.num_columns() == fields(&schema).len());
            match leaf.and_then(|leaf| leaf.logical_type_ref()) {
                Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::NANOS => "_ns",
                Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::MICROS => "_us",
                Some(LogicalType::Timestamp(_)) => "_ms",
                _ => "",
            }
        };
        let names: Vec<_> =
            fields(&schema).iter().enumerate().map(|(at, name)| plain(name) + unit(at)).collect();
        let line = (names.join("\t") + "\n").into_bytes();
        Self { rows: RowIter::from_file_into(Box::new(file)), line, given: 0 }
    }
}

fn fields(schema: &parquet::schema::types::SchemaDescriptor) -> Vec<String> {
    schema.root_schema().get_fields().iter().map(|field| field.name().to_owned()).collect()
}

/// A text without separators of lines and columns.
fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r', '"'], " ")
}

fn shown(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Float(value) if value.is_nan() => String::new(),
        Field::Double(value) if value.is_nan() => String::new(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(text) => plain(text),
        Field::Bytes(bytes) => plain(&text_of(bytes.data())),
        Field::TimestampMillis(count) | Field::TimestampMicros(count) => count.to_string(),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => "…".to_owned(),
        other => plain(&other.to_string()),
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.line.len() {
            let row = catch_panics(|| self.rows.next()).map_err(|panic| io::Error::other(damaged(&panic)))?;
            let row = row.transpose().map_err(|error| io::Error::other(damaged(&error)))?;
            let Some(row) = row else { return Ok(0) };
            let cells: Vec<_> = row.get_column_iter().map(|(_, field)| shown(field)).collect();
            self.line = (cells.join("\t") + "\n").into_bytes();
            self.given = 0;
        }
        let got = (&self.line[self.given..]).read(buffer)?;
        self.given += got;
        Ok(got)
    }
}
