//! Changes that had come to memory when the host could not write them: they are refused, and have no effect.
//!
//! Memory cannot take them back. So what the files hold of them is read once, and is what clients find from then on: the same as
//! after the next power on. Later changes are refused before they come to memory.

use crate::machine::Machine;
use crate::session::Failure;
use coflash_nbd::{Command, Extents, Request};
use coflash_store::StoreError;
use std::io;
use std::ops::Range;

/// The most bytes that are kept, more than one batch can write: of a longer trim nothing can be read before the next power on.
const KEPT_BYTES_MAX: u64 = 64 << 20;

/// Ranges of refused changes, with their contents where these could be read.
#[derive(Default)]
pub(crate) struct Refused(Vec<(Range<u64>, Option<Vec<u8>>)>);

impl Refused {
    /// Note the changes of a batch.
    pub(crate) fn note(&mut self, machine: &mut Machine, ranges: Vec<Range<u64>>) {
        let mut found = machine.in_files(&ranges, KEPT_BYTES_MAX).unwrap_or_default().into_iter();
        self.0.extend(ranges.into_iter().map(|range| (range, found.next().flatten())));
    }

    /// Have a request that was served find the contents of refused ranges.
    pub(crate) fn mend(&self, request: &mut Request) -> Result<(), Failure> {
        let (offset, end) = (request.offset, request.offset + u64::from(request.length));
        for (range, found) in &self.0 {
            let (from, to) = (offset.max(range.start), end.min(range.end));
            if from >= to {
                continue;
            }
            let within = |start: u64| (from - start) as usize..(to - start) as usize;
            match (request.command, found) {
                (Command::Read, Some(found)) => {
                    request.data[within(offset)].copy_from_slice(&found[within(range.start)]);
                }
                (Command::Read, None) => {
                    let problem = io::Error::other("what the files hold of it is not known");
                    return Err(StoreError::host("reading a range of a refused change", &problem).into());
                }
                // Whether it is a hole is not known.
                (Command::BlockStatus, _) => request.extents = Extents::new(request.length, true),
                _ => {}
            }
        }
        Ok(())
    }
}
