//! A record of a trace, the conventions of its format, and the errors of its fields.

use coflash_base::{Duration, PlacementId};
use coflash_workload::{Op, WorkloadError};

/// The description of a format, for the documentation, the command line and error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FormatInfo {
    /// The name in a scenario.
    pub name: &'static str,
    /// A description in one sentence.
    pub summary: &'static str,
    /// The origin of the format.
    pub source: &'static str,
    /// The layout of a record.
    pub record: &'static str,
    /// Usual file extensions. They decide between formats that fit the content equally well.
    pub extensions: &'static [&'static str],
    /// Its own options, besides those of every format; that of the distance of devices is known by the columns of a table.
    #[serde(skip)]
    pub options: &'static [&'static str],
}

/// Conventions common to all records of a format.
#[derive(Clone, Copy)]
pub(crate) struct Conventions {
    pub(crate) fields: FieldNames,
    pub(crate) clock: Clock,
    /// The usual disorder of records in time.
    pub(crate) sort_window: Duration,
}

/// The format's own names of the fields that every record has.
#[derive(Clone, Copy)]
pub(crate) struct FieldNames {
    pub(crate) time: &'static str,
    pub(crate) device: &'static str,
    pub(crate) offset: &'static str,
    pub(crate) length: &'static str,
}

/// The origin of a format's times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The start of the recording: times are kept.
    Start,
    /// A date: the first request is at time 0.
    Date,
}

/// A request with the time and address of its trace, before the rules that span records.
pub(crate) struct Record {
    pub(crate) time_ns: u64,
    /// First byte on the device.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// A number from `Devices::number`, or 0 for formats of a single device.
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) placement: Option<PlacementId>,
}

/// A malformed field. The reader adds file and line.
#[derive(Debug)]
pub(crate) struct FieldError {
    pub(crate) field: &'static str,
    pub(crate) problem: String,
}

/// What is read from a field.
pub(crate) type Parsed<T> = Result<T, FieldError>;

impl FieldError {
    /// The error of the workload, in a line of a file.
    #[cold]
    pub(crate) fn within(self, file: &str, line: u64) -> WorkloadError {
        WorkloadError::Malformed { file: file.to_owned(), line, field: self.field, problem: self.problem }
    }

    /// Create the error of a text `given` in place of `expected`.
    #[cold]
    pub(crate) fn text(field: &'static str, given: &[u8], expected: &str) -> Self {
        let problem = if given.is_empty() {
            format!("missing, expected {expected}")
        } else {
            format!("\"{}\" is not {expected}", show(given))
        };
        Self { field, problem }
    }

    /// Create the error of a number `given` in place of `expected`.
    #[cold]
    pub(crate) fn number(field: &'static str, given: impl std::fmt::Display, expected: &str) -> Self {
        Self { field, problem: format!("{given} is not {expected}") }
    }
}

/// Bytes of a file as text of their own: what is no UTF-8 is escaped, and what looks as if it were.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains("\\x"));
    text.map_or_else(|| bytes.escape_ascii().to_string(), str::to_owned)
}

/// Format bytes of a file for a message: printable and shortened.
pub(crate) fn show(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 80;
    let more = if bytes.len() > SHOWN_BYTES { "…" } else { "" };
    format!("{}{more}", bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii())
}

/// A remark on some requests or records, unless there are none.
pub(crate) fn counted(count: u64, noun: &str, remark: impl std::fmt::Display) -> Option<String> {
    (count > 0).then(|| format!("{count} {noun}{} {remark}", if count == 1 { "" } else { "s" }))
}
