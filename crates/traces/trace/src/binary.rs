//! Binary formats: the framing of records, and numbers of either byte order.

use crate::Result;
use crate::block_reader::BlockReader;
use crate::devices::Devices;
use crate::reader::{Opening, ReadError, Records};
use crate::record::{FieldError, Parsed, Record};
use crate::text::SAMPLE_BYTES;
use coflash_workload::recorded::TraceOptions;

/// A binary format.
pub(crate) trait BinaryFormat: Send + Sized + 'static {
    /// Whether a file that begins with `ahead` is of this format. `ahead` is not empty, and holds all of a small file.
    fn recognises(ahead: &[u8]) -> bool;

    /// Create a parser for the file that begins with `ahead`, and return the length of the header.
    ///
    /// # Errors
    /// A malformed field of the header.
    fn open(ahead: &[u8], options: &TraceOptions) -> Parsed<(Self, usize)>;

    /// The length of the part of a record that determines its length.
    fn head_bytes(&self) -> usize;

    /// The total length of the record that begins with `head`, and that of the data that follow it and are not read.
    ///
    /// # Errors
    /// A malformed field; the rest of the file cannot be read.
    #[inline]
    fn bytes(&self, _head: &[u8]) -> Parsed<(usize, u64)> {
        Ok((self.head_bytes(), 0))
    }

    /// Parse a record; `None` for records that are no requests.
    ///
    /// # Errors
    /// A malformed field.
    fn record(&mut self, record: &[u8], devices: &mut Devices) -> Parsed<Option<Record>>;

    /// Assumptions about ambiguities of the format.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The records of a binary format.
pub(crate) struct BinaryRecords<B> {
    input: BlockReader,
    format: B,
    number: u64,
}

impl<B: BinaryFormat> BinaryRecords<B> {
    pub(crate) fn open(mut input: BlockReader, opening: &Opening<'_>) -> Result<Self> {
        let ahead = input.sample(SAMPLE_BYTES).map_err(|error| opening.refused(error))?;
        if ahead.is_empty() {
            return Err(opening.refused("the file is empty: it has no requests"));
        }
        let opened = B::open(ahead, opening.options);
        let (format, header_bytes) = opened.map_err(|error| error.within(opening.name, 1))?;
        input.consume(header_bytes);
        Ok(Self { input, format, number: 0 })
    }

    /// The error of a file that ends within a record.
    #[cold]
    fn cut(&mut self, expected: usize) -> ReadError {
        let left = self.input.peek(0).map_or(0, <[u8]>::len);
        self.input.consume(left);
        let problem = format!("the file ends after {left} of at least {expected} bytes: it is truncated");
        ReadError::Record(FieldError { field: "record", problem })
    }
}

impl<B: BinaryFormat> Records for BinaryRecords<B> {
    #[inline]
    fn next(&mut self, devices: &mut Devices) -> Result<Option<Record>, ReadError> {
        loop {
            let head_bytes = self.format.head_bytes();
            let head = self.input.peek(head_bytes)?;
            if head.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if head.len() < head_bytes {
                return Err(self.cut(head_bytes));
            }
            let (bytes, data_bytes) = self.format.bytes(head).map_err(ReadError::Lost)?;
            let ahead = self.input.peek(bytes)?;
            let Some(record) = ahead.get(..bytes) else {
                return Err(self.cut(bytes));
            };
            let result = self.format.record(record, devices);
            self.input.consume(bytes);
            self.input.skip(data_bytes)?;
            if let Some(record) = result? {
                return Ok(Some(record));
            }
        }
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn remarks(&self) -> Vec<String> {
        self.format.remarks()
    }
}

/// Convert a number of `unit`s to the base unit (bytes, nanoseconds).
#[inline]
pub(crate) fn scaled(count: u64, unit: u64, field: &'static str) -> Parsed<u64> {
    count
        .checked_mul(unit)
        .ok_or_else(|| FieldError::number(field, count, &format!("a number that times {unit} is below 2^64")))
}

/// The byte order of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// Numbers at fixed places of a record; the record must be long enough.
macro_rules! numbers {
    ($($name:ident: $type:ty),*) => {
        impl Order {
            $(#[inline]
            pub(crate) fn $name(self, record: &[u8], at: usize) -> $type {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(&record[at..at + size_of::<$type>()]);
                match self {
                    Self::Little => <$type>::from_le_bytes(bytes),
                    Self::Big => <$type>::from_be_bytes(bytes),
                }
            })*
        }
    };
}

numbers!(u16: u16, u32: u32, u64: u64, i64: i64);
