//! Arrow's own files (`.arrow`, `.feather`) and streams, as table libraries write them: the columns of our Parquet files.
//!
//! Found by name, whole numbers of any width, nullable as long as nothing is null; further columns are passed over. Buffers
//! may be compressed (lz4, zstd). A stream needs no file, so it may come through a pipe. A batch is held in memory as it
//! lies in the file, and decompressed some thousand rows at a time.
//!
//! Source: Apache Arrow columnar format, versions 4 and 5 of its metadata. Cost: a copy of each number.

mod message;

use super::parquet::op_of;
use super::reader::{Reader, Records, Trouble};
use super::{Clock, Devices, Fault, FieldNames, FileReader, FormatInfo, Lines, Record, Standing};
use crate::request::{BATCH_REQUESTS, WorkloadError};
use crate::trace::TraceOptions;
use bytes::Bytes;
use message::{CONTINUATION, Field, HEAD_BYTES_MAX, MAGIC, Message, Messages, damaged};
use polars_arrow_format::ipc::planus::ReadAsRoot;
use polars_arrow_format::ipc::{CompressionType, MessageHeaderRef, MessageRef};
use std::io::{Cursor, Read};

pub(crate) const INFO: FormatInfo = FormatInfo {
    name: "arrow",
    summary: "Arrow IPC files (Feather) and streams with the columns of coflash's Parquet files",
    source: "Apache Arrow columnar format",
    record: "columns time_ns, op, offset, length",
    extensions: &["arrow", "arrows", "feather", "ipc"],
};

/// The columns of a trace, in the order of [`Batch::columns`].
const COLUMNS: [&str; 4] = ["time_ns", "op", "offset", "length"];

/// Whether a file that begins with `ahead` is Arrow's.
pub(super) fn recognises(ahead: &[u8]) -> bool {
    let stream = |rest: &[u8]| {
        let length = rest.first_chunk().map(|&length| u32::from_le_bytes(length));
        length.is_some_and(|length| (8..HEAD_BYTES_MAX).contains(&length) && length.is_multiple_of(8))
    };
    ahead.starts_with(MAGIC) || ahead.strip_prefix(&CONTINUATION).is_some_and(stream)
}

/// Reads `input`, which messages call `name`.
pub(super) fn open(
    name: &str,
    input: Lines,
    options: &TraceOptions,
    standing: Standing,
) -> Result<Box<dyn FileReader>, WorkloadError> {
    let rows = Rows::open(input).map_err(|trouble| match trouble {
        Trouble::Input(problem) => crate::place::unusable(name, problem),
        Trouble::Record(fault) | Trouble::Lost(fault) => crate::place::unusable(name, fault.problem),
    })?;
    Ok(Box::new(Reader::new(name, rows, options, standing)))
}

/// The rows of a file.
struct Rows {
    messages: Messages,
    fields: Vec<Field>,
    /// Which of the fields the columns are.
    wanted: [usize; 4],
    batch: Option<Batch>,
    /// The row behind the last one handed out, among those decoded.
    next: usize,
    number: u64,
}

/// The batch being read.
struct Batch {
    columns: [Column; 4],
    rows_left: u64,
}

/// A column of a batch, decoded some rows at a time.
struct Column {
    name: &'static str,
    values_from: Box<dyn Read + Send>,
    validity_from: Option<Box<dyn Read + Send>>,
    width_bytes: usize,
    is_signed: bool,
    raw: Vec<u8>,
    /// Negative numbers as their bits.
    values: Vec<u64>,
}

impl Rows {
    fn open(input: Lines) -> Result<Self, Trouble> {
        let mut messages = Messages::new(input)?;
        let first = messages.next()?.ok_or_else(|| damaged("it has no schema"))?;
        let fields = message::schema(&first.head)?;
        let mut wanted = [0; 4];
        for (name, place) in COLUMNS.iter().zip(&mut wanted) {
            *place = fields.iter().position(|field| field.name == *name).ok_or_else(|| {
                let given: Vec<_> = fields.iter().take(16).map(|field| field.name.as_str()).collect();
                Trouble::Input(format!(
                    "no column \"{name}\" (given: {}; expected: {})",
                    given.join(", "),
                    INFO.record
                ))
            })?;
            let field = &fields[*place];
            if field.integer.is_none() {
                let problem = format!("column \"{name}\" is of type {}, whole numbers expected", field.kind);
                return Err(Trouble::Input(problem));
            }
        }
        Ok(Self { messages, fields, wanted, batch: None, next: 0, number: 0 })
    }

    /// Decodes the next rows; false at the end.
    fn decode(&mut self) -> Result<bool, Trouble> {
        loop {
            if let Some(batch) = &mut self.batch {
                let rows = batch.rows_left.min(BATCH_REQUESTS as u64);
                if rows > 0 {
                    batch.decode(rows as usize).map_err(|(row, trouble)| {
                        self.number += row;
                        trouble
                    })?;
                    self.next = 0;
                    return Ok(true);
                }
            }
            let Some(message) = self.messages.next()? else { return Ok(false) };
            self.batch = self.begin(&message)?;
        }
    }

