//! The writer of coflash's Parquet files; `crate::formats::parquet` describes the layout.

use super::target::{Output, Target};
use crate::formats::parquet::{
    LAYOUT_KEY, LAYOUT_VERSION, OPS_KEY, REMARKS_KEY, SCHEMA, VERSION_KEY, op_code, ops,
};
use coflash_workload::Request;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::io::{self, BufWriter};
use std::sync::Arc;

/// The rows of a row group, held in memory, 28 bytes each.
const GROUP_ROWS: usize = 1 << 20;

/// The unit of encoding and compression.
const PAGE_BYTES: usize = 1 << 20;

/// A Parquet file being written.
pub(super) struct ParquetWriter<'a> {
    writer: SerializedFileWriter<BufWriter<Output<'a>>>,
    times_ns: Vec<i64>,
    ops: Vec<i32>,
    offsets: Vec<i64>,
    lengths: Vec<i64>,
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error.to_string())
}

impl<'a> ParquetWriter<'a> {
    pub(super) fn new(output: Output<'a>) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let about = [
            (VERSION_KEY, env!("CARGO_PKG_VERSION").to_owned()),
            (LAYOUT_KEY, LAYOUT_VERSION.to_owned()),
            (OPS_KEY, ops()),
        ];
        let about = about.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
        let column = |name: &str| ColumnPath::new(vec![name.to_owned()]);
        let properties = WriterProperties::builder()
            .set_created_by(format!("coflash {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about))
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).map_err(failed)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_data_page_size_limit(PAGE_BYTES)
            .set_data_page_row_count_limit(GROUP_ROWS)
            .set_dictionary_enabled(false)
            .set_column_encoding(column("time_ns"), Encoding::DELTA_BINARY_PACKED)
            // Operations and, usually, lengths have few distinct values.
            .set_column_dictionary_enabled(column("op"), true)
            .set_column_dictionary_enabled(column("length"), true)
            .build();
        let output = BufWriter::with_capacity(PAGE_BYTES, output);
        let writer = SerializedFileWriter::new(output, schema, Arc::new(properties)).map_err(failed)?;
        let (times_ns, ops, offsets, lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { writer, times_ns, ops, offsets, lengths })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.ops.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        // In the order of the schema.
        write_column::<Int64Type, _>(&mut group, &mut self.times_ns)?;
        write_column::<Int32Type, _>(&mut group, &mut self.ops)?;
        write_column::<Int64Type, _>(&mut group, &mut self.offsets)?;
        write_column::<Int64Type, _>(&mut group, &mut self.lengths)?;
        group.close()?;
        Ok(())
    }
}

fn write_column<T: DataType, W: io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("a column is missing".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    values.clear();
    column.close()
}

impl Target for ParquetWriter<'_> {
    fn write(&mut self, batch: &[Request]) -> io::Result<()> {
        for request in batch {
            // The column is unsigned, so the bits of a time beyond 2^63 are valid.
            self.times_ns.push(request.arrival.ns as i64);
            self.ops.push(op_code(request.op));
            self.offsets.push(request.offset as i64);
            self.lengths.push(request.length as i64);
        }
        if self.ops.len() >= GROUP_ROWS { self.write_group().map_err(failed) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>, remarks: &[String]) -> io::Result<Vec<String>> {
        self.write_group().map_err(failed)?;
        if !remarks.is_empty() {
            self.writer.append_key_value_metadata(KeyValue::new(REMARKS_KEY.to_owned(), remarks.join("\n")));
        }
        // Closes and flushes.
        self.writer.into_inner().map_err(failed)?.into_inner().map_err(|error| error.into_error())?;
        Ok(Vec::new())
    }
}
