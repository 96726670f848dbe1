//! Several traces as one, by time, each with its own part of the address space if it is given one.
//!
//! Dates keep their distance, times from a start are taken as they are (`crate::merge`). A device that several traces
//! have is the same device in all of them.

use super::meaningless;
use crate::request::WorkloadError;
use crate::trace::{Arrangement, TraceOptions, TraceSource, open_at};
use coflash_base::Bytes;

/// The traces in `paths` merged by time, `paths[i]` moved up by `offsets[i]`.
///
/// # Errors
/// As `trace::open`; offsets that are not as many as the paths; options that ask for a sequence.
pub fn open(
    paths: &[String],
    offsets: &[Bytes],
    options: &TraceOptions,
) -> Result<TraceSource, WorkloadError> {
    if offsets.len() != paths.len() {
        let problem =
            format!("{} offsets given for {} traces: one for each expected", offsets.len(), paths.len());
        return Err(meaningless("merge", problem));
    }
    if options.merge == Some(Arrangement::Sequence) {
        let problem = "merge = \"sequence\" given with offsets: they go with a merge by time";
        return Err(meaningless("merge", problem));
    }
    open_at(paths, offsets, &TraceOptions { merge: Some(Arrangement::Time), ..options.clone() }, None)
}
