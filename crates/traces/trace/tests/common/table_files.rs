//! Files of tables without a library: the stream of a table after the mark of Parquet, read back as the format of Arrow says.

use coflash_trace::table_files::{Numbers, Part, Stream, TableFile, TableFiles, provide};
use std::fs;
use std::io::Read;
use std::path::Path;

struct Plain;

/// Have files of tables written and read by this.
pub(crate) fn provide_plain() {
    provide(&Plain);
}

impl TableFiles for Plain {
    fn write(&self, mut stream: Stream, file: &Path, _: &str) -> Result<(), String> {
        let mut content = b"PAR1".to_vec();
        stream.read_to_end(&mut content).unwrap();
        fs::write(file, content).map_err(|error| error.to_string())
    }

    fn open(&self, file: &str, _: bool) -> Result<TableFile, String> {
        let content = fs::read(file).unwrap();
        let mut at = 4;
        let next = move || {
            loop {
                assert_eq!(number(&content, at, 4), u64::from(u32::MAX));
                let begin = at + 8;
                let metadata = &content[begin..begin + number(&content, at + 4, 4) as usize];
                let body = begin + metadata.len();
                if metadata.is_empty() {
                    assert_eq!(body, content.len(), "it ends after its end");
                    return None;
                }
                let message = follow(metadata, 0);
                at = body + number(metadata, field(metadata, message, 3), 8) as usize;
                if number(metadata, field(metadata, message, 1), 1) == 3 {
                    let batch = follow(metadata, field(metadata, message, 2));
                    return Some(Ok((at as u64, Part::Rows(columns(metadata, batch, &content[body..at])))));
                }
            }
        };
        Ok(TableFile { remarks: Vec::new(), is_text: false, next: Box::new(next) })
    }
}

/// The columns of a batch: the bytes of each number are told by the layout.
fn columns(metadata: &[u8], batch: usize, body: &[u8]) -> Vec<Numbers> {
    let rows = number(metadata, field(metadata, batch, 0), 8) as usize;
    let buffers = follow(metadata, field(metadata, batch, 2));
    assert_eq!(number(metadata, buffers, 4), 10);
    let buffer = |index: usize| {
        let [from, bytes] = [0, 8].map(|at| number(metadata, buffers + 4 + 16 * index + at, 8) as usize);
        &body[from..from + bytes]
    };
    let column = |(index, bytes): (usize, usize)| {
        let (present, values) = (buffer(2 * index), buffer(2 * index + 1));
        assert_eq!(values.len(), rows * bytes);
        let bit = |row: usize| present[row / 8] >> (row % 8) & 1 == 1;
        Numbers {
            values: (0..rows).map(|row| number(values, row * bytes, bytes)).collect(),
            are_signed: false,
            present: (!present.is_empty()).then(|| (0..rows).map(bit).collect()),
        }
    };
    [8, 1, 8, 8, 1].into_iter().enumerate().map(column).collect()
}

fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The place that a reference refers to.
fn follow(bytes: &[u8], place: usize) -> usize {
    place + number(bytes, place, 4) as usize
}

/// The place of a field of a table.
fn field(bytes: &[u8], table: usize, slot: usize) -> usize {
    let about = table - number(bytes, table, 4) as usize;
    let at = number(bytes, about + 4 + 2 * slot, 2) as usize;
    assert_ne!(at, 0, "it is there");
    table + at
}
