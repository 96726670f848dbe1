//! Recorded workloads, as far as scenarios and runs know them. Their reader, which knows the formats, is a crate of its own.

mod columns;
mod options;

pub use columns::{Column, Columns, ColumnsError, Words, word_key};
pub use options::{Arrangement, KvEviction, KvStore, OnError, TraceEvent, TraceOptions, Units};

use std::io::Read;
use std::sync::Arc;

/// The path that denotes the standard input.
pub const STANDARD_INPUT: &str = "-";

/// A wrapper for inputs that can be read only once: the standard input, named `-`, or a pipe, named by its path. With
/// it a caller sees all bytes of the input.
pub type Tap = Arc<dyn Fn(&str, Box<dyn Read + Send>) -> Box<dyn Read + Send> + Send + Sync>;
