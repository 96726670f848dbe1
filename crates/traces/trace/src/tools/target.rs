//! The trait of trace writers.

use coflash_workload::Request;
use std::io::{self, Write};

/// A writer of one format.
pub(super) trait Target {
    /// Add requests.
    fn write(&mut self, batch: &[Request]) -> io::Result<()>;
    /// Write the rest, and `remarks` if the format can hold them; return losses of information, in sentences for the
    /// user.
    fn finish(self: Box<Self>, remarks: &[String]) -> io::Result<Vec<String>>;
}

/// The output of a target.
pub(super) type Output<'a> = Box<dyn Write + Send + 'a>;
