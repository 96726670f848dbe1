//! The options of recorded workloads. Their reader, which knows the formats, is a crate of its own.

mod columns;
mod options;

pub use columns::{Column, Columns, ColumnsError, Words, word_key};
pub use options::{Arrangement, KvEviction, KvStore, OnError, TraceEvent, TraceOptions, Units};
