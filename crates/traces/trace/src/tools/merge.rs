//! The merge of traces by time, each with its own part of the address space if required.
//!
//! Dates keep their distances, times relative to a start are unchanged (`crate::merge`). A device name denotes the
//! same device in all traces.

use crate::source::{TraceSource, open_at};
use coflash_base::Bytes;
use coflash_workload::WorkloadError;
use coflash_workload::recorded::{Arrangement, TraceOptions};

/// Open the traces in `paths` merged by time, with the addresses of `paths[i]` shifted up by `offsets[i]`.
///
/// # Errors
/// See `open` of a trace; a number of offsets that differs from that of the paths; options that demand a sequence.
pub fn open(
    paths: &[String],
    offsets: &[Bytes],
    options: &TraceOptions,
) -> Result<TraceSource, WorkloadError> {
    if offsets.len() != paths.len() {
        let problem =
            format!("{} offsets given for {} traces: one for each expected", offsets.len(), paths.len());
        return Err(WorkloadError::tool("merge", problem));
    }
    if options.merge == Some(Arrangement::Sequence) {
        let problem = "merge = \"sequence\" given with offsets: they go with a merge by time";
        return Err(WorkloadError::tool("merge", problem));
    }
    open_at(paths, offsets, &TraceOptions { merge: Some(Arrangement::Time), ..options.clone() })
}
