//! Records of bytes instead of lines: where one ends and the next begins, and numbers of either byte order.

use super::reader::{Records, Trouble};
use super::{Clock, Devices, Fault, FieldNames, FormatInfo, Lines, Record, SAMPLE_BYTES, show};
use crate::request::WorkloadError;
use crate::trace::TraceOptions;

/// A format of records that are not text.
pub(crate) trait Binary: Send + Sized + 'static {
    /// What it is.
    const INFO: FormatInfo;
    /// What it calls the fields that rules for every format speak of.
    const FIELDS: FieldNames;
    /// Where its times count from.
    const CLOCK: Clock;
    /// The part of a record that tells how long it is.
    const HEAD_BYTES: usize;
    /// Whether the recorder writes a file for each processor, which only together are a trace.
    const PER_PROCESSOR: bool = false;

    /// Whether a file that begins with `ahead` is of this format; all of a small file, and never nothing.
    fn recognises(ahead: &[u8]) -> bool;

    /// A parser for the file that begins with `ahead`, and how many bytes come before its first record.
    ///
    /// # Errors
    /// The field of the header that is not what the format says.
    fn open(ahead: &[u8], options: &TraceOptions) -> Result<(Self, usize), Fault>;

    /// How long the record is that begins with `head`, in all.
    ///
    /// # Errors
    /// The field for which this cannot be a record: what follows is lost with it.
    fn bytes(&self, head: &[u8]) -> Result<usize, Fault>;

    /// What a record says; nothing for what is not a request.
    ///
    /// # Errors
    /// The field that is not what the format says.
    fn record(&mut self, record: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault>;

    /// What the format left open and had to be assumed.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The records of a binary format.
pub(crate) struct Packed<B> {
    input: Lines,
    format: B,
    number: u64,
}

impl<B: Binary> Packed<B> {
    pub(crate) fn open(file: &str, mut input: Lines, options: &TraceOptions) -> Result<Self, WorkloadError> {
        let file = || file.to_owned();
        let ahead = input
            .ahead(SAMPLE_BYTES)
            .map_err(|error| WorkloadError::Trace { file: file(), problem: error.to_string() })?;
        if ahead.is_empty() {
            let problem = "the file is empty: it has no requests".to_owned();
            return Err(WorkloadError::Trace { file: file(), problem });
        }
        let (format, header_bytes) = B::open(ahead, options).map_err(|fault| WorkloadError::Malformed {
            file: file(),
            line: 1,
            field: fault.field,
            problem: fault.problem,
        })?;
        input.pass(header_bytes);
        Ok(Self { input, format, number: 0 })
    }

    /// The file ends within a record.
    #[cold]
    fn cut(&mut self, expected: usize) -> Trouble {
        let left = self.input.ahead(0).map_or(0, <[u8]>::len);
        self.input.pass(left);
        let problem = format!("the file ends {left} bytes into it, expected {expected}: it is truncated");
        Trouble::Record(Fault { field: "record", problem })
    }
}

impl<B: Binary> Records for Packed<B> {
    const FIELDS: FieldNames = B::FIELDS;
    const CLOCK: Clock = B::CLOCK;

    #[inline]
    fn next(&mut self, devices: &mut Devices) -> Result<Option<Record>, Trouble> {
        loop {
            let head = self.input.ahead(B::HEAD_BYTES)?;
            if head.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if head.len() < B::HEAD_BYTES {
                return Err(self.cut(B::HEAD_BYTES));
            }
            let bytes = self.format.bytes(head).map_err(Trouble::Lost)?;
            let ahead = self.input.ahead(bytes)?;
            let Some(record) = ahead.get(..bytes) else {
                return Err(self.cut(bytes));
            };
            let result = self.format.record(record, devices);
            self.input.pass(bytes);
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

impl Fault {
    /// The number `given` is in place of `expected`.
    #[cold]
    pub(crate) fn number(field: &'static str, given: impl std::fmt::Display, expected: &str) -> Self {
        Self { field, problem: format!("{given} is not {expected}") }
    }
}

/// A whole number of `unit`s, in the unit's own base (bytes, nanoseconds).
#[inline]
pub(crate) fn scaled(count: u64, unit: u64, field: &'static str) -> Result<u64, Fault> {
    count
        .checked_mul(unit)
        .ok_or_else(|| Fault::number(field, count, &format!("a number that times {unit} is below 2^64")))
}

/// The order of the bytes in a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// Numbers at fixed places of a record, which must be long enough to hold them.
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

/// The beginning of a file that is not what it should be, for a message.
pub(crate) fn shown_start(ahead: &[u8]) -> String {
    show(&ahead[..ahead.len().min(16)])
}
