//! The writer of coflash's Parquet files; `crate::formats::parquet` describes the layout.

use super::target::{Output, Target};
use crate::formats::parquet::{LAYOUT_KEY, LAYOUT_VERSION, OPS_KEY, REMARKS_KEY, SCHEMA, op_code, ops};
use crate::table::{Layout, TableWriter, Value};
use coflash_workload::Request;
use std::io;

/// A row takes 30 bytes, and 4 more with a hint, until its group is written. Operations, hints and, usually, lengths have
/// few distinct values.
const LAYOUT: Layout = Layout {
    schema: SCHEMA,
    rising: &["time_ns"],
    repetitive: &["op", "length", "placement"],
    group_rows: 1 << 20,
};

/// A Parquet file being written.
pub(super) struct ParquetWriter<'a>(TableWriter<Output<'a>>);

impl<'a> ParquetWriter<'a> {
    pub(super) fn new(output: Output<'a>) -> io::Result<Self> {
        let about = [(LAYOUT_KEY, LAYOUT_VERSION.to_owned()), (OPS_KEY, ops())];
        TableWriter::new(output, &LAYOUT, &about).map(Self)
    }
}

impl Target for ParquetWriter<'_> {
    fn write(&mut self, batch: &[Request]) -> io::Result<()> {
        for &Request { arrival, op, offset, length, placement } in batch {
            let [time_ns, op, offset, length] = [arrival.ns, op_code(op), offset, length].map(Value::Number);
            let placement = placement.map_or(Value::Missing, |hint| Value::Number(hint.get().into()));
            self.0.push([time_ns, op, offset, length, placement])?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, remarks: &[String]) -> io::Result<Vec<String>> {
        if !remarks.is_empty() {
            self.0.describe(REMARKS_KEY, remarks.join("\n"));
        }
        self.0.finish()?;
        Ok(Vec::new())
    }
}
