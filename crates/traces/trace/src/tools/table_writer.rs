//! The writer of files of tables; `crate::formats::table_file` describes the layout.

use super::target::Target;
use crate::formats::table_file::{LAYOUT_KEY, LAYOUT_VERSION, OPS_KEY, op_code, ops};
use crate::table::{Kind, TableColumn, TableWriter, Value};
use crate::table_files::FilePipe;
use coflash_workload::Request;
use std::io;
use std::path::Path;

const COLUMNS: [TableColumn; 5] = [
    TableColumn::new("time_ns", Kind::Number(8)),
    TableColumn::new("op", Kind::Number(1)),
    TableColumn::new("offset", Kind::Number(8)),
    TableColumn::new("length", Kind::Number(8)),
    TableColumn::new("placement", Kind::Number(1)).optional(),
];

/// The rows of a batch; they take 27 bytes each, and some batches are under way.
const BATCH_ROWS: usize = 1 << 16;

/// A file of a table being written.
pub(super) struct TableTarget(TableWriter<FilePipe>);

impl TableTarget {
    pub(super) fn create(file: &Path, format: &'static str) -> io::Result<Self> {
        let about = [(LAYOUT_KEY, LAYOUT_VERSION.to_owned()), (OPS_KEY, ops())];
        TableWriter::new(FilePipe::create(file, format)?, &COLUMNS, BATCH_ROWS, &about).map(Self)
    }
}

impl Target for TableTarget {
    fn write(&mut self, batch: &[Request]) -> io::Result<()> {
        for &Request { arrival, op, offset, length, placement } in batch {
            let [time_ns, op, offset, length] = [arrival.ns, op_code(op), offset, length].map(Value::Number);
            let placement = placement.map_or(Value::Missing, |hint| Value::Number(hint.get().into()));
            self.0.push([time_ns, op, offset, length, placement])?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, remarks: &[String]) -> io::Result<Vec<String>> {
        self.0.finish()?.finish(remarks)?;
        Ok(Vec::new())
    }
}
