//! Recorded traces: the reader of files in many formats, statistics of traces, and tools to change them.
//!
//! A [`TraceSource`] is a source of requests like any generator. It opens the files, decompresses them, detects their
//! formats and parses their records; rules common to all formats turn records into requests.
//!
//! | concept | place |
//! |---|---|
//! | a trace of one or several files | `source.rs`; merged by time: `merge.rs` |
//! | options of the reader | `recorded.rs` of the crate `workload`: a scenario has them, and needs no reader |
//! | files, standard input, tar archives | `input_file.rs`, `input.rs` |
//! | decompression | `compression.rs` |
//! | detection of formats, the list of all formats | `formats/mod.rs` |
//! | text formats: lines, fields, numbers | `text.rs`, `block_reader.rs`, `fields.rs`, `numbers.rs` |
//! | words and letters of operations | `operations.rs` |
//! | columns found by names or values, and denied by values | `formats/judge.rs`, `formats/names.txt` |
//! | shapes that are known and not read | `formats/unread.txt` |
//! | formats given by their columns | `formats/formats.txt`, `formats/tables.rs`, `formats/columns.rs`; the notation: `notation.rs` |
//! | binary formats | `binary.rs` |
//! | records, conventions of a format | `record.rs` |
//! | from records to requests: order, clock, address range | `reader.rs`; reordering: `window.rs`; pauses: `pauses.rs` |
//! | several devices in one address space | `devices.rs` |
//! | accesses to a sample of the pages | `accesses.rs` |
//! | statistics: sizes, popularity, reuse, footprint | `info/` |
//! | a synthetic workload fitted to a trace | `like/` |
//! | tables as streams of Arrow; files of tables | `table.rs`; `table_files.rs`, `formats/table_file.rs` |
//! | slice, merge, convert | `tools/` |

pub mod accesses;
mod binary;
mod block_reader;
mod compression;
mod dates;
mod devices;
mod fields;
pub mod formats;
pub mod info;
mod input;
mod input_file;
pub mod like;
mod merge;
pub mod notation;
mod numbers;
mod operations;
mod pauses;
mod reader;
mod record;
mod source;
pub mod table;
pub mod table_files;
mod text;
pub mod tools;
mod window;

pub use coflash_workload::recorded::{
    Arrangement, OnError, STANDARD_INPUT, Tap, TraceEvent, TraceOptions, Units,
};
pub use notation::Columns;
pub use source::{Parts, TraceSource, from_reader, open, open_tapped};

/// A result, whose error is one of the workload where none is said.
pub(crate) type Result<T, E = coflash_workload::WorkloadError> = std::result::Result<T, E>;
