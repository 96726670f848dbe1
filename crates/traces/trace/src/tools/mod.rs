//! Tools for traces: slice, merge, and write the result, in one pass and in bounded memory.
//!
//! A tool is a [`Source`] that reads from another source; [`write()`] writes the requests of the last one. All commands
//! that write a trace are [`write()`] with different [`Steps`].

mod fio_writer;
pub mod head;
pub mod slice;
pub mod split;
mod table_writer;
mod target;
mod write;

use crate::Result;
use crate::source::{TraceSource, listed, open};
use coflash_base::Bytes;
use coflash_workload::recorded::{Arrangement, TraceOptions};
use coflash_workload::{Source, refuse};
use serde::{Deserialize, Serialize};

pub use slice::Slice;
pub use split::Volume;
pub use write::{Written, write};

/// The steps between the reader and the writer of a trace, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Steps {
    /// Shifts of the traces' addresses for a merge by time. Without offsets, the trace options combine the files.
    pub offsets: Vec<Bytes>,
    /// The part to keep.
    pub slice: Slice,
}

impl Steps {
    /// Open the trace in `paths` and apply the steps.
    ///
    /// # Errors
    /// An error of the trace or of a step.
    pub fn open(&self, paths: &[String], options: &TraceOptions) -> Result<Box<dyn Source>> {
        self.slice.check()?;
        let all = if self.offsets.is_empty() { open(paths, options)? } else { self.merged(paths, options)? };
        let mut source: Box<dyn Source> = Box::new(all);
        if self.slice != Slice::default() {
            source = Box::new(slice::Sliced::new(source, &self.slice));
        }
        Ok(source)
    }

    /// Open traces merged by time, each with its own part of the address space: dates keep their distances, times relative to a
    /// start are unchanged (`crate::merge`). A device name denotes the same device in all traces.
    fn merged(&self, paths: &[String], options: &TraceOptions) -> Result<TraceSource> {
        if self.offsets.len() != paths.len() {
            let (offsets, traces) = (self.offsets.len(), paths.len());
            return refuse("offsets", format!("{offsets} given for {traces} traces, one for each expected"));
        }
        if options.merge == Some(Arrangement::Sequence) {
            return refuse("offsets", "given with merge = \"sequence\": they go with a merge by time");
        }
        let options = TraceOptions { merge: Some(Arrangement::Time), ..options.clone() };
        listed(paths, &self.offsets, &options)?.begun()
    }
}