    /// The batch that `message` is; nothing if it is a dictionary.
    fn begin(&self, message: &Message) -> Result<Option<Batch>, Trouble> {
        let batch = match MessageRef::read_as_root(&message.head)?.header()? {
            Some(MessageHeaderRef::RecordBatch(batch)) => batch,
            Some(MessageHeaderRef::DictionaryBatch(_)) => return Ok(None),
            _ => return Err(damaged("a message is neither a batch nor a dictionary")),
        };
        let rows_left =
            u64::try_from(batch.length()?).map_err(|_| damaged("a batch has less than no rows"))?;
        let compression = message::compression(batch)?;
        let mut places = message::places(&self.fields, &self.wanted, batch, &message.body)?.into_iter();
        let mut column = |index: usize| {
            let place = places.next().ok_or_else(|| damaged("a column is missing"))?;
            let (width_bytes, is_signed) = self.fields[self.wanted[index]].integer.unwrap_or((8, false));
            let validity_from = place.validity.map(|bytes| plain(bytes, compression)).transpose()?;
            let values_from = plain(place.values, compression)?;
            let (raw, values) = (Vec::new(), Vec::new());
            Ok::<_, Trouble>(Column {
                name: COLUMNS[index],
                values_from,
                validity_from,
                width_bytes,
                is_signed,
                raw,
                values,
            })
        };
        Ok(Some(Batch { columns: [column(0)?, column(1)?, column(2)?, column(3)?], rows_left }))
    }
}

/// A buffer as it was before it was compressed.
fn plain(buffer: Bytes, compression: Option<CompressionType>) -> Result<Box<dyn Read + Send>, Trouble> {
    let Some(codec) = compression.filter(|_| !buffer.is_empty()) else {
        return Ok(Box::new(Cursor::new(buffer)));
    };
    let Some(&length) = buffer.first_chunk() else {
        return Err(damaged("a compressed buffer is too short to say how long it was"));
    };
    let content = Cursor::new(buffer.slice(size_of_val(&length)..));
    // What would not have become shorter is left as it was. How long it was need not be known otherwise: as much is
    // decompressed as there are rows.
    if i64::from_le_bytes(length) == -1 {
        return Ok(Box::new(content));
    }
    Ok(match codec {
        CompressionType::Lz4Frame => Box::new(lz4_flex::frame::FrameDecoder::new(content)),
        CompressionType::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(content)?),
    })
}

impl Batch {
    /// Decodes so many rows; an error comes with how many of them are before it.
    fn decode(&mut self, rows: usize) -> Result<(), (u64, Trouble)> {
        self.rows_left -= rows as u64;
        for column in &mut self.columns {
            column.decode(rows)?;
        }
        Ok(())
    }
}

impl Column {
    fn decode(&mut self, rows: usize) -> Result<(), (u64, Trouble)> {
        let ends = |error: std::io::Error| (0, damaged(format!("column \"{}\": {error}", self.name)));
        if let Some(validity) = &mut self.validity_from {
            // Batches of rows are whole bytes of it, except for the last.
            self.raw.resize(rows.div_ceil(8), 0);
            validity.read_exact(&mut self.raw).map_err(ends)?;
            let is_null = |&row: &usize| self.raw[row / 8] >> (row % 8) & 1 == 0;
            if let Some(row) = (0..rows).find(is_null) {
                let problem = "null, expected a number in every row".to_owned();
                return Err((row as u64 + 1, Trouble::Lost(Fault { field: self.name, problem })));
            }
        }
        self.raw.resize(rows * self.width_bytes, 0);
        self.values_from.read_exact(&mut self.raw).map_err(ends)?;
        self.values.clear();
        match (self.width_bytes, self.is_signed) {
            (1, false) => self.extend(u8::from_le_bytes, u64::from),
            (2, false) => self.extend(u16::from_le_bytes, u64::from),
            (4, false) => self.extend(u32::from_le_bytes, u64::from),
            (1, true) => self.extend(i8::from_le_bytes, |value| i64::from(value) as u64),
            (2, true) => self.extend(i16::from_le_bytes, |value| i64::from(value) as u64),
            (4, true) => self.extend(i32::from_le_bytes, |value| i64::from(value) as u64),
            _ => self.extend(u64::from_le_bytes, |value| value),
        }
        Ok(())
    }

    fn extend<const N: usize, T>(&mut self, read: fn([u8; N]) -> T, widen: fn(T) -> u64) {
        self.values.extend(self.raw.as_chunks().0.iter().map(|&bytes| widen(read(bytes))));
    }

    /// The number in a row.
    #[inline]
    fn value(&self, row: usize) -> Result<u64, Fault> {
        let value = self.values[row];
        if self.is_signed && (value as i64) < 0 {
            return Err(Fault::number(self.name, value as i64, "a number from 0"));
        }
        Ok(value)
    }
}

impl Records for Rows {
    const FIELDS: FieldNames =
        FieldNames { time: "time_ns", device: "device", offset: "offset", length: "length" };
    const CLOCK: Clock = Clock::Start;

    #[inline]
    fn next(&mut self, _: &mut Devices) -> Result<Option<Record>, Trouble> {
        let batch = match &self.batch {
            Some(batch) if self.next < batch.columns[0].values.len() => batch,
            _ => {
                if !self.decode()? {
                    return Ok(None);
                }
                match &self.batch {
                    Some(batch) => batch,
                    None => return Ok(None),
                }
            }
        };
        let row = self.next;
        self.next += 1;
        self.number += 1;
        let [time_ns, op, offset, length] = &batch.columns;
        Ok(Some(Record {
            op: op_of(op.value(row)?)?,
            time_ns: time_ns.value(row)?,
            device: 0,
            offset: offset.value(row)?,
            length: length.value(row)?,
        }))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
