//! What can be done to a trace other than replaying it: cut a part out, merge several, move its addresses, and write the
//! outcome down, all in one pass and without holding it.
//!
//! A transformation is a [`Source`] that reads from another one; `convert` writes whatever comes out of the last. So the
//! tools of the command line are one thing: [`rewrite`] with different [`Steps`].

mod arrow;
mod convert;
mod fio;
pub mod head;
pub mod merge;
mod parquet;
pub mod remap;
pub mod slice;
mod whole;

use crate::request::{Source, WorkloadError};
use crate::trace::TraceOptions;
use coflash_base::Bytes;
use serde::{Deserialize, Serialize};

pub use convert::{Written, targets, write};
pub use remap::Remap;
pub use slice::Slice;

/// What is done to a trace on its way, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Steps {
    /// The traces are merged by time, each moved up by its offset; without any they are one trace as the options say.
    pub offsets: Vec<Bytes>,
    /// What is cut out.
    pub slice: Slice,
    /// Where the addresses go; without it they stay.
    pub remap: Option<Remap>,
}

impl Steps {
    /// The trace in `paths`, with the steps taken.
    ///
    /// # Errors
    /// What is wrong with the trace or with a step.
    pub fn open(&self, paths: &[String], options: &TraceOptions) -> Result<Box<dyn Source>, WorkloadError> {
        self.slice.check()?;
        let mut source: Box<dyn Source> = if self.offsets.is_empty() {
            Box::new(crate::trace::open(paths, options)?)
        } else {
            Box::new(merge::open(paths, &self.offsets, options)?)
        };
        if self.slice != Slice::default() {
            source = Box::new(slice::Sliced::new(source, &self.slice));
        }
        if let Some(remap) = &self.remap {
            source = Box::new(remap::Remapped::new(source, remap)?);
        }
        Ok(source)
    }
}

/// A step that means nothing.
fn meaningless(tool: &'static str, problem: impl Into<String>) -> WorkloadError {
    WorkloadError::Tool { tool, problem: problem.into() }
}
