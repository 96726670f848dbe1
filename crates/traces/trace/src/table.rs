//! Tables as streams of Arrow (its IPC format): rows in batches, so that memory is bounded.
//!
//! A message is metadata, a flatbuffer, and a body: for each column which rows have a value, the ends of its texts, and its
//! values, each at a multiple of eight bytes. The first message has the columns, each other one a batch of rows.

use std::io::{self, BufWriter, Write};

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a row may have no value.
    pub is_optional: bool,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number without a sign of this many bytes.
    Number(u8),
    /// A number of double precision.
    Real,
    /// True or false.
    Flag,
    /// A text.
    Text,
}

/// A value of a table.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the kinds explain them")]
pub enum Value {
    Number(u64),
    Real(f64),
    Flag(bool),
    Text(&'static str),
    /// No value, in a column that is optional.
    Missing,
}

impl TableColumn {
    /// A column that has a value in each row.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_optional: false }
    }

    /// The same column, in which a value may be missing.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }
}

/// The values of a column in a batch.
struct Values {
    column: TableColumn,
    values: Vec<u8>,
    /// For texts, where each ends in `values`; from the beginning of the first.
    ends: Vec<u8>,
    /// A bit for each row that has a value.
    present: Vec<u8>,
    missing: i64,
}

/// A table that is being written.
pub struct TableWriter<W: Write> {
    output: BufWriter<W>,
    columns: Vec<Values>,
    rows: usize,
    batch_rows: usize,
}

impl<W: Write> TableWriter<W> {
    /// Begin a table of batches of `batch_rows`. `about` are entries of its metadata.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(
        output: W,
        columns: &[TableColumn],
        batch_rows: usize,
        about: &[(&str, String)],
    ) -> io::Result<Self> {
        let columns: Vec<_> = columns.iter().map(|&column| Values::new(column)).collect();
        let mut table =
            Self { output: BufWriter::with_capacity(1 << 20, output), columns, rows: 0, batch_rows };
        let head = table.schema(about);
        table.write(&head)?;
        Ok(table)
    }

    /// Add a row, in the order of the columns.
    ///
    /// # Errors
    /// An error of the output. Panics if a value is not of the type of its column.
    #[inline]
    pub fn push<const N: usize>(&mut self, row: [Value; N]) -> io::Result<()> {
        debug_assert_eq!(self.columns.len(), N, "a value for each column");
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(self.rows, value);
        }
        self.rows += 1;
        if self.rows == self.batch_rows { self.write_batch() } else { Ok(()) }
    }

    /// Write the rest, and return the output.
    ///
    /// # Errors
    /// An error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.write_batch()?;
        }
        self.write(&[])?;
        self.output.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn schema(&self, about: &[(&str, String)]) -> Vec<u8> {
        let (mut flat, header) = Flat::message(SCHEMA, 0);
        let schema = flat.table(header, &[Some(0), Some(0), Some(0)]);
        let fields = flat.references(schema + 8, self.columns.len());
        for (number, Values { column, .. }) in self.columns.iter().enumerate() {
            let (kind, about_kind): (i64, &[_]) = match column.kind {
                Kind::Number(bytes) => (2, &[Some(8 * i64::from(bytes)), Some(0)]),
                // Of double precision.
                Kind::Real => (3, &[Some(2)]),
                Kind::Text => (5, &[]),
                Kind::Flag => (6, &[]),
            };
            let about = [Some(0), Some(column.is_optional.into()), Some(kind), Some(0), None, Some(0)];
            let field = flat.table(fields + 4 * number, &about);
            flat.text(field, column.name);
            flat.table(field + 24, about_kind);
            flat.references(field + 40, 0);
        }
        let entries = flat.references(schema + 16, about.len());
        for (number, (key, value)) in about.iter().enumerate() {
            let entry = flat.table(entries + 4 * number, &[Some(0), Some(0)]);
            flat.text(entry, key);
            flat.text(entry + 8, value);
        }
        flat.0
    }

    fn write_batch(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows) as i64;
        let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), Vec::new());
        for column in &mut self.columns {
            nodes.push((rows, column.missing));
            // With a value in each row, the bits are left out.
            let present = if column.missing > 0 { &column.present[..] } else { &[] };
            let ends = (column.column.kind == Kind::Text).then_some(&column.ends[..]);
            for part in [Some(present), ends, Some(&column.values)].into_iter().flatten() {
                buffers.push((body.len() as i64, part.len() as i64));
                body.extend_from_slice(part);
                body.resize(body.len().next_multiple_of(8), 0);
            }
            *column = Values::new(column.column);
        }
        let (mut flat, header) = Flat::message(BATCH, body.len() as i64);
        let batch = flat.table(header, &[Some(rows), Some(0), Some(0)]);
        flat.pairs(batch + 8, &nodes);
        flat.pairs(batch + 16, &buffers);
        self.write(&flat.0)?;
        self.output.write_all(&body)
    }

    /// Write the metadata of a message; of none, the end of the stream.
    fn write(&mut self, metadata: &[u8]) -> io::Result<()> {
        let padded = metadata.len().next_multiple_of(8);
        self.output.write_all(&u32::MAX.to_le_bytes())?;
        self.output.write_all(&(padded as u32).to_le_bytes())?;
        self.output.write_all(metadata)?;
        self.output.write_all(&[0; 8][..padded - metadata.len()])
    }
}

impl Values {
    fn new(column: TableColumn) -> Self {
        Self { column, values: Vec::new(), ends: vec![0; 4], present: Vec::new(), missing: 0 }
    }

    #[inline]
    fn push(&mut self, row: usize, value: Value) {
        let is_missing = matches!(value, Value::Missing);
        if self.column.is_optional {
            push_bit(&mut self.present, row, !is_missing);
            self.missing += i64::from(is_missing);
        }
        match (self.column.kind, value) {
            (_, Value::Missing) if !self.column.is_optional => panic!("{}: no value", self.column.name),
            (Kind::Number(bytes), Value::Number(number)) => self.push_number(bytes, number),
            (Kind::Number(bytes), Value::Missing) => self.push_number(bytes, 0),
            (Kind::Real, Value::Real(number)) => self.values.extend_from_slice(&number.to_le_bytes()),
            (Kind::Real, Value::Missing) => self.values.extend_from_slice(&[0; 8]),
            (Kind::Flag, Value::Flag(flag)) => push_bit(&mut self.values, row, flag),
            (Kind::Flag, Value::Missing) => push_bit(&mut self.values, row, false),
            (Kind::Text, Value::Text(text)) => self.push_text(text),
            (Kind::Text, Value::Missing) => self.push_text(""),
            (_, value) => panic!("{}: {value:?} is not of the type of the column", self.column.name),
        }
    }

    #[inline]
    fn push_number(&mut self, bytes: u8, number: u64) {
        self.values.extend_from_slice(&number.to_le_bytes()[..bytes.into()]);
    }

    #[inline]
    fn push_text(&mut self, text: &str) {
        self.values.extend_from_slice(text.as_bytes());
        self.ends.extend_from_slice(&(self.values.len() as i32).to_le_bytes());
    }
}

#[inline]
fn push_bit(bits: &mut Vec<u8>, row: usize, bit: bool) {
    if row.is_multiple_of(8) {
        bits.push(0);
    }
    bits[row / 8] |= u8::from(bit) << (row % 8);
}

/// A message with the columns, and one with a batch of rows.
const SCHEMA: i64 = 1;
const BATCH: i64 = 3;
/// The version of the format: 1.0.
const VERSION: i64 = 4;

/// A flatbuffer, from front to back: what refers to a part is before it.
struct Flat(Vec<u8>);

impl Flat {
    /// Begin a message; also returns the place that refers to its header.
    fn message(kind: i64, body_bytes: i64) -> (Self, usize) {
        let mut flat = Self(vec![0; 4]);
        let message = flat.table(0, &[Some(VERSION), Some(kind), Some(0), Some(body_bytes)]);
        (flat, message + 16)
    }

    /// Have the reference at a place refer to the end, where the next part begins: `before` bytes ahead of a multiple of eight.
    fn refer(&mut self, place: usize, before: usize) {
        self.0.resize((self.0.len() + before).next_multiple_of(8) - before, 0);
        let distance = (self.0.len() - place) as u32;
        self.0[place..place + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// Append a table with these fields, and return the place of the first; each takes eight bytes, also one that is left out.
    fn table(&mut self, from: usize, fields: &[Option<i64>]) -> usize {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let about = self.0.len();
        let bytes = 8 * fields.len() as u16 + 4;
        let places = fields.iter().zip(0..).map(|(field, number)| field.map_or(0, |_| 4 + 8 * number));
        for number in [2 * fields.len() as u16 + 4, bytes].into_iter().chain(places) {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
        self.refer(from, 4);
        let back = (self.0.len() - about) as i32;
        self.0.extend_from_slice(&back.to_le_bytes());
        for field in fields {
            self.0.extend_from_slice(&field.unwrap_or(0).to_le_bytes());
        }
        self.0.len() - 8 * fields.len()
    }

    /// Begin a vector of `count` parts.
    fn vector(&mut self, from: usize, count: usize) {
        self.refer(from, 4);
        self.0.extend_from_slice(&(count as u32).to_le_bytes());
    }

    fn text(&mut self, from: usize, text: &str) {
        self.vector(from, text.len());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }

    /// Append a vector of references, and return the place of the first.
    fn references(&mut self, from: usize, count: usize) -> usize {
        self.vector(from, count);
        self.0.resize(self.0.len() + 4 * count, 0);
        self.0.len() - 4 * count
    }

    fn pairs(&mut self, from: usize, pairs: &[(i64, i64)]) {
        self.vector(from, pairs.len());
        for number in pairs.iter().flat_map(|&(one, other)| [one, other]) {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }
}
